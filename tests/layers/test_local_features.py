"""Rows of features of local classifiers against (template, values) pairs, and what the cache takes for the same."""

import pickle
from collections import Counter

import numpy as np
import pytest

from spacy_hoseq.features.keys import label_keys, label_values
from spacy_hoseq.layers.local_features import LocalFeatures

from .helpers import doc_of
from .local_models import (
    LABELS,
    TEMPLATES,
    Problem,
    Text,
    feature,
    plain_templates,
    random_docs,
    ready,
)

VALUES = label_values(LABELS)
both_orders = pytest.mark.parametrize("order", [1, 2])


def counted(texts, order=2, templates=TEMPLATES, min_count=1):
    """Features of one version of a text in one batch. RETURNS LocalFeatures, keys."""
    features = LocalFeatures(templates, order)
    return features, features.count([[(text.docs, text.contexts) for text in texts]], VALUES, min_count)


def rows_of(features, keys, text):
    return [part.tolist() for part in features.training_rows(text.docs, text.contexts, VALUES, keys)]


@both_orders
@pytest.mark.parametrize("seed", range(4))
def test_one_row_for_each_feature(order, seed):
    """The assertions are those of `rows_by_feature`: a row, always the same, for each (template, values) pair."""
    problem = Problem(order, seed)
    names = [
        name
        for n, (words, _, i) in enumerate(problem.text.places)
        for t in problem.templates
        if (name := feature(t, words, i, problem.text.labels_around(n)))
    ]
    assert set(problem.row_of) == set(names) and len(problem.groups) == len(set(names))


def test_templates_further_away_than_the_order_are_not_used():
    texts = ["orth[0]", "label[-2]+orth[0]", "label[1]", "label[-1]+label[3]", "label[2]+label[1]"]
    assert [t.offsets for t in LocalFeatures(texts, 1)._labels] == [(1,)]
    assert [t.offsets for t in LocalFeatures(texts, 2)._labels] == [(-2,), (1,), (2, 1)]
    near, far = (
        counted([ready(1).text], 1, ["orth[0]", "label[1]"]),
        counted([ready(1).text], 1, texts),
    )
    assert [k.tolist() for k in near[1]] == [k.tolist() for k in far[1]]


def test_groups_of_a_classifier_are_those_whose_neighbours_it_sees():
    features = LocalFeatures(["orth[0]", "label[-2]", "label[-1]", "label[2]+label[-1]"], 2)
    assert features.groups_of(0b0000) == [0]
    assert features.groups_of(0b0001) == [0, 1]
    assert features.groups_of(0b0010) == [0, 2]
    assert features.groups_of(0b1010) == [0, 2, 3]
    assert features.groups_of(0b1100) == [0]
    assert features.groups_of(0b1111) == [0, 1, 2, 3]


@both_orders
def test_groups_of_all_classifiers(order):
    problem = ready(order)
    offsets = [{o for name, o in t if name == "label"} for t in problem.templates]
    for visible in range(1 << 2 * order):
        shown = [needed <= problem.sees(visible) for needed in offsets if needed]
        assert problem.features.groups_of(visible) == [
            0,
            *(j + 1 for j, used in enumerate(shown) if used),
        ]


def counts_of(text, templates):
    places = enumerate(text.places)
    return Counter(feature(t, w, i, text.labels_around(n)) for n, (w, _, i) in places for t in templates)


@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_min_count_in_one_of_the_versions(min_count):
    rng, templates = np.random.default_rng(0), plain_templates(TEMPLATES, 2)
    texts = []
    for _ in range(4):
        docs = random_docs(rng)
        texts.append(Text(docs, rng.integers(-1, 3, sum(map(len, docs))), 2))
    features = LocalFeatures(TEMPLATES, 2)
    versions = [
        [(t.docs, t.contexts) for t in texts[:3]],
        [(t.docs, t.contexts) for t in texts[3:]],
    ]
    keys = features.count(versions, VALUES, min_count)
    halves = [sum((counts_of(t, templates) for t in part), Counter()) for part in (texts[:3], texts[3:])]
    wanted = {name for half in halves for name, n in half.items() if name and n >= min_count}
    assert sum(map(len, keys)) == len(wanted) > 10
    for text in texts:
        rows = features.training_rows(text.docs, text.contexts, VALUES, keys)
        plain = [t for t in templates if all(name != "label" for name, _ in t)]
        ordered = [*plain, *(t for t in templates if t not in plain)]
        for template, found in zip(ordered, rows, strict=True):
            names = [feature(template, w, i, text.labels_around(n)) for n, (w, _, i) in enumerate(text.places)]
            assert [name in wanted for name in names] == (found < len(wanted)).tolist()


