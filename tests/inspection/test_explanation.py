"""Why a label: sums of named features against the scores, and what would be without them against enumeration."""

import itertools

import numpy as np
import pytest
import spacy

from spacy_hoseq.inspection import Reading, explain, explain_decision, explain_span
from spacy_hoseq.inspection.features import features_at
from spacy_hoseq.layers.weights.shim import weights_in

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
        assert found.log_odds == pytest.approx(np.log(p[label] / p[other]))
        rows = [[pipe.labels.index(name) for name in names] for names in (found.labels, found.others)]
        scores = [table.scores[(table.labellings == row).all(axis=1)][0] for row in rows]
        assert scores == pytest.approx([table.best, table.best - expected], abs=1e-5) and rows[1][t] == other


def test_names_of_features(nlp):
    """Each template with what stands at its place; the weights are those of the table."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    reading = Reading(pipe, [doc])
    found = features_at(pipe.model.layers[0], reading, range(4))
    assert {"lower[0] = cat", "lower[-1] = the", "suffix2[0] = at", "bias"} >= {f.name for f in found if f.word == 1}
    assert {f.name for f in found if f.word == 0 and f.name.startswith("lower[-1]")} <= {"lower[-1] = <s>"}
    assert {f.looks_at for f in found if f.name == "lower[-1] = the"} == {(0,)}
    totals = np.array([sum(f.weights for f in found if f.word == t) for t in range(4)])
    assert totals == pytest.approx(reading.potentials.scores, abs=1e-5)


def test_components_explain_themselves():
    """The methods of components are the functions of this room, with `explain_span` and `explain_decision`."""
    nlp = chunker_helpers.trained("marginals", 4)
    doc = nlp(doc_of(nlp, "the old cat runs"))
    tagger, chunker = nlp.get_pipe("hoseq_tagger"), nlp.get_pipe("hoseq_chunker")
    assert tagger.explain(doc, 1) == explain(tagger, doc, 1) and chunker.explain(doc, 1) == explain(chunker, doc, 1)
    span = doc.spans["chunks"][0]
    assert chunker.explain_span(span) == explain_span(chunker, span)


def test_log_odds_without_a_feature_or_a_word(nlp):
    """Against sums over all labellings, with the emissions changed by hand."""
    pipe, doc, t = tagger_of(nlp), doc_of(nlp, TEXT), 2
    found, table, reading = explain(pipe, doc, t), table_of(pipe, doc), Reading(pipe, [doc])
    features = features_at(pipe.model.layers[0], reading, range(4))
    label, other = pipe.labels.index(found.label), pipe.labels.index(found.against)
    seen = set()
    for change in found.changes:
        if change.kind == "feature":
            gone = [f for f in features if f.word == t and f.name == change.name]
        else:
            words = {"the (-2)": 0, "cat (-1)": 1, "runs": 2, "home (+1)": 3}
            gone = [f for f in features if words[change.name] in f.looks_at]
        scores = table.scores.copy()
        for f in gone:
            scores -= f.weights[table.labellings[:, f.word]]
        p = np.exp(scores - scores.max())
        here = table.labellings[:, t]
        expected = np.log(p[here == label].sum() / p[here == other].sum())
        assert change.log_odds == pytest.approx(expected, abs=1e-5), change
        assert change.difference == pytest.approx(found.log_odds - expected, abs=1e-5)
        seen.add(change.kind)
    assert seen == {"feature", "word"}


@pytest.mark.parametrize("t", range(4))
def test_smallest_set_of_features(nlp, t):
    """Against all sets of features of the token, from the smallest on."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    found, table = explain(pipe, doc, t), table_of(pipe, doc)
    features = features_at(pipe.model.layers[0], Reading(pipe, [doc]), [t])
    label = pipe.labels.index(found.label)

    def turns(gone):
        scores = table.scores - sum(f.weights[table.labellings[:, t]] for f in gone)
        return scores[table.labellings[:, t] != label].max() > scores[table.labellings[:, t] == label].max()

    sizes = (n for n in range(1, len(features) + 1) if any(map(turns, itertools.combinations(features, n))))
    assert len(found.fewest) == next(sizes, 0)
    if found.fewest:
        assert turns([f for f in features if f.name in found.fewest]) and found.instead != found.label


