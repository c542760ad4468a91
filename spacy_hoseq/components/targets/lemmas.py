"""Lemmas, in `token.lemma`, as edit scripts that turn word forms into lemmas.

A script says which case the form is put into, what is removed at both ends, and what replaces it:

    "lower *ies>*y"       Ponies -> pony
    "lower ge*t>*en"      gesagt -> sagen
    "keep *s>*"           Berlins -> Berlin
    "lower went>go"       went -> go: without "*", the whole form is replaced, and no other form fits

"*" stands for the longest string that form and lemma share, at least one character. The case is
the one that leaves least to replace; of several, the first in `CASES`. If they share no more than a
third of the form, the script replaces the whole form.

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
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from spacy.attrs import LEMMA, ORTH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ...arrays import Ints, Keys, Labels, Mask
from ...caches import IdentityCache
from ...errors import wrong_value
from ...features.keys import row_keys
from ...features.sequences import WordDocs, words_and_lengths
from ...features.type_cache import MAX_WORD_TYPES, TypeCache
from .target import LabelTable, escaped
from .token_labels import TokenLabels, texts_of

CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "keep": str,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}


class LemmaLabels(TokenLabels):
    """Labels that are scripts, written as the lemmas of words."""

    attribute = "lemma"
    places = ("lemma",)
    columns = [LEMMA]
    needs_same_word = True
    expects_all = False

    def __init__(self) -> None:
        # ids of lemmas, by form and script. Key: string store and label table. It forgets at the
        # end of a memory zone, because the strings of new lemmas go with the zone.
        self._lemmas: IdentityCache[TypeCache] = IdentityCache()

    def forget_words(self) -> None:
        self._lemmas.forget()

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: it is no script."""
        script_named(label)

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """The 1,500 most frequent scripts, sorted by name. At equal counts, scripts of whole forms
        come first: no other script makes the lemma of such a form."""
        counts = Counter(script for _, script in self.scripts_in(examples))

        def order(label: str) -> tuple[int, bool, str]:
            return -counts[label], not script_named(label).is_whole, label

        # rarer scripts are left out: each takes time, and they fit few new words
        return sorted(sorted(counts, key=order)[:1500])

    def scripts_in(self, examples: Sequence[Example]) -> Iterator[tuple[str, str]]:
        """Words of the gold annotation with the scripts that make their lemmas."""
        for example in examples:
            for form, lemma in texts_of(example.reference, [ORTH, LEMMA]):
                if lemma:
                    yield form, label_of(form, lemma)

    def read(self, doc: Doc) -> Keys:
        """The scripts of a Doc (len(doc),) as string-store ids; 0 where no lemma is set."""
        keys = np.zeros(len(doc), np.uint64)
        for i, (form, lemma) in enumerate(texts_of(doc, [ORTH, LEMMA])):
            if lemma:
                keys[i] = doc.vocab.strings.add(label_of(form, lemma))
        return keys

    def _values(self, docs: WordDocs, label_ids: Labels, table: LabelTable) -> Keys:
        """The lemmas that the scripts make (N, 1). White space is its own lemma, and so is a word
        that the script does not fit."""
        orths = docs.orths
        strings = docs.vocab.strings if docs else StringStore()

        def lemmas_at(places: Ints) -> Keys:
            pairs = zip(orths[places].tolist(), label_ids[places].tolist(), strict=True)
            return np.array([_lemma(strings, table.names, *pair) for pair in pairs], np.uint64)

        # words repeat, so the lemma of a form and a script is computed once
        cache = self._lemmas.of((strings, table), self._empty)
        rows, lemmas = cache.of(row_keys([orths, label_ids.astype(np.uint64)]), lemmas_at)
        return lemmas[rows]

    @staticmethod
    def _empty() -> TypeCache:
        return TypeCache(1, np.uint64, MAX_WORD_TYPES, hashed=True)

    def _put(self, token: Token, label: str) -> None:
        token.lemma_ = script_named(label).lemma(token.text)


def _lemma(strings: StringStore, names: Sequence[str], orth: int, label_id: int) -> int:
    """The id of a lemma. label_id: -1 at white space."""
    if label_id < 0:
        return orth
    form = strings[orth]
    lemma = script_named(names[label_id]).lemma(form)
    if lemma == form:
        return orth
    return int(strings.add(lemma))


class Script(NamedTuple):
    """An edit script. case: of `CASES`. prefix_cut, suffix_cut: what is removed. prefix, suffix:
    what replaces it. is_whole (bool): the form is exactly `prefix_cut`, and the lemma `prefix`."""

    case: str
    prefix_cut: str
    prefix: str
    suffix_cut: str = ""
    suffix: str = ""
    is_whole: bool = False

    @property
    def label(self) -> str:
        """The script as a string."""
        shared = "" if self.is_whole else "*"
        first_cut, first, last_cut, last = (escaped(part, "*>") for part in self[1:5])
        return f"{self.case} {first_cut}{shared}{last_cut}>{first}{shared}{last}"

    def applied(self, form: str) -> str | None:
        """The lemma of a form; None: the script does not fit."""
        base = CASES[self.case](form)
        if self.is_whole:
            return self.prefix if base == self.prefix_cut else None
        stem = base.removeprefix(self.prefix_cut).removesuffix(self.suffix_cut)
        # a prefix or suffix that the form lacks is not removed, and shows when all is put together
        if not stem or f"{self.prefix_cut}{stem}{self.suffix_cut}" != base:
            return None
        return f"{self.prefix}{stem}{self.suffix}"

    def lemma(self, form: str) -> str:
        """The lemma of any form: the form itself, if the script does not fit."""
        lemma = self.applied(form)
        return form if lemma is None else lemma


