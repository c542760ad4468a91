"""One step of a chain, in blocks of labels that the same labels may precede, against all pairs."""

from unittest import mock

import numpy as np
import pytest

from spacy_hoseq.decoders.chain import Arrivals, best_path
from spacy_hoseq.decoders.problem import Weights


def words(n_kinds):
    """Pairs of labels that may follow each other: B, I, E, S of each kind."""
    labels = [(place, kind) for kind in range(n_kinds) for place in "BIES"]
    follows = {"B": "IE", "I": "IE", "E": "BS", "S": "BS"}
    return np.array([
        [later in follows[place] and (later in "BS" or kind == other) for later, other in labels]
        for place, kind in labels
    ])  # fmt: skip


def tables(rng):
    yield "everything", np.ones((7, 7), bool)
    yield "words of one kind", words(1)
    yield "words of six kinds", words(6)
    yield "nothing before some, nothing after others", words(6) & (np.arange(24) % 5 > 0) & (np.arange(24) > 3)[:, None]
    yield "three sets apart", np.arange(24)[:, None] % 3 == np.arange(24) % 3
    yield "each label its own", rng.random((40, 40)) < 0.3
    yield "one pair less", np.arange(36).reshape(6, 6) != 16
    yield "nothing", np.zeros((3, 3), bool)
    yield "many labels", np.ones((50, 50), bool)
    yield "many labels, some pairs less", rng.random((50, 50)) < 0.9
    yield "many labels, nothing after some", np.ones((50, 50), bool) & (np.arange(50) > 5)[:, None]
    yield "words of twenty kinds", words(20)


def expected_of(trans, v):
    """The definition, label by label."""
    n_labels, n_columns = v.shape
    best = [(v + trans[:, [y]]).max(axis=0) for y in range(n_labels)]
    return np.array(best).reshape(n_labels, n_columns)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 5, 40, 200])
@pytest.mark.parametrize("step_cells", [1, 100, 500_000])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_every_block_is_the_maximum_over_all_earlier_labels(n_columns, step_cells, scale):
    rng = np.random.default_rng(n_columns)
    for name, permitted in tables(rng):
        trans = np.where(permitted, rng.normal(size=permitted.shape), -np.inf)
        v = scale * rng.normal(size=(len(permitted), n_columns))
        v[rng.random(v.shape) < 0.2] = -np.inf
        with mock.patch.object(best_path, "STEP_CELLS", step_cells):
            arriving = Arrivals(Weights(trans))(v)
        assert np.array_equal(arriving, expected_of(trans, v)), name
