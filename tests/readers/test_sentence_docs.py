"""Docs of sentences: words, boundaries, annotation and their places."""

from spacy.vocab import Vocab

from spacy_hoseq.readers.docs import grouped, sentences_to_doc
from spacy_hoseq.readers.sentences import LabelledSpan, Sentence

VOCAB = Vocab()
TWO = [
    Sentence(["It", "rains", "."], ["PRP", "VBZ", "."], [LabelledSpan(0, 1, "NP"), LabelledSpan(1, 2, "VP")]),
    Sentence(["Oh", "dear"], ["UH", "UH"], [LabelledSpan(0, 2, "INTJ")]),
]
NAMES = [
    Sentence(["a", "b"], None, None, [LabelledSpan(1, 2, "X")]),
    Sentence(["c"], None, None, [LabelledSpan(0, 1, "Y")]),
]


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
    assert [token.ent_iob_ for token in doc] == ["O", "B", "B"] and not doc.spans and not doc.has_annotation("TAG")
    doc = sentences_to_doc(VOCAB, NAMES, "zh", "chunks", "names")
    assert [(span.start, span.end, span.label_) for span in doc.spans["names"]] == [(1, 2, "X"), (2, 3, "Y")]
    assert not doc.has_annotation("ENT_IOB") and list(doc.spans) == ["names"]


def test_groups():
    sentences = [Sentence([str(i)]) for i in range(5)]
    groups = {size: grouped(sentences, size) for size in (0, 1, 2, 5, 9)}
    texts = {size: ["".join(s.words[0] for s in group) for group in found] for size, found in groups.items()}
    assert texts == {0: ["01234"], 1: list("01234"), 2: ["01", "23", "4"], 5: ["01234"], 9: ["01234"]}
    assert list(grouped([Sentence([]), sentences[0], Sentence([])], 1)) == [[sentences[0]]]
    assert list(grouped([], 0)) == []
    mixed = [sentences[0], sentences[1]._replace(is_text=True), sentences[2], sentences[3]]
    assert [len(group) for group in grouped(mixed, 0)] == [1, 1, 2], "a text is a group of its own"
