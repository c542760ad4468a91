"""A pipeline before and after, on the same texts: all labels together, and each alone."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from spacy.tokens import Doc

from ...arrays import Floats
from ...components.targets.places import target_at
from ...reporting.scores import Pair, counts, label_scores, pairs_of
from ...reporting.significance import accuracy, f_score, paired_bootstrap


class Comparison(NamedTuple):
    """before, after: scores, F of spans, or the share of labels that are right. p: of
    the two-sided bootstrap over sentences. labels: label -> how often it is annotated, F before, F
    after."""

    before: float
    after: float
    p: float
    labels: dict[str, tuple[int, float, float]]


class Evaluated(NamedTuple):
    """Annotation beside gold docs. pairs: of labels. counts (S, 3): of sentences, as `counts` gives them.
    score: of counts."""

    pairs: list[Pair]
    counts: Floats
    score: Callable[[Floats], Floats]

    @property
    def value(self) -> float:
        return float(self.score(self.counts.sum(axis=0, keepdims=True))[0])


def evaluated(
    gold: Sequence[Doc], docs: Sequence[Doc], place: str, labels: Sequence[str]
) -> Evaluated:
    """Evaluate docs by gold docs. place: of labels. labels: that are annotated there. Of others nothing is
    known, so they count neither as right nor as wrong."""
    pairs = []
    for pair in pairs_of(gold, docs, place):
        # whether a guess of another label is right, nobody has said
        if pair.guess not in labels:
            pair = pair._replace(guess="")
        if pair.gold or pair.guess:
            pairs.append(pair)
    score = accuracy
    if target_at(place).labels_spans:
        score = f_score
    return Evaluated(pairs, counts(gold, pairs), score)


def compared(before: Evaluated, after: Evaluated) -> Comparison:
    """Compare two annotations of the same gold docs."""
    gain = paired_bootstrap(before.counts, after.counts, before.score, 2_000)
    loss = paired_bootstrap(after.counts, before.counts, before.score, 2_000)
    p = min(1.0, 2 * min(gain.p, loss.p))
    labels: dict[str, tuple[int, float, float]] = {}
    for row in label_scores(before.pairs):
        labels[row["label"]] = (row["gold"], row["f"], 0.0)
    for row in label_scores(after.pairs):
        _, f_before, _ = labels.get(row["label"], (0, 0.0, 0.0))
        labels[row["label"]] = (row["gold"], f_before, row["f"])
    return Comparison(before.value, after.value, p, labels)
