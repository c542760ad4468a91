"""What tests build again and again: entries of configs, Docs, examples, pipelines."""

import functools
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hoseq.pipelines.loading import load_from


def layer(name: str, /, **settings: Any) -> dict[str, Any]:
    """Entry of a config: a layer of ours, as "SparseLinear"."""
    return {"@architectures": f"spacy_hoseq.{name}.v1", **settings}


def misc(name: str, /, **settings: Any) -> dict[str, Any]:
    """Entry of a config: patterns, rules, formats of ours, as "word_patterns"."""
    return {"@misc": f"spacy_hoseq.{name}.v1", **settings}


def sources(**patterns: Any) -> dict[str, Any]:
    """Entry of a config: these sources of patterns together."""
    return {"@misc": "spacy_hoseq.pattern_sources.v1", "*": patterns}


def doc_of(
    nlp: Any,
    text: str,
    tags: str | None = None,
    chunks: Any = None,
    key: str = "chunks",
    **annotation: Any,
) -> Doc:
    """Words between spaces, with tags; chunks: (first token, end, type), as the spans `key`."""
    doc = Doc(nlp.vocab, words=text.split(), tags=tags.split() if tags else None, **annotation)
    if chunks is not None:
        doc.spans[key] = [Span(doc, *chunk) for chunk in chunks]
    return doc


def tagger_of(nlp: Language) -> Any:
    return nlp.get_pipe("hoseq_tagger")


def learn(nlp: Language, examples: list[Example], n_updates: int, **settings: Any) -> Language:
    """Initialize a pipeline with all examples, and update it with all, so many times."""
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples, sgd=optimizer, losses={}, **settings)
    return nlp


def docs_in(path: Path, vocab: Vocab | None = None) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(Vocab() if vocab is None else vocab))


def spans_of(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    """(first token, end, label) of each."""
    return [(span.start, span.end, span.label_) for span in spans]


def unannotated(doc: Doc, vocab: Vocab) -> Doc:
    """A Doc of the same words, and nothing else."""
    return Doc(vocab, words=[token.text for token in doc])


def packaged(name: str = "en") -> Language:
    """A copy of a pipeline of the package, which is read once in a process."""
    return pickle.loads(_pickled(str(name)))


@functools.cache
def shared(name: str) -> Language:
    """A pipeline of the package: one object for all tests that only read texts with it."""
    return packaged(name)


@functools.cache
def _pickled(name: str) -> bytes:
    return pickle.dumps(load_from(name))
