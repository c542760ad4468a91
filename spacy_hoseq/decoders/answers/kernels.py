"""All that can be asked of p(y | x), by one function (`answers_of`), and the one table by which
algorithms are chosen, from the profile of a batch, before anything runs. Cheapest first:

    LABELS    labels do not depend on their neighbours                the best of each token
              a short text, no weight negative, nothing fires         plain Python over candidates     `short/labels.py`
              a chain, short or with many forbidden transitions       Viterbi                          `chain/`
              no weight negative                                      what exact pruning leaves        `pruning/`
              scores of label pairs, no patterns                      Viterbi                          `chain/`
              patterns of any sign, or beside scores of label pairs   longest matches                  `patterns/`
              configurations                                          states made on the fly           `patterns/`
    REMAINING candidates, no patterns                                 pairs of candidates              `pruning/`
              few candidates, patterns                                cells of candidates              `pruning/`
              no patterns                                             Viterbi                          `chain/`
              everything else                                         every node                       `patterns/`
    CHAINS    one long sequence, transitions are forbidden            pieces of it                     `chain/`
              many transitions are forbidden                          Viterbi                          `chain/`
              everything else                                         what exact pruning leaves        `pruning/`
    SUMS      no patterns                                             scaled probabilities             `chain/`
              everything else                                         sums of FEATURES
    FEATURES  configurations fire: one sequence                       states made on the fly           O(S L) a token
              no patterns, beside such sequences                      scaled probabilities             O(L^2)
              patterns that fire everywhere, several sequences        messages, products of matrices   O(cells)
              patterns, weights that keep digits                      inclusive messages, scaled       O(U + L^2)
              everything else; states are longest matches             logarithms                       O(U L)
    TOGETHER  segments or probable labels of a short chain            both ways in one walk            `short/sums.py`
              the same of other chains                                part by part, forgotten at once  `in_parts.py`

The first row that accepts is taken. Only sums can tell, on the way, that digits would be lost, only
candidates how many there are, and only pieces whether they agree; then a row has no result, and the
next is taken. REMAINING is what exact pruning leaves: sequences, or windows of them; CHAINS are
sequences whose marginals are read part by part. Whether a label
that is worth nothing now is the only way on, where transitions are forbidden, no range tells: the
walk sees it, and then sums are of logarithms.
"""

from functools import cached_property
from typing import Callable, Generic, List, NamedTuple, Optional, Tuple, TypeVar

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Labels, Mask
from ..chain import Arrivals, chain_posterior, edge_viterbi, long_viterbi, viterbi
from ..patterns import (
    InnerNodes,
    MatrixWalk,
    PatternWalk,
    any_sign_checked,
    every_node,
    labels_with_configurations,
)
from ..problem import (
    LABELS_ALONE,
    TUNING,
    Answers,
    Asked,
    LabelPairs,
    NoPath,
    Posterior,
    Potentials,
    PotentialsGradient,
    ProbableLabels,
    Profile,
    Sums,
    Together,
    Tuning,
    check_segments,
    check_threshold,
    ranges,
)
from ..pruning import Remaining, decode_sparse, pruned_checked, sparse_viterbi
from ..short import is_short_chain, is_short_text, short_labels, short_sums
from .in_parts import part_sums
from .pattern_posterior import PatternPosterior
from .pattern_sums import (
    SumsRequest,
    add_sums,
    chain_sums,
    configuration_sums,
    exclusive,
    message_sums,
    no_sums,
    parts_to_sum,
)

MANY_PERMITTED = 0.75  # share of transitions from which on exact pruning is worth trying
Asking = TypeVar("Asking")
Result = TypeVar("Result")


class Request(NamedTuple):
    """A batch that has been checked, and what is asked of it."""

    potentials: Potentials
    profile: Profile
    asked: Asked
    tuning: Tuning


class Kernel(Generic[Asking, Result]):
    """One row. accepts: whether it is for such a request. run: what it finds, or None if digits, or
    candidates, do not let it."""

    def __init__(
        self, accepts: Callable[[Asking], bool], run: Callable[[Asking], Optional[Result]]
    ) -> None:
        self.accepts = accepts
        self.run = run


