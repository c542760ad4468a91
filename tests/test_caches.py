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
from spacy_hoseq.features.index import GrowingTable, KeyedValues


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
    sources = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
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


def tripled(keys):
    return np.stack([3 * keys, keys], axis=1)


def rows_are_right(table, wait):
    numbers = np.arange(5) if wait else np.array([9, 3, 1, 3])
    rows, values = table.of(numbers, lambda new: wait() if wait else tripled(new))
    return (values[rows] == tripled(numbers)).all()


def values_are_right(cache, wait):
    keys = np.arange(1, 5 if wait else 4, dtype=np.uint64)
    values = cache.of(keys, lambda new: wait() if wait else keys[new].astype(int))
    return values.tolist() == keys.tolist()


FORKED = {
    "table": (lambda: GrowingTable(np.zeros((1, 2), int)), rows_are_right),
    "values": (lambda: KeyedValues(int), values_are_right),
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
