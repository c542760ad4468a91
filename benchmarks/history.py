"""How accuracy grows while a system trains: seconds since the beginning against the score on the dev corpus."""

import time
from typing import IO, Any, Callable, Dict, List, Optional, Tuple

import spacy
from spacy.language import Language

NEAR = 0.001  # a tenth of a point

History = List[Tuple[float, float]]  # seconds, score: one for each evaluation


def seconds_to_best(history: History, near: float = NEAR) -> Optional[float]:
    """When the score first came within `near` of the best one. None if there was no evaluation."""
    best = max((score for _, score in history), default=0.0)
    return next((seconds for seconds, score in history if score >= best - near), None)


class Watch:
    """A logger for `spacy train` that keeps the time and score of every evaluation. WATCH is the one in use."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.history: History = []
        self._start = time.perf_counter()

    def setup(self, nlp: Language, stdout: IO[str], stderr: IO[str]) -> Tuple[Callable[..., None], Callable[[], None]]:
        def log(info: Optional[Dict[str, Any]]) -> None:
            if info is not None and info["score"] is not None:
                self.history.append((time.perf_counter() - self._start, float(info["score"])))

        return log, lambda: None


WATCH = Watch()
LOGGER = "hoseq_benchmarks.watch.v1"


@spacy.registry.loggers(LOGGER)
def watch(progress_bar: Any = None) -> Callable[..., Any]:
    return WATCH.setup