def first_result(
    kernels: "Tuple[Kernel[Asking, Result], ...]", request: Asking
) -> Optional[Result]:
    """What the first row that accepts, and has a result, finds."""
    for kernel in kernels:
        if kernel.accepts(request):
            result = kernel.run(request)
            if result is not None:
                return result
    return None


def _reads_chain(request: Request) -> bool:
    asked = request.asked
    in_one_walk = asked.continues is not None or asked.probable is not None
    return in_one_walk and request.profile.is_chain and not request.profile.has_edge_scores


def required(kernels: "Tuple[Kernel[Asking, Result], ...]", request: Asking) -> Result:
    """`first_result`. RAISES ValueError [HS023]: there is none."""
    result = first_result(kernels, request)
    if result is None:
        raise NoPath(0)
    return result


def remaining_labels(remaining: Remaining) -> Labels:
    """The labels of what exact pruning leaves. RAISES ValueError [HS023]."""
    return required(REMAINING, remaining)


def chain_labels(potentials: Potentials, tuning: Tuning) -> Labels:
    """The labels of a chain whose marginals are read part by part. RAISES ValueError [HS023]."""
    return required(CHAINS, Request(potentials, Profile.of(potentials), LABELS_ALONE, tuning))


def _pruned(request: Request) -> Labels:
    return pruned_checked(request.potentials, request.tuning, remaining_labels)


def _best_of_each(potentials: Potentials) -> Labels:
    """Of equal ones the first, as everywhere."""
    scores = potentials.scores
    allowed = potentials.allowed
    possible = scores if allowed is None else np.where(allowed, scores, -np.inf)
    return np.asarray(possible.argmax(axis=1), np.int32)


def _viterbi(potentials: Potentials, tuning: Tuning) -> Labels:
    scores, weights, lengths = potentials[:3]
    allowed = potentials.allowed
    arrivals = weights.prepared(Arrivals.of) if len(lengths) > 1 else None
    return viterbi(
        scores, weights.trans, lengths, allowed=allowed, arrivals=arrivals, tuning=tuning
    ).labels


def _is_short_and_open(request: Request) -> bool:
    """Whether it is a short text of which exact pruning may decide most tokens."""
    profile = request.profile
    is_open = profile.permits_all or profile.has_patterns
    return is_open and is_short_text(profile, request.tuning)


def _forbids(request: Request) -> bool:
    """Whether it is a chain of which exact pruning would decide hardly a token, as `_in_pieces`
    says: a short one, or one of many forbidden transitions."""
    profile = request.profile
    if profile.permits_all or profile.has_fired or not (profile.is_plain and profile.is_chain):
        return False
    permitted = request.potentials.weights.permitted
    return permitted < MANY_PERMITTED or is_short_text(profile, request.tuning)


def _in_pieces(request: Request) -> bool:
    """Whether it is one long sequence. With forbidden transitions exact pruning decides hardly a
    token, since a change of one label alone is hardly ever permitted."""
    profile = request.profile
    is_one = len(request.potentials.lengths) == 1
    return is_one and profile.longest >= request.tuning.long_tokens and not profile.permits_all