@pytest.mark.parametrize("t", range(4))
def test_labels_of_neighbours_that_turn_it(nlp, t):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    found, table = explain(pipe, doc, t), table_of(pipe, doc)
    p = np.exp(table.scores - table.log_z)
    expected = {}
    for s in {t - 2, t - 1, t + 1, t + 2} & set(range(4)):
        for y in range(len(pipe.labels)):
            here = table.labellings[:, s] == y
            best = table.labellings[here][table.scores[here].argmax()]
            if y != table.best_labels[s] and best[t] != table.best_labels[t]:
                name = (p[here].sum(), pipe.labels[y], pipe.labels[best[t]], table.best - table.scores[here].max())
                expected[s] = max(expected.get(s, (-1,)), name)
    assert {turn.token for turn in found.turns} == set(expected)
    for turn in found.turns:
        q, name, instead, cost = expected[turn.token]
        assert (turn.label, turn.instead) == (name, instead)
        assert (turn.p, turn.cost) == pytest.approx((q, cost), abs=1e-5)


def test_constraints(nlp):
    """Without its entry in the tag dictionary a word could have other labels."""
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    plain = explain(pipe, doc, 1, "V")
    pipe.cfg["tag_dictionary"] = {"the": ["D", "V"]}
    pipe._labels_changed()
    try:
        found = explain(pipe, doc, 1, "V")
    finally:
        pipe.cfg["tag_dictionary"] = {}
        pipe._labels_changed()
    (change,) = [change for change in found.changes if change.kind == "constraint"]
    assert change.log_odds == pytest.approx(plain.log_odds) and change.difference == pytest.approx(
        found.log_odds - plain.log_odds
    )


def test_messages(nlp):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    with pytest.raises(ValueError, match=r'\[HS146\] .* the label "XX"\. Expected: \., A, D, N, R, V'):
        explain(pipe, doc, 0, "XX")
    pipe.cfg["tag_dictionary"] = {doc[1].text: ["R"]}
    pipe._labels_changed()
    try:
        for against, named in ((None, "R"), ("N", "N")):  # the only label; one that cannot stand there
            with pytest.raises(ValueError, match=rf'\[HS146\] .* the label "{named}"\. Expected: another label'):
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
    explained = Reading(pipe, [doc])
    assert explained.potentials is not None
    table *= 2
    try:
        from spacy_hoseq.inspection.explanation import explain_word

        with pytest.raises(ValueError, match=r"\[HS147\] Two labellings differ by"):
            explain_word(explained, 1)
    finally:
        table[...] = kept
        table.flags.writeable = False


@pytest.fixture(scope="module", params=["words", "patterns", "marginals", "one_best"])
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
    features = features_at(pipe.model.layers[0], reading, range(4))
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
        (gone,) = [c for c in found.changes if c.kind == "word" and c.name == "cat"][:1]
        changed = scores.copy()
        for f in features:
            if 1 in f.looks_at and abs(f.word - first) < 9:
                changed -= f.weights[rows[:, f.word]]
        q = np.exp(changed - changed.max())
        assert gone.log_odds == pytest.approx(np.log(q[has].sum() / q[~has].sum()), abs=1e-4)


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
    for found in (a, b, none):
        assert found.changes and np.isfinite(found.log_odds)
        before = [change.log_odds + change.difference for change in found.changes]
        assert before == pytest.approx([found.log_odds] * len(before), abs=1e-5), "of the same two as the log-odds"
    with pytest.raises(ValueError, match=r"\[HS140\] .*hoseq_tagger"):
        explain_span(spacy.blank("xx").add_pipe("hoseq_tagger"), one)
    with pytest.raises(ValueError, match=r'\[HS146\] .* the label "XX"\. Expected: NP, VP'):
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
        turn, found = explain_decision(pipe, doc, t)
        assert turn == expected["order"][t] and found.label == expected["labels"][t]
        assert found.p == pytest.approx(expected["probabilities"][t], abs=1e-6)
        assert sum(term.value for term in found.terms) == pytest.approx(found.log_odds, abs=1e-4)
        names |= {term.name for term in found.terms}
        known = [name for name in found.labels if name]
        earlier = [i for i in (t - 2, t - 1, t + 1, t + 2) if 0 <= i < 7 and expected["order"][i] < turn]
        assert known == [expected["labels"][i] for i in sorted([*earlier, t])] or len(known) <= len(earlier) + 1
    assert any(name.startswith("label[") for name in names) and "lower[0] = dog" in names
