"""`spacy_hoseq.corpus.v1` of .spacy files: what is copied to the predicted docs, and what is refused."""

import contextlib
import zlib

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_hoseq.readers.annotated import read_docs, spacy_files

NLP = spacy.blank("xx")
WORDS, TAGS = "she sees the old cat . it runs .".split(), "N V D A N . N V .".split()
READER = spacy.registry.readers.get("spacy_hoseq.corpus.v1")


def doc_of(words=WORDS, **annotation):
    return Doc(NLP.vocab, words=words, **annotation)


def annotated(starts=(0, 6)):
    values = {"tags": TAGS, "lemmas": [word.upper() for word in WORDS], "pos": ["NOUN"] * 9}
    doc = doc_of(**values, ents=["O", "O", "B-X", "I-X", "I-X", "O", "O", "O", ""])
    for token in doc:
        token.is_sent_start = token.i in starts
    return doc


@pytest.fixture
def path(tmp_path):
    docs = [annotated(), doc_of(["a", "b"], tags=["D", ""]), doc_of(["c"] * 4, tags=["N"] * 4)]
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "corpus.spacy")
    return tmp_path / "corpus.spacy"


def read(path, attributes=("tag",), **settings):
    return list(READER(path, attributes=list(attributes), **settings)(NLP))


def tags_of(docs):
    return [[token.tag_ for token in doc] for doc in docs]


def test_tags_are_copied(path):
    examples = read(path)
    assert tags_of(eg.predicted for eg in examples) == [TAGS, ["D", ""], ["N"] * 4]
    assert tags_of(eg.reference for eg in examples) == [TAGS, ["D", ""], ["N"] * 4]
    assert all(eg.predicted is not eg.reference for eg in examples)
    first = examples[0].predicted
    assert not (first.has_annotation("LEMMA") or first.has_annotation("POS") or first.ents)
    found = tags_of(eg.predicted for eg in read(str(path)))
    assert found == tags_of(eg.predicted for eg in examples)
    assert tags_of(eg.predicted for eg in read(path, [])) == [[""] * 9, ["", ""], [""] * 4]


@pytest.mark.parametrize("attributes", [[], ["tag"]])
def test_sentence_starts_are_given(path, attributes):
    """Where they are known; of other tokens nothing is said."""
    partly = doc_of(["a", "b", "c", "d"], sent_starts=[None, True, None, False])
    DocBin(docs=[*DocBin().from_disk(path).get_docs(NLP.vocab), partly]).to_disk(path)
    found = [[token.is_sent_start for token in eg.predicted] for eg in read(path, attributes)]
    assert found[0] == [i in (0, 6) for i in range(9)] and found[3][1:] == [True, None, False]
    assert [[t.is_sent_start for t in eg.reference] for eg in read(path, attributes)] == found
    assert not any(eg.predicted.has_annotation("SENT_START") for eg in read(path, attributes)[1:3])


def test_folder_of_files(path):
    DocBin(docs=[doc_of(["z"], tags=["Z"])]).to_disk(path.parent / "more.spacy")
    assert [eg.reference[0].text for eg in read(path.parent)] == ["she", "a", "c", "z"]
    reader = READER(path, attributes=["tag"])
    assert len(list(reader(NLP))) == len(list(reader(NLP))) == 3, "it can be read again"


@pytest.mark.parametrize("attributes", [["dep"], ["tag", "sent_start"], ["_.label"], ["TAG"]])
def test_attributes_that_cannot_be_copied(path, attributes):
    with pytest.raises(ValueError, match=rf"\[HS161\].*{attributes[-1]}.*tag, pos, morph, lemma"):
        READER(path, attributes=attributes)


def test_evaluation_with_given_tags(path):
    """What is given is there when the pipeline runs; components that find it are not asked."""
    nlp = spacy.blank("xx")
    seen = []

    @spacy.Language.component("tests_hoseq_notes_tags")
    def notes_tags(doc):
        seen.append([token.tag_ for token in doc])
        return doc

    nlp.add_pipe("tests_hoseq_notes_tags")
    nlp.evaluate(list(READER(path, attributes=["tag"])(nlp)))
    assert seen == [TAGS, ["D", ""], ["N"] * 4]


@pytest.mark.parametrize("starts", [None, (0, 6)])
def test_span_groups_stay_on_the_reference(tmp_path, starts):
    """Those that cross the end of a sentence are left out; without known sentences none does."""
    doc = doc_of(tags=TAGS) if starts is None else annotated(starts)
    doc.spans["chunks"] = [Span(doc, 2, 5, "NP"), Span(doc, 6, 7, "NP"), Span(doc, 4, 8, "X")]
    doc.spans["none"] = []
    DocBin(docs=[doc]).to_disk(tmp_path / "corpus.spacy")
    message = r"\[HW002\] 1 spans.*'cat \. it runs' of doc.spans\[\"chunks\"\]"
    with pytest.warns(UserWarning, match=message) if starts else contextlib.nullcontext():
        (example,) = read(tmp_path / "corpus.spacy")
    found = [(span.text, span.label_) for span in example.reference.spans["chunks"]]
    assert found[:2] == [("the old cat", "NP"), ("it", "NP")]
    assert found[2:] == ([] if starts else [("cat . it runs", "X")])
    assert list(example.reference.spans["none"]) == [] and not example.predicted.spans


def test_spans_that_cross_the_end_of_a_sentence_are_counted(tmp_path):
    """With one warning for all of them."""
    docs = [annotated((0, 6)) for _ in range(3)]
    for doc in docs:
        doc.set_ents([Span(doc, 4, 7, "B")])
        doc.spans["chunks"] = [Span(doc, 5, 7, "NP")]
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "corpus.spacy")
    with pytest.warns(UserWarning) as caught:
        assert len(read(tmp_path / "corpus.spacy")) == 3
    (warning,) = caught
    assert "[HW002] 6 spans of the corpus" in str(warning.message)


def test_tokens_beside_an_entity_that_crosses_stay_missing(tmp_path):
    """Nothing is known of its own tokens either; all others are as they were."""
    doc = annotated()
    doc.set_ents([Span(doc, 4, 7, "B")], missing=[doc[0:2]], default="outside")
    DocBin(docs=[doc]).to_disk(tmp_path / "corpus.spacy")
    with pytest.warns(UserWarning, match="HW002"):
        (example,) = read(tmp_path / "corpus.spacy")
    tags = [token.ent_iob_ for token in example.reference]
    assert tags == ["", "", "O", "O", "", "", "", "O", "O"]


def test_a_file_that_is_missing(tmp_path):
    corpus = READER(tmp_path / "none.spacy", attributes=["tag"])
    with pytest.raises(ValueError, match=r"\[HS074\] Nothing to read at .*none.spacy"):
        list(corpus(NLP))


@pytest.mark.parametrize(
    "data", [b"", b"some text", zlib.compress(b"\x80"), zlib.compress(b"text")]
)
def test_files_that_are_none_of_spacy(data, tmp_path):
    """The message names the file, which may be one of a folder."""
    (tmp_path / "damaged.spacy").write_bytes(data)
    message = r"\[HS172\] This cannot be read: .*damaged.spacy. Expected a .spacy file"
    with pytest.raises(ValueError, match=message):
        list(read_docs(spacy_files(tmp_path), spacy.blank("xx").vocab))
