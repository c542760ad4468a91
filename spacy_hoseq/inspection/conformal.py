"""Sets of labels, chunks and labellings that hold the right one with a promised probability.

Split conformal prediction (Vovk, Gammerman & Shafer 2005; Sadinle, Lei & Wasserman 2019 for sets of
labels): of texts that the component was not trained on, each gold answer has a score of how odd it
is. The threshold is the ceil((n + 1)(1 - alpha))-th smallest of n scores; a set has all answers that
are not odder. For another text of the same kind it holds the right answer with probability 1 -
alpha at least, whatever the model is; a better model has smaller sets.

    labels       oddness of y at token t: 1 - p(y_t = y | x)
    chunks       of a chunk: 1 - p(exactly this chunk | x)
    labellings   of a labelling of a sentence: best score - score(x, y)

The promise is about texts: tokens of one text are not independent, but averaged over texts it holds
for them as well. Checked against the definition, and by coverage, in
tests/inspection/test_conformal.py.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
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
from ..errors import Errors, wrong_value
from .certainty import DOCS_PER_BATCH, type_probabilities
from .reading import Reading

Kind = Literal["labels", "chunks", "labellings"]
CFG_KEY = "conformal"
MAX_SAVED_SCORES = 1000  # of each kind, with a component


def fit_prediction_sets(pipe: StructuredComponent, examples: Iterable[Example]) -> None:
    """Save the thresholds of prediction sets with a component. `to_disk` writes them; further
    training removes them.

    examples: that it was not trained on, with predicted docs as earlier components have annotated
    them. A thousand scores of each kind are saved at most: then sets are larger than necessary by
    one in a thousand, at most. RAISES ValueError [HS145]: no gold labels.
    """
    parts = [oddness(pipe, batch) for batch in minibatch(examples, DOCS_PER_BATCH)]
    saved = {}
    for kind in ("labels", "chunks", "labellings"):
        scores = np.sort(np.concatenate([np.zeros(0), *(part[kind] for part in parts)]))
        # seven decimals in JSON, rounded up: a threshold that is too small would break the promise
        rounded = np.ceil(scores[ranks_kept(len(scores)) - 1] * 1e7) / 1e7
        saved[kind] = {"n": len(scores), "scores": np.round(rounded, 7).tolist()}
    if not saved["labels"]["n"]:
        raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))
    pipe.cfg[CFG_KEY] = saved


def prediction_sets(
    pipe: StructuredComponent, docs: Iterable[Doc], alpha: float, kind: Kind = "labels"
) -> Iterator[Any]:
    """Sets that hold the right answer with probability 1 - alpha, by the thresholds that were saved
    when the component was calibrated. RETURNS of each Doc

    labels: of each token, labels, most probable first; at least one, none at white space.
    chunks: ((start, end, label), probability), most probable first; of ten words at most.
    labellings: of each sentence, labels of its words, the best first; a thousand at most.
    RAISES ValueError [HS158]: it was not calibrated; [HS027]: alpha, or kind; [HS145]: there was no
    example of the kind.
    """
    sets_of = {"labels": _labels, "labellings": _labellings}
    if pipe.target.labels_spans:
        sets_of["chunks"] = _chunks
    if kind not in sets_of:
        raise wrong_value("kind", kind, ", ".join(sets_of))
    limit = threshold(pipe, alpha, kind)
    # no generator of its own: errors are raised at the call, not at the first Doc
    batches = minibatch(docs, DOCS_PER_BATCH)
    return chain.from_iterable(sets_of[kind](Reading(pipe, batch), limit) for batch in batches)


def threshold(pipe: StructuredComponent, alpha: float, kind: Kind = "labels") -> float:
    """The oddness up to which answers belong to a set; inf where there were too few examples for so
    small an alpha. RAISES ValueError as `prediction_sets`."""
    if not pipe.cfg.get(CFG_KEY):
        raise ValueError(Errors.HS158.format(name=pipe.name))
    if not 0 < alpha < 1:
        raise wrong_value("alpha", alpha, "between 0 and 1")
    saved = pipe.cfg[CFG_KEY][kind]
    n = saved["n"]
    if not n:
        raise ValueError(Errors.HS145.format(n=0, what="a threshold", least=1))
    rank = np.ceil((n + 1) * (1 - alpha))
    return float([*saved["scores"], np.inf][np.searchsorted(ranks_kept(n), rank)])


def ranks_kept(n: int) -> Ints:
    """Ranks, from 1, of the scores that are saved of n: of all, or of MAX_SAVED_SCORES at equal
    distances, the last one among them."""
    n_saved = min(n, MAX_SAVED_SCORES)
    return np.ceil(np.arange(1, n_saved + 1) * (n / max(1, n_saved))).astype(np.intp)


def oddness(pipe: StructuredComponent, examples: Iterable[Example]) -> dict[str, Floats]:
    """How odd the gold answers of each kind are, where they are known."""
    examples = list(examples)
    reading = Reading(pipe, [eg.predicted for eg in examples])
    gold = pipe.gold_ids(examples)
    known = np.flatnonzero(gold >= 0)
    # labellings are compared where all labels of the sentence are known
    n_unknown = np.bincount(reading.sentence_of, gold < 0, minlength=len(reading.ends))
    part = reading.potentials.select(np.flatnonzero(n_unknown == 0))
    best_scores = path_score(part.potentials, best_labels(part.potentials))
    gold_scores = path_score(part.potentials, gold[part.tokens])
    chunks: Floats = np.zeros(0)
    if reading.target.labels_spans:
        chunks = _odd_chunks(reading, gold)
    return {
        "labels": 1 - reading.posterior.nodes[known, gold[known]],
        "chunks": chunks,
        "labellings": np.maximum(best_scores - gold_scores, 0.0),
    }


def _odd_chunks(reading: Reading, gold: AnyInts) -> Floats:
    """How odd the gold chunks are; a word without a gold label is in none."""
    begins = np.zeros(len(gold), bool)
    begins[reading.ends - reading.lengths] = True
    known = np.where(gold < 0, reading.labels.index(OUTSIDE), gold)
    first, end, types = TagTable(reading.labels).chunks(known, begins)
    rows = [list(reading.pipe.labels).index(name) for name in types]
    p = type_probabilities(reading, first, end - first)
    return np.asarray(1 - p[rows, np.arange(len(rows))])


def _labels(reading: Reading, limit: float) -> Iterator[list[list[str]]]:
    """Of each Doc, the set of each token."""
    for p in reading.by_token(reading.posterior.nodes):
        order = np.argsort(-p, axis=1, kind="stable")
        # one label at least, and none at white space, which has no probabilities
        sizes = np.maximum((1 - p <= limit).sum(axis=1), 1) * (p.sum(axis=1) > 0)
        sets = []
        for row, n in zip(order, sizes.tolist(), strict=True):
            sets.append([reading.labels[y] for y in row[:n]])
        yield sets


def _chunks(reading: Reading, limit: float) -> Iterator[list[Any]]:
    """Of each Doc, chunks with their probabilities, for all chunks of ten words at most."""
    by_doc: list[list[Any]] = [[] for _ in reading.texts]
    representation = str(reading.target.representation)
    least = 1 - limit - 1e-9  # probabilities are sums, here in another order
    for place, size, label, p in probable_chunks(
        reading.posterior, reading.labels, representation, least, 10
    ):
        chunk = (*reading.tokens(place, place + size), label)
        by_doc[reading.text_of[place]].append((chunk, p))
    for rows in by_doc:
        yield sorted(rows, key=lambda row: (-row[1], row[0]))


def _labellings(reading: Reading, limit: float) -> Iterator[list[list[list[str]]]]:
    """Of each Doc, the set of each sentence."""
    by_doc: list[list[list[list[str]]]] = [[] for _ in reading.texts]
    for part in reading.potentials.one_by_one():
        best = k_best(part.potentials, 1000)
        labellings = []
        for row in best.labels[best.scores >= best.scores[0] - limit].tolist():
            labellings.append([reading.labels[y] for y in row])
        by_doc[reading.text_of[part.tokens[0]]].append(labellings)
    return iter(by_doc)
