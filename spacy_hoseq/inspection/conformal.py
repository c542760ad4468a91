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

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..arrays import AnyInts, Floats, Ints
from ..chunks import OUTSIDE, TagTable
from ..components.expected_spans import probable_chunks
from ..components.structured import StructuredComponent
from ..decoders import best_labels, k_best, path_score
from ..errors import Errors
from .certainty import DOCS_PER_BATCH, type_probabilities
from .reading import Reading

Kind = Literal["labels", "chunks", "labellings"]
SAVED = "conformal"  # of `cfg`
LONGEST = 10  # words of a chunk that is looked at
KEPT = 1000  # scores of each kind that are saved with a component, and their decimals
DIGITS = 7
ROUNDING = 1e-9  # of probabilities, which are sums in another order
MOST = 1000  # labellings of a set


def fit_prediction_sets(pipe: StructuredComponent, examples: Iterable[Example]) -> None:
    """Keep with a component what its prediction sets need; `to_disk` writes it, and what the
    component learns later removes it.

    examples: that it was not trained on, with predicted docs as earlier components have annotated
    them. Chunks of more than LONGEST words are not looked at. Of more than KEPT scores of a kind
    KEPT are saved, so that sets are larger than need be by at most one in KEPT. RAISES ValueError
    [HS145]: no gold labels.
    """
    parts = [oddness(pipe, batch) for batch in minibatch(examples, DOCS_PER_BATCH)]
    saved = {}
    for kind in ("labels", "chunks", "labellings"):
        scores = np.sort(np.concatenate([np.zeros(0), *(part[kind] for part in parts)]))
        # rounded up to what JSON has the digits for
        some = np.ceil(scores[ranks_kept(len(scores)) - 1] * 10**DIGITS) / 10**DIGITS
        saved[kind] = {"n": len(scores), "scores": np.round(some, DIGITS).tolist()}
    if not saved["labels"]["n"]:
        raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))
    pipe.cfg[SAVED] = saved


def prediction_sets(
    pipe: StructuredComponent, docs: Iterable[Doc], alpha: float, kind: Kind = "labels"
) -> Iterator[Any]:
    """Sets that hold the right answer with probability 1 - alpha, by what was kept when the
    component was calibrated. RETURNS of each Doc

    labels: of each token, labels, most probable first; at least one, none at white space.
    chunks: ((start, end, label), probability), most probable first.
    labellings: of each sentence, labels of its words, the best first; MOST of them at most.
    RAISES ValueError [HS158]: it was not calibrated; [HS027]: alpha, or kind; [HS145]: there was no
    example of the kind.
    """
    sets_of = {"labels": _labels, "labellings": _labellings}
    if pipe.target.labels_spans:
        sets_of["chunks"] = _chunks
    if kind not in sets_of:
        expected = ", ".join(sets_of)
        raise ValueError(Errors.HS027.format(name="kind", value=kind, expected=expected))
    limit = threshold(pipe, alpha, kind)
    batches = minibatch(docs, DOCS_PER_BATCH)
    return (one for batch in batches for one in sets_of[kind](Reading(pipe, batch), limit))


def threshold(pipe: StructuredComponent, alpha: float, kind: Kind = "labels") -> float:
    """The oddness up to which answers belong to a set; inf where there were too few examples for so
    small an alpha. RAISES ValueError as `prediction_sets`."""
    if not pipe.cfg.get(SAVED):
        raise ValueError(Errors.HS158.format(name=pipe.name))
    if not 0 < alpha < 1:
        expected = "between 0 and 1"
        raise ValueError(Errors.HS027.format(name="alpha", value=alpha, expected=expected))
    n = pipe.cfg[SAVED][kind]["n"]
    if not n:
        raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))
    rank = int(np.ceil((n + 1) * (1 - alpha)))
    scores = [*pipe.cfg[SAVED][kind]["scores"], np.inf]
    return float(scores[np.searchsorted(ranks_kept(n), rank)])


def ranks_kept(n: int) -> Ints:
    """Ranks, from 1, of the scores that are saved of n: all of up to KEPT, else KEPT at equal
    distances, the last one among them."""
    return np.ceil(np.arange(1, min(n, KEPT) + 1) * (n / max(1, min(n, KEPT)))).astype(np.intp)


def oddness(pipe: StructuredComponent, examples: Iterable[Example]) -> dict[str, Floats]:
    """How odd the gold answers of each kind are, where they are known."""
    examples = list(examples)
    reading = Reading(pipe, [eg.predicted for eg in examples])
    gold = pipe.gold_ids(examples)
    known = np.flatnonzero(gold >= 0)
    unknown = np.bincount(reading.sentence_of, gold < 0, minlength=len(reading.ends))
    some = reading.potentials.select(np.flatnonzero(unknown == 0))
    best = path_score(some.potentials, best_labels(some.potentials))
    of_gold = path_score(some.potentials, gold[some.tokens])
    return {
        "labels": 1 - reading.posterior.nodes[known, gold[known]],
        "chunks": _odd_chunks(reading, gold) if reading.target.labels_spans else np.zeros(0),
        "labellings": np.maximum(best - of_gold, 0.0),
    }


def _odd_chunks(reading: Reading, gold: AnyInts) -> Floats:
    begins = np.zeros(len(gold), bool)
    begins[reading.ends - reading.lengths] = True
    known = np.where(gold < 0, reading.labels.index(OUTSIDE), gold)
    first, end, types = TagTable(reading.labels).chunks(known, begins)
    rows = [list(reading.pipe.labels).index(name) for name in types]
    p = type_probabilities(reading, first, end - first)
    return np.asarray(1 - p[rows, np.arange(len(rows))])


def _labels(reading: Reading, limit: float) -> Iterator[list[list[str]]]:
    for p in reading.by_token(reading.posterior.nodes):
        order = np.argsort(-p, axis=1, kind="stable")
        sizes = np.maximum((1 - p <= limit).sum(axis=1), 1) * (p.sum(axis=1) > 0)
        pairs = zip(order, sizes.tolist(), strict=True)
        yield [[reading.labels[y] for y in row[:n]] for row, n in pairs]


def _chunks(reading: Reading, limit: float) -> Iterator[list[Any]]:
    of_docs: list[list[Any]] = [[] for _ in reading.texts]
    representation = str(reading.target.representation)
    least = 1 - limit - ROUNDING
    for place, size, label, p in probable_chunks(
        reading.posterior, reading.labels, representation, least, LONGEST
    ):
        chunk = (*reading.tokens(place, place + size), label)
        of_docs[reading.text_of[place]].append((chunk, p))
    return (sorted(rows, key=lambda row: (-row[1], row[0])) for rows in of_docs)


def _labellings(reading: Reading, limit: float) -> Iterator[list[list[list[str]]]]:
    of_docs: list[list[list[list[str]]]] = [[] for _ in reading.texts]
    for part in reading.potentials.one_by_one():
        best = k_best(part.potentials, MOST)
        rows = best.labels[best.scores >= best.scores[0] - limit].tolist()
        names = [[reading.labels[y] for y in row] for row in rows]
        of_docs[reading.text_of[part.tokens[0]]].append(names)
    return iter(of_docs)