REMAINING: "Tuple[Kernel[Remaining, Labels], ...]" = (
    Kernel(
        lambda r: r.candidates is not None and not r.has_patterns,
        lambda r: (
            sparse_viterbi(r.left, r.potentials.weights.precise_trans, r.potentials.lengths).labels
        ),
    ),
    Kernel(
        lambda r: r.has_few_candidates,
        lambda r: (
            decode_sparse(
                r.left, r.potentials.weights, r.potentials.fired, r.potentials.lengths
            ).labels
        ),
    ),
    Kernel(lambda r: not r.has_patterns, lambda r: _viterbi(r.potentials, r.tuning)),
    Kernel(lambda r: True, lambda r: every_node(r.dense, r.tuning).labels),
)
CHAINS: "Tuple[Kernel[Request, Labels], ...]" = (
    Kernel(_in_pieces, lambda r: long_viterbi(r.potentials, tuning=r.tuning)),
    Kernel(_forbids, lambda r: _viterbi(r.potentials, r.tuning)),
    Kernel(lambda r: True, _pruned),
)
LABELS: "Tuple[Kernel[Request, Labels], ...]" = (
    Kernel(
        lambda r: r.profile.are_zero and r.profile.is_chain and not r.profile.has_edge_scores,
        lambda r: _best_of_each(r.potentials),
    ),
    Kernel(_is_short_and_open, lambda r: short_labels(r.potentials, r.tuning)),
    Kernel(_forbids, lambda r: _viterbi(r.potentials, r.tuning)),
    Kernel(lambda r: r.profile.is_plain, _pruned),
    Kernel(lambda r: r.profile.is_chain, lambda r: edge_viterbi(r.potentials).labels),
    Kernel(
        lambda r: not r.profile.has_configurations,
        lambda r: any_sign_checked(r.potentials, tuning=r.tuning).labels,
    ),
    Kernel(lambda r: True, lambda r: labels_with_configurations(r.potentials)),
)
FEATURES: "Tuple[Kernel[SumsRequest, Sums], ...]" = (
    Kernel(lambda r: r.has_configurations, configuration_sums),
    Kernel(lambda r: r.is_chain, chain_sums),
    Kernel(
        lambda r: not r.is_chain and r.fits_matrices and r.keeps_digits,
        lambda r: message_sums(
            r, MatrixWalk, len(r.potentials.weights.trie.prepared(InnerNodes).nodes)
        ),
    ),
    Kernel(
        lambda r: not r.is_chain and r.keeps_digits,
        lambda r: message_sums(r, PatternWalk, len(r.potentials.weights.trie)),
    ),
    Kernel(lambda r: True, lambda r: exclusive(*r)),
)


def feature_sums(
    potentials: Potentials,
    costs: Optional[Potentials],
    tuning: Tuning,
    labels_alone: bool = False,
) -> Sums:
    """E[f] of all features; with costs their covariances with c(y) = score(x, y) under `costs`,
    which differ in scores and in what fires. labels_alone (bool): of labels; others may be left 0.
    potentials: checked. log_z is -inf where there is no
    path. RAISES ValueError [HS038, HS097]."""
    total = no_sums(potentials)
    for part, request in parts_to_sum(potentials, costs, tuning, labels_alone):
        sums = first_result(FEATURES, request)
        if sums is not None:
            add_sums(total, part, sums)
    return total


SUMS: "Tuple[Kernel[Request, Posterior], ...]" = (
    Kernel(
        lambda r: r.profile.is_chain, lambda r: chain_posterior(r.potentials, r.potentials.lengths)
    ),
    Kernel(
        lambda r: True,
        lambda r: PatternPosterior(
            r.potentials, feature_sums, labels_alone=r.asked.nodes, tuning=r.tuning
        ),
    ),
)
TOGETHER: "Tuple[Kernel[Request, Together], ...]" = (
    Kernel(
        lambda r: _reads_chain(r) and is_short_chain(r.profile, r.tuning),
        lambda r: short_sums(r.potentials, r.tuning),
    ),
    Kernel(_reads_chain, lambda r: part_sums(r.potentials, r.asked, r.tuning, chain_labels)),
)


def answers_of(
    potentials: Potentials, asked: Asked = LABELS_ALONE, *, tuning: Tuning = TUNING
) -> Answers:
    """Labels, log Z, marginals, expected counts, segments, entropies and gradients of p(y | x) =
    exp(score(x, y)) / Z(x), for a batch; each when it is asked for.

    asked: what will be wanted beside the best labels, so that it is found together with them.
    RAISES ValueError [HS020-HS022, HS024, HS025, HS036, HS037]; [HS027]: the threshold. When labels
    or sums are asked
    for: [HS023]: a sequence has no path; [HS038]: as configurations; [HS097]: scores so large that
    float64 does not tell labellings apart.
    """
    potentials.check()
    if asked.probable is not None:
        check_threshold(asked.probable)
    return _Answers(Request(potentials, Profile.of(potentials), asked, tuning))


