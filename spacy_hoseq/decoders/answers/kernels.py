"""The one table by which algorithms are chosen, from the profile of a batch, before anything runs.
Cheapest first:

    LABELS    a short text, no weight negative, nothing fires         plain Python over candidates     `short/labels.py`
              no weight negative                                      what exact pruning leaves        `pruning/`
              scores of label pairs, no patterns                      Viterbi                          `chain/`
              patterns of any sign, or beside scores of label pairs   longest matches                  `patterns/`
              configurations                                          states made on the fly           `patterns/`
    SUMS      no patterns                                             scaled probabilities             `chain/`
              everything else                                         as `pattern_sums.py` has it
    TOGETHER  segments or probable labels of a short chain            both ways in one walk            `short/sums.py`
              the same of other chains                                part by part, forgotten at once  `in_parts.py`

The first row that accepts is taken. Only sums can tell, on the way, that digits would be lost, and
only candidates how many there are; then a row has no result, and the next is taken. Whether a label
that is worth nothing now is the only way on, where transitions are forbidden, no range tells: the
walk of a chain sees it, and then sums are of logarithms.
"""

from typing import Callable, Generic, NamedTuple, Optional, Tuple, TypeVar

from ...arrays import Labels
from ..chain import chain_posterior, edge_viterbi
from ..patterns import any_sign_checked, labels_with_configurations
from ..problem import Asked, Posterior, Potentials, Profile, Together, Tuning
from ..pruning import pruned_checked
from ..short import is_short_chain, is_short_text, short_labels, short_sums
from .in_parts import part_sums
from .pattern_posterior import PatternPosterior

Result = TypeVar("Result")


class Request(NamedTuple):
    """A batch that has been checked, and what is asked of it."""

    potentials: Potentials
    profile: Profile
    asked: Asked
    tuning: Tuning


class Kernel(Generic[Result]):
    """One row. accepts: whether it is for such a request. run: what it finds, or None if digits, or
    candidates, do not let it."""

    def __init__(
        self, accepts: Callable[[Request], bool], run: Callable[[Request], Optional[Result]]
    ) -> None:
        self.accepts = accepts
        self.run = run


def first_result(kernels: "Tuple[Kernel[Result], ...]", request: Request) -> Optional[Result]:
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


LABELS: "Tuple[Kernel[Labels], ...]" = (
    Kernel(
        lambda r: is_short_text(r.profile, r.tuning), lambda r: short_labels(r.potentials, r.tuning)
    ),
    Kernel(lambda r: r.profile.is_plain, lambda r: pruned_checked(r.potentials, r.tuning)),
    Kernel(lambda r: r.profile.is_chain, lambda r: edge_viterbi(r.potentials).labels),
    Kernel(
        lambda r: not r.profile.has_configurations,
        lambda r: any_sign_checked(r.potentials, tuning=r.tuning).labels,
    ),
    Kernel(lambda r: True, lambda r: labels_with_configurations(r.potentials)),
)
SUMS: "Tuple[Kernel[Posterior], ...]" = (
    Kernel(
        lambda r: r.profile.is_chain, lambda r: chain_posterior(r.potentials, r.potentials.lengths)
    ),
    Kernel(lambda r: True, lambda r: PatternPosterior(r.potentials, tuning=r.tuning)),
)
TOGETHER: "Tuple[Kernel[Together], ...]" = (
    Kernel(
        lambda r: _reads_chain(r) and is_short_chain(r.profile, r.tuning),
        lambda r: short_sums(r.potentials, r.tuning),
    ),
    Kernel(_reads_chain, lambda r: part_sums(r.potentials, r.asked, r.tuning)),
)
