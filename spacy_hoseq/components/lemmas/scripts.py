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
from typing import Callable, Dict, NamedTuple, Optional, Set, Tuple
from urllib.parse import unquote

from ...errors import Errors

SHARED = "*"
SIGNS = {"%": "%25", "*": "%2A", ">": "%3E"}  # what has a meaning in labels, as addresses have it
KINDS = 'scripts such as "lower *ies>*y": one of lower, keep, title, upper; what is replaced; ">"; what takes its place'
LEAST_SHARED = 3  # a common string of a third of the longer one, or less, is chance


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
        before = _escaped(self.prefix_cut)
        after = _escaped(self.prefix)
        if not self.is_whole:
            before += SHARED + _escaped(self.suffix_cut)
            after += SHARED + _escaped(self.suffix)
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
def script_of(form: str, lemma: str) -> Script:
    """The shortest script that makes this lemma of this form."""
    shortest = Script("keep", form, lemma, is_whole=True)
    bases: Set[str] = set()
    least = 0
    for case, changed in CASES.items():
        base = changed(form)
        if base in bases:
            continue
        script, cost = _between(case, base, lemma)
        if not bases or cost < least:
            shortest = script
            least = cost
        if not least:
            break
        bases.add(base)
    return shortest


def _between(case: str, base: str, lemma: str) -> Tuple[Script, int]:
    """The script that makes a lemma of a form in this case, and how many characters it replaces."""
    longer = max(len(base), len(lemma))
    if base == lemma and lemma:
        return Script(case, "", ""), 0
    size, start, start_of_lemma = longest_common(base, lemma)
    if LEAST_SHARED * size <= longer:
        return Script(case, base, lemma, is_whole=True), len(base) + len(lemma)
    end = start + size
    end_of_lemma = start_of_lemma + size
    script = Script(case, base[:start], lemma[:start_of_lemma], base[end:], lemma[end_of_lemma:])
    return script, len(base) + len(lemma) - 2 * size


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
    """The script of a label. RAISES ValueError [HS065]: it is none."""
    case, _, edit = label.partition(" ")
    before, arrow, after = edit.partition(">")
    stars = before.count(SHARED), after.count(SHARED)
    if case not in CASES or not arrow or ">" in after or stars not in ((0, 0), (1, 1)):
        raise ValueError(Errors.HS065.format(label=label, attribute="lemma", known=KINDS))
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


def _escaped(text: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in text)
