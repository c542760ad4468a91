"""Which scripts fit a word: only these are candidates for its lemma."""

from typing import Dict, List, Sequence

import numpy as np
from spacy.tokens import Doc

from ...arrays import Ints, Mask
from ...features.sequences import words_and_lengths
from .scripts import CASES, Script, script_named

MOST_WORDS = 100_000  # that are remembered


class Candidates:
    """Labels that fit words. labels: all scripts, by id.

    A word that no script fits can have any; it is its own lemma then.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.scripts: List[Script] = [script_named(label) for label in labels]
        # of each case, by what is cut: form or ending, and beginning
        self._of_whole: Dict[str, Dict[str, List[int]]] = {case: {} for case in CASES}
        self._by_ends: Dict[str, Dict[str, Dict[str, List[int]]]] = {case: {} for case in CASES}
        for label_id, script in enumerate(self.scripts):
            if script.is_whole:
                of_case = self._of_whole[script.case]
            else:
                of_case = self._by_ends[script.case].setdefault(script.suffix_cut, {})
            of_case.setdefault(script.prefix_cut, []).append(label_id)
        # of each case, lengths: of the beginnings that are cut, and of the longest ending
        self._beginnings = {
            case: sorted({len(cut) for found in endings.values() for cut in found})
            for case, endings in self._by_ends.items()
        }
        self._longest = {
            case: max(map(len, endings), default=0) for case, endings in self._by_ends.items()
        }
        self._ids: Dict[str, Ints] = {}

    def of(self, form: str) -> Ints:
        """Label ids that fit a form, in order."""
        ids = self._ids.get(form)
        if ids is None:
            if len(self._ids) >= MOST_WORDS:
                self._ids.clear()
            ids = self._ids[form] = np.array(sorted(self._fitting(form)), np.intp)
        return ids

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool: of all tokens of the docs."""
        orths, _ = words_and_lengths(docs)
        types, type_of = np.unique(orths, return_inverse=True)
        masks = np.zeros((len(types), len(self.scripts)), bool)
        for mask, orth in zip(masks, types.tolist(), strict=True):
            ids = self.of(docs[0].vocab.strings[orth])
            mask[ids if len(ids) else slice(None)] = True
        return masks[type_of]

    def lemma(self, form: str, label_id: int) -> str:
        """What a script makes of a form: the form itself, if it does not fit."""
        lemma = self.scripts[label_id].applied(form)
        return form if lemma is None else lemma

    def _fitting(self, form: str) -> List[int]:
        ids: List[int] = []
        for case, changed in CASES.items():
            base = changed(form)
            ids += self._of_whole[case].get(base, ())
            by_ending = self._by_ends[case]
            ends = range(max(1, len(base) - self._longest[case]), len(base) + 1)
            for end in ends if by_ending else ():
                by_beginning = by_ending.get(base[end:], {})
                for size in self._beginnings[case] if by_beginning else ():
                    if size < end:
                        ids += by_beginning.get(base[:size], ())
        return ids
