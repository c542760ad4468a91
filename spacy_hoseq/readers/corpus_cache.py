"""A cache of gold Docs: each pipeline reads a corpus once.

`spacy train` asks a reader for the training corpus when components are initialized and again when
training begins, and for the dev corpus at every evaluation; and making Docs of a file costs more
than most of what is then done with them. So the gold docs stay in memory beside the pipeline that
they were read for, as long as it lives and the files do not change. Predicted docs are made anew at
each reading: components may write on those.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokens import Doc

# A cache: by pipeline, then by what was read, with sizes and times of the files, all that they hold.
# It forgets with the pipeline, and a corpus when its files have changed.
_CACHES: "WeakKeyDictionary[Language, dict[Hashable, tuple[object, list[Doc]]]]" = (
    WeakKeyDictionary()
)


def cached(
    nlp: Language,
    source: Hashable,
    files: Sequence[Path],
    read: Iterable[Doc],
    max_tokens: int = 1_000_000,
) -> Iterator[Doc]:
    """The Docs of `read`, or the same Docs from the cache.

    source: what the docs depend on beside the files and the pipeline. max_tokens: of all corpora of
    a pipeline, about 270 bytes each; a corpus that is too large is read again. In a memory zone
    nothing is cached: it would end with it.
    """
    name = (source, *files)
    stamps = [(file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    cache = _CACHES.setdefault(nlp, {})
    # popped, so that a corpus that has changed makes room at once
    before, docs = cache.pop(name, (None, []))
    if before == stamps:
        cache[name] = (stamps, docs)
        yield from docs
        return
    docs = []
    # strings that a memory zone has added are gone after it
    in_zone: bool = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]  # (missing in spaCy's stub file)
    free = 0 if in_zone else max_tokens
    for _, others in cache.values():
        free -= sum(map(len, others))
    for doc in read:
        free -= len(doc)
        # what was cached of a corpus that is too large goes at once
        if free >= 0:
            docs.append(doc)
        else:
            docs.clear()
        yield doc
    # reached only if all Docs were read: a reader that stops early caches nothing
    if free >= 0:
        cache[name] = (stamps, docs)
