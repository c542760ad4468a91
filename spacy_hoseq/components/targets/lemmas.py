"""Lemmas, in `token.lemma`, as the edit scripts that make them of word forms.

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

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
from spacy.attrs import LEMMA, ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Ints, Keys, Labels, Mask
from ...caches import IdentityCache
from ...errors import Errors
from ...features.index import KeyedValues
from ...features.keys import row_keys
from ...features.sequences import values_of, words_and_lengths
from .target import LabelTable
from .token_labels import TokenLabels, texts_of

SHARED = "*"
SIGNS = str.maketrans(
    {"%": "%25", "*": "%2A", ">": "%3E"}
)  # what has a meaning in labels, as addresses have it
KINDS = 'scripts such as "lower *ies>*y": one of lower, keep, title, upper; what is replaced; ">"; what takes its place'
LABEL = re.compile(r"(lower|keep|title|upper) ([^*>]*)(\*?)([^*>]*)>([^*>]*)\3([^*>]*)")
LEAST_SHARED = 3  # a common string of a third of the longer one, or less, is chance
MOST_WORDS = 20_000  # whose candidates are remembered
# if the training text needs more scripts, the rarest are left out: they take time, and fit few
# new words
MOST_LABELS = 1500

CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "keep": str,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}


class LemmaLabels(TokenLabels):
    """Labels that are scripts, of the lemmas of words."""

    attribute = "lemma"
    places = ("lemma",)
    columns = [LEMMA]
    of_words = True
    expects_all = False

    def __init__(self) -> None:
        self._lemmas: IdentityCache[KeyedValues] = IdentityCache()  # by form and script

    def forget_words(self) -> None:
        self._lemmas.forget()

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it is no script."""
        script_named(label)

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """The most frequent scripts; of equally frequent ones those of whole forms first, as no
        other fits."""
        counts = Counter(script for _, script in self.scripts_in(examples))
        frequent = sorted(
            counts, key=lambda label: (-counts[label], not script_named(label).is_whole, label)
        )
        return sorted(frequent[:MOST_LABELS])

    def scripts_in(self, examples: Sequence[Example]) -> Iterator[tuple[str, str]]:
        """Words of the gold annotation with the scripts that make their lemmas."""
        for example in examples:
            for form, lemma in texts_of(example.reference, [ORTH, LEMMA]):
                if lemma:
                    yield form, label_of(form, lemma)

    def read(self, doc: Doc) -> Keys:
        """The scripts of a Doc (len(doc),) as string-store ids; 0 where no lemma is set."""
        add = doc.vocab.strings.add
        pairs = texts_of(doc, [ORTH, LEMMA])
        return np.array(
            [add(label_of(form, lemma)) if lemma else 0 for form, lemma in pairs], np.uint64
        )

    def _values(self, docs: Sequence[Doc], labels: Labels, table: LabelTable) -> Keys:
        """The lemmas that the scripts make; white space is its own lemma, and so is a word that the
        script does not fit."""
        (orths,) = values_of(docs, [ORTH])
        strings = docs[0].vocab.strings if docs else StringStore()

        def lemmas_of(pairs: Ints) -> Keys:
            each = zip(orths[pairs].tolist(), labels[pairs].tolist(), strict=True)
            return np.array([_lemma(strings, table.names, *pair) for pair in each], np.uint64)

        # words repeat: each pair of form and script is written out once
        made = self._lemmas.of((strings, table), lambda: KeyedValues(np.uint64))
        return made.of(row_keys([orths, labels.astype(np.uint64)]), lemmas_of)[:, None]

    def _put(self, token: Token, label: str) -> None:
        token.lemma_ = script_named(label).lemma(token.text)


