"""Chunks that are right in expectation, against all ways to chunk a sentence."""

import numpy as np
import pytest
from spacy.cli.find_threshold import find_threshold
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hoseq.components.chunker import THRESHOLDS
from spacy_hoseq.components.expected_spans import probable_chunks
from spacy_hoseq.components.targets.chunk_tags import FoundChunks

from ..builders import doc_of
from ..decoders.answers.posteriors import posterior_of
from .chunker_helpers import (
    NAME,
    TEXTS,
    Enumerated,
    blank,
    chunker_of,
    on,
    random_chunker,
    random_docs,
    ready,
    scores_on,
)

TEXT = "the old dog runs"


@pytest.fixture(scope="module", params=["iob2", "bilou", "start_end", "patterns"])
def nlp(request):
    if request.param == "patterns":
        return random_chunker("patterns", seed=4, scale=0.6)
    return random_chunker("words", seed=2, scale=0.6, representation=request.param)


@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.1, 0.3, 0.5, 0.8, 0.9995, 1.0])
def test_best_set_of_chunks(nlp, threshold):
    """The sum of p - threshold, over all sets of chunks that do not overlap, p by enumeration."""
    pipe, doc = chunker_of(nlp), doc_of(nlp, TEXT)
    every = Enumerated(nlp, doc)
    values = [sum(every.probability(c) - threshold for c in chunks) for chunks in every.chunkings]
    pipe.cfg["span_threshold"] = threshold
    try:
        found = pipe(doc)
    finally:
        pipe.cfg["span_threshold"] = None
    value = sum(every.probability(chunk) - threshold for chunk in on(found))
    assert value == pytest.approx(max(values), abs=1e-6)
    expected = [every.probability(chunk) for chunk in on(found)]
    assert scores_on(found) == pytest.approx(expected, abs=1e-6)


def test_best_expected_f(nlp):
    """With F / 2 for a threshold no set has a larger ratio of expectations, 2 E[right] / (found + E[gold])."""
    pipe, doc = chunker_of(nlp), doc_of(nlp, TEXT)
    every = Enumerated(nlp, doc)
    gold = sum(p * len(chunks) for p, chunks in zip(every.p, every.chunkings, strict=True))

    def f_of(chunks):
        return 2 * sum(every.probability(chunk) for chunk in chunks) / (len(chunks) + gold)

    best = max(map(f_of, every.chunkings))
    pipe.cfg["span_threshold"] = best / 2
    try:
        found = on(pipe(doc))
    finally:
        pipe.cfg["span_threshold"] = None
    assert f_of(found) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("least", [0.0, 0.05, 0.4])
def test_all_probable_chunks(nlp, least):
    pipe, doc = chunker_of(nlp), doc_of(nlp, TEXT)
    every = Enumerated(nlp, doc)
    potentials = pipe.read([doc, doc_of(nlp, "old cat")]).potentials
    place = posterior_of(potentials), pipe.tags, pipe.cfg["representation"], least
    found = list(probable_chunks(*place))
    every_chunk = {chunk for chunks in every.chunkings for chunk in chunks}
    possible = {chunk for chunk in every_chunk if every.probability(chunk) >= max(least, 1e-12)}
    assert {(i, i + size, label) for i, size, label, _ in found if i < 4} == possible
    for first, size, label, p in found:
        if first < 4:
            assert p == pytest.approx(every.probability((first, first + size, label)), abs=1e-9)
    longest = list(probable_chunks(*place, 2))
    assert longest == [chunk for chunk in found if chunk[1] <= 2]


def test_no_probability_is_above_one():
    """Sums of almost all that there is, of large weights, are rounded up as well as down."""
    for seed in range(4):
        pipe = chunker_of(random_chunker("words", seed=seed, scale=10.0))
        answers = pipe.read(random_docs(pipe)).posterior
        assert max(p for _, _, _, p in probable_chunks(answers, pipe.tags, "bilou", 0.1)) <= 1


def test_in_a_pipeline():
    """Many docs at once, marginals, and the setting is saved."""
    nlp = random_chunker("words", seed=2, scale=0.6, span_threshold=0.3, save_marginals=True)
    pipe = chunker_of(nlp)
    docs = [doc_of(nlp, text) for text in TEXTS]
    together = [on(doc) for doc in pipe.pipe(docs)]
    assert together == [on(pipe(doc_of(nlp, text))) for text in TEXTS] and any(together)
    marginals = docs[0]._.hoseq_marginals["hoseq_chunker"]["probabilities"]
    assert marginals.sum(axis=1) == pytest.approx(np.ones(len(docs[0])))
    again = blank(span_threshold=0.3).get_pipe("hoseq_chunker").from_bytes(pipe.to_bytes())
    assert again.cfg["span_threshold"] == 0.3
    with pytest.raises(ValueError, match=r"\[HS027\] .*span_threshold"):
        blank(span_threshold=1.5)


def test_find_threshold_of_spacy(tmp_path):
    """It tries values from 0 to 1, both ends counted in."""
    nlp = random_chunker("words", seed=2, scale=0.6)
    nlp.to_disk(tmp_path / "model")
    docs = [doc_of(nlp, text) for text in TEXTS]
    DocBin(docs=list(chunker_of(nlp).pipe(docs))).to_disk(tmp_path / "dev.spacy")
    paths = tmp_path / "model", tmp_path / "dev.spacy"
    place = NAME, "span_threshold", "spans_chunks_f"
    best, score, scores = find_threshold(*paths, *place, n_trials=3, silent=True)
    assert set(scores) == {0.0, 0.5, 1.0} and score == scores[best] > scores[1.0]


def test_threshold_of_nothing_on_a_long_text():
    """As many chunks as there are pairs of words are not tried (300 words took 43 seconds)."""
    nlp = random_chunker("words", seed=2, scale=0.6, span_threshold=0.0, save_marginals=True)
    doc = nlp(" ".join(TEXTS * 40))
    assert len(doc) > 300 and min(scores_on(doc)) >= 0.001


def test_threshold_at_the_end_of_those_that_are_tried(monkeypatch):
    """The best one has a neighbour on one side only."""
    nlp = ready()
    chunker = chunker_of(nlp)
    doc = nlp(TEXTS[0])
    right = [*chunker.chunks(chunker.read([doc]))]
    nothing = [FoundChunks([], None)]
    last = THRESHOLDS[-1]
    monkeypatch.setattr(chunker, "chunks", lambda _, least: right if least == last else nothing)
    monkeypatch.setitem(chunker.cfg, "span_threshold", 0.5)
    assert chunker.fit_threshold([Example(doc, doc)]) == last


def test_improbable_chunks_are_never_chosen():
    chunker = chunker_of(random_chunker("words", seed=1, scale=6.0))
    (found,) = chunker.chunks(chunker.read([doc_of(chunker, f"{TEXT} " * 3)]), 0.0)
    assert len(found.items) and (found.probabilities >= 0.001).all()
