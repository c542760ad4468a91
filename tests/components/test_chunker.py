"""`hoseq_chunker`: what it learns, and what it finds, held against all ways to chunk a sentence."""


import numpy as np
import pytest
from spacy.tokens import Doc, Span

from .chunker_helpers import (
    CORPUS,
    NAME,
    REPRESENTATIONS,
    TEXTS,
    TYPES,
    Enumerated,
    chunker_of,
    doc_of,
    examples_of,
    on,
    random_chunker,
    random_docs,
    ready,
    scores_on,
    trained,
)


def given_tags(nlp, corpus=CORPUS):
    return examples_of(nlp, corpus, given_tags=True)


def test_tags_that_are_given_are_features():
    """Chunks of words never seen, from their tags."""
    nlp = trained("tags", 30, given_tags)
    for text, tags, chunks in CORPUS:
        assert on(nlp(doc_of(nlp, text, tags=tags))) == chunks
    assert on(nlp(doc_of(nlp, "my lazy fish saw a bird .", tags="D A N V D N ."))) == CORPUS[0][2]


def test_loss_is_that_of_the_definition():
    """Minus the log-probability of the gold chunks, among all ways to chunk the sentences."""
    nlp = random_chunker(scale=0.5)
    corpus = [("dogs run .", "N V .", [(0, 1, "NP"), (1, 2, "VP")]), ("oh the cat .", "U D N .", [(1, 3, "NP")])]
    expected = 0.0
    for text, _, chunks in corpus:
        found = Enumerated(nlp, doc_of(nlp, text))
        expected -= np.log(found.p[found.chunkings.index(tuple(chunks))])
    assert chunker_of(nlp).update(examples_of(nlp, corpus))[NAME] == pytest.approx(expected, rel=1e-3)


def short_docs(nlp):
    """Docs of one sentence, short enough to enumerate."""
    docs = random_docs(nlp, 12, longest=6)
    return [doc for doc in docs if 0 < len(doc) and not any(t.is_sent_start for t in doc[1:])]


@pytest.mark.long
@pytest.mark.parametrize("model", ["words", "patterns"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_chunks_and_scores_are_the_enumerated_ones(representation, model):
    for seed, scale in ((0, 1.0), (1, 3.0), (2, 0.1)):
        nlp = random_chunker(model, seed, scale, representation=representation, save_marginals=True)
        for doc in short_docs(nlp):
            expected = Enumerated(nlp, doc)
            found = chunker_of(nlp)(doc.copy())
            assert on(found) == expected.best()[0][0]
            assert scores_on(found) == pytest.approx([expected.probability(c) for c in on(found)], abs=1e-6)
            marginals = found._.hoseq_marginals[NAME]
            assert marginals["labels"] == expected.tags
            assert marginals["probabilities"] == pytest.approx(expected.marginals(), abs=1e-6)
            assert marginals["probabilities"].sum(axis=1) == pytest.approx(np.ones(len(doc)), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("model", ["words", "patterns"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_best_chunkings_are_the_enumerated_ones(representation, model):
    nlp = random_chunker(model, 3, representation=representation)
    for doc in short_docs(nlp):
        expected = Enumerated(nlp, doc)
        (found,) = chunker_of(nlp).top_k([doc], 6)
        chunkings, scores = expected.best(6)
        assert [result.score for result in found] == pytest.approx(scores.tolist(), abs=1e-4)
        assert [result.spans for result in found] == chunkings
        assert found[0].spans == on(chunker_of(nlp)(doc.copy()))


def test_features_look_beyond_sentences_but_chunks_do_not():
    """Every sentence of a long Doc: chunks do not cross, and the best chunking has the score of its tags."""
    for representation in REPRESENTATIONS:
        nlp = random_chunker("patterns", 7, representation=representation)
        docs = random_docs(nlp, 40)
        for doc in chunker_of(nlp).pipe(docs):
            before = 0
            for span in doc.spans["chunks"]:
                assert before <= span.start < span.end <= len(doc) and span.label_ in TYPES
                assert not any(token.is_sent_start for token in span[1:])
                before = span.end
            assert len(scores_on(doc)) == len(on(doc)) and all(0 <= s <= 1 + 1e-6 for s in scores_on(doc))


def test_spans_that_are_added_have_no_score():
    """Spans that a user adds later have no score; those before keep theirs."""
    nlp = ready()
    doc = nlp(TEXTS[0])
    before = scores_on(doc)
    doc.spans["chunks"].append(Span(doc, 6, 7, "NP"))
    assert len(on(doc)) == 4 and scores_on(doc) == before


def test_long_docs_stay_in_order(monkeypatch):
    """A Doc of more words than are read at once comes behind those before it."""
    monkeypatch.setattr("spacy_hoseq.components.chunker.WORDS", 3)
    nlp = ready()
    texts = ("the old", "the old dog sees a cat", "a cat", "the dog sees the cat", "a")
    docs = [Doc(nlp.vocab, words=text.split()) for text in texts]
    assert [doc.text for doc in chunker_of(nlp).pipe(docs)] == [doc.text for doc in docs]
