"""How easiest-first decoding grows with the words of a sentence n and the order k: the paper says O(kn) classifications
(Tsuruoka & Tsujii 2005, section 2.2).

    python curve.py METRICS.json [--lengths 10,100,1000] [--labels 10] [--turns 3]

Local classifiers with random scores, which make the neighbours matter. Counted: scores asked of a classifier in a
context, which has no noise. Timed: processor seconds, the least of some turns.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import srsly
import typer
from wasabi import msg

from spacy_hoseq.arrays import Floats, Ints
from spacy_hoseq.decoders.bidirectional.easiest_first import decode_easiest_first


class RandomScores:
    """Local classifiers whose scores are a mixture of a hash of the context. queries: how often they were asked."""

    def __init__(self, n_tokens: int, n_labels: int, order: int, seed: int) -> None:
        self.n_tokens = n_tokens
        self.n_labels = n_labels
        self.queries = 0
        rng = np.random.default_rng(seed)
        self._of_word = rng.normal(scale=2.0, size=(n_tokens, n_labels))
        self._of_neighbour = rng.normal(size=(2 * order, n_labels + 2, n_labels))

    def __call__(self, tokens: Ints, visible: Ints, owners: Ints, contexts: Ints) -> Floats:
        self.queries += len(owners)
        scores = self._of_word[tokens[owners]]
        for slot, of_label in enumerate(self._of_neighbour):
            sees = (visible[owners] >> slot & 1).astype(bool)
            scores[sees] += of_label[contexts[sees, slot]]
        return scores


def main(
    output: Path, lengths: str = "10,30,100,300,1000,3000,10000", labels: int = 10, turns: int = 3
) -> None:
    rows = [
        measured(n, order, labels, turns) for order in (1, 2) for n in map(int, lengths.split(","))
    ]
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, {"labels": labels, "turns": turns, "rows": rows})
    msg.good(f"{len(rows)} points: {output}")


def measured(n: int, order: int, n_labels: int, turns: int) -> dict[str, Any]:
    """One sentence of n words."""
    seconds: list[float] = []
    for _ in range(turns):
        local = RandomScores(n, n_labels, order, seed=0)
        start = time.process_time()
        decode_easiest_first(local, np.array([n]), order)
        seconds.append(time.process_time() - start)
    return {"order": order, "n": n, "queries": local.queries, "seconds": min(seconds)}


if __name__ == "__main__":
    typer.run(main)