@lru_cache(maxsize=100_000)
def label_of(form: str, lemma: str) -> str:
    """The label of the shortest script that makes this lemma of this form; of several, of the one
    of the first case."""
    # `min` takes the first of several
    scripts = [_between(case, changed(form), lemma) for case, changed in CASES.items()]
    return min(scripts, key=lambda script: sum(map(len, script[1:5]))).label


def _between(case: str, base: str, lemma: str) -> Script:
    """The script that makes a lemma of a form in this case."""
    if base == lemma and lemma:
        return Script(case, "", "")
    # the leftmost of several
    start, lemma_start, size = SequenceMatcher(None, base, lemma, False).find_longest_match()
    # a common string of a third of the form, or less, is chance
    if 3 * size <= len(base):
        return Script(case, base, lemma, is_whole=True)
    end = start + size
    lemma_end = lemma_start + size
    return Script(case, base[:start], lemma[:lemma_start], base[end:], lemma[lemma_end:])


@lru_cache(maxsize=100_000)
def script_named(label: str) -> Script:
    """The script of a label. RAISES ValueError [HS027]: it is none."""
    # case, prefix cut, "*", suffix cut, ">", prefix, the same "*", suffix
    pattern = r"(lower|keep|title|upper) ([^*>]*)(\*?)([^*>]*)>([^*>]*)\3([^*>]*)"
    parts = re.fullmatch(pattern, label)
    if parts is None:
        raise wrong_value(
            "label",
            repr(label),
            'scripts such as "lower *ies>*y": one of lower, keep, title, upper; what is replaced; '
            '">"; what takes its place',
        )
    case, first_cut, shared, last_cut, first, last = parts.groups()
    edits = [unquote(part) for part in (first_cut, first, last_cut, last)]
    return Script(case, edits[0], edits[1], edits[2], edits[3], not shared)


class Candidates:
    """Labels that fit words. labels: all scripts, by id.

    A word that no script fits can have any; it is its own lemma then.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.scripts: list[Script] = [script_named(label) for label in labels]
        self._cases: dict[str, _CaseIndex] = {}
        for label_id, script in enumerate(self.scripts):
            self._cases.setdefault(script.case, _CaseIndex()).add(script, label_id)
        for index in self._cases.values():
            index.close()
        # the last 20,000 forms
        self._ids = lru_cache(20_000)(self._find)

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """Labels that fit the tokens of the docs (N, L)."""
        # words repeat, so each type is looked up once
        orths, _ = words_and_lengths(docs)
        types, type_of = np.unique(orths, return_inverse=True)
        return self.fitting([docs[0].vocab.strings[orth] for orth in types.tolist()])[type_of]

    def fitting(self, forms: Sequence[str]) -> Mask:
        """Labels that fit n forms (n, L); all, where none does."""
        ids = [self._ids(form) for form in forms]
        masks = np.zeros((len(forms), len(self.scripts)), bool)
        rows = np.arange(len(forms)).repeat(list(map(len, ids)))
        masks[rows, np.concatenate([np.zeros(0, np.intp), *ids])] = True
        masks[~masks.any(axis=1)] = True
        return masks

    def _find(self, form: str) -> Ints:
        """Ids of all labels that fit a form."""
        ids = [np.zeros(0, np.intp)]
        for case, index in self._cases.items():
            ids.extend(index.fitting(CASES[case](form)))
        return np.concatenate(ids)


class _CaseIndex:
    """Ids of the scripts of one case. forms: by the whole form that is replaced. beginnings: by the
    beginning that is cut, then by the ending.

    A search takes ever longer beginnings, and for each of them ever longer endings, and stops where
    one is missing: so for each that is cut, all shorter ones are there.
    """

    def __init__(self) -> None:
        self.forms: dict[str, Any] = {}
        self.beginnings: dict[str, dict[str, Any]] = {}

    def add(self, script: Script, label_id: int) -> None:
        if script.is_whole:
            self.forms.setdefault(script.prefix_cut, []).append(label_id)
            return
        for end in range(len(script.prefix_cut)):
            self.beginnings.setdefault(script.prefix_cut[:end], {})
        endings = self.beginnings.setdefault(script.prefix_cut, {})
        for start in range(len(script.suffix_cut) + 1):
            endings.setdefault(script.suffix_cut[start:], [])
        endings[script.suffix_cut].append(label_id)

    def close(self) -> None:
        """Called once, after all are added: turn lists into arrays, and give each ending the ids of
        all shorter ones, which fit the same words."""
        for form, ids in self.forms.items():
            self.forms[form] = np.array(ids, np.intp)
        for endings in self.beginnings.values():
            for ending in sorted(endings, key=len):
                shorter = endings[ending[1:]] if ending else []
                endings[ending] = np.array([*endings[ending], *shorter], np.intp)

    def fitting(self, base: str) -> Iterator[Ints]:
        """Ids of the scripts that fit a form in this case: whole, or with at least one character
        left between both ends."""
        if base in self.forms:
            yield self.forms[base]
        # beginning and ending do not meet, so a stem stays
        for end in range(len(base)):
            endings = self.beginnings.get(base[:end])
            if endings is None:
                return
            longest = ""
            for start in range(len(base) - 1, end, -1):
                if base[start:] not in endings:
                    break
                longest = base[start:]
            if longest in endings:
                yield endings[longest]
