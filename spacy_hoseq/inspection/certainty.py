"""How sure a component is of its labels: of each token, and of all labels of a sentence together.

    of a token       p(y_t = its label | x);  H(y_t | x);  best score less that of the best labelling with another label
    of a sentence    log p(y* | x);  H(y | x);  score of its labels less that of the best other labelling

y* are the labels that the pipeline sets: the best labelling, or what another decoder chooses.

All are exact under the model, by the recurrences of the decoders (`decoders/answers/`), with any
objective. Whether the model is right as often as it says is a question of calibration (`spacy hoseq
calibrate`). Entropies and log probabilities are in nats. Checked against enumeration in
tests/inspection/test_certainty.py.
"""

from typing import Iterable, Iterator, List, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch

from ..arrays import Floats, Labels
from ..decoders import best_labels
from .decisions import Decisions
from .reading import Reading, ReadTexts, own_component

BATCH = 128  # docs that are read together


class SentenceCertainty(NamedTuple):
    """first, end: tokens first <= i < end. log_probability: of its labels. entropy: of all labels
    together, NaN where there is no distribution of labellings. margin: score of its labels less
    that of the best other labelling, inf if there is none; below 0 where the decoder of the config
    prefers labels that are not the best labelling."""

    first: int
    end: int
    log_probability: float
    entropy: float
    margin: float


class Certainty(NamedTuple):
    """Of one Doc of n tokens; white space has no label, and zeros.

    labels: names of the labels. probabilities, entropies, margins, conditional_entropies (n,):
        of each token.
    sentences: those that have words.
    """

    labels: List[str]
    probabilities: Floats
    entropies: Floats
    margins: Floats
    conditional_entropies: Floats
    sentences: List[SentenceCertainty]


def certainties(pipe: object, docs: Iterable[Doc]) -> Iterator[Certainty]:
    """How sure a `hoseq_tagger`, a `hoseq_chunker` or a greedy `hoseq_bidirectional_tagger` is of
    each Doc.

    docs: with what earlier components have set. Of easiest-first decisions all is meant at the
    moment of the decision, given the neighbours that were decided before: a sentence's log
    probability is that of all its decisions.
    RAISES ValueError [HS140]: a component of another kind; [HS142]: a strategy without decisions.
    """
    for batch in minibatch(docs, BATCH):
        if own_component(pipe).knows == "sums":
            yield from certainties_of(Reading(pipe, batch))
        else:
            yield from _of_decisions(Decisions(pipe, batch))


def certainties_of(reading: Reading) -> List[Certainty]:
    """Of each Doc of a batch."""
    best = reading.best
    p = reading.posterior.nodes[np.arange(len(best)), best]
    margins = token_margins(reading.best_with, best)
    entropies = np.bincount(
        reading.sentence_of, reading.conditional_entropies, minlength=len(reading.ends)
    )
    second = np.zeros(0)
    if len(best):
        begins = reading.ends - reading.lengths
        ahead = reading.best_scores - reading.best_with[begins].max(axis=1)
        is_other = np.logical_or.reduceat(best != best_labels(reading.potentials), begins)
        second = np.where(is_other, ahead, np.minimum.reduceat(margins, begins))
    log_p = np.minimum(reading.best_scores - reading.posterior.log_z, 0.0)
    sentences = [
        SentenceCertainty(0, 0, *row) for row in zip(log_p, entropies, second, strict=True)
    ]
    columns = (p, reading.entropies, margins, reading.conditional_entropies)
    return _by_doc(reading, columns, sentences)


def token_margins(scores: Floats, labels: Labels) -> Floats:
    """The score of each label less the largest one beside it, inf if there is none. scores (N, L),
    labels (N,) -> (N,)."""
    here = np.arange(len(labels)), labels
    others = scores.copy()
    others[here] = -np.inf
    return np.asarray(scores[here] - others.max(axis=1, initial=-np.inf))


def _by_doc(
    reading: ReadTexts, columns: "tuple[Floats, ...]", sentences: List[SentenceCertainty]
) -> List[Certainty]:
    """labels, columns (N,)."""
    result = []
    names = [*reading.labels, ""]
    parts = [reading.of_tokens(column) for column in columns]
    starts = np.concatenate([[0], reading.ends[:-1]]) if len(reading.ends) else reading.ends
    for i, ids in enumerate(reading.label_ids):
        begin = reading.starts[i]
        end = reading.starts[i] + len(reading.docs[i])
        bounds = [
            sentences[s]._replace(
                first=reading.token(int(starts[s]))[1],
                end=reading.token(int(reading.ends[s]) - 1)[1] + 1,
            )
            for s in range(int(np.searchsorted(starts, begin)), int(np.searchsorted(starts, end)))
        ]
        p, entropies, margins, conditional = (part[i] for part in parts)
        result.append(
            Certainty([names[y] for y in ids.tolist()], p, entropies, margins, conditional, bounds)
        )
    return result


def _of_decisions(decisions: Decisions) -> List[Certainty]:
    log_p = decisions.log_probabilities
    labels = decisions.best
    margins = token_margins(log_p, labels)
    p = np.exp(log_p)
    entropies = np.maximum(-(p * np.where(p > 0, log_p, 0.0)).sum(axis=1), 0.0)
    chosen = log_p[np.arange(len(labels)), labels]
    together = np.bincount(decisions.sentence_of, chosen, minlength=len(decisions.ends))
    sentences = [SentenceCertainty(0, 0, float(x), float("nan"), float("nan")) for x in together]
    return _by_doc(decisions, (np.exp(chosen), entropies, margins, entropies), sentences)
