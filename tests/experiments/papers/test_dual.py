"""Dual decomposition with other steps."""

import numpy as np
import pytest

from ... import oracle
from ...cases import Case
from ...repository import script

dual = script("papers/dual")


def case_of(seed, weight):
    rng = np.random.default_rng(seed)
    patterns = (((0, 1, 2), weight), ((2, 0, 1), weight))
    return Case(rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), np.array([4]), patterns)


@pytest.mark.parametrize("seed", range(5))
def test_one_iteration_is_the_chain_alone(seed):
    case = case_of(seed, 2.0)
    chain = Case(case.scores, case.trans, case.lengths)
    labels = dual.last_labels(case.potentials(), 1, rate=1.0)
    assert labels.tolist() == oracle.joint_table(chain).best_labels.tolist()
