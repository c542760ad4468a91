"""Where the time of training goes: processor seconds of each part of `spacy train`.

    python -m spacy hoseq init tagger -o config.cfg
    python -m benchmarks.training config.cfg TRAIN.spacy DEV.spacy [--page PAGE.md]

The functions in PARTS are timed while the training runs, each without those that it calls.
"""

import tempfile
import time
from functools import wraps
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import spacy.training.initialize
import spacy.training.loop
import typer
from spacy.cli.train import train
from spacy.language import Language
from thinc.api import Model

from spacy_hoseq.components.tagger import HoseqTagger
from spacy_hoseq.layers.shim import WeightsShim

from .history import LOGGER, WATCH, seconds_to_best
from .page import show, write_table

PARTS: List[Tuple[str, Any, str]] = [
    ("making the pipeline", spacy.training.initialize, "load_model_from_config"),
    ("labels, features, patterns", Language, "initialize"),
    ("copies of examples (spaCy's)", spacy.language, "_copy_examples"),
    ("features and scores", Model, "begin_update"),
    ("decoding and loss", HoseqTagger, "get_loss"),
    ("gradients", HoseqTagger, "update"),
    ("weights", WeightsShim, "finish_update"),
    ("evaluation", Language, "evaluate"),
    ("saving", Language, "to_disk"),
]
READING, REST = "reading", "all else"
HEADER = ("", "seconds", "share", "times")


class Clock:
    """Seconds and calls of each part; a moment belongs to the innermost part that runs."""

    def __init__(self) -> None:
        self.seconds: Dict[str, float] = {REST: 0.0}
        self.calls: Dict[str, int] = {REST: 1}
        self._running, self._since = [REST], time.process_time()

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self._turn(lambda: self._running.append(part))
            self.calls[part] = self.calls.get(part, 0) + 1
            try:
                return function(*args, **kwargs)
            finally:
                self._turn(self._running.pop)

        return run

    def stop(self) -> None:
        self._turn(lambda: None)

    def _turn(self, change: Callable[[], Any]) -> None:
        now, part = time.process_time(), self._running[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now
        change()


def timed_readers(clock: Clock, resolve: Callable[..., Any]) -> Callable[..., Any]:
    """The readers that a config names, which now give lists, so that their work is done where it is timed."""

    def readers(*args: Any) -> Any:
        return tuple(clock.timed(READING, lambda nlp, read=read: list(read(nlp))) for read in resolve(*args))

    return readers


def measure(config: Path, train_path: Path, dev_path: Path) -> Clock:
    """Train once. The functions stay as they are afterwards: the process has no other use for them."""
    clock = Clock()
    for part, owner, name in PARTS:
        setattr(owner, name, clock.timed(part, getattr(owner, name)))
    for module in (spacy.training.initialize, spacy.training.loop):
        module.resolve_dot_names = timed_readers(clock, module.resolve_dot_names)  # type: ignore[attr-defined]
    changes = {"paths.train": str(train_path), "paths.dev": str(dev_path), "training.logger.@loggers": LOGGER}
    with tempfile.TemporaryDirectory() as folder:
        WATCH.start()
        train(config, Path(folder), overrides=changes)
    clock.stop()
    return clock


def rows_of(clock: Clock) -> List[Tuple[str, ...]]:
    total = sum(clock.seconds.values())
    names = [READING, *(part for part, *_ in PARTS), REST]
    rows = [
        (name, f"{clock.seconds[name]:.2f}", f"{clock.seconds[name] / total:.0%}", f"{clock.calls[name]:,}")
        for name in names
        if name in clock.seconds
    ]
    return [*rows, ("all", f"{total:.2f}", "100%", "")]


def main(config: Path, train_path: Path, dev_path: Path, page: Optional[Path] = None) -> None:
    clock = measure(config, train_path, dev_path)
    show(HEADER, rows_of(clock))
    print(f"within 0.1 point of the best score after {seconds_to_best(WATCH.history):.1f} seconds")
    if page is not None:
        write_table(page, "training", HEADER, rows_of(clock))


if __name__ == "__main__":
    typer.run(main)