class _Answers(Answers):
    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def lengths(self) -> AnyInts:
        return self._request.potentials.lengths

    @property
    def is_chain(self) -> bool:
        return self._request.profile.is_chain

    @cached_property
    def _together(self) -> Optional[Together]:
        """Labels and what was asked for beside them, if one walk finds both."""
        asked = self._request.asked
        return None if asked.wants_labels_alone else first_result(TOGETHER, self._request)

    @cached_property
    def _posterior(self) -> Posterior:
        """The sums of the whole batch, kept."""
        return required(SUMS, self._request)

    @cached_property
    def best(self) -> Labels:
        return best_labels(self._request) if self._together is None else self._together.labels

    @property
    def log_z(self) -> Floats:
        return self._posterior.log_z

    @cached_property
    def nodes(self) -> Floats:
        nodes = None if self._together is None else self._together.nodes
        return self._posterior.nodes if nodes is None else nodes

    @property
    def expected(self) -> PotentialsGradient:
        return self._posterior.expected

    def pairs(self, arcs: LabelPairs) -> Floats:
        return self._posterior.pairs(arcs)

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: Optional[AnyInts] = None,
        continues: Optional[Mask] = None,
        least: float = 0.0,
    ) -> Floats:
        if labels is not None:
            p = None
            if least > 0 and self._together is not None:
                check_segments(first, sizes, self.lengths)
                p = self._together.segments(first, sizes, labels, continues, least)
            return self._posterior.segments(first, sizes, labels, continues) if p is None else p
        factors = None
        if continues is not None and self._together is not None:
            factors = self._together.factors(continues)
        if factors is None:
            return self._posterior.segments(
                first, sizes, self.best[ranges(first, sizes)], continues
            )
        check_segments(first, sizes, self.lengths)
        return factors.of_segments(first, sizes).product(sizes)

    def probable(self, least: float) -> ProbableLabels:
        check_threshold(least)
        probable = None if self._together is None else self._together.probable(least)
        return self._posterior.probable(least) if probable is None else probable

    def conditional_entropies(self) -> Floats:
        return self._posterior.conditional_entropies()

    def sequence_entropies(self) -> Floats:
        return self._posterior.sequence_entropies()

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
    ) -> PotentialsGradient:
        return self._posterior.backprop(d_nodes, arcs, d_arcs)


def best_labels(request: Request) -> Labels:
    """y* = argmax_y score(x, y) (N,): of each sequence by its own features and their signs, so that
    ties do not depend on others. RAISES ValueError [HS023, HS038]."""
    potentials = request.potentials
    groups = _groups(potentials)
    if len(groups) == 1 and potentials.configurations is None:
        return required(LABELS, request)
    labels = np.zeros(len(potentials.scores), np.int32)
    for sequences in groups:
        part = potentials.select(sequences)
        with part.numbered() as some:
            paying = _without_zeros(some)
            labels[part.tokens] = required(
                LABELS, request._replace(potentials=paying, profile=Profile.of(paying))
            )
    return labels


def _groups(potentials: Potentials) -> List[Ints]:
    """Sequences in which nothing negative fires, something does, configurations do; those that
    there are."""
    fired = potentials.fired
    configurations = potentials.configurations
    everywhere = potentials.weights.some_are_negative
    fires_negative = not everywhere and fired is not None and fired.weights.min(initial=0.0) < 0
    if configurations is None and not fires_negative:
        return [np.arange(len(potentials.lengths))]
    ends = np.cumsum(potentials.lengths)
    kind = np.zeros(len(ends), np.intp)
    if fired is not None and fires_negative:
        kind[np.searchsorted(ends, fired.tokens[fired.weights < 0], side="right")] = 1
    if configurations is not None:
        first = configurations.first[configurations.weights != 0]
        kind[np.searchsorted(ends, first, side="right")] = 2
    groups = [np.flatnonzero(kind == i) for i in range(3)]
    return [sequences for sequences in groups if len(sequences)]


def _without_zeros(potentials: Potentials) -> Potentials:
    """Without the configurations that pay nothing: their states would be made in vain."""
    configurations = potentials.configurations
    if configurations is None:
        return potentials
    paying = np.flatnonzero(configurations.weights)
    some = configurations.chosen(paying, np.zeros_like(paying)) if len(paying) else None
    return potentials._replace(configurations=some)
