"""Values made from objects, and kept until they are asked for with other objects."""

from operator import is_
from typing import Any, Callable, Generic, Optional, Tuple, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """One value that is made when it is first asked for, and again when it is asked for with other
    objects. The objects never change, so it is enough to compare which ones they are.

    Several threads may ask at once: each gets what belongs to its own objects. A copy, or one in
    another process, is empty.
    """

    def __init__(self) -> None:
        self._kept: Optional[Tuple[Tuple[object, ...], Made]] = None

    def of(self, made_from: Tuple[object, ...], make: Callable[[], Made]) -> Made:
        """Value made from these very objects. make: called if it is not there."""
        kept = self._kept
        if kept is None or not are_same(kept[0], made_from):
            self._kept = kept = (made_from, make())
        return kept[1]

    def get(self, made_from: Tuple[object, ...]) -> Optional[Made]:
        """Value made from these very objects, None if it is not there."""
        kept = self._kept
        return kept[1] if kept is not None and are_same(kept[0], made_from) else None

    @property
    def latest(self) -> Optional[Made]:
        """Value kept now, None if there is none."""
        kept = self._kept
        return None if kept is None else kept[1]

    def forget(self) -> None:
        self._kept = None

    def __reduce__(self) -> Any:
        return Kept, ()


def are_same(some: Tuple[object, ...], others: Tuple[object, ...]) -> bool:
    """True if these are the very objects, in the same order."""
    return len(some) == len(others) and all(map(is_, some, others))
