"""Storing, copying and configuring local classifiers, and weights that do not belong to their layer."""

import pickle

import numpy as np
import pytest

from spacy_hoseq.layers.local_classifiers import LocalClassifiers, define_features, shim_of
from spacy_hoseq.learning.used_rows import UsedRows

from ..stored import bytes_of, message_of
from .helpers import doc_of
from .local_models import LABELS, TEMPLATES, L, Problem, all_scores, random_docs, trained

DOCS = [*random_docs(np.random.default_rng(20), 8, 7), doc_of("new words cat Dog")]
SETTINGS = {"learn_rate": 0.5, "width": 0.3, "seed": 0}


def scores(model, order=2):
    return all_scores(model, DOCS, order).tobytes()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("settings", [{}, {"min_count": 2}])
def test_bytes_restore_the_model(order, settings):
    problem, other = Problem(order, **settings), Problem(order, 7, **settings)
    problem.train(), other.train(), scores(other.model, order)
    expected, data = scores(problem.model, order), problem.model.to_bytes()
    assert any(expected)
    for fresh in (problem.make_model(), other.model):
        fresh.from_bytes(data)
        assert scores(fresh, order) == expected
        assert fresh.to_bytes() == data and shim_of(fresh).stacked().table.shape[1] == L
        assert fresh.to_bytes() == data


def test_only_features_with_weights_are_saved():
    problem = Problem(2, 1)
    problem.train(width=4.0)
    message = message_of(problem.shim.to_bytes())
    keys = np.concatenate(message["extra"]["keys"])
    used = {int(key) for table in message["tables"].values() for key in keys[table.rows]}
    assert {table.shape for table in message["tables"].values()} == {(len(keys), L)}
    saved = {int(key) for group in message["extra"]["keys"] for key in group}
    defined = {int(key) for group in problem.keys for key in group}
    assert used == saved < defined and saved
    assert message["extra"]["n_tokens"] == problem.n_tokens


def test_model_without_weights_or_features():
    problem = Problem(2)
    fresh = problem.make_model().from_bytes(problem.model.to_bytes())
    assert not any(scores(fresh)) and not shim_of(fresh).n_features()
    blank = problem.make_model()
    again = trained(2).make_model().from_bytes(blank.to_bytes())
    for model in (blank, again):
        with pytest.raises(ValueError, match=r"\[HS052\].*the training texts were not searched"):
            model.predict(DOCS)


def test_training_goes_on_after_loading():
    """From the weights that were saved, with the features that were saved."""
    problem = trained(2)
    fresh = problem.make_model().from_bytes(problem.model.to_bytes())
    shim, features = shim_of(fresh), fresh.attrs["features"]
    shim.configure(**SETTINGS)
    text = problem.text
    rows = features.training_rows(text.docs, text.contexts, shim.known)
    batch = problem.batch._replace(rows=rows)
    expected = problem.shim.gradient(problem.batch, 0.0)
    losses = []
    for _ in range(10):
        losses.append(shim.gradient(batch, 0.0))
        fresh.finish_update(None)
    assert losses[0] == pytest.approx(expected, rel=2e-3)
    assert losses[0] < 0.9 * np.log(L) * problem.n_tokens
    assert losses[-1] < losses[0] and scores(fresh) != scores(problem.model)


def test_predictions_follow_updates_only():
    problem = Problem(2)
    model, shim = problem.train(1), problem.shim
    before = scores(model)
    shim.gradient(problem.batch, 0.0)
    assert scores(model) == before
    model.finish_update(None)
    after = scores(model)
    assert after != before
    model.finish_update(None)
    assert scores(model) == after, "nothing to learn from"


def test_defining_features_starts_anew():
    problem = Problem(1)
    expected = scores(problem.train(), 1)
    problem.shim.gradient(problem.batch, 0.0)
    texts = [[(problem.text.docs, problem.text.contexts)]]
    define_features(problem.model, LABELS, texts, problem.n_tokens)
    assert not any(scores(problem.model, 1))
    assert scores(problem.train(), 1) == expected


