"""Rows of features of local classifiers against (template, values) pairs, and what the cache takes for the same."""

from collections import Counter

import numpy as np
import pytest

from spacy_hoseq.features.keys import label_values
from spacy_hoseq.layers.local_classifiers import LocalFeatures

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
    pairs = [[(text.docs, text.contexts) for text in texts]]
    return features, features.count(pairs, VALUES, min_count)


def rows_of(features, keys, text):
    known = {"keys": keys, "values": VALUES}
    return [part.tolist() for part in features.training_rows(text.docs, text.contexts, known)]


@both_orders
@pytest.mark.parametrize("seed", range(4))
def test_one_row_for_each_feature(order, seed):
    """The assertions are those of `rows_by_feature`: a row, always the same, for each (template, values) pair."""
    problem = Problem(order, seed)
    around = problem.text.labels_around
    places = [(words, i, around(n)) for n, (words, _, i) in enumerate(problem.text.places)]
    names = [feature(template, *place) for place in places for template in problem.templates]
    names = [name for name in names if name]
    assert set(problem.row_of) == set(names) and len(problem.groups) == len(set(names))


def counts_of(text, templates):
    places = enumerate(text.places)
    known = [(words, i, text.labels_around(n)) for n, (words, _, i) in places]
    return Counter(feature(template, *place) for place in known for template in templates)


@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_min_count_in_one_of_the_versions(min_count):
    rng, templates = np.random.default_rng(0), plain_templates(TEMPLATES, 2)
    texts = []
    for _ in range(4):
        docs = random_docs(rng)
        texts.append(Text(docs, rng.integers(-1, 3, sum(map(len, docs))), 2))
    features = LocalFeatures(TEMPLATES, 2)
    versions = [[(t.docs, t.contexts) for t in part] for part in (texts[:3], texts[3:])]
    keys = features.count(versions, VALUES, min_count)
    counts = [counts_of(text, templates) for text in texts]
    halves = [sum(part, Counter()) for part in (counts[:3], counts[3:])]
    wanted = {name for half in halves for name, n in half.items() if name and n >= min_count}
    assert sum(map(len, keys)) == len(wanted) > 10
    for text in texts:
        rows = np.array(rows_of(features, keys, text))
        plain = [t for t in templates if all(name != "label" for name, _ in t)]
        ordered = [*plain, *(t for t in templates if t not in plain)]
        for template, found in zip(ordered, rows, strict=True):
            places = [(w, i, text.labels_around(n)) for n, (w, _, i) in enumerate(text.places)]
            names = [feature(template, *place) for place in places]
            assert [name in wanted for name in names] == (found < len(wanted)).tolist()


def test_rows_are_of_the_keys_in_use():
    text = ready(2).text
    features, keys = counted([text])
    first = rows_of(features, keys, text)
    reversed_keys = [group[::-1].copy() for group in keys]
    turned = rows_of(features, reversed_keys, text)
    assert turned == rows_of(LocalFeatures(TEMPLATES, 2), reversed_keys, text) != first
    assert rows_of(features, keys, text) == first


def test_a_key_of_two_groups_is_found_for_one():
    """Hashes that are equal, or a file made by hand: nothing hangs."""
    features, keys = counted([ready(2).text])
    keys = [*keys[:-1], np.union1d(keys[-1], keys[-2][:1])]
    n_features = sum(map(len, keys))
    assert (features.index(keys).lookup(np.concatenate(keys)) < n_features).all()


def test_parts_of_features_that_fire():
    templates = ["orth[0]", "label[-1]+orth[0]", "label[-2]", "label[1]"]
    features, keys = counted([ready(2).text], templates=templates)
    doc, context = doc_of("cat Dog a"), np.array([0, 1, 2, 0])
    known = {"keys": keys, "values": VALUES}
    fired = dict(features.fired([doc], 1, context, 0b0110, known))
    names = [[str(part) for part in parts] for parts in fired]
    assert names == [["orth[0]"], ["orth[0]", "label[-1]"], ["label[1]"]]
    rows = features.training_rows([doc], np.tile(context, (3, 1)), known)[:, 1]
    assert [*fired.values()] == rows[[0, 1, 3]].tolist()
