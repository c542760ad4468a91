"""What is kept belongs to the objects that it was made from, whoever asks, and stays behind in copies."""

import copy
import os
import pickle
import re
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import spacy_hoseq
from spacy_hoseq.caches import IdentityCache, cached_property
from spacy_hoseq.features.type_cache import TypeCache


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


def test_a_property_is_computed_once_for_each_object():
    class Square:
        """Of a number."""

        def __init__(self, number):
            self.number, self.calls = number, 0

        @cached_property
        def value(self):
            """Its square."""
            self.calls += 1
            return self.number**2

    two, three = Square(2), Square(3)
    assert [two.value, two.value, three.value, two.calls, three.calls] == [4, 4, 9, 1, 1]
    assert Square.value.__doc__ == "Its square."


def test_no_module_takes_the_property_that_locks():
    """`functools.cached_property` does before Python 3.12."""
    package = Path(spacy_hoseq.__file__).parent
    sources = "\n".join(path.read_text("utf8") for path in package.rglob("*.py"))
    assert not re.findall(r"^from functools import.*cached_property", sources, re.M)


# A child that is forked while a thread is in the middle of a computation


class Half:
    """A property whose first computation waits."""

    def __init__(self, wait=None):
        self._wait = wait

    @cached_property
    def value(self):
        if self._wait:
            self._wait()
        return 7


def values_are_right(cache, wait):
    """Of keys, some of which are new."""
    keys = np.arange(1, 9 if wait else 6, dtype=np.uint64)
    rows, values = cache.of(keys, lambda new: wait() if wait else np.stack([keys[new]] * 2, axis=1))
    return (values[rows, 1] == keys).all()


FORKED = {
    "numbers": (lambda: TypeCache(2, int, 100), values_are_right),
    "hashes": (lambda: TypeCache(2, int, 100, hashed=True), values_are_right),
    "property": (SimpleNamespace, lambda _, wait: Half(wait).value == 7),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", FORKED)
def test_a_child_goes_on_where_a_thread_was_in_the_middle(name):
    make, use = FORKED[name]
    cache, inside, ending = make(), threading.Event(), threading.Event()
    if name != "property":
        use(cache, None)

    def wait():
        inside.set()
        ending.wait()
        raise InterruptedError

    def work():
        with suppress(InterruptedError):
            use(cache, wait)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(20)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        os._exit(0 if use(cache, None) else 1)
    ending.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("hashed", [False, True])
def test_a_child_goes_on_in_the_middle_of_its_own_computation(hashed):
    cache, keys = TypeCache(1, int, 100, hashed=hashed), np.arange(1, 9, dtype=np.uint64)
    cache.of(keys[:5], lambda new: keys[new, None])
    children = []

    def compute(new):
        if not children:
            children.append(os.fork())
        return keys[new, None]

    rows, values = cache.of(keys, compute)
    is_right = (values[rows, 0] == keys).all()
    if not children[0]:
        os._exit(0 if is_right else 1)
    assert is_right and os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