def test_features_are_those_of_the_loaded_weights():
    """The same rows stand for other features in another model."""
    one, other = Problem(2, 1), Problem(2, 2)
    expected = scores(one.train())
    other.train(), scores(other.model)
    other.model.from_bytes(one.model.to_bytes())
    rows = other.features.training_rows(one.text.docs, one.text.contexts, other.shim.known)
    fresh = other.make_model().attrs["features"]
    wanted = fresh.training_rows(one.text.docs, one.text.contexts, other.shim.known)
    assert scores(other.model) == expected
    assert rows.tolist() == wanted.tolist()


def in_training():
    """With a gradient that waits for `finish_update`."""
    problem = Problem(2)
    problem.train()
    problem.shim.gradient(problem.batch, 0.0)
    return problem


@pytest.mark.parametrize("make", [lambda m: m.copy(), lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_model_in_training(make):
    problem = in_training()
    copied, expected = make(problem.model), scores(problem.model)
    assert scores(copied) == expected and copied.to_bytes() == problem.model.to_bytes()
    copied.finish_update(None)
    assert scores(copied) == expected, "gradients are not copied"
    shim, text = shim_of(copied), problem.text
    rows = copied.attrs["features"].training_rows(text.docs, text.contexts, shim.known)
    shim.configure(**SETTINGS)
    shim.gradient(problem.batch._replace(rows=rows), 0.0)
    copied.finish_update(None)
    assert scores(copied) != expected
    assert scores(problem.model) == expected, "independent of each other"
    problem.model.finish_update(None)
    assert scores(problem.model) != expected


def changed(**parts):
    return lambda message: {**message, **parts}


def classifier(change):
    """Other weights of classifier 5. change: of its rows, their weights, and the number of all rows."""

    def damage(message):
        table = message["tables"]["5"]
        rows, values, n_rows = change(table.rows, table.values, table.shape[0])
        return {**message, "tables": {**message["tables"], "5": UsedRows.of(values, rows, n_rows)}}

    return damage


def without(name):
    return lambda message: {key: value for key, value in message.items() if key != name}


DAMAGED = {
    "another order": (lambda m: changed(made_for={**m["made_for"], "order": 1})(m), "HS051.*order"),
    "no features": (without("extra"), "HS050"),
    "list for weights": (changed(tables=[1]), "HS050"),
    "weights of NaN": (
        classifier(lambda rows, values, n: (rows, values * np.nan, n)),
        "HS050.*NaN",
    ),
}


@pytest.mark.parametrize("damage, problem", DAMAGED.values(), ids=DAMAGED)
def test_damaged_weights_are_refused_and_change_nothing(damage, problem):
    model = trained(2).model
    before, data = scores(model), model.to_bytes()
    bad = bytes_of(damage(message_of(shim_of(model).to_bytes())))
    with pytest.raises(ValueError, match=problem):
        shim_of(model).from_bytes(bad)
    assert scores(model) == before and model.to_bytes() == data


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"min_count": 0}, r"\[HS027\].*: 0"),
        ({"order": 3}, r"\[HS027\].*: 3"),
        ({"order": 0}, r"\[HS027\].*: 0"),
        ({"templates": ["label[-1..1]"]}, r"\[HS027\].*\"label\[0\]\""),
        ({"templates": ["lowr[0]"]}, r"\[HS013\]"),
        ({"templates": []}, r"\[HS027\]"),
    ],
)
def test_wrong_settings(settings, code):
    with pytest.raises(ValueError, match=code):
        LocalClassifiers(**{"templates": TEMPLATES, **settings})


@pytest.mark.parametrize("name, value", [("learn_rate", 0), ("width", -1), ("learn_rate", np.nan)])
def test_wrong_ways_to_learn(name, value):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong {name}: {value}"):
        shim_of(LocalClassifiers(TEMPLATES)).configure(**{**SETTINGS, name: value})


def test_no_way_to_learn():
    problem = Problem(1)
    message = r"\[HS055\] The layer \"local_classifiers\" has no update rule"
    with pytest.raises(ValueError, match=message):
        problem.shim.gradient(problem.batch, 0.0)


def test_model_does_not_learn_by_backpropagation():
    scores_, backprop = trained(1).model.begin_update(DOCS)
    assert scores_.n_labels == L
    with pytest.raises(ValueError, match=r"\[HS055\]"):
        backprop(scores_)
