"""What is kept belongs to the objects that it was made from, whoever asks, and stays behind in copies."""

import copy
import pickle

import pytest

from spacy_hoseq.caches import IdentityCache


def test_made_once_for_the_same_objects():
    kept, calls, one, other = IdentityCache(), [], [1], [1]
    for made_from in ((one,), (one,), (other,), (one, other), (one, other)):
        assert kept.of(made_from, lambda: calls.append(1) or len(calls)) == len(calls)
    assert len(calls) == 3, "equal objects are others"
    assert kept.latest == kept.get((one, other)) == 3 and kept.get((one,)) is None
    kept.forget()
    assert kept.latest is None and kept.get((one, other)) is None


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda kept: pickle.loads(pickle.dumps(kept))]
)
def test_copies_are_empty(copied):
    kept = IdentityCache()
    kept.of((), lambda: [0])
    assert copied(kept).latest is None and kept.latest == [0]


def test_what_is_made_may_be_nothing():
    kept, calls = IdentityCache(), []
    for _ in range(2):
        assert kept.of((calls,), lambda: calls.append(1)) is None
    assert calls == [1]
