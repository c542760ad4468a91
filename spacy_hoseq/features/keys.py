"""64-bit feature keys, computed for whole arrays at once.

A key names one (template, values) pair: mix(mix(seed(template), value_1), value_2) ... Key 0 is
never a feature: it stands for "this template does not fire at this token". Checked in
tests/features/test_extract.py.

Labels of neighbours are folded in after the words, since they become known only while decoding.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from spacy.strings import get_string_id

from ..arrays import Keys, distinct
from .templates import LABEL

ABSENT = np.uint64(0)
# values beyond the sentence's ends
BEFORE = np.uint64(get_string_id("<s>"))
AFTER = np.uint64(get_string_id("</s>"))

KEY_BITS = 64
MISTAKEN = 1e-5  # how often a feature without a weight may be taken for one that has one

_MULTIPLIER_1 = np.uint64(
    0xBF58476D1CE4E5B9
)  # the two odd constants of splitmix64 (Steele, Lea & Flood 2014)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_SHIFT_1 = np.uint64(30)
_SHIFT_2 = np.uint64(27)


def mix(state: Keys, values: Keys) -> Keys:
    """Fold `values` into `state`: splitmix64's finaliser over their exclusive or. (N,) uint64,
    `state` maybe (1,).

    A bijection of `values` for a fixed state, so different values never collide within a one-part
    template.
    """
    mixed = state ^ values
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _MULTIPLIER_1
    result: Keys = (mixed ^ (mixed >> _SHIFT_2)) * _MULTIPLIER_2
    return result


def lowest_bits(bits: int) -> np.uint64:
    """Ones in so many places."""
    ones: np.uint64 = np.uint64(2**bits - 1)
    return ones


def bits_of(keys: Keys) -> int:
    """Bits that tell these keys apart from all others, as far as they were kept (`shortened`): those
    of the largest. No key that is among them is missed, whatever their number."""
    return int(keys.max(initial=0)).bit_length()


def shortened(keys: Keys) -> Keys:
    """The lowest bits of keys, as few as tell them apart from each other, and from all other features
    but for one in 100,000: one that is not among F keys of b bits equals one of them with
    probability F / 2^b. keys (F,): distinct."""
    for bits in range(KEY_BITS):
        short = keys & lowest_bits(bits)
        if len(keys) < MISTAKEN * 2**bits and short.all() and len(distinct(short)) == len(keys):
            return short
    return keys


def row_keys(columns: Sequence[Keys]) -> Keys:
    """One key for the values of each row. columns: C arrays (N,). RETURNS (N,) uint64."""
    keys = np.zeros(1, np.uint64)
    for column in columns:
        keys = mix(keys + _ONE, column)
    return keys


class KeyFolds:
    """Keys of several templates at once: a text of a few words takes a few calls, however many they
    are.

    seeds: of each key. parts: of each, the rows of values that are folded in, in this order; at
    least one.
    """

    def __init__(self, seeds: Sequence[int], parts: Sequence[Sequence[int]]) -> None:
        order = sorted(range(len(parts)), key=lambda k: -len(parts[k]))  # those of most parts first
        self._place = np.argsort(order)
        self._seeds = np.array([[seeds[k]] for k in order], np.uint64).reshape(-1, 1)
        # the first part of all keys, the second of those that have two, and so on
        self._parts = [
            np.array([parts[k][i] for k in order if len(parts[k]) > i], np.intp)
            for i in range(max(map(len, parts), default=0))
        ]

    def keys(self, rows: Keys) -> Keys:
        """rows (R, n). RETURNS (K, n) uint64, 0 where a part has no value."""
        keys = self._seeds.repeat(rows.shape[1], axis=1)
        for parts in self._parts:
            keys[: len(parts)] = mix(keys[: len(parts)], rows.take(parts, axis=0))
        if not rows.all():
            has_value = rows != ABSENT
            for parts in self._parts:
                keys[: len(parts)] *= has_value.take(parts, axis=0)  # 0 is ABSENT
        return keys.take(self._place, axis=0)


def label_values(labels: Sequence[str]) -> Keys:
    """Values of labels in keys; then those of the places before (id L) and after (id L + 1) the
    sequence.

    A label is written with the attribute, so that one called "<s>" is not taken for the place
    before.
    """
    return _values_of(tuple(labels))


def label_names(labels: Sequence[str]) -> dict[int, str]:
    """The inverse: the name of each value."""
    return dict(zip(label_values(labels).tolist(), [*labels, "<s>", "</s>"], strict=True))


@lru_cache(maxsize=64)
def _values_of(labels: tuple[str, ...]) -> Keys:
    values = np.array(
        [*(get_string_id(f"{LABEL}={label}") for label in labels), BEFORE, AFTER], np.uint64
    )
    values.flags.writeable = False  # all who ask have the same array
    return values
