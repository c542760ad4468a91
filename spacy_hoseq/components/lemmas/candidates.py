"""Which scripts fit a word: only these are candidates for its lemma."""

from functools import lru_cache
from itertools import chain
from typing import Dict, List, Sequence

import numpy as np
from spacy.tokens import Doc

from ...arrays import Mask
from ...features.sequences import words_and_lengths
from .scripts import CASES, Script, script_named

MOST_WORDS = 100_000  # that are remembered
Beginnings = Dict[int, Dict[str, List[int]]]  # by length


class Candidates:
    """Labels that fit words. labels: all scripts, by id.

    A word that no script fits can have any; it is its own lemma then.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.scripts: List[Script] = [script_named(label) for label in labels]
        self._always: List[int] = []  # cut nothing in any case, so that they fit every form
        # of each case: ids by form; by ending, length of the beginning, and beginning. With an
        # ending all shorter ones are there, too, so that a search ends where one is missing
        self._of_whole: Dict[str, Dict[str, List[int]]] = {case: {} for case in CASES}
        self._by_ends: Dict[str, Dict[str, Beginnings]] = {case: {} for case in CASES}
        for label_id, script in enumerate(self.scripts):
            self._beside(script).append(label_id)
        # ids that fit a form, without those of `_always`
        self._others = lru_cache(MOST_WORDS)(self._fitting)

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool: of all tokens of the docs."""
        orths, _ = words_and_lengths(docs)
        types, type_of = np.unique(orths, return_inverse=True)
        others = [self._others(docs[0].vocab.strings[orth]) for orth in types.tolist()]
        masks = np.zeros((len(types), len(self.scripts)), bool)
        masks[:, self._always] = True
        masks[
            np.repeat(np.arange(len(types)), np.fromiter(map(len, others), np.intp)),
            np.fromiter(chain.from_iterable(others), np.intp),
        ] = True
        masks[~masks.any(axis=1)] = True
        return masks[type_of]

    def _beside(self, script: Script) -> List[int]:
        """The list of scripts that fit the same forms."""
        if script.is_whole:
            return self._of_whole[script.case].setdefault(script.prefix_cut, [])
        if not (script.prefix_cut or script.suffix_cut):
            return self._always
        by_ends = self._by_ends[script.case]
        for end in range(len(script.suffix_cut), -1, -1):
            of_ending = by_ends.setdefault(script.suffix_cut[end:], {})
        return of_ending.setdefault(len(script.prefix_cut), {}).setdefault(script.prefix_cut, [])

    def _fitting(self, form: str) -> List[int]:
        ids: List[int] = []
        for case, changed in CASES.items():
            base = changed(form)
            ids += self._of_whole[case].get(base, ())
            by_ends = self._by_ends[case]
            for end in range(len(base), 0, -1):
                of_ending = by_ends.get(base[end:])
                if of_ending is None:
                    break
                for start, beginnings in of_ending.items():
                    if start < end:
                        ids += beginnings.get(base[:start], ())
        return ids
