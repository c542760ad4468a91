"""How far a long run is: a bar in a terminal."""

from typing import Iterable, Iterator, Optional, TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], what: str = "docs", total: Optional[int] = None) -> Iterator[T]:
    """The items, with a bar in a terminal."""
    bar: Iterable[T] = tqdm(items, total=total, unit=f" {what}", leave=False, disable=None)
    return iter(bar)
