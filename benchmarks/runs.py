"""Runs of a system beside those of another one. A run is a row: its task, its seed, whether each word is right
("0110..."), its costs."""

from typing import Any, Callable, Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray

from spacy_hoseq.reporting.significance import mcnemar

Run = Dict[str, Any]


def compared(before: Sequence[Run], after: Sequence[Run]) -> List[str]:
    """Change of the number of errors, words gained and lost, p. The runs are pairs of one task and seed. For p a word
    counts once, whatever the number of seeds."""
    test = mcnemar(*(over_seeds(runs, lambda run: mask_of([run], "right")) for runs in (before, after)))
    wrong_before, wrong = (sum(run["right"].count("0") for run in runs) for runs in (before, after))
    change = f"{wrong / wrong_before - 1:+.1%}" if wrong_before else ""
    return [change, f"+{test.gained} -{test.lost}", f"{test.p:.2g}"]


def over_seeds(runs: Sequence[Run], values: Callable[[Run], NDArray[Any]]) -> NDArray[Any]:
    """Values of each word or sentence, summed over the runs of a task; the tasks one after the other."""
    sums: Dict[str, NDArray[Any]] = {}
    for run in runs:
        sums[run["task"]] = sums.get(run["task"], 0) + values(run)
    return np.concatenate([*sums.values()])


def mask_of(runs: Sequence[Run], key: str) -> NDArray[np.bool_]:
    """Words of all runs, one after the other."""
    return np.array([each == "1" for run in runs for each in run[key]], bool)


def cost_ratios(before: Sequence[Run], after: Sequence[Run]) -> List[str]:
    """Of training, and of tagging."""
    costs = ([sum(run[key] for run in runs) for runs in (before, after)] for key in ("training", "tagging"))
    return [f"{cost / cost_before:.2f}x" for cost_before, cost in costs]