def test_rows_are_of_the_keys_in_use():
    text = ready(2).text
    features, keys = counted([text])
    first = rows_of(features, keys, text)
    reversed_keys = [group[::-1].copy() for group in keys]
    turned = rows_of(features, reversed_keys, text)
    assert turned == rows_of(LocalFeatures(TEMPLATES, 2), reversed_keys, text) != first
    assert rows_of(features, keys, text) == first


def test_groups_of_label_templates_have_the_keys_of_each():
    """Against `label_keys`, template by template; a word part that does not fire, labels of any kind."""
    features, rng = (
        LocalFeatures([*TEMPLATES, "label[1]+label[-2]", "label[-2]+label[1]+orth[1]"], 2),
        np.random.default_rng(5),
    )
    words = rng.integers(0, 4, (len(features.word_parts), 50), np.uint64)
    contexts = rng.integers(0, len(VALUES), (50, 4))
    found = {}
    for group in features.groups:
        assert group.mask == sum({1 << slot for slot in group.slots})
        keys = group.keys(words, [VALUES[contexts[:, slot]] for slot in group.slots])
        found.update(
            {(int(seed), tuple(row)): group.mask for seed, row in zip(group.seeds[:, 0], keys.tolist(), strict=True)}
        )
    expected = {}
    for template, slots, mask in zip(features._labels, features._slots, features.masks, strict=True):
        row = label_keys(template, words, [VALUES[contexts[:, slot]] for slot in slots])
        expected[int(template.seed), tuple(row.tolist())] = mask
    assert found == expected and len(found) == len(features._labels)


def test_only_label_templates_and_only_words():
    for templates in (["label[-1]", "label[1]+orth[0]"], ["orth[0]"]):
        problem = Problem(1, 0, templates)
        assert problem.row_of and {name[0] for name in problem.row_of} == {tuple(t) for t in problem.templates}


def test_pickled_and_forgetful_features_give_the_same_rows():
    text = ready(2).text
    features, keys = counted([text])
    expected = rows_of(features, keys, text)
    features.extractor.forget_words()
    assert rows_of(features, keys, text) == expected
    assert rows_of(pickle.loads(pickle.dumps(features)), keys, text) == expected


@pytest.mark.parametrize("text, code", [("label[0]", "HS027"), ("lowr[0]", "HS013"), ("label[", "HS010")])
def test_bad_templates(text, code):
    with pytest.raises(ValueError, match=code):
        LocalFeatures(["bias", text], 2)


def test_a_key_of_two_groups_is_found_for_one():
    """Hashes that are equal, or a file made by hand: nothing hangs."""
    features, keys = counted([ready(2).text])
    keys = [*keys[:-1], np.union1d(keys[-1], keys[-2][:1])]
    n_features = sum(map(len, keys))
    assert (features.index(keys).lookup(np.concatenate(keys)) < n_features).all()


def test_parts_of_features_that_fire():
    features, keys = counted([ready(2).text], templates=["orth[0]", "label[-1]+orth[0]", "label[-2]", "label[1]"])
    doc, context = doc_of("cat Dog a"), np.array([0, 1, 2, 0])
    fired = dict(features.fired([doc], 1, context, 0b0110, VALUES, keys))
    assert [[str(part) for part in parts] for parts in fired] == [
        ["orth[0]"],
        ["orth[0]", "label[-1]"],
        ["label[1]"],
    ]
    rows = features.training_rows([doc], np.tile(context, (3, 1)), VALUES, keys)[:, 1]
    assert [*fired.values()] == rows[[0, 1, 3]].tolist()
