"""Sets that hold the right answer: by their definition, and how often they do."""

import numpy as np
import pytest
import spacy

from spacy_hoseq.inspection import Conformal, Reading, calibrate, span_certainties
from spacy_hoseq.inspection.conformal import oddness, ranks_kept

from ..components import chunker_helpers
from ..components.helpers import doc_of, tagger_of
from . import test_calibration
from .texts import table_of


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", config={"objective": "log_likelihood"})
    train = test_calibration.examples(nlp, 40, 0)
    nlp.initialize(lambda: train)
    for _ in range(4):
        nlp.update(train)
    return nlp


def threshold(scores, alpha, n=None):
    conformal = Conformal.__new__(Conformal)
    conformal.scores, conformal.sizes = {"labels": scores}, {"labels": len(scores) if n is None else n}
    return conformal.threshold(alpha)


def test_threshold():
    scores = np.array([0.1, 0.2, 0.3, 0.4])
    assert threshold(scores, 0.5) == 0.3 and threshold(scores, 0.2) == 0.4 and threshold(scores, 0.1) == np.inf
    with pytest.raises(ValueError, match=r"\[HS145\] There are 0 examples"):
        threshold(np.zeros(0), 0.1)
    with pytest.raises(ValueError, match=r"\[HS027\] .*alpha"):
        threshold(scores, 1.0)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_coverage_of_twenty_divisions(nlp, alpha):
    """Of labellings, whose scores all differ, what is promised; of labels not less. Sets are not everything."""
    every = test_calibration.examples(nlp, 300, 5)
    pipe = tagger_of(nlp)
    covered, whole, sizes = [], [], []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(every))
        conformal = Conformal(pipe, [every[i] for i in order[:150]])
        rest = [every[i] for i in order[150:]]
        docs = [eg.predicted for eg in rest]
        for eg, sets in zip(rest, conformal.labels(docs, alpha), strict=True):
            covered += [token.tag_ in labels for token, labels in zip(eg.reference, sets, strict=True)]
            sizes += [len(labels) for labels in sets]
        limit = conformal.threshold(alpha, "labellings")
        whole.append(float((oddness(pipe, rest)["labellings"] <= limit).mean()))
    assert 1 - alpha - 0.015 < np.mean(covered) < 1 - alpha + 0.12  # four words only: many scores are equal
    assert np.mean(whole) == pytest.approx(1 - alpha, abs=0.025)
    assert 1 <= np.mean(sizes) < 3


def test_sets_are_those_of_the_definition(nlp):
    conformal = Conformal(tagger_of(nlp), test_calibration.examples(nlp, 60, 6))
    doc = doc_of(nlp, "the dog sleep")
    table = table_of(tagger_of(nlp), doc)
    p = Reading(tagger_of(nlp), [doc]).posterior.nodes
    limit = conformal.threshold(0.1)
    (sets,) = conformal.labels([doc], 0.1)
    names = tagger_of(nlp).labels
    for row, labels in zip(p, sets, strict=True):
        expected = {names[y] for y in np.flatnonzero(1 - row <= limit)} or {names[int(row.argmax())]}
        assert set(labels) == expected and labels[0] == names[int(row.argmax())]
    limit = conformal.threshold(0.1, "labellings")
    ((found,),) = conformal.labellings([doc], 0.1)
    expected = {tuple(names[y] for y in row) for row in table.labellings[table.scores >= table.best - limit]}
    assert set(map(tuple, found)) == expected


def test_chunks():
    nlp = chunker_helpers.random_chunker("words", seed=3, scale=0.4)
    pipe = chunker_helpers.chunker_of(nlp)
    conformal = Conformal(pipe, chunker_helpers.examples_of(nlp))
    doc = doc_of(nlp, "she gave him a cat .")
    for alpha in (0.2, 0.6):
        (found,) = conformal.chunks([doc], alpha)
        least = 1 - conformal.threshold(alpha, "chunks")
        spans = [chunker_helpers.Span(doc, i, j, y) for i in range(6) for j in range(i + 1, 7) for y in ("NP", "VP")]
        p = [sure.exact for sure in span_certainties(pipe, spans, entropy=False)]
        expected = {(s.start, s.end, s.label_) for s, q in zip(spans, p, strict=True) if q >= least - 1e-12}
        assert {chunk for chunk, _ in found} == expected
        assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    gold = oddness(pipe, chunker_helpers.examples_of(nlp))["chunks"]
    assert len(gold) == sum(len(chunks) for _, _, chunks in chunker_helpers.CORPUS)


def test_sets_of_a_calibrated_component(nlp, tmp_path):
    """What is kept is saved and loaded; training goes on without it."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, "the dog sleep")
    saved = pipe.to_bytes()
    with pytest.raises(ValueError, match=r"\[HS158\]"):
        pipe.prediction_sets([doc], 0.1)
    calibrate(nlp, test_calibration.examples(nlp, 60, 6))
    conformal = Conformal(pipe, test_calibration.examples(nlp, 60, 6))
    assert conformal.threshold(0.1) <= Conformal.of(pipe).threshold(0.1) <= conformal.threshold(0.1) + 2e-7
    assert list(pipe.prediction_sets([doc], 0.1)) == list(conformal.labels([doc], 0.1))
    assert list(pipe.prediction_sets([doc], 0.2, "labellings")) == list(conformal.labellings([doc], 0.2))
    for kind in ("words", "chunks"):  # of a tagger
        with pytest.raises(ValueError, match=rf"\[HS027\] .*kind.* {kind}. Expected labels, labellings"):
            pipe.prediction_sets([doc], 0.1, kind)
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    again = tagger_of(loaded)
    for kind, kept in pipe.cfg["conformal"].items():
        assert again.cfg["conformal"][kind]["n"] == kept["n"]
        assert again.cfg["conformal"][kind]["scores"] == pytest.approx(kept["scores"], abs=1e-12)
    assert list(again.prediction_sets([doc_of(loaded, "the dog sleep")], 0.1)) == list(pipe.prediction_sets([doc], 0.1))
    loaded.update(test_calibration.examples(loaded, 4, 7))
    with pytest.raises(ValueError, match=r"\[HS158\]"):
        again.prediction_sets([doc], 0.1)
    assert "conformal" not in pipe.from_bytes(saved).cfg


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 1001, 5003, 20_000])
def test_thinned_scores_promise_not_less(n):
    scores = np.sort(np.random.default_rng(n).random(n))
    ranks = ranks_kept(n)
    assert len(ranks) == min(n, 1000) and len(set(ranks.tolist())) == len(ranks) and (n == 0 or ranks[-1] == n)
    for alpha in (0.001, 0.01, 0.05, 0.1, 0.5, 0.9) if n else ():
        whole, thin = threshold(scores, alpha), threshold(scores[ranks - 1], alpha, n)
        assert whole <= thin and (thin == np.inf) == (whole == np.inf)
        if np.isfinite(whole):
            assert np.searchsorted(scores, thin) - np.searchsorted(scores, whole) <= -(-n // 1000)


def test_of_chunks():
    nlp = chunker_helpers.trained("words", 4)
    pipe = chunker_helpers.chunker_of(nlp)
    calibrate(nlp, chunker_helpers.examples_of(nlp), [pipe.name])
    doc = doc_of(nlp, "she gave him the dog .")  # a text that is no example: its probabilities are no quantile
    (found,) = pipe.prediction_sets([doc], 0.5, "chunks")
    (expected,) = Conformal(pipe, chunker_helpers.examples_of(nlp)).chunks([doc], 0.5)
    assert found == expected
