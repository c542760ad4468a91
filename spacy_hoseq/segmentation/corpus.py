"""Training corpus of a segmenter: units of words with labels (`spacy_hoseq.units.v1`, an
augmenter), and a table of known words, for templates that ask where these lie
(`spacy_hoseq.known_words.v1`).

The table is made in initialization and saved with the vocabulary of the segmenter
(features/known_words.py reads it):

    [initialize.lookups]
    @misc = "spacy_hoseq.known_words.v1"
    path = ${paths.train}
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.vocab import Vocab

from ..features.known_words import KNOWN_WORDS_TABLE, OWN_WORDS, word_keys
from ..readers.annotated import annotated_with, read_docs, spacy_files
from .decoding import LAST_KIND, ONE_KIND, SPACED_KIND, unit_doc
from .units import INNER, are_parted, cuts_at, inner_cuts, units_of


def make_units(
    kinds: Literal["", "tag", "last"] = "", own_words: bool = False
) -> Callable[[Language, Example], Iterator[Example]]:
    """Registered as `spacy_hoseq.units.v1`: an augmenter whose examples have the units of a text as
    tokens. Their tags ("B-NN", "E-NN") say where in its word a unit stands.

    kinds: "tag": labels also have the tag of the word, which helps to find its end. "last": labels
        mark the last words of sentences and words with spaces in them; texts stay as written. "":
        neither; words are joined without spaces, except between two words of letters or digits.
    own_words (bool): if the table of known words was made from these texts, leave out each text's
        own words.
    """

    def units_of_words(nlp: Language, example: Example) -> Iterator[Example]:
        reference = labelled_units(example.reference, kinds)
        units = annotated_with(reference, [])
        if own_words:
            counts = Counter(token.text for token in example.reference)
            units.user_data[OWN_WORDS] = counts_by_key(counts)
        yield Example(units, reference)

    return units_of_words


def labelled_units(words: Doc, kinds: str = "") -> Doc:
    """A Doc of the units of some words, with labels as tags. A unit belongs to the word in which it
    begins. White-space tokens are left out."""
    tokens = [token for token in words if not token.is_space]
    written: list[str] = []
    for i, token in enumerate(tokens):
        if kinds == "last":
            written.append(token.text_with_ws)
        elif i > 0 and are_parted(tokens[i - 1].text[-1], token.text[0]):
            written.append(f" {token.text}")
        else:
            written.append(token.text)
    word_of = np.repeat(np.arange(len(written)), [len(word) for word in written])  # of a character
    text = "".join(written)
    units = units_of(text, inner_cuts(words.vocab))
    doc = unit_doc(words.vocab, text, units, kinds != "last")
    word = word_of[units.starts]
    # 0 within the word, 1 at its end, 2 at its beginning, 3 at both
    place = 2 * (np.diff(word, prepend=-1) != 0) + (np.diff(word, append=-1) != 0)
    word_kinds = [_kind(tokens, i, kinds) for i in range(len(tokens))]
    for unit, i, at in zip(doc, word.tolist(), place.tolist(), strict=True):
        unit.tag_ = f"{'IEBS'[at]}-{word_kinds[i]}"
    return doc


def _kind(tokens: Sequence[Token], i: int, kinds: str) -> str:
    """Kind of a word, the second part of its labels."""
    if kinds == "tag":
        return tokens[i].tag_
    if kinds == "last" and " " in tokens[i].text:
        return SPACED_KIND
    if kinds == "last" and (i + 1 == len(tokens) or tokens[i + 1].is_sent_start):
        return LAST_KIND
    return ONE_KIND


def known_words(path: str | Path | None, inner: bool = False) -> Lookups:
    """Registered as `spacy_hoseq.known_words.v1`: how often each word of more than one unit is in a
    corpus.

    path: a .spacy file or a folder of them, with words. inner (bool): also where words of the
    corpus end within runs of letters ("do|n't"): runs that end so can be cut there.
    RAISES ValueError [E913]: no path; [HS074]: there is no such file or folder.
    """
    docs = list(read_docs(spacy_files(path), Vocab()))
    counts: Counter[str] = Counter()
    for doc in docs:
        counts.update(token.text for token in doc)
    lookups = Lookups()
    lookups.add_table(KNOWN_WORDS_TABLE, dict(sorted(counts_by_key(counts).items())))
    if inner:
        ends = inner_ends(docs)
        table = {INNER: ends, "beginnings": inner_beginnings(docs, ends)}
        lookups.add_table(INNER, table)
    return lookups


def inner_ends(docs: Sequence[Doc]) -> list[str]:
    """Ends of runs of letters before which a word may end, with an apostrophe: "n'" of "do|n't".
    Only those cut three times, and once in 200 times or more."""
    return _often_cut(docs, lambda run, at: run[at:])


def inner_beginnings(docs: Sequence[Doc], ends: Sequence[str]) -> list[str]:
    """Beginnings of runs of letters after which a word may end, as often: the prepositions and the
    article of Hebrew. What these ends cut does not count."""
    return _often_cut(docs, lambda run, at: run[:at], cuts_at(ends))


def _often_cut(
    docs: Sequence[Doc], piece: Callable[[str, int], str], known: re.Pattern[str] | None = None
) -> list[str]:
    """Pieces of runs of letters at places where words end. piece: of a run at a place. known: cuts
    that do not count."""
    cut: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for doc in docs:
        starts = {token.idx for token in doc}
        for match in re.finditer(r"([^\W\d_]{2,})['’]?", doc.text):
            run = match[0].lower()
            places = {place.start() for place in known.finditer(run)} if known else set()
            for at in range(1, len(match[1])):
                seen[piece(run, at)] += 1
                if match.start() + at in starts and at not in places:
                    cut[piece(run, at)] += 1
    return sorted(text for text, n in cut.items() if n >= 3 and n >= 0.005 * seen[text])


def counts_by_key(counts: "Counter[str]") -> dict[int, int]:
    """Counts of words by their keys among units, without words of one unit."""
    orths: list[int] = []
    sizes: list[int] = []
    for word in counts:
        units = units_of(word).of(word)
        orths += map(get_string_id, units)
        sizes.append(len(units))
    by_key: Counter[int] = Counter()
    keys = word_keys(np.array(orths, np.uint64), np.array(sizes, np.intp)).tolist()
    for key, n in zip(keys, counts.values(), strict=True):
        by_key[key] += n
    # words of one unit have the key 0
    return {key: n for key, n in by_key.items() if key}
