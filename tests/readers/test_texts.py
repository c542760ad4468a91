"""Texts to be annotated, in shares."""

import gzip

from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.texts import Share, Text, shares


def test_lines_and_whole_files_in_shares_of_a_size(tmp_path):
    lines, packed, whole, docs = (tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "c.txt", "d.spacy"))
    lines.write_text('{"text": "A b.", "id": 7}\n\n{"text": ""}\n', encoding="utf8")
    with gzip.open(packed, "wt", encoding="utf8") as file:
        file.write('{"id": 8, "text": "Ünd\\nc"}\n')
    whole.write_text("one\r\ntwo\n", encoding="utf8")
    found = [Text(lines, 1, "A b.", {"id": 7}), Text(lines, 3, "", {}), Text(packed, 1, "Ünd\nc", {"id": 8})]
    last = Text(whole, 1, "one\ntwo", {})
    two = [Share(found[:2], None, []), Share([found[2], last], None, [])]
    assert list(shares([lines, packed, whole], 2, "text")) == two
    assert list(shares([lines, packed], 3, "text")) == [Share(found, None, [])]
    before, own, after = shares([lines, docs, whole], 10, "text")
    assert (before, own) == (Share(found[:2], None, []), Share(None, docs, []))
    assert after == Share([last], None, [])
    assert list(shares([], 10, "text")) == []


def test_what_cannot_be_read_is_told_and_left_out(tmp_path):
    lines, whole = tmp_path / "a.jsonl", tmp_path / "b.txt"
    lines.write_bytes(b'{"body": "x"}\n{"text": 1}\n[]\n{"te\n{"text": "\xff"}\n{"text": "y"}\n')
    whole.write_bytes(b"good\nb\xffd\n")
    (share,) = shares([lines, whole], 10, "text")
    assert share.texts == [Text(lines, 6, "y", {})] and share.docs is None
    places = [(problem.path, problem.line) for problem in share.problems]
    assert places == [*((lines, n) for n in range(1, 6)), (whole, 2)]
    assert share.problems[0] == Problem(lines, 1, '{"body": "x"}', 'an object with a string "text"')
    (share,) = shares([lines], 10, "body")
    assert [text.text for text in share.texts] == ["x"] and len(share.problems) == 5
    (share,) = shares([whole], 10, "text")
    assert share.texts == [] and len(share.problems) == 1
