"""Sets of labels, chunks and labellings that hold the right one with a promised probability.

Split conformal prediction (Vovk, Gammerman & Shafer 2005; Sadinle, Lei & Wasserman 2019 for sets of
labels): of texts that the component was not trained on, each gold answer has a score of how odd it
is. The threshold is the ceil((n + 1)(1 - alpha))-th smallest of n scores; a set is all answers that
are not odder. For another text of the same kind it holds the right answer with probability 1 -
alpha at least, whatever the model is; a better one has smaller sets.

    labels       oddness of y at token t: 1 - p(y_t = y | x)
    chunks       of a chunk: 1 - p(exactly this chunk | x)
    labellings   of a labelling of a sentence: best score - score(x, y)

The promise is about texts: tokens of one text are not independent, but averaged over texts it holds
for them as well. Checked against the definition, and by coverage, in
tests/inspection/test_conformal.py.
"""

from typing import Any, Dict, Iterable, Iterator, List, Literal, Optional, Tuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..arrays import Floats, Ints
from ..chunks import TagTable
from ..components import StructuredComponent, probable_chunks
from ..decoders import best_labels, k_best, path_score
from ..errors import Errors
from .certainty import BATCH, type_probabilities
from .reading import Reading

Kind = Literal["labels", "chunks", "labellings"]
KINDS: Tuple[Kind, ...] = ("labels", "chunks", "labellings")
LONGEST = 10  # words of a chunk that is looked at
KEPT = 1000  # scores of each kind that are saved with a component, and their decimals
DIGITS = 7
ROUNDING = 1e-9  # of probabilities, which are sums in another order
MOST = 1000  # labellings of a set


Chunk = Tuple[int, int, str]  # tokens first <= i < end, and the label


class Conformal:
    """Thresholds of a component, learnt from examples that it was not trained on.

    examples: with predicted docs as earlier components have annotated them. Chunks of more than
    LONGEST words are not looked at. RAISES ValueError [HS145]: no gold labels.
    """

    def __init__(self, pipe: StructuredComponent, examples: Iterable[Example]) -> None:
        self._pipe = pipe
        self.scores: Dict[Kind, Floats] = {}
        self.sizes: Dict[Kind, int] = {}
        parts = [oddness(pipe, batch) for batch in minibatch(examples, BATCH)]
        for kind in KINDS:
            scores = np.concatenate([np.zeros(0), *(part[kind] for part in parts)])
            self.scores[kind] = np.sort(scores)
            self.sizes[kind] = len(scores)
        if not self.sizes["labels"]:
            raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))

    @classmethod
    def of(cls, pipe: StructuredComponent) -> "Conformal":
        """What was kept with a component when it was calibrated. RAISES ValueError [HS158]:
        nothing."""
        saved: Optional[Dict[str, Any]] = pipe.cfg.get("conformal")
        if not saved:
            raise ValueError(Errors.HS158.format(name=pipe.name))
        conformal = cls.__new__(cls)
        conformal._pipe = pipe
        conformal.scores = {kind: np.asarray(saved[kind]["scores"], float) for kind in KINDS}
        conformal.sizes = {kind: int(saved[kind]["n"]) for kind in KINDS}
        return conformal

    def keep(self) -> None:
        """Save the scores with the component, KEPT of each kind, so that sets are larger than need
        be by at most one in KEPT; `to_disk` writes them, and what it learns later removes them."""
        kept = {kind: some[ranks_kept(len(some)) - 1] for kind, some in self.scores.items()}
        # rounded up to what JSON has the digits for
        self._pipe.cfg["conformal"] = {
            kind: {
                "n": self.sizes[kind],
                "scores": np.round(np.ceil(some * 10**DIGITS) / 10**DIGITS, DIGITS).tolist(),
            }
            for kind, some in kept.items()
        }

    def threshold(self, alpha: float, kind: Kind = "labels") -> float:
        """The oddness up to which answers belong to a set; inf where there are too few examples for
        so small an alpha. RAISES ValueError [HS145]: no example of the kind; [HS027]: alpha."""
        if not 0 < alpha < 1:
            raise ValueError(_wrong("alpha", alpha, "between 0 and 1"))
        scores = self.scores[kind]
        n = self.sizes[kind]
        if not n:
            raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))
        rank = int(np.ceil((n + 1) * (1 - alpha)))
        ranks = np.arange(1, n + 1) if len(scores) == n else ranks_kept(n)
        return float(scores[np.searchsorted(ranks, rank)]) if rank <= n else float("inf")

    def labels(self, docs: Iterable[Doc], alpha: float) -> Iterator[List[List[str]]]:
        """Of each token of each Doc, labels that hold the right one with probability 1 - alpha,
        most probable first; at least one, none at white space."""
        limit = self.threshold(alpha)
        for batch in minibatch(docs, BATCH):
            reading = Reading(self._pipe, list(batch))
            for p in reading.of_tokens(reading.posterior.nodes):
                order = np.argsort(-p, axis=1, kind="stable")
                sizes = np.maximum((1 - p <= limit).sum(axis=1), 1) * (p.sum(axis=1) > 0)
                pairs = zip(order, sizes.tolist(), strict=True)
                yield [[reading.labels[y] for y in row[:n]] for row, n in pairs]

    def chunks(self, docs: Iterable[Doc], alpha: float) -> Iterator[List[Tuple[Chunk, float]]]:
        """Of each Doc, chunks that hold a right one with probability 1 - alpha, with their
        probabilities, most probable first."""
        limit = self.threshold(alpha, "chunks")
        for batch in minibatch(docs, BATCH):
            reading = Reading(self._pipe, list(batch))
            of_docs: List[List[Tuple[Chunk, float]]] = [[] for _ in reading.texts]
            representation = str(reading.target.representation)
            least = 1 - limit - ROUNDING
            for place, size, label, p in probable_chunks(
                reading.posterior, reading.labels, representation, least, LONGEST
            ):
                chunk = (*reading.tokens(place, place + size), label)
                of_docs[reading.text_of[place]].append((chunk, p))
            yield from (sorted(rows, key=lambda row: (-row[1], row[0])) for rows in of_docs)

    def labellings(self, docs: Iterable[Doc], alpha: float) -> Iterator[List[List[List[str]]]]:
        """Of each Doc, for each sentence, labellings that hold the right one with probability 1 -
        alpha, best first; MOST of them at most."""
        limit = self.threshold(alpha, "labellings")
        for doc in docs:
            reading = Reading(self._pipe, [doc])
            sets = []
            for part in reading.potentials.one_by_one() if len(reading.best) else ():
                best = k_best(part.potentials, MOST)
                rows = best.labels[best.scores >= best.scores[0] - limit].tolist()
                sets.append([[reading.labels[y] for y in row] for row in rows])
            yield sets


