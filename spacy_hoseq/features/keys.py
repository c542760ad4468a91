"""64-bit feature keys, computed for whole arrays at once.

A key names one (template, values) pair: mix(mix(seed(template), value_1), value_2) ... Key 0 is
never a feature: it stands for "this template does not fire at this token". Checked in
tests/features/test_extract.py.

Labels of neighbours are folded in after the words, because decoding finds them.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from spacy.strings import get_string_id

from ..arrays import Keys, distinct

ABSENT = np.uint64(0)
# values beyond the sentence's ends
BEFORE_SENTENCE = np.uint64(get_string_id("<s>"))
AFTER_SENTENCE = np.uint64(get_string_id("</s>"))


def mix(state: Keys, values: Keys) -> Keys:
    """Fold `values` into `state`: splitmix64's finaliser over their exclusive or, up to its last
    shift (Steele, Lea & Flood 2014). (N,) uint64, `state` maybe (1,).

    A bijection of `values` for a fixed state, so different values never collide within a one-part
    template.
    """
    mixed: Any = state ^ values  # (NumPy's types say that Python's ints make it signed)
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9
    result: Keys = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
    return result


def lowest_bits(bits: int) -> np.uint64:
    """A mask of the lowest bits."""
    ones: np.uint64 = np.uint64(2**bits - 1)
    return ones


def bits_of(keys: Keys) -> int:
    """How many bits of keys were saved (`shortened`): those of the largest. Fewer may come out than
    were saved, but no key that is among them is missed."""
    return int(keys.max(initial=0)).bit_length()


def shortened(keys: Keys) -> Keys:
    """The lowest bits of keys (F,), which are distinct: as few as are enough.

    They tell the keys from each other, and from all but one in 100,000 other features: a feature
    that is not among F keys of b bits equals one of them with probability F / 2^b.
    """
    for bits in range(64):
        short = keys & lowest_bits(bits)
        if len(keys) < 1e-5 * 2**bits and short.all() and len(distinct(short)) == len(keys):
            return short
    return keys


def row_keys(columns: Sequence[Keys]) -> Keys:
    """One key for the values of each row. columns: C arrays (N,). RETURNS (N,) uint64."""
    keys = np.zeros(1, np.uint64)
    for column in columns:
        keys = mix(keys + 1, column)
    return keys


class KeyFolds:
    """Folds of several templates at once: a text of a few words takes a few calls, whatever their
    number.

    seeds: of each key. parts: of each key, the rows of values that are folded in, in this order; at
    least one.
    """

    def __init__(self, seeds: Sequence[int], parts: Sequence[Sequence[int]]) -> None:
        # keys with most parts come first: then those that have an i-th part are a slice
        order = sorted(range(len(parts)), key=lambda k: -len(parts[k]))
        self._place = np.argsort(order)
        self._seeds = np.array([seeds[k] for k in order], np.uint64).reshape(-1, 1)
        self._parts = []  # the first part of all keys, the second of those that have two, ...
        for i in range(max(map(len, parts), default=0)):
            rows = [parts[k][i] for k in order if len(parts[k]) > i]
            self._parts.append(np.array(rows, np.intp))

    def keys(self, rows: Keys) -> Keys:
        """Keys of n tokens (K, n) uint64, 0 where a part has no value. rows (R, n)."""
        keys = self._seeds.repeat(rows.shape[1], axis=1)
        for parts in self._parts:
            keys[: len(parts)] = mix(keys[: len(parts)], rows.take(parts, axis=0))
        if not rows.all():
            has_value = rows != ABSENT
            for parts in self._parts:
                keys[: len(parts)] *= has_value.take(parts, axis=0)  # 0 is ABSENT
        return keys.take(self._place, axis=0)


def label_values(labels: Sequence[str]) -> Keys:
    """Values of labels in keys, then those of the places before (id L) and after (id L + 1) the
    sequence."""
    return _label_values(tuple(labels))


def label_names(labels: Sequence[str]) -> dict[int, str]:
    """The name of each value of `label_values`."""
    return dict(zip(label_values(labels).tolist(), [*labels, "<s>", "</s>"], strict=True))


@lru_cache(maxsize=64)
def _label_values(labels: tuple[str, ...]) -> Keys:
    # written with the attribute, so that a label "<s>" is not taken for the place before
    names = [get_string_id(f"label={label}") for label in labels]
    values = np.array([*names, BEFORE_SENTENCE, AFTER_SENTENCE], np.uint64)
    values.flags.writeable = False  # all callers get the same array
    return values
