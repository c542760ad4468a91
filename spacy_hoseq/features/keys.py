"""64-bit feature keys, computed for whole arrays at once.

A key names one (template, values) pair: mix(mix(seed(template), value_1), value_2) ... Key 0 is never a feature:
it stands for "this template does not fire at this token".
"""

import numpy as np
from spacy.strings import get_string_id

from ..arrays import Keys

ABSENT = np.uint64(0)
BEFORE, AFTER = np.uint64(get_string_id("<s>")), np.uint64(get_string_id("</s>"))  # values beyond the sentence's ends

_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)  # the two odd constants of splitmix64 (Steele, Lea & Flood 2014)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2 = np.uint64(30), np.uint64(27)


def mix(state: Keys, values: Keys) -> Keys:
    """Fold `values` into `state`: splitmix64's finaliser over their exclusive or. (N,) uint64, `state` maybe (1,).

    A bijection of `values` for a fixed state, so different values never collide within a one-part template.
    """
    mixed = state ^ values
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _MULTIPLIER_1
    result: Keys = (mixed ^ (mixed >> _SHIFT_2)) * _MULTIPLIER_2
    return result
