"""Sum of the scores of two layers."""

from collections.abc import Sequence

from spacy.tokens import Doc

from ..arrays import AnyFloats
from .scorer import AnyFeatures, Emissions, FlatScores, Scorer, scorer_of, scoring_layer


def SumEmissions(first: Emissions, second: Emissions, nO: int | None = None) -> Emissions:
    """scores = first(docs) + second(docs); both get the decoder's gradient.

    first, second: two emissions; sums may be nested.
    nO (int): number of labels; found in initialization.
    """
    return scoring_layer("sum_emissions", SumScorer, layers=[first, second], nO=nO)


class SumScorer(Scorer):
    """Of `SumEmissions`."""

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        layers = self.model.layers
        first, second = (scorer_of(each).scores(docs, is_train=is_train) for each in layers)

        def backprop(d_scores: AnyFloats) -> None:
            first.backprop(d_scores)
            second.backprop(d_scores)

        return FlatScores(first.scores + second.scores, first.lengths, backprop)

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> AnyFeatures:
        for layer in self.model.layers:
            yield from scorer_of(layer).features_at(docs, words)
