"""`hoseq_chunker`: what it learns, and what it finds, held against all ways to chunk a sentence."""

import warnings

import numpy as np
import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..builders import doc_of
from .chunker_helpers import (
    NAME,
    REPRESENTATIONS,
    TEXTS,
    TYPES,
    Enumerated,
    chunker_of,
    examples_of,
    gold,
    on,
    random_chunker,
    random_docs,
    ready,
    scores_on,
    through,
    trained,
)


def test_loss_is_that_of_the_definition():
    """Minus the log-probability of the gold chunks, among all ways to chunk the sentences."""
    nlp = random_chunker(scale=0.5)
    oh = ("oh the cat .", "U D N .", [(1, 3, "NP")])
    corpus = [("dogs run .", "N V .", [(0, 1, "NP"), (1, 2, "VP")]), oh]
    expected = 0.0
    for text, _, chunks in corpus:
        found = Enumerated(nlp, doc_of(nlp, text))
        expected -= np.log(found.p[found.chunkings.index(tuple(chunks))])
    loss = chunker_of(nlp).update(examples_of(nlp, corpus))[NAME]
    assert loss == pytest.approx(expected, rel=1e-3)


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
            wanted = [expected.probability(chunk) for chunk in on(found)]
            assert scores_on(found) == pytest.approx(wanted, abs=1e-6)
            marginals = found._.hoseq_marginals[NAME]
            assert marginals["labels"] == expected.tags
            assert marginals["probabilities"] == pytest.approx(expected.marginals(), abs=1e-6)
            assert marginals["probabilities"].sum(axis=1) == pytest.approx(1, abs=1e-6)


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
            scores = scores_on(doc)
            assert len(scores) == len(on(doc)) and all(0 <= s <= 1 + 1e-6 for s in scores)


def test_spans_that_are_added_have_no_score():
    """Spans that a user adds later have no score; those before keep theirs."""
    doc = ready()(TEXTS[0])
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


# What `hoseq_chunker` takes as gold chunks


WORDS = [("ab", "T", [(0, 1, "NP")]), ("cd ef", "T T", [(0, 2, "VP")])]


def small(representation="bilou", **config):
    config |= {"representation": representation}
    return random_chunker(examples=lambda nlp: examples_of(nlp, WORDS), **config)


def pieces(nlp, text, chunks=None, **annotation):
    """A Doc without spaces, cut into words at "|"."""
    words = text.split("|")
    doc = Doc(nlp.vocab, words=words, spaces=[False] * len(words), **annotation)
    if chunks is not None:
        doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def loss_of(nlp, *examples):
    return chunker_of(nlp).update(list(examples))[NAME]


def test_docs_with_and_without_the_span_group():
    """The latter add nothing to the loss, and do not keep the others from being learnt."""
    nlp = small()
    known, unknown = doc_of(nlp, "ab cd", chunks=[(0, 1, "NP")]), doc_of(nlp, "ef ef ab")
    expected = loss_of(nlp, Example(doc_of(nlp, "ab cd"), known))
    examples = [Example(doc_of(nlp, "ef ef ab"), unknown), Example(doc_of(nlp, "ab cd"), known)]
    assert loss_of(nlp, *examples) == pytest.approx(expected, rel=1e-5)
    mixed = trained(
        examples=lambda nlp: [
            *examples_of(nlp),
            *(Example(doc_of(nlp, text), doc_of(nlp, text)) for text in TEXTS),
        ]
    )
    assert through(mixed)[0] == gold()


MISALIGNED = [  # predicted, gold, gold chunks, what is known
    ("ab|cd|ef", "a|b|cd|ef", [(0, 2, "NP"), (2, 3, "NP")], "U-NP U-NP O"),
    ("ab|cd|ef", "a|b|cd|ef", [(0, 3, "NP")], "B-NP L-NP O"),
    ("ab|cd|ef", "a|b|cd|ef", [(1, 3, "NP")], "_ _ O"),
    ("ab|cd|ef", "a|b|cd|ef", [(0, 1, "NP"), (3, 4, "VP")], "_ O U-VP"),
    ("ab|cd|ef", "a|b|cd|ef", [], "O O O"),
    ("ab|cd|ef", "a|b|cd|ef", None, "_ _ _"),
    ("a|b|cd|ef", "ab|cd|ef", [(0, 1, "NP"), (1, 3, "VP")], "B-NP L-NP B-VP L-VP"),
    ("abc|def", "ab|cd|ef", [(0, 1, "NP"), (2, 3, "VP")], "_ _"),
    ("ab|cd|ef", "abcd|ef", [(0, 1, "NP")], "B-NP L-NP O"),
]


