"""What every compared system can do.

`tag` is what is timed: from what `prepare` gives to labels that can be read. `benchmarks.worker` runs one of them in a
process of its own.
"""

from pathlib import Path
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Protocol, Set

from spacy.tokens import Doc

from .corpora import Chunk, Data
from .history import History


class Labelled(NamedTuple):
    """What a system says of the sentences; None = it does not say that."""

    n_tokens: int
    tags: Optional[List[List[str]]] = None
    chunks: Optional[List[Set[Chunk]]] = None


Reader = Callable[[List[str]], Iterable[Doc]]
Caller = Callable[[str], Any]


class System(Protocol):
    """folder: one that belongs to the system. The model is all that `model` names: a file or a folder. `reader`: from
    raw texts to labelled Docs, loaded anew, so that it has seen no word; None if the system reads no text. `caller`:
    the same for one text at a time.
    """

    def train(self, data: Data, folder: Path) -> History: ...

    def model(self, folder: Path) -> Optional[Path]: ...

    def load(self, folder: Path) -> None: ...

    def prepare(self, words: List[List[str]]) -> Any: ...

    def tag(self, prepared: Any) -> Any: ...

    def read(self, result: Any) -> Labelled: ...

    def reader(self, folder: Path) -> Optional[Reader]: ...

    def caller(self, folder: Path) -> Optional[Caller]: ...

    def version(self) -> str: ...


def folder_name(system: str) -> str:
    return system.replace(" ", "_").replace("+", "and").replace(",", "")
