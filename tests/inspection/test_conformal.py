"""Sets that hold the right answer: by their definition, and how often they do."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.tokens import Span

from spacy_hoseq.inspection import (
    Reading,
    calibrate,
    fit_prediction_sets,
    prediction_sets,
    span_certainties,
)
from spacy_hoseq.inspection.conformal import oddness, threshold

from ..builders import doc_of, learn, tagger_of
from ..components import chunker_helpers
from . import test_calibration
from .texts import table_of


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", config={"objective": "log_likelihood"})
    return learn(nlp, test_calibration.examples(nlp, 40, 0), 4)


class Kept:
    name = "tagger"

    def __init__(self, scores, n=None):
        labels = {"n": len(scores) if n is None else n, "scores": list(scores)}
        self.cfg = {"conformal": {"labels": labels}}


def test_threshold():
    pipe = Kept([0.1, 0.2, 0.3, 0.4])
    assert [threshold(pipe, alpha) for alpha in (0.5, 0.2, 0.1)] == [0.3, 0.4, np.inf]
    with pytest.raises(ValueError, match=r"\[HS145\] There are 0 examples"):
        threshold(Kept([]), 0.1)
    with pytest.raises(ValueError, match=r"\[HS027\] .*alpha"):
        threshold(pipe, 1.0)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_coverage_of_twenty_divisions(nlp, alpha):
    """Of labellings, whose scores all differ, what is promised; of labels not less. Sets are not everything."""
    every = test_calibration.examples(nlp, 300, 5)
    pipe = tagger_of(nlp)
    covered, whole, sizes = [], [], []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(every))
        fit_prediction_sets(pipe, [every[i] for i in order[:150]])
        rest = [every[i] for i in order[150:]]
        pairs = zip(rest, prediction_sets(pipe, [eg.predicted for eg in rest], alpha), strict=True)
        for eg, sets in pairs:
            covered += [t.tag_ in labels for t, labels in zip(eg.reference, sets, strict=True)]
            sizes += [len(labels) for labels in sets]
        limit = threshold(pipe, alpha, "labellings")
        whole.append((oddness(pipe, rest)["labellings"] <= limit).mean())
    # four words only: many scores are equal
    assert 1 - alpha - 0.015 < np.mean(covered) < 1 - alpha + 0.12
    assert np.mean(whole) == pytest.approx(1 - alpha, abs=0.025)
    assert 1 <= np.mean(sizes) < 3


def test_each_gold_label_counts(nlp):
    """That of the first label, too."""
    pipe = tagger_of(nlp)
    examples = test_calibration.examples(nlp, 20, 6)
    gold = pipe.gold_ids(examples)
    assert (gold == 0).any() and len(oddness(pipe, examples)["labels"]) == (gold >= 0).sum()


def test_sets_are_those_of_the_definition(nlp):
    pipe, doc = tagger_of(nlp), doc_of(nlp, "the dog sleep")
    fit_prediction_sets(pipe, test_calibration.examples(nlp, 60, 6))
    table = table_of(pipe, doc)
    limit = threshold(pipe, 0.1)
    (sets,) = prediction_sets(pipe, [doc], 0.1)
    for row, labels in zip(Reading(pipe, [doc]).posterior.nodes, sets, strict=True):
        best = pipe.labels[int(row.argmax())]
        assert set(labels) == {pipe.labels[y] for y in np.flatnonzero(1 - row <= limit)} | {best}
        assert labels[0] == best
    ((found,),) = prediction_sets(pipe, [doc], 0.1, "labellings")
    inside = table.labellings[table.scores >= table.best - threshold(pipe, 0.1, "labellings")]
    assert set(map(tuple, found)) == {tuple(pipe.labels[y] for y in row) for row in inside}


def test_chunks():
    nlp = chunker_helpers.random_chunker("words", seed=3, scale=0.4)
    pipe, doc = chunker_helpers.chunker_of(nlp), doc_of(nlp, "she gave him a cat .")
    fit_prediction_sets(pipe, chunker_helpers.examples_of(nlp))
    bounds = itertools.combinations(range(7), 2)
    spans = [Span(doc, i, j, y) for i, j in bounds for y in ("NP", "VP")]
    sure = span_certainties(pipe, spans, entropy=False)
    for alpha in (0.2, 0.6):
        (found,) = prediction_sets(pipe, [doc], alpha, "chunks")
        least = 1 - threshold(pipe, alpha, "chunks")
        likely = [s for s, p in zip(spans, sure, strict=True) if p.exact >= least - 1e-12]
        assert {chunk for chunk, _ in found} == {(s.start, s.end, s.label_) for s in likely}
        assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    gold = oddness(pipe, chunker_helpers.examples_of(nlp))["chunks"]
    assert len(gold) == sum(len(chunks) for _, _, chunks in chunker_helpers.CORPUS)


def test_sets_of_a_calibrated_component(nlp, tmp_path):
    """What is kept is saved and loaded; training goes on without it."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, "the dog sleep")
    before = pipe.to_bytes()
    calibrate(nlp, test_calibration.examples(nlp, 60, 6))
    for kind in ("words", "chunks"):  # of a tagger
        message = rf"\[HS027\] .*kind.* {kind}. Expected labels, labellings"
        with pytest.raises(ValueError, match=message):
            prediction_sets(pipe, [doc], 0.1, kind)
    nlp.to_disk(tmp_path / "model")
    again = spacy.load(tmp_path / "model").get_pipe("hoseq_tagger")
    for kind in ("labels", "labellings"):
        found = list(prediction_sets(again, [doc], 0.1, kind))
        assert found == list(prediction_sets(pipe, [doc], 0.1, kind))
    pipe.from_bytes(before)
    again.update(test_calibration.examples(nlp, 4, 7))
    with pytest.raises(ValueError, match=r"\[HS158\]"):
        prediction_sets(again, [doc], 0.1)