def _lemma(strings: StringStore, names: Sequence[str], orth: int, label_id: int) -> int:
    form = strings[orth]
    lemma = script_named(names[label_id]).lemma(form) if label_id >= 0 else form
    return orth if lemma == form else int(strings.add(lemma))


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
        rest = SHARED if not self.is_whole else ""
        first_cut, first, last_cut, last = (part.translate(SIGNS) for part in self[1:5])
        return f"{self.case} {first_cut}{rest}{last_cut}>{first}{rest}{last}"

    def applied(self, form: str) -> str | None:
        """The lemma of a form; None: the script does not fit."""
        base = CASES[self.case](form)
        if self.is_whole:
            return self.prefix if base == self.prefix_cut else None
        rest = base.removeprefix(self.prefix_cut).removesuffix(self.suffix_cut)
        fits = rest and f"{self.prefix_cut}{rest}{self.suffix_cut}" == base
        return f"{self.prefix}{rest}{self.suffix}" if fits else None

    def lemma(self, form: str) -> str:
        """Lemma of any form: the form itself, if the script does not fit."""
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
    # the leftmost of several
    start, start_of_lemma, size = SequenceMatcher(None, base, lemma, False).find_longest_match()
    if LEAST_SHARED * size <= max(len(base), len(lemma)):
        return Script(case, base, lemma, is_whole=True)
    end = start + size
    end_of_lemma = start_of_lemma + size
    return Script(case, base[:start], lemma[:start_of_lemma], base[end:], lemma[end_of_lemma:])


@lru_cache(maxsize=100_000)
def script_named(label: str) -> Script:
    """The script of a label. RAISES ValueError [HS027]: it is none."""
    parts = LABEL.fullmatch(label)
    if parts is None:
        raise ValueError(Errors.HS027.format(name="label", value=repr(label), expected=KINDS))
    case, first_cut, rest, last_cut, first, last = parts.groups()
    edits = [unquote(part) for part in (first_cut, first, last_cut, last)]
    return Script(case, edits[0], edits[1], edits[2], edits[3], not rest)


class Candidates:
    """Labels that fit words. labels: all scripts, by id.

    A word that no script fits can have any; it is its own lemma then.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.scripts: list[Script] = [script_named(label) for label in labels]
        # ids by case: of whole forms, and by beginning and ending that are taken away
        cases: dict[str, tuple[dict[str, list[int]], dict[str, dict[str, list[int]]]]] = {}
        for label_id, script in enumerate(self.scripts):
            whole, beginnings = cases.setdefault(script.case, ({}, {}))
            of_word = whole if script.is_whole else beginnings.setdefault(script.prefix_cut, {})
            of_word.setdefault(
                script.prefix_cut if script.is_whole else script.suffix_cut, []
            ).append(label_id)
            # where a shorter beginning is missing, a search ends
            for end in range(0 if script.is_whole else len(script.prefix_cut)):
                beginnings.setdefault(script.prefix_cut[:end], {})
        self._cases = {
            case: (
                whole,
                {beginning: _with_shorter(of_word) for beginning, of_word in parts.items()},
            )
            for case, (whole, parts) in cases.items()
        }
        self._found = lru_cache(MOST_WORDS)(self._find)

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool: of all tokens of the docs."""
        orths, _ = words_and_lengths(docs)
        types, type_of = np.unique(orths, return_inverse=True)
        return self.fitting([docs[0].vocab.strings[orth] for orth in types.tolist()])[type_of]

    def fitting(self, forms: Sequence[str]) -> Mask:
        """RETURNS (n, L) bool: of n forms."""
        found = list(map(self._found, forms))
        masks = np.zeros((len(forms), len(self.scripts)), bool)
        form_of = np.arange(len(forms)).repeat(list(map(len, found)))
        masks[form_of, np.concatenate([np.zeros(0, np.intp), *found])] = True
        masks[~masks.any(axis=1)] = True
        return masks

    def _find(self, form: str) -> Ints:
        """Ids of all labels that fit a form: whole, or with something left between both ends."""
        found: list[Ints] = []
        whole: list[int] = []
        for case, (forms, beginnings) in self._cases.items():
            base = CASES[case](form)
            whole += forms.get(base, ())
            for end in range(len(base)):
                endings = beginnings.get(base[:end])
                if endings is None:
                    break
                longest = ""
                for start in range(len(base) - 1, end, -1):
                    if base[start:] not in endings:
                        break
                    longest = base[start:]
                found += [endings[longest]] if longest in endings else []
        return np.concatenate([np.array(whole, np.intp), *found])


def _with_shorter(endings: dict[str, list[int]]) -> dict[str, Ints]:
    """Ids of each ending with those of all shorter ones, which fit the same words. All shorter ones
    are there: where one is missing, a search ends."""
    every = {ending[i:] for ending in endings for i in range(len(ending) + 1)}
    return {
        ending: np.array(
            [label for i in range(len(ending) + 1) for label in endings.get(ending[i:], ())],
            np.intp,
        )
        for ending in every
    }
