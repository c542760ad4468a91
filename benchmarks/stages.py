"""Where the time of tagging goes: microseconds a token for each stage, and what exact pruning leaves to decode.

    python -m benchmarks.stages TEXT.spacy NAME=MODEL NAME=MODEL ... [--page docs/performance.md]

Every stage is run alone on the same Docs, several times; the median counts.
"""

import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import spacy
import typer
from spacy.tokens import Doc, DocBin
from wasabi import table

from spacy_hoseq.decoders.bounds import candidate_labels, refine
from spacy_hoseq.decoders.limits import Limits
from spacy_hoseq.decoders.nonnegative import decode_nonnegative
from spacy_hoseq.decoders.pruning import decode_pruned
from spacy_hoseq.decoders.viterbi import viterbi

from .page import write_table

PASSES = 7


def main(text: Path, models: List[str], page: Optional[Path] = None) -> None:
    measured = {name: stages(Path(path), text) for name, path in (item.split("=", 1) for item in models)}
    names = list(next(iter(measured.values())))
    rows = [(name, *(columns[name] for columns in measured.values())) for name in names]
    header = ("", *measured)
    print(table(rows, header=header, divider=True, aligns=("l", *["r"] * len(measured))))
    if page is not None:
        write_table(page, "stages", header, rows)


def stages(model: Path, text: Path) -> Dict[str, str]:
    nlp = spacy.load(model)
    pipe = nlp.get_pipe("hoseq_tagger")
    words = [[t.text for t in doc] for doc in DocBin().from_disk(text).get_docs(nlp.vocab)]
    docs = [Doc(nlp.vocab, words=sentence) for sentence in words]
    emissions = pipe.model.layers[0]
    extractor = emissions.attrs["features"].extractor
    scores, trans, lengths, patterns = pipe.model.predict(docs)[:4]
    limits = Limits(trans, patterns)  # kept, as the model does
    first = candidate_labels(scores, limits)
    second = refine(first, limits, lengths)
    guesses = pipe.predict(docs)

    def unpruned() -> Any:
        if patterns is None:
            return viterbi(scores, trans, lengths)
        return decode_nonnegative(scores, trans, patterns, lengths)

    n = len(scores)
    return {
        "attribute values of all tokens": per_token(n, lambda: extractor.columns(docs)),
        "emission scores, these included": per_token(n, lambda: emissions.predict(docs)),
        "decoding": per_token(n, lambda: decode_pruned(scores, trans, lengths, patterns=patterns, limits=limits)),
        "(decoding without pruning)": per_token(n, unpruned),
        "writing tags": per_token(n, lambda: pipe.set_annotations(docs, guesses)),
        "all, through nlp.pipe": per_token(n, *whole(nlp, words)),
        "label patterns": str(0 if patterns is None else int((patterns.weights > 0).sum())),
        "candidates a token, first bound": f"{len(first.labels) / n:.2f}",
        "candidates a token, later rounds": f"{len(second.labels) / n:.2f}",
        "tokens left open": f"{np.mean(second.counts > 1):.1%}",
    }


def whole(nlp: Any, words: List[List[str]]) -> Tuple[Callable[[Any], Any], Callable[[], Any]]:
    return lambda docs: list(nlp.pipe(docs)), lambda: [Doc(nlp.vocab, words=sentence) for sentence in words]


def per_token(n: int, work: Callable[..., Any], prepare: Optional[Callable[[], Any]] = None) -> str:
    """Median of several runs, in microseconds a token. prepare: makes fresh input, which is not timed."""
    seconds = []
    for _ in range(PASSES):
        given = () if prepare is None else (prepare(),)
        start = time.perf_counter()
        work(*given)
        seconds.append(time.perf_counter() - start)
    return f"{statistics.median(seconds) / n * 1e6:.2f}"


if __name__ == "__main__":
    typer.run(main)
