"""Texts to be annotated: lines of text and of JSON."""

import gzip

from spacy.vocab import Vocab

from spacy_hoseq.readers.docs import grouped, sentences_to_doc
from spacy_hoseq.readers.sentences import LabelledSpan, Problem, Sentence
from spacy_hoseq.readers.texts import Text, texts_in

from ..builders import spans_of


def test_lines_of_json_and_of_text(tmp_path):
    lines, packed, plain = (tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "c.txt"))
    lines.write_text('{"text": "A b.", "id": 7}\n\n{"text": ""}\n', "utf8")
    with gzip.open(packed, "wt", encoding="utf8") as file:
        file.write('{"id": 8, "text": "Ünd\\nc"}\n')
    plain.write_text("one\r\n \ntwo\n", "utf8")
    assert list(texts_in(lines, "text")) == [Text(1, "A b.", {"id": 7}), Text(3, "", {})]
    assert list(texts_in(packed, "text")) == [Text(1, "Ünd\nc", {"id": 8})]
    assert list(texts_in(plain, "text")) == [Text(1, "one", {}), Text(3, "two", {})]


def test_what_cannot_be_read_is_told_and_left_out(tmp_path):
    lines, plain = tmp_path / "a.jsonl", tmp_path / "b.txt"
    lines.write_bytes(b'{"body": "x"}\n{"text": 1}\n[]\n{"te\n{"text": "\xff"}\n{"text": "y"}\n')
    plain.write_bytes(b"good\nb\xffd\n")
    *problems, last = texts_in(lines, "text")
    assert last == Text(6, "y", {})
    found = [(problem.path, problem.line) for problem in problems]
    assert found == [(lines, n) for n in range(1, 6)]
    assert problems[0] == Problem(lines, 1, '{"body": "x"}', 'an object with a string "text"')
    good, bad = texts_in(plain, "text")
    assert good == Text(1, "good", {}) and (bad.path, bad.line) == (plain, 2)
    assert [item.text for item in texts_in(lines, "body") if isinstance(item, Text)] == ["x"]


def test_half_of_a_pair_of_surrogates_is_a_problem_of_its_line(tmp_path):
    """JSON can say it, as the text or beside it; neither a tokenizer nor a file can have it."""
    lines = tmp_path / "a.jsonl"
    texts = '{"text": "\\ud83d"}\n{"text": "a", "by": "\\ude00"}\n{"text": "\\ud83d\\ude00"}\n'
    lines.write_text(texts)
    *problems, last = texts_in(lines, "text")
    assert [problem.line for problem in problems] == [1, 2]
    assert "surrogates not allowed" in problems[0].actual
    assert last == Text(3, "\U0001f600", {})


# Docs of sentences: words, boundaries, annotation and their places


VOCAB = Vocab()
NP, VP = LabelledSpan(0, 1, "NP"), LabelledSpan(1, 2, "VP")
TWO = [
    Sentence(["It", "rains", "."], ["PRP", "VBZ", "."], [NP, VP]),
    Sentence(["Oh", "dear"], ["UH", "UH"], [LabelledSpan(0, 2, "INTJ")]),
]
NAMES = [Sentence(["a", "b"], None, None, [LabelledSpan(1, 2, "X")])]
NAMES += [Sentence(["c"], None, None, [LabelledSpan(0, 1, "Y")])]


def test_tags_boundaries_and_chunks():
    doc = sentences_to_doc(VOCAB, TWO, "en")
    assert [token.text for token in doc] == ["It", "rains", ".", "Oh", "dear"]
    assert [token.tag_ for token in doc] == ["PRP", "VBZ", ".", "UH", "UH"]
    assert [token.is_sent_start for token in doc] == [True, False, False, True, False]
    assert [sentence.text for sentence in doc.sents] == ["It rains .", "Oh dear"]
    chunks = [(span.start, span.end, span.label_) for span in doc.spans["chunks"]]
    assert chunks == [(0, 1, "NP"), (1, 2, "VP"), (3, 5, "INTJ")]
    assert list(doc.spans) == ["chunks"] and not doc.has_annotation("ENT_IOB")
    assert list(sentences_to_doc(VOCAB, TWO, "en", "sc").spans) == ["sc"]


def test_entities():
    doc = sentences_to_doc(VOCAB, NAMES, "zh")
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(1, 2, "X"), (2, 3, "Y")]
    assert [token.ent_iob_ for token in doc] == ["O", "B", "B"] and not doc.spans
    assert not doc.has_annotation("TAG")
    doc = sentences_to_doc(VOCAB, NAMES, "zh", "chunks", "names")
    assert spans_of(doc.spans["names"]) == [(1, 2, "X"), (2, 3, "Y")]
    assert not doc.has_annotation("ENT_IOB") and list(doc.spans) == ["names"]


def test_groups():
    sentences = [Sentence([str(i)]) for i in range(5)]
    expected = dict.fromkeys((0, 5, 9), "01234") | {1: "0 1 2 3 4", 2: "01 23 4"}
    for size, groups in expected.items():
        texts = ["".join(s.words[0] for s in group) for group in grouped(sentences, size)]
        assert " ".join(texts) == groups
    assert list(grouped([Sentence([]), sentences[0], Sentence([])], 1)) == [[sentences[0]]]
    assert list(grouped([], 0)) == []
    mixed = [sentences[0], sentences[1]._replace(is_text=True), sentences[2], sentences[3]]
    assert [len(group) for group in grouped(mixed, 0)] == [1, 1, 2], "a text is a group of its own"
