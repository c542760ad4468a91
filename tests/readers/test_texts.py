"""Texts to be annotated: lines of text and of JSON."""

import gzip

from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.texts import Text, texts_in


def test_lines_of_json_and_of_text(tmp_path):
    lines, packed, plain = (tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "c.txt"))
    lines.write_text('{"text": "A b.", "id": 7}\n\n{"text": ""}\n', encoding="utf8")
    with gzip.open(packed, "wt", encoding="utf8") as file:
        file.write('{"id": 8, "text": "Ünd\\nc"}\n')
    plain.write_text("one\r\n \ntwo\n", encoding="utf8")
    assert list(texts_in(lines, "text")) == [Text(1, "A b.", {"id": 7}), Text(3, "", {})]
    assert list(texts_in(packed, "text")) == [Text(1, "Ünd\nc", {"id": 8})]
    assert list(texts_in(plain, "text")) == [Text(1, "one", {}), Text(3, "two", {})]


def test_what_cannot_be_read_is_told_and_left_out(tmp_path):
    lines, plain = tmp_path / "a.jsonl", tmp_path / "b.txt"
    lines.write_bytes(b'{"body": "x"}\n{"text": 1}\n[]\n{"te\n{"text": "\xff"}\n{"text": "y"}\n')
    plain.write_bytes(b"good\nb\xffd\n")
    *problems, last = texts_in(lines, "text")
    assert last == Text(6, "y", {})
    assert [(problem.path, problem.line) for problem in problems] == [(lines, n) for n in range(1, 6)]
    assert problems[0] == Problem(lines, 1, '{"body":"x"}', 'an object with a string "text"')
    good, bad = texts_in(plain, "text")
    assert good == Text(1, "good", {}) and (bad.path, bad.line) == (plain, 2)
    assert [item.text for item in texts_in(lines, "body") if isinstance(item, Text)] == ["x"]


def test_half_of_a_pair_of_surrogates_is_a_problem_of_its_line(tmp_path):
    """JSON can say it, as the text or beside it; neither a tokenizer nor a file can have it."""
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "\\ud83d"}\n{"text": "a", "by": "\\ude00"}\n{"text": "\\ud83d\\ude00"}\n')
    *problems, last = texts_in(lines, "text")
    assert [problem.line for problem in problems] == [1, 2] and "surrogates not allowed" in problems[0].actual
    assert last == Text(3, "\U0001f600", {})
