"""Gold docs that are read from their files once for each pipeline.

`spacy train` asks a reader for the training corpus when components are initialized and again when
training begins, and for the dev corpus at every evaluation; and making Docs of a file costs more
than most of what is then done with them. So the gold docs stay in memory beside the pipeline that
they were read for, as long as it lives and the files do not change. Predicted docs are made anew at
each reading: components may write on those.
"""

from pathlib import Path
from typing import Dict, Hashable, Iterable, Iterator, List, NamedTuple, Sequence, Tuple
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokens import Doc

# in the cache of one pipeline (about 270 bytes each); a corpus that is too large is read again
MAX_TOKENS = 1_000_000


class CachedCorpus(NamedTuple):
    """stamps: of the files when they were read. docs: all that they hold."""

    stamps: List[Tuple[int, int]]
    docs: List[Doc]

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.docs))


_CACHES: "WeakKeyDictionary[Language, Dict[Hashable, CachedCorpus]]" = WeakKeyDictionary()


def cached(
    nlp: Language,
    source: Hashable,
    files: Sequence[Path],
    read: Iterable[Doc],
    max_tokens: int = MAX_TOKENS,
) -> Iterator[Doc]:
    """The docs that `read` would give for `nlp`, from memory where they were all read before.

    source: what the docs depend on beside the files and the pipeline. max_tokens: of all corpora of
    a pipeline. In a memory zone nothing is cached: it would end with it.
    """
    name = (source, *files)
    stamps = [stamp(file) for file in files]
    cache = _CACHES.setdefault(nlp, {})
    corpus = cache.get(name)
    if corpus is not None and corpus.stamps == stamps:
        yield from corpus.docs
        return
    cache.pop(name, None)
    docs: List[Doc] = []
    in_zone: bool = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]  # (missing in spaCy's stub file)
    free = 0 if in_zone else max_tokens - sum(other.n_tokens for other in cache.values())
    for doc in read:
        free -= len(doc)
        if free >= 0:
            docs.append(doc)
        else:
            docs.clear()
        yield doc
    if free >= 0:
        cache[name] = CachedCorpus(stamps, docs)


def stamp(file: Path) -> Tuple[int, int]:
    """Changes when a file is written."""
    status = file.stat()
    return status.st_mtime_ns, status.st_size
