"""Sum over decompositions, which Tsuruoka & Tsujii (2005, "Discussion") leave to future work: of full bidirectional
inference, not the best decomposition, but all of them with equal weight.

    y_i = argmax_y  sum over decompositions d  P_d(y_i = y | o)

Each P_d is a distribution over label sequences, so their mean is one, too; its marginals are exact, but for the labels
that pruning leaves out. Forward and backward sums over the states of `full_bidirectional`.
"""

import numpy as np

from spacy_hoseq.arrays import AnyInts, Floats, Ints
from spacy_hoseq.decoders.bidirectional.decompositions import Candidates, Plan, make_plan
from spacy_hoseq.decoders.bidirectional.local import LocalScores
from spacy_hoseq.decoders.problem import TUNING

Tables = dict[int, dict[int, Floats]]  # log p of each classifier, of each token


def summed(local: LocalScores, lengths: AnyInts, order: int, prune: float) -> Ints:
    """Labels (N,)."""
    plan = make_plan("full_bidirectional", order)
    candidates = Candidates(local, lengths, order, prune, None, TUNING)
    labels = np.zeros(local.n_tokens, np.intp)
    start = 0
    for length in np.asarray(lengths).tolist():
        tokens = np.arange(start, start + length)
        tables = {move.visible: candidates.table(move.visible, tokens, plan) for move in plan.steps}
        for n, marginal in zip(
            tokens.tolist(), marginals(tokens, candidates, tables, plan), strict=True
        ):
            labels[n] = candidates.of[n][marginal.argmax()]
        start += length
    return labels


def marginals(tokens: Ints, candidates: Candidates, tables: Tables, plan: Plan) -> list[Floats]:
    """Log marginals of each token's candidates, up to a constant. Messages are as in `decode_decompositions`."""
    k = candidates.sizes.shape[1] // 2
    window = candidates.sizes[tokens, k - plan.left : k + plan.right + 1]
    first = np.full((plan.n_modes, *window[0, :-1]), -np.inf)
    first[0] = 0.0
    forward = [first]
    for n, sizes in zip(tokens.tolist(), window.tolist(), strict=True):
        after = np.full((plan.n_modes, *sizes[1:]), -np.inf)
        for move in plan.steps:
            if n in tables[move.visible]:
                joint = forward[-1][move.before][..., None] + tables[move.visible][n]
                after[move.after] = np.logaddexp(
                    after[move.after], np.logaddexp.reduce(joint, axis=0)
                )
        forward.append(after)
    backward = np.zeros_like(forward[-1])
    result = []
    for i in reversed(range(len(tokens))):
        n = int(tokens[i])
        before = np.full_like(forward[i], -np.inf)
        own = np.full(len(candidates.of[n]), -np.inf)
        others = tuple(axis for axis in range(window.shape[1]) if axis != plan.left)
        for move in plan.steps:
            if n in tables[move.visible]:
                rest = tables[move.visible][n] + backward[move.after][None]
                before[move.before] = np.logaddexp(
                    before[move.before], np.logaddexp.reduce(rest, axis=-1)
                )
                joint = forward[i][move.before][..., None] + rest
                own = np.logaddexp(own, np.logaddexp.reduce(joint, axis=others))
        result.append(own)
        backward = before
    return result[::-1]
