"""`doc.noun_chunks` from a chunker, wherever the Doc has been, and merging them."""

import pickle

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

import spacy_hoseq
from spacy_hoseq.components.noun_chunks import offer_noun_chunks

TEXT = "The old man saw two big dogs in London."
PHRASES = ["The old man", "two big dogs", "London"]


@pytest.fixture(scope="module")
def nlp():
    return spacy_hoseq.load("en", exclude=["hoseq_lemmatizer", "hoseq_morphologizer"])


def phrases(part):
    return [phrase.text for phrase in part.noun_chunks if phrase.label_ == "NP"]


def through_doc_bin(nlp):
    return next(DocBin(docs=[nlp(TEXT)]).get_docs(nlp.vocab))


def in_processes(nlp):
    return next(iter(nlp.pipe([TEXT, TEXT], n_process=2)))


def sourced(nlp):
    other = spacy.blank("en")
    for name in ("hoseq_tagger", "hoseq_chunker"):
        other.add_pipe(name, source=nlp)
    return other(TEXT)


def pickled(nlp):
    return pickle.loads(pickle.dumps(nlp(TEXT)))


@pytest.mark.parametrize(
    "doc_of", [lambda nlp: nlp(TEXT), through_doc_bin, in_processes, sourced, pickled]
)
def test_noun_chunks(nlp, doc_of):
    assert phrases(doc_of(nlp)) == PHRASES


def test_noun_chunks_with_any_vocabulary(nlp):
    (doc,) = DocBin(docs=[nlp(TEXT)]).get_docs(spacy.blank("en").vocab)
    chunks = [phrase.text for phrase in spacy_hoseq.noun_chunks(doc)]
    assert chunks == PHRASES
    assert [phrase.text for phrase in spacy_hoseq.noun_chunks(doc[:6])] == PHRASES[:1]
    with pytest.raises(ValueError, match=r"\[HS200\].*\"mine\" \(its groups: chunks, entities\)"):
        [*spacy_hoseq.noun_chunks(doc, "mine")]


def test_noun_chunks_of_a_span(nlp):
    doc = nlp(TEXT)
    assert phrases(doc[1:]) == PHRASES[1:]
    for part, expected in ((doc[1:], PHRASES[1:]), (doc[:6], PHRASES[:1])):
        assert [doc[start:end].text for start, end, _ in doc.noun_chunks_iterator(part)] == expected
    assert phrases(doc[:3]) == PHRASES[:1] and phrases(doc[:2]) == phrases(doc[1:6]) == []


def test_a_parse_goes_first(nlp):
    annotation = dict(heads=[1, 2, 2], deps="det nsubj ROOT".split(), pos="DET NOUN VERB".split())
    doc = Doc(nlp.vocab, words=["The", "dog", "barks"], **annotation)
    doc.spans["chunks"] = [Span(doc, 2, 3, "NP")]
    assert phrases(doc) == ["The dog"] == [span.text for span in spacy_hoseq.noun_chunks(doc)]


def test_without_chunks_it_is_an_error_as_before(nlp):
    assert phrases(Doc(nlp.vocab)) == []
    with pytest.raises(ValueError, match="E029"):
        phrases(Doc(nlp.vocab, words=["dog"]))
    vocab = Vocab()
    offer_noun_chunks(vocab, "mine")
    doc = Doc(vocab, words=["dog"])
    with pytest.raises(NotImplementedError, match="E894"):
        phrases(doc)
    doc.spans["mine"] = [Span(doc, 0, 1, "NP")]
    assert phrases(doc) == ["dog"]


def test_merge_noun_chunks(nlp):
    merged = spacy.blank("en")
    for name in ("hoseq_tagger", "hoseq_chunker"):
        merged.add_pipe(name, source=nlp)
    merged.add_pipe("hoseq_merge_noun_chunks")
    doc = merged(TEXT)
    expected = [("The old man", "NN"), ("saw", "VBD"), ("two big dogs", "NNS")]
    expected += [("in", "IN"), ("London", "NNP"), (".", ".")]
    assert [(token.text, token.tag_) for token in doc] == expected
    group = doc.spans["chunks"]
    assert phrases(doc) == PHRASES and len(group.attrs["scores"]) == len(group)


def test_merge_leaves_docs_without_noun_chunks():
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_merge_noun_chunks")
    assert len(nlp("The old man")) == 3
