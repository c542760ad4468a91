"""The one table by which algorithms are chosen, from the profile of a batch, before anything runs.
Cheapest first:

    LABELS    a short text, no weight negative, nothing fires         plain Python over candidates     `short/labels.py`
              no weight negative                                      what exact pruning leaves        `pruning/`
              scores of label pairs, no patterns                      Viterbi                          `chain/`
              patterns of any sign, or beside scores of label pairs   longest matches                  `patterns/`
              configurations                                          states made on the fly           `patterns/`
    REMAINING candidates, no patterns                                 pairs of candidates              `pruning/`
              few candidates, patterns                                cells of candidates              `pruning/`
              no patterns                                             Viterbi                          `chain/`
              patterns, many nodes                                    nodes that can still pay         `patterns/`
              everything else                                         every node                       `patterns/`
    CHAINS    one long sequence, transitions are forbidden            pieces of it                     `chain/`
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

from typing import Callable, Generic, NamedTuple, Optional, Tuple, TypeVar

from ...arrays import Labels
from ..chain import chain_posterior, edge_viterbi, long_viterbi, viterbi
from ..patterns import (
    InnerNodes,
    MatrixWalk,
    PatternWalk,
    any_sign_checked,
    every_node,
    labels_with_configurations,
    paying_nodes,
)
from ..problem import Asked, NoPath, Posterior, Potentials, Profile, Sums, Together, Tuning
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
    return required(CHAINS, Request(potentials, Profile.of(potentials), Asked(), tuning))


def _pruned(request: Request) -> Labels:
    return pruned_checked(request.potentials, request.tuning, remaining_labels)


def _viterbi(potentials: Potentials, tuning: Tuning) -> Labels:
    scores, weights, lengths = potentials[:3]
    return viterbi(scores, weights.trans, lengths, allowed=potentials.allowed, tuning=tuning).labels


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
    Kernel(lambda r: r.has_many_nodes, lambda r: paying_nodes(r.dense, r.tuning).labels),
    Kernel(lambda r: True, lambda r: every_node(r.dense, r.tuning).labels),
)
CHAINS: "Tuple[Kernel[Request, Labels], ...]" = (
    Kernel(_in_pieces, lambda r: long_viterbi(r.potentials, tuning=r.tuning)),
    Kernel(lambda r: True, _pruned),
)
LABELS: "Tuple[Kernel[Request, Labels], ...]" = (
    Kernel(
        lambda r: is_short_text(r.profile, r.tuning), lambda r: short_labels(r.potentials, r.tuning)
    ),
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


def feature_sums(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    """E[f] of all features; with costs their covariances with c(y) = score(x, y) under `costs`,
    which differ in scores and in what fires. potentials: checked. log_z is -inf where there is no
    path. RAISES ValueError [HS038, HS097]."""
    total = no_sums(potentials)
    for part, request in parts_to_sum(potentials, costs, tuning):
        sums = first_result(FEATURES, request)
        if sums is not None:
            add_sums(total, part, sums)
    return total


SUMS: "Tuple[Kernel[Request, Posterior], ...]" = (
    Kernel(
        lambda r: r.profile.is_chain, lambda r: chain_posterior(r.potentials, r.potentials.lengths)
    ),
    Kernel(lambda r: True, lambda r: PatternPosterior(r.potentials, feature_sums, tuning=r.tuning)),
)
TOGETHER: "Tuple[Kernel[Request, Together], ...]" = (
    Kernel(
        lambda r: _reads_chain(r) and is_short_chain(r.profile, r.tuning),
        lambda r: short_sums(r.potentials, r.tuning),
    ),
    Kernel(_reads_chain, lambda r: part_sums(r.potentials, r.asked, r.tuning, chain_labels)),
)
