"""Why a label: sums of named features against the scores, the best other labelling against enumeration."""

import numpy as np
import pytest
import spacy

from spacy_hoseq.inspection import Reading, explain, explain_span, explanations
from spacy_hoseq.layers.shim import weights_in

from ..components import bidirectional_helpers, chunker_helpers, helpers
from ..components.helpers import doc_of, tagger_of
from .texts import table_of

TEXT = "the cat runs home"
VARIANTS = ["max_margin", "likelihood of patterns", "all patterns"]


@pytest.fixture(scope="module", params=VARIANTS)
def nlp(request):
    nlp = helpers.blank(request.param)
    optimizer = nlp.initialize(lambda: helpers.examples_of(nlp))
    helpers.train(nlp, 4, optimizer=optimizer)
    return nlp


def best_of(table, t, label):
    return table.scores[table.labellings[:, t] == label].max()


def test_all_words_together(nlp):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    assert list(explanations(pipe, doc)) == [explain(pipe, doc, t) for t in range(4)]
    (bare,) = explanations(pipe, doc, [2], reasons=False)
    assert bare[:8] == explain(pipe, doc, 2)[:8] and not bare.against and not bare.terms


@pytest.mark.parametrize("t", range(4))
def test_sum_of_reasons_is_the_difference(nlp, t):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    table = table_of(pipe, doc)
    label = int(table.best_labels[t])
    others = [y for y in range(len(pipe.labels)) if y != label]
    found = explain(pipe, doc, t)
    runner_up = max(others, key=lambda y: best_of(table, t, y))
    assert (found.label, found.against) == (pipe.labels[label], pipe.labels[runner_up])
    for other in others:
        found = explain(pipe, doc, t, pipe.labels[other])
        expected = table.best - best_of(table, t, other)
        assert found.difference == pytest.approx(expected, abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(expected, abs=1e-4)
        p = table.marginals[t]
        assert (found.p, found.p_against) == pytest.approx((p[label], p[other]))
        rows = [[pipe.labels.index(name) for name in names] for names in (found.labels, found.others)]
        scores = [table.scores[(table.labellings == row).all(axis=1)][0] for row in rows]
        assert scores == pytest.approx([table.best, table.best - expected], abs=1e-5) and rows[1][t] == other


def test_names_of_features(nlp):
    """Each template with what stands at its place; the weights are those of the table."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    reading = Reading(pipe, [doc])
    found = [f for word in range(4) for f in reading.features(word)]
    assert {"lower[0] = cat", "lower[-1] = the", "suffix2[0] = at", "bias"} >= {f.name for f in found if f.word == 1}
    assert {f.name for f in found if f.word == 0 and f.name.startswith("lower[-1]")} <= {"lower[-1] = <s>"}
    assert {f.looks_at for f in found if f.name == "lower[-1] = the"} == {(0,)}
    totals = np.array([sum(f.weights for f in found if f.word == t) for t in range(4)])
    assert totals == pytest.approx(reading.potentials.scores, abs=1e-5)


def test_components_explain_themselves():
    """The methods of components are the functions of this room, with `explain_span`."""
    nlp = chunker_helpers.trained("marginals", 4)
    doc = nlp(doc_of(nlp, "the old cat runs"))
    tagger, chunker = nlp.get_pipe("hoseq_tagger"), nlp.get_pipe("hoseq_chunker")
    assert tagger.explain(doc, 1) == explain(tagger, doc, 1) and chunker.explain(doc, 1) == explain(chunker, doc, 1)
    span = doc.spans["chunks"][0]
    assert chunker.explain_span(span) == explain_span(chunker, span)


def test_messages(nlp):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    with pytest.raises(ValueError, match=r'\[HS161\] .*"XX" here\. Known: \., A, D, N, R, V'):
        explain(pipe, doc, 0, "XX")
    pipe.cfg["tag_dictionary"] = {doc[1].text: ["R"]}
    pipe._labels_changed()
    try:
        for against, named in ((None, "R"), ("N", "N")):  # the only label; one that cannot stand there
            with pytest.raises(ValueError, match=rf'\[HS161\] .*"{named}" here\. Known: another label'):
                explain(pipe, doc, 1, against)
    finally:
        pipe.cfg["tag_dictionary"] = {}
        pipe._labels_changed()
    with pytest.raises(ValueError, match=r"\[HS141\] Token 4 is no word"):
        explain(pipe, doc, 4)
    layer = pipe.model.layers[0]
    features = layer.attrs["features"]
    table = features.used(layer.shims[0].extra, layer.shims[0].used_rows("table")).table
    kept = table.copy()
    table.flags.writeable = True
    explained = explanations(pipe, doc, [1])
    assert explained.gi_frame is not None
    table *= 2
    try:
        with pytest.raises(ValueError, match=r"\[HS147\] Two labellings differ by"):
            next(explained)
    finally:
        table[...] = kept
        table.flags.writeable = False


@pytest.fixture(scope="module", params=["words", "patterns", "marginals"])
def chunks(request):
    nlp = chunker_helpers.random_chunker(request.param, seed=5, scale=0.5)
    for _, component in nlp.pipeline:
        for shim in weights_in(component.model):
            if "table" in shim.parameters:
                shim.parameters["table"].values[-1] = 0  # no feature has no weight
    return nlp


def test_chunk_and_what_comes_next(chunks):
    """Of chunkers that listen, the features are labels with their probabilities."""
    nlp, pipe = chunks, chunker_helpers.chunker_of(chunks)
    doc = doc_of(nlp, TEXT)
    for name, component in nlp.pipeline:
        doc = component(doc) if name != pipe.name else doc
    reading = Reading(pipe, [doc])
    features = [f for word in range(4) for f in reading.features(word)]
    totals = np.array([sum([f.weights for f in features if f.word == t]) for t in range(4)])
    assert totals == pytest.approx(reading.potentials.scores, abs=1e-4)
    if len(nlp.pipe_names) > 1:
        names = " ".join(f.name for f in features)
        assert "upstream[0] = " in names and "= label " not in names
    table = table_of(pipe, doc)
    every = chunker_helpers.all_chunkings(4)
    tags = [chunker_helpers.tags_by_hand(c, 4, "bilou") for c in every]
    rows = np.array([[pipe.tags.index(tag) for tag in row] for row in tags])
    scores = np.array([table.scores[(table.labellings == row).all(axis=1)][0] for row in rows])
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = every[int(scores.argmax())]
    for chunk in {chunk for chunks in every for chunk in chunks if chunk[1] - chunk[0] < 4}:
        first, end, label = chunk
        span = chunker_helpers.Span(doc, first, end, label)
        has = np.array([chunk in chunks for chunks in every])
        found = explain_span(pipe, span)
        with_it, without = scores[has].max(), scores[~has].max()
        expected = with_it - (without if chunk in best else scores.max())
        assert found.difference == pytest.approx(expected, abs=1e-4), chunk
        assert sum(term.value for term in found.terms) == pytest.approx(expected, abs=1e-3)
        assert (found.p, found.p_against) == pytest.approx((p[has].sum(), p[~has].sum()), abs=1e-6)


def test_chunk_against_another_label(chunks):
    nlp, pipe = chunks, chunker_helpers.chunker_of(chunks)
    doc = doc_of(nlp, TEXT)
    for name, component in nlp.pipeline:
        doc = component(doc) if name != pipe.name else doc
    one, two = (chunker_helpers.Span(doc, 0, 2, label) for label in ("NP", "VP"))
    a, b = explain_span(pipe, one, "VP"), explain_span(pipe, two, "NP")
    assert a.difference == pytest.approx(-b.difference) and a.labels == b.others
    assert (a.p, a.p_against) == (b.p_against, b.p)
    none = explain_span(pipe, one, "O")
    table = table_of(pipe, doc)
    outside = (table.labellings[:, :2] == pipe.tags.index("O")).all(axis=1)
    assert none.others[:2] == ["O", "O"]
    assert none.p_against == pytest.approx(np.exp(table.scores[outside] - table.log_z).sum(), abs=1e-6)
    with pytest.raises(ValueError, match=r"\[HS140\] .*hoseq_tagger"):
        explain_span(spacy.blank("xx").add_pipe("hoseq_tagger"), one)
    with pytest.raises(ValueError, match=r'\[HS161\] .*"XX" here\. Known: NP, VP'):
        explain_span(pipe, one, "XX")


def test_decisions():
    """Local probabilities, given what was decided before; without a feature, by the classifier itself."""
    nlp = bidirectional_helpers.ready()
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    doc = doc_of(nlp, "the old dog sees a cat .")
    kept, pipe.cfg["save_decisions"] = pipe.cfg["save_decisions"], True
    expected = pipe(doc.copy())._.hoseq_decisions[pipe.name]
    pipe.cfg["save_decisions"] = kept
    names = set()
    for t in range(len(doc)):
        found = explain(pipe, doc, t)
        turn = found.turn
        assert turn == expected["order"][t] and found.label == expected["labels"][t]
        assert found.p == pytest.approx(expected["probabilities"][t], abs=1e-6)
        log_odds = np.log(found.p / found.p_against)
        assert found.difference == pytest.approx(log_odds, abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(log_odds, abs=1e-4)
        names |= {term.name for term in found.terms}
        differs = [i for i, pair in enumerate(zip(found.labels, found.others, strict=True)) if len(set(pair)) > 1]
        assert differs == [t] and (found.labels[t], found.others[t]) == (found.label, found.against)
    assert any(name.startswith("label[") for name in names) and "lower[0] = dog" in names
