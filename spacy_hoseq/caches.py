"""Caches that threads share, and that a forked process can go on with."""

import os
from collections.abc import Callable
from operator import is_
from threading import Lock
from typing import Any, Generic, TypeVar, overload
from weakref import WeakSet

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


class SharedCache:
    """Base class of caches that several threads fill. A thread holds `_lock` while it reads or changes
    the cache.

    A process may be forked while another thread holds the lock. That thread does not exist in the
    child: nobody would release the lock, and the values may be half written. So the child gets a
    new lock, and forgets the values if the old lock was held.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        _shared_caches.add(self)

    def forget(self) -> None:
        """Drop all values. It takes no lock."""
        raise NotImplementedError


_shared_caches: "WeakSet[SharedCache]" = WeakSet()


def _renew_locks() -> None:
    for cache in _shared_caches:
        if cache._lock.locked():
            cache.forget()
        cache._lock = Lock()


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_renew_locks)


class cached_property(Generic[Value]):
    """A property that is computed once for each object, which then holds its value.

    `functools.cached_property` has a lock before Python 3.12, one for all objects of a class. A
    forked process may inherit it held by a thread that it lacks, and wait for ever. There is none
    here, so threads that need the value at the same time may each compute it.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        # from now on the attribute of the object hides this one
        value = instance.__dict__[self._name] = self._function(instance)
        return value


def are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """True if these are the very objects, in the same order."""
    return len(some) == len(others) and all(map(is_, some, others))
