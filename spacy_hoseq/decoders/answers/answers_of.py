"""One table: who answers what is asked of p(y | x), decided by the profile of the batch before anything runs.

    short texts of a chain, segments or probable labels asked for      both ways in one walk: `ShortAnswers`
    other chains, the same asked for                                   part by part, forgotten at once: `PartAnswers`
    everything else                                                    labels and sums apart: `SummedAnswers`

The first row that accepts is taken. Where it turns out on the way that digits would be lost, which only sums can tell,
a kernel has no result and the next row is taken.
"""

from typing import Callable, NamedTuple, Optional, Tuple

from ..problem import TUNING, Answers, Asked, Potentials, Tuning, check_threshold
from .in_parts import part_answers
from .profile import Profile
from .short import is_short, short_answers
from .summed import SummedAnswers

BEST_LABELS = Asked()  # nothing else


class Kernel(NamedTuple):
    """One way to answer. accepts: whether it is for such a batch, decided beforehand. run: the answers, or None where
    digits would be lost."""

    accepts: Callable[[Profile, Asked, Tuning], bool]
    run: Callable[[Potentials, Profile, Asked, Tuning], Optional[Answers]]


def answers_of(potentials: Potentials, asked: Asked = BEST_LABELS, *, tuning: Tuning = TUNING) -> Answers:
    """Labels, log Z, marginals, expected counts, segments, entropies and gradients of p(y | x) = exp(score(x, y)) /
    Z(x), for a batch; each when it is asked for.

    asked: what will be wanted beside the best labels, so that it is found together with them.
    RAISES ValueError [HS020-HS022, HS024, HS025, HS036, HS037]; [HS027]: the threshold. When sums are asked for:
    [HS023]: a sequence has no path; [HS038]: as configurations; [HS097]: scores so large that float64 does not tell
    labellings apart.
    """
    potentials.check()
    if asked.probable is not None:
        check_threshold(asked.probable)
    profile = Profile.of(potentials)
    for kernel in KERNELS:
        if kernel.accepts(profile, asked, tuning):
            answers = kernel.run(potentials, profile, asked, tuning)
            if answers is not None:
                return answers
    return SummedAnswers(potentials, profile, tuning)


def _reads_chain(profile: Profile, asked: Asked, tuning: Tuning) -> bool:
    """What parts of a chain can tell of."""
    in_parts = asked.continues is not None or asked.probable is not None
    return in_parts and profile.is_chain and not profile.has_edge_scores


def _reads_short_chain(profile: Profile, asked: Asked, tuning: Tuning) -> bool:
    return _reads_chain(profile, asked, tuning) and is_short(profile, tuning)


KERNELS: Tuple[Kernel, ...] = (
    Kernel(_reads_short_chain, short_answers),
    Kernel(_reads_chain, part_answers),
)
