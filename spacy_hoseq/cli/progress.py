"""How far a long run is: a bar in a terminal, else a line after five seconds, and then ever more
rarely."""

import time
from typing import IO, Any, Iterable, Iterator, Optional, TypeVar

from tqdm import tqdm

# seconds until the first line where there is no terminal; the time to the next one doubles
FIRST = 5.0
LONGEST = 60.0  # seconds between two lines
MB = 1e6

T = TypeVar("T")


def progress(items: Iterable[T], what: str = "docs", total: Optional[int] = None) -> Iterator[T]:
    """The items, with a bar in a terminal."""
    bar: Iterable[T] = tqdm(items, total=total, unit=f" {what}", leave=False, disable=None)
    return iter(bar)


class Progress:
    """total (int): bytes to be read, 0 = not known. position (int): where an earlier run
    stopped."""

    def __init__(self, total: int, position: int, stream: IO[str], interval: float = FIRST) -> None:
        self._total = total
        self._first = position
        self._position = position
        self._stream = stream
        self._interval = interval
        self._rows = 0
        self._tokens = 0
        self._start = time.monotonic()
        self._said = self._start
        self._bar: Optional[Any] = None

    def __enter__(self) -> "Progress":
        if self._stream.isatty():
            settings = {"unit": "B", "unit_scale": True, "initial": self._first, "leave": False}
            self._bar = tqdm(total=self._total or None, file=self._stream, **settings)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, position: int, rows: int, tokens: int) -> None:
        """One part more. position (int): bytes read by then."""
        step = max(0, position - self._position)
        self._position += step
        self._rows += rows
        self._tokens += tokens
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(self._speed(now - self._start), refresh=False)
            self._bar.update(step)
        elif now - self._said >= self._interval:
            self._said = now
            self._interval = min(2 * self._interval, LONGEST)
            print(self.line(now - self._start), file=self._stream, flush=True)

    def _speed(self, seconds: float) -> str:
        seconds = max(1e-9, seconds)
        return f"{self._rows / seconds:,.0f} texts/s, {self._tokens / seconds:,.0f} tokens/s"

    def line(self, seconds: float) -> str:
        """What there is to say after so many seconds."""
        parts = [f"{self._rows:,} texts", f"{self._tokens:,} tokens", self._speed(seconds)]
        if self._total:
            share = self._position / self._total
            parts.insert(
                0, f"{self._position / MB:,.1f} of {self._total / MB:,.1f} MB ({share:.0%})"
            )
            if self._position > self._first:
                left = seconds * (self._total - self._position) / (self._position - self._first)
                parts.append(f"{left / 60:,.0f} min left")
        return ", ".join(parts)
