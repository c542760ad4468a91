"""A one-slot cache keyed by identity."""

from collections.abc import Callable
from operator import is_
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class IdentityCache(Generic[Value]):
    """One value, computed from objects and returned again for the very same objects.

    Key: which objects they are (`is`); they never change. Bound: one value. It forgets when other
    objects come. Threads may share it: each gets the value of its own objects. A copy, or one in
    another process, is empty.
    """

    def __init__(self) -> None:
        self._slot: tuple[tuple[object, ...], Value] | None = None

    def of(self, key: tuple[object, ...], make: Callable[[], Value]) -> Value:
        """The value of these objects. make: called if it is not there."""
        slot = self._slot  # read once: another thread may replace it
        if slot is None or not are_same(slot[0], key):
            self._slot = slot = (key, make())
        return slot[1]

    def get(self, key: tuple[object, ...]) -> Value | None:
        """The value of these objects, None if it is not there."""
        slot = self._slot
        if slot is None or not are_same(slot[0], key):
            return None
        return slot[1]

    @property
    def latest(self) -> Value | None:
        """The value in the slot, None if it is empty."""
        slot = self._slot
        return None if slot is None else slot[1]

    def forget(self) -> None:
        self._slot = None

    def __reduce__(self) -> Any:
        return IdentityCache, ()


def are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """True if these are the very objects, in the same order."""
    return len(some) == len(others) and all(map(is_, some, others))
