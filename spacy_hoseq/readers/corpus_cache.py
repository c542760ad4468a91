"""Gold docs that are read from their files once for each pipeline.

`spacy train` asks a reader for the training corpus when components are initialized and again when training begins, and
for the dev corpus at every evaluation; and making Docs of a file costs more than most of what is then done with them.
So the gold docs stay in memory beside the pipeline that they were read for, as long as it lives and the files do not
change. Predicted docs are made anew at each reading: components may write on those.
"""

from pathlib import Path
from typing import Dict, Hashable, Iterable, Iterator, List, NamedTuple, Sequence, Tuple
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokens import Doc

MAX_TOKENS = 1_000_000  # kept for one pipeline (about 270 bytes each); a corpus that is too large is read again


class Kept(NamedTuple):
    """stamps: of the files when they were read. docs: all that they hold."""

    stamps: List[Tuple[int, int]]
    docs: List[Doc]

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.docs))


_KEPT: "WeakKeyDictionary[Language, Dict[Hashable, Kept]]" = WeakKeyDictionary()


def kept(nlp: Language, source: Hashable, files: Sequence[Path], read: Iterable[Doc]) -> Iterator[Doc]:
    """The docs that `read` would give for `nlp`, from memory where they were all read before.

    source: what the docs depend on beside the files and the pipeline. Nothing is kept in a memory zone: it would end
    with it.
    """
    name, stamps = (source, *files), [stamp(file) for file in files]
    of_pipeline = _KEPT.setdefault(nlp, {})
    known = of_pipeline.get(name)
    if known is not None and known.stamps == stamps:
        yield from known.docs
        return
    of_pipeline.pop(name, None)
    docs: List[Doc] = []
    in_zone: bool = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]  # (missing in spaCy's stub file)
    free = 0 if in_zone else MAX_TOKENS - sum(entry.n_tokens for entry in of_pipeline.values())
    for doc in read:
        free -= len(doc)
        if free >= 0:
            docs.append(doc)
        else:
            docs.clear()
        yield doc
    if free >= 0:
        of_pipeline[name] = Kept(stamps, docs)


def stamp(file: Path) -> Tuple[int, int]:
    """Changes when a file is written."""
    found = file.stat()
    return found.st_mtime_ns, found.st_size
