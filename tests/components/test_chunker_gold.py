"""What `hoseq_chunker` takes as gold chunks. Held against the definition of the loss: minus the log-probability of all
ways to chunk the text that agree with what is known."""

import warnings

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

from .chunker_helpers import (
    CORPUS,
    NAME,
    REPRESENTATIONS,
    TEXTS,
    Enumerated,
    chunker_of,
    doc_of,
    examples_of,
    gold,
    random_chunker,
    through,
    trained,
)

WORDS = [("ab", "T", [(0, 1, "NP")]), ("cd ef", "T T", [(0, 2, "VP")])]


def small(representation="bilou", **config):
    return random_chunker(examples=lambda nlp: examples_of(nlp, WORDS), representation=representation, **config)


def pieces(nlp, text, chunks=None, **annotation):
    """A Doc without spaces, cut into words at "|"."""
    words = text.split("|")
    doc = Doc(nlp.vocab, words=words, spaces=[False] * len(words), **annotation)
    if chunks is not None:
        doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def loss_of(nlp, *examples):
    return chunker_of(nlp).update(list(examples))[NAME]


@pytest.mark.parametrize("objective", ["perceptron", "max_margin", "log_likelihood"])
def test_nothing_is_learnt_without_the_span_group(objective):
    nlp = trained(n_updates=2, objective=objective, average=False)
    before = chunker_of(nlp).model.to_bytes()
    raw = [
        Example(doc_of(nlp, text), doc_of(nlp, text, chunks, key="other", ents=["O"] * len(text.split())))
        for text, _, chunks in CORPUS
    ]
    assert nlp.update(raw, losses={}) == {NAME: 0.0}
    assert chunker_of(nlp).model.to_bytes() == before


def test_docs_with_and_without_the_span_group():
    """The latter add nothing to the loss, and do not keep the others from being learnt."""
    nlp = small()
    known, unknown = doc_of(nlp, "ab cd", [(0, 1, "NP")]), doc_of(nlp, "ef ef ab")
    expected = loss_of(nlp, Example(doc_of(nlp, "ab cd"), known))
    both = loss_of(nlp, Example(doc_of(nlp, "ef ef ab"), unknown), Example(doc_of(nlp, "ab cd"), known))
    assert both == pytest.approx(expected, rel=1e-5)
    mixed = trained(
        examples=lambda nlp: [*examples_of(nlp), *(Example(doc_of(nlp, text), doc_of(nlp, text)) for text in TEXTS)]
    )
    assert through(mixed)[0] == gold()


def test_a_group_without_spans_says_that_there_are_none():
    nlp = trained(average=False)
    outside = [Example(doc_of(nlp, text), doc_of(nlp, text, [])) for text in TEXTS]
    for _ in range(20):
        nlp.update(outside)
    assert through(nlp)[0] == [[]] * 5


GOLD = [
    ([], "O O O"),
    ([(0, 1, "NP")], "U-NP O O"),
    ([(0, 2, "NP"), (2, 3, "NP")], "B-NP L-NP U-NP"),
    ([(1, 3, "VP"), (0, 1, "NP")], "U-NP B-VP L-VP"),
    ([(0, 3, "VP")], "B-VP I-VP L-VP"),
]


@pytest.mark.long
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("chunks, known", GOLD)
def test_gold_chunks(representation, chunks, known):
    nlp = small(representation)
    letters = dict(zip("UBIL", REPRESENTATIONS[representation], strict=True))
    known = " ".join(letters.get(tag[0], tag[0]) + tag[1:] for tag in known.split())
    expected = Enumerated(nlp, doc_of(nlp, "ab cd ef")).given_tags(known)
    assert expected.chunkings == [tuple(sorted(chunks))]
    found = loss_of(nlp, Example(doc_of(nlp, "ab cd ef"), doc_of(nlp, "ab cd ef", chunks)))
    assert found == pytest.approx(expected.loss, rel=1e-4)


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
    reference = doc_of(nlp, "a b c d", spans, sent_starts=[1, 0, 1, 0])
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
        found = loss_of(nlp, Example(doc_of(nlp, "ab cd ef"), doc_of(nlp, "ab cd ef", chunks)))
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
    parts = [span.as_doc() for span in predicted.sents]
    expected = sum(Enumerated(nlp, part).given_tags(tags).loss for part, tags in zip(parts, known, strict=True))
    found = loss_of(nlp, Example(predicted, doc_of(nlp, "ab cd ef ab", chunks)))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