@pytest.mark.parametrize("predicted, reference, chunks, known", MISALIGNED)
def test_gold_on_other_tokens(predicted, reference, chunks, known):
    nlp = small()
    expected = Enumerated(nlp, pieces(nlp, predicted)).given_tags(known)
    found = loss_of(nlp, Example(pieces(nlp, predicted), pieces(nlp, reference, chunks)))
    assert found == pytest.approx(expected.loss, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "spans, problem",
    [
        ([(0, 2, "NP"), (1, 3, "NP")], "overlaps"),
        ([(0, 2, "NP"), (1, 2, "VP")], "'b' .VP, tokens 1 to 2 of 'a b c d.*overlaps"),
        ([(2, 3, "NP"), (2, 3, "VP")], "overlaps"),
        ([(0, 1, "NP"), (1, 2, "")], "has no label"),
        ([(1, 3, "NP")], "crosses the end of a sentence"),
    ],
)
def test_spans_that_are_no_chunks(spans, problem):
    nlp = trained(n_updates=0)
    reference = doc_of(nlp, "a b c d", chunks=spans, sent_starts=[1, 0, 1, 0])
    for predicted in ("a b c d", "ab c d"):
        examples = [Example(doc_of(nlp, predicted), reference)]
        with pytest.raises(ValueError, match=rf"\[HS083\].*{problem}"):
            nlp.initialize(lambda examples=examples: examples)
        with pytest.raises(ValueError, match=rf"\[HS083\].*{problem}"):
            nlp.update(examples)


@pytest.mark.parametrize(
    "chunks, known, n",
    [
        ([(0, 2, "PP")], "_ _ O", 2),
        ([(0, 1, "NP"), (1, 3, "PP")], "U-NP _ _", 2),
        ([(1, 2, "X"), (2, 3, "PP")], "O _ _", 2),
    ],
)
def test_unknown_types_are_not_annotated(chunks, known, n):
    nlp = small()
    expected = Enumerated(nlp, doc_of(nlp, "ab cd ef")).given_tags(known)
    with pytest.warns(UserWarning, match=rf"\[HW001\] {n} tokens .*-PP"):
        found = loss_of(
            nlp, Example(doc_of(nlp, "ab cd ef"), doc_of(nlp, "ab cd ef", chunks=chunks))
        )
    assert found == pytest.approx(expected.loss, rel=1e-4, abs=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss_of(nlp, *examples_of(nlp, WORDS))


CUT = [  # gold chunks, sentence starts of the predicted doc, what is known in each sentence
    ([(0, 4, "NP")], [1, 0, 1, 0], ["B-NP _", "_ L-NP"]),
    ([(0, 3, "NP")], [1, 1, 0, 0], ["_", "_ L-NP O"]),
    ([(0, 4, "NP")], [1, 1, 1, 1], ["_", "_", "_", "_"]),
    ([(1, 3, "VP")], [1, 0, 1, 0], ["O _", "_ O"]),
    ([(0, 2, "NP"), (2, 4, "VP")], [1, 0, 1, 0], ["B-NP L-NP", "B-VP L-VP"]),
]


@pytest.mark.parametrize("chunks, starts, known", CUT)
def test_predicted_sentences_that_cut_a_chunk(chunks, starts, known):
    """The reference has no sentences; tokens whose tag is not possible there count as not annotated."""
    nlp = small()
    predicted = doc_of(nlp, "ab cd ef ab", sent_starts=starts)
    pairs = zip([span.as_doc() for span in predicted.sents], known, strict=True)
    expected = sum(Enumerated(nlp, part).given_tags(tags).loss for part, tags in pairs)
    found = loss_of(nlp, Example(predicted, doc_of(nlp, "ab cd ef ab", chunks=chunks)))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
