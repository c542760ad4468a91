"""Edit scripts: how a lemma is made of a word form.

A script says which case the form is put into, what is taken away at both ends, and what is put
there instead:

    "lower *ies>*y"       Ponies -> pony
    "lower ge*t>*en"      gesagt -> sagen
    "keep *s>*"           Berlins -> Berlin
    "lower went>go"       went -> go: without "*", the whole form is replaced, and no other form fits

"*" stands for the longest string that form and lemma share, at least one character. Of the four
cases the one is taken with which least is replaced; of several, the first of `CASES`. If no more
than a third of the longer one is shared, the script replaces the whole form.

Sources: edit scripts of the longest common substring, Chrupala (2006), "Simple data-driven
context-sensitive lemmatization", and Chrupala, Dinu & van Genabith (2008), "Learning morphology
with Morfette"; case apart from affixes, Straka (2018), "UDPipe 2.0 prototype at CoNLL 2018 UD
shared task", section 3.3; a log-linear choice among scripts, Mueller, Cotterell, Fraser & Schuetze
(2015), "Joint lemmatization and morphological tagging with Lemming".
"""

from functools import lru_cache
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import unquote

import numpy as np
from spacy.tokens import Doc

from ..arrays import Mask
from ..errors import Errors
from ..features.sequences import words_and_lengths

SHARED = "*"
SIGNS = str.maketrans({"%": "%25", "*": "%2A", ">": "%3E"})  # what has a meaning in labels, as addresses have it
KINDS = 'scripts such as "lower *ies>*y": one of lower, keep, title, upper; what is replaced; ">"; what takes its place'
LEAST_SHARED = 3  # a common string of a third of the longer one, or less, is chance
MOST_WORDS = 100_000  # whose candidates are remembered

CASES: Dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "keep": str,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}


class Script(NamedTuple):
    """case: of CASES. prefix_cut, suffix_cut: what is taken away. prefix, suffix: what is put
    there. is_whole (bool): the form is exactly `prefix_cut`, and the lemma `prefix`."""

    case: str
    prefix_cut: str
    prefix: str
    suffix_cut: str = ""
    suffix: str = ""
    is_whole: bool = False

    @property
    def label(self) -> str:
        """The script as a string."""
        before = self.prefix_cut.translate(SIGNS)
        after = self.prefix.translate(SIGNS)
        if not self.is_whole:
            before += SHARED + self.suffix_cut.translate(SIGNS)
            after += SHARED + self.suffix.translate(SIGNS)
        return f"{self.case} {before}>{after}"

    def applied(self, form: str) -> Optional[str]:
        """The lemma of a form; None: the script does not fit."""
        base = CASES[self.case](form)
        if self.is_whole:
            return self.prefix if base == self.prefix_cut else None
        end = len(base) - len(self.suffix_cut)
        if (
            end <= len(self.prefix_cut)
            or not base.startswith(self.prefix_cut)
            or not base.endswith(self.suffix_cut)
        ):
            return None
        return self.prefix + base[len(self.prefix_cut) : end] + self.suffix

    def lemma(self, form: str) -> str:
        """Of any form: the form itself, if the script does not fit."""
        lemma = self.applied(form)
        return form if lemma is None else lemma


@lru_cache(maxsize=100_000)
def label_of(form: str, lemma: str) -> str:
    """The label of the shortest script that makes this lemma of this form; of several, of the one
    of the first case."""
    scripts = [_between(case, changed(form), lemma) for case, changed in CASES.items()]
    return min(scripts, key=lambda script: sum(map(len, script[1:5]))).label


def _between(case: str, base: str, lemma: str) -> Script:
    """The script that makes a lemma of a form in this case."""
    if base == lemma and lemma:
        return Script(case, "", "")
    size, start, start_of_lemma = longest_common(base, lemma)
    if LEAST_SHARED * size <= max(len(base), len(lemma)):
        return Script(case, base, lemma, is_whole=True)
    end = start + size
    end_of_lemma = start_of_lemma + size
    return Script(case, base[:start], lemma[:start_of_lemma], base[end:], lemma[end_of_lemma:])


@lru_cache(maxsize=16)  # of the other cases of a form
def longest_common(first: str, second: str) -> Tuple[int, int, int]:
    """The longest string in both, the leftmost of several: its length, and where it begins in
    each."""
    longest = 0, 0, 0
    row = [0] * (len(second) + 1)  # length of the common string that ends at each place
    for i, sign in enumerate(first, start=1):
        above = row
        row = [0] * (len(second) + 1)
        for j, other in enumerate(second, start=1):
            if sign == other:
                row[j] = above[j - 1] + 1
                if row[j] > longest[0]:
                    longest = row[j], i - row[j], j - row[j]
    return longest


@lru_cache(maxsize=100_000)
def script_named(label: str) -> Script:
    """The script of a label. RAISES ValueError [HS027]: it is none."""
    case, _, edit = label.partition(" ")
    before, arrow, after = edit.partition(">")
    stars = before.count(SHARED), after.count(SHARED)
    if case not in CASES or not arrow or ">" in after or stars not in ((0, 0), (1, 1)):
        raise ValueError(Errors.HS027.format(name="label", value=repr(label), expected=KINDS))
    prefix_cut, _, suffix_cut = before.partition(SHARED)
    prefix, _, suffix = after.partition(SHARED)
    return Script(
        case,
        unquote(prefix_cut),
        unquote(prefix),
        unquote(suffix_cut),
        unquote(suffix),
        is_whole=stars == (0, 0),
    )


class Candidates:
    """Labels that fit words. labels: all scripts, by id.

    A word that no script fits can have any; it is its own lemma then.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.scripts: List[Script] = [script_named(label) for label in labels]
        # ids by case and form; by case and ending, then length of the beginning, and beginning
        self._of_whole: Dict[Tuple[str, str], List[int]] = {}
        self._of_ends: Dict[Tuple[str, str], Dict[int, Dict[str, List[int]]]] = {}
        for label_id, (case, prefix, _, suffix, _, is_whole) in enumerate(self.scripts):
            if is_whole:
                self._of_whole.setdefault((case, prefix), []).append(label_id)
            else:
                of_ending = self._of_ends.setdefault((case, suffix), {})
                of_length = of_ending.setdefault(len(prefix), {})
                of_length.setdefault(prefix, []).append(label_id)
        self._longest = max((len(script.suffix_cut) for script in self.scripts), default=0)
        self._known = lru_cache(MOST_WORDS)(self._fitting)

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool: of all tokens of the docs."""
        orths, _ = words_and_lengths(docs)
        types, type_of = np.unique(orths, return_inverse=True)
        masks = np.zeros((len(types), len(self.scripts)), bool)
        for mask, orth in zip(masks, types.tolist(), strict=True):
            mask[self._known(docs[0].vocab.strings[orth])] = True
        masks[~masks.any(axis=1)] = True
        return masks[type_of]

    def _fitting(self, form: str) -> List[int]:
        ids: List[int] = []
        for case, changed in CASES.items():
            base = changed(form)
            ids += self._of_whole.get((case, base), ())
            for start in range(max(0, len(base) - self._longest), len(base) + 1):
                for length, beginnings in self._of_ends.get((case, base[start:]), {}).items():
                    if length < start:  # something stays
                        ids += beginnings.get(base[:length], ())
        return ids