def prediction_sets(
    pipe: StructuredComponent, docs: Iterable[Doc], alpha: float, kind: Kind = "labels"
) -> Iterator[Any]:
    """Sets that hold the right answer with probability 1 - alpha, by what was kept when the
    component was calibrated: `Conformal.labels`, `.chunks` or `.labellings`. RAISES ValueError
    [HS158]: it was not; [HS027]: alpha, or kind."""
    known = [one for one in KINDS if one != "chunks" or pipe.target.of_spans]
    if kind not in known:
        raise ValueError(_wrong("kind", kind, ", ".join(known)))
    return getattr(Conformal.of(pipe), kind)(docs, alpha)


def ranks_kept(n: int) -> Ints:
    """Ranks, from 1, of the scores that are saved of n: all of up to KEPT, else KEPT at equal
    distances, the last one among them."""
    return np.ceil(np.arange(1, min(n, KEPT) + 1) * (n / max(1, min(n, KEPT)))).astype(np.intp)


def oddness(pipe: StructuredComponent, examples: Iterable[Example]) -> Dict[Kind, Floats]:
    """Of the gold answers of each kind that are known."""
    examples = list(examples)
    reading = Reading(pipe, [eg.predicted for eg in examples])
    gold = pipe.gold_ids(examples)
    known = np.flatnonzero(gold >= 0)
    unknown = np.bincount(reading.sentence_of, gold < 0, minlength=len(reading.ends))
    some = reading.potentials.select(np.flatnonzero(unknown == 0))
    best = path_score(some.potentials, best_labels(some.potentials))
    of_gold = path_score(some.potentials, gold[some.tokens])
    chunks = np.zeros(0)
    if reading.target.of_spans:
        begins = np.zeros(len(gold), bool)
        begins[reading.ends - reading.lengths] = True
        first, end, types = TagTable(reading.labels).chunks(np.maximum(gold, 0), begins)
        kept = [i for i in range(len(first)) if (gold[first[i] : end[i]] >= 0).all()]
        p = type_probabilities(reading, first[kept], (end - first)[kept])
        rows = [list(reading.pipe.labels).index(types[i]) for i in kept]
        chunks = 1 - p[rows, np.arange(len(kept))]
    labels = 1 - reading.posterior.nodes[known, gold[known]]
    return {"labels": labels, "chunks": chunks, "labellings": np.maximum(best - of_gold, 0.0)}


def _wrong(name: str, value: object, expected: str) -> str:
    settings = {"name": name, "value": value, "expected": expected}
    return Errors.HS027.format(**settings)
