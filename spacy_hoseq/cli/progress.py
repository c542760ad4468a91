"""How far a long run is: a bar in a terminal, else a line every minute."""

import time
from typing import IO, Any, Optional

from tqdm import tqdm

INTERVAL = 60.0  # seconds between two lines where there is no terminal
MB = 1e6


class Progress:
    """total (int): bytes to be read, 0 = not known. position (int): where an earlier run stopped."""

    def __init__(self, total: int, position: int, stream: IO[str], interval: float = INTERVAL) -> None:
        self._total, self._first, self._position, self._stream = total, position, position, stream
        self._interval, self._rows, self._tokens = interval, 0, 0
        self._start = self._said = time.monotonic()
        self._bar: Optional[Any] = None

    def __enter__(self) -> "Progress":
        if self._stream.isatty():
            settings = {"unit": "B", "unit_scale": True, "initial": self._first, "leave": False}
            self._bar = tqdm(total=self._total or None, file=self._stream, **settings)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, position: int, rows: int, tokens: int) -> None:
        """One part more. position (int): bytes read by then."""
        step, self._position = max(0, position - self._position), max(position, self._position)
        self._rows, self._tokens = self._rows + rows, self._tokens + tokens
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._tokens / max(1e-9, now - self._start):,.0f} tokens/s", refresh=False)
            self._bar.update(step)
        elif now - self._said >= self._interval:
            self._said = now
            print(self.line(now - self._start), file=self._stream, flush=True)

    def line(self, seconds: float) -> str:
        """What there is to say after so many seconds."""
        parts = [
            f"{self._rows:,} texts",
            f"{self._tokens:,} tokens",
            f"{self._tokens / max(1e-9, seconds):,.0f} tokens/s",
        ]
        if self._total:
            share = self._position / self._total
            parts.insert(0, f"{self._position / MB:,.1f} of {self._total / MB:,.1f} MB ({share:.0%})")
            if self._position > self._first:
                left = seconds * (self._total - self._position) / (self._position - self._first)
                parts.append(f"{left / 60:,.0f} min left")
        return ", ".join(parts)
