"""64-bit feature keys, computed for whole arrays at once.

A key names one (template, values) pair: mix(mix(seed(template), value_1), value_2) ... Key 0 is never a feature:
it stands for "this template does not fire at this token". Checked in tests/features/test_extract.py.
"""

from typing import Dict, List, Sequence, Tuple

import numpy as np
from spacy.strings import get_string_id

from ..arrays import Ints, Keys
from .templates import Part, Template

ABSENT = np.uint64(0)
BEFORE, AFTER = np.uint64(get_string_id("<s>")), np.uint64(get_string_id("</s>"))  # values beyond the sentence's ends

CELLS = 32_768  # keys that are made together
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


class TemplateKeys:
    """How to make the keys of several templates at once: a text of a few words takes a few calls, however many they
    are. Templates with as many parts are made together, as long as what is made stays in the processor's cache.

    parts: whose values are asked for, each once; "bias" is none of them.
    """

    def __init__(self, templates: Sequence[Template]) -> None:
        self.parts = list(dict.fromkeys(p for t in templates for p in t.parts if p.attribute != "bias"))
        place: Dict[Part, int] = {part: i for i, part in enumerate(self.parts)}
        seeds = np.array([get_string_id(str(template)) for template in templates], np.uint64)
        self._n_templates = len(templates)
        self._has_bias = any(part.attribute == "bias" for template in templates for part in template.parts)
        self._alike: List[Tuple[Ints, Keys, Ints]] = []  # templates with as many parts, their seeds and parts (k, size)
        for size in sorted({len(template.parts) for template in templates}):
            numbers = [k for k, template in enumerate(templates) if len(template.parts) == size]
            parts = [[place.get(part, len(place)) for part in templates[k].parts] for k in numbers]
            self._alike.append((np.array(numbers, np.intp), seeds[numbers, None], np.array(parts, np.intp)))

    def keys(self, values: List[Keys], n: int) -> Keys:
        """values: of `parts`, (n,) uint64 each. RETURNS (K, n) uint64, 0 where a part has no value."""
        if self._has_bias:
            values = [*values, np.ones(n, np.uint64)]
        keys = np.empty((self._n_templates, n), np.uint64)
        rows = np.array(values)
        together = max(1, CELLS // max(1, n))
        for templates, seeds, parts in self._alike:
            for start in range(0, len(templates), together):
                some = slice(start, start + together)
                state, fires = seeds[some], np.ones((len(seeds[some]), n), bool)
                for part in parts[some].T:
                    here = rows.take(part, axis=0)  # (k, n)
                    fires &= here != ABSENT
                    state = mix(state, here)
                keys[templates[some]] = state * fires  # 0 is ABSENT
        return keys
