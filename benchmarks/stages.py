"""Where the time of tagging goes: microseconds a token for each stage, and what exact pruning leaves to decode.

    python -m benchmarks.stages TEXT.spacy NAME=MODEL NAME=MODEL ... [--page PAGE.md]

Every stage is run alone on the same Docs, for all models in turn, several times; the median counts.
"""

import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import spacy
import typer
from spacy.tokens import Doc, DocBin
from wasabi import table

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.pruning.candidates import Limits, candidate_labels
from spacy_hoseq.layers import scorer_of

from .decoding import unpruned
from .page import write_table

PASSES = 15


def main(text: Path, models: List[str], page: Optional[Path] = None) -> None:
    named = (item.split("=", 1) for item in models)
    columns = {name: stages(Path(path), text) for name, path in named}
    seconds: Dict[Tuple[str, str], List[float]] = {}
    for _ in range(PASSES):
        for stage in next(iter(columns.values())).timed:
            for name, column in columns.items():  # in turn, so that none has the machine to itself at a better time
                seconds.setdefault((stage, name), []).append(column.timed[stage]())
    rows = [
        (stage, *(f"{statistics.median(seconds[stage, name]) / c.n_tokens * 1e6:.2f}" for name, c in columns.items()))
        for stage in next(iter(columns.values())).timed
    ]
    rows += [(name, *(c.counted[name] for c in columns.values())) for name in next(iter(columns.values())).counted]
    header = ("", *columns)
    print(table(rows, header=header, divider=True, aligns=("l", *["r"] * len(columns))))
    if page is not None:
        write_table(page, "stages", header, rows)


class Column(NamedTuple):
    """Of one model. timed: stages, which run once and give their seconds. counted: what is no time."""

    n_tokens: int
    timed: Dict[str, Callable[[], float]]
    counted: Dict[str, str]


def stages(model: Path, text: Path) -> Column:
    nlp = spacy.load(model)
    pipe = nlp.get_pipe("hoseq_tagger")
    words = [[t.text for t in doc] for doc in DocBin().from_disk(text).get_docs(nlp.vocab)]
    docs = [Doc(nlp.vocab, words=sentence) for sentence in words]
    emissions = pipe.model.layers[0]
    extractor = scorer_of(emissions).features.extractor
    potentials = pipe.model.predict(docs)
    scores, weights = potentials[:2]
    limits = weights.prepared(Limits)
    first = candidate_labels(scores, limits)
    guesses = pipe.predict(docs)

    def untagged() -> List[Doc]:
        return [Doc(nlp.vocab, words=sentence) for sentence in words]

    n = len(scores)
    timed = {
        "attribute values of all tokens": timer(lambda: extractor.columns(docs)),
        "emission scores, these included": timer(lambda: emissions.predict(docs)),
        "decoding": timer(lambda: decode_exact(potentials)),
        "(decoding without pruning)": timer(lambda: unpruned(potentials)),
        "writing tags": timer(lambda docs: pipe.set_annotations(docs, guesses), untagged),
        "all, through nlp.pipe": timer(lambda docs: list(nlp.pipe(docs)), untagged),
    }
    counted = {
        "label patterns": str(int((weights.node_weights > 0).sum())),
        "candidates a token": f"{len(first.labels) / n:.2f}",
        "tokens left open": f"{np.mean(first.counts > 1):.1%}",
    }
    return Column(n, timed, counted)


def timer(work: Callable[..., Any], prepare: Optional[Callable[[], Any]] = None) -> Callable[[], float]:
    """prepare: makes fresh input, which is not timed."""

    def run() -> float:
        given = () if prepare is None else (prepare(),)
        start = time.perf_counter()
        work(*given)
        return time.perf_counter() - start

    return run


if __name__ == "__main__":
    typer.run(main)
