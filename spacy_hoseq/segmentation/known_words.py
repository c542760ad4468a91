"""Words of a corpus as a table of the vocabulary, for templates that ask where known words lie.

The table is made in initialization and saved with the vocabulary of the segmenter
(features/contextual reads it):

    [initialize.lookups]
    @misc = "spacy_hoseq.known_words.v1"
    path = ${paths.train}
"""

import re
from collections import Counter
from pathlib import Path
from typing import Dict, List, Optional, Pattern, Sequence, Union

import numpy as np
from spacy.lookups import Lookups
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..features.contextual.known_words import TABLE, word_keys
from ..readers.annotated import read_docs, spacy_files
from .units import units_of

INNER = "hoseq_inner_cuts"  # under the same name: a list
LETTERS = re.compile(r"[^\W\d_]+")
APOSTROPHES = ("'", "’")
LEAST_SEEN = 3
LEAST_SHARE = 0.005


def known_words(path: Optional[Union[str, Path]], inner: bool = False) -> Lookups:
    """Registered as `spacy_hoseq.known_words.v1`: how often each word of more than one unit is in a
    corpus.

    path: a .spacy file or a folder of them, with words. inner (bool): also where words of the
    corpus end within runs of letters ("do|n't"): runs that end so can be cut there.
    RAISES ValueError [E913]: no path; [HS074]: there is no such file or folder.
    """
    docs = list(read_docs(spacy_files(path), Vocab()))
    counts = Counter(token.text for doc in docs for token in doc)
    lookups = Lookups()
    lookups.add_table(TABLE, dict(sorted(counts_by_key(counts).items())))
    if inner:
        lookups.add_table(INNER, {INNER: inner_ends(docs)})
    return lookups


def inner_ends(docs: Sequence[Doc]) -> List[str]:
    """What follows where a word ends within a run of letters, to the end of the run, and an
    apostrophe after it: "n'" of "do|n't". Those that were seen thrice, and are cut there at least
    once in two hundred times."""
    cut: Counter[str] = Counter()
    for doc in docs:
        text = doc.text
        ends = {token.idx for token in doc}
        for match in LETTERS.finditer(text):
            end = match.end() + (text[match.end() : match.end() + 1] in APOSTROPHES)
            places = range(match.start() + 1, match.end())
            cut.update(text[at:end].lower() for at in places if at in ends)
    often = sorted(end for end, n in cut.items() if n >= LEAST_SEEN)
    seen: Counter[str] = Counter()
    if often:
        cuts = _pattern(often)
        seen.update(match[1].lower() for doc in docs for match in cuts.finditer(doc.text))
    return [end for end in often if cut[end] >= LEAST_SHARE * seen[end]]


def inner_cuts(vocab: Vocab) -> Optional[Pattern[str]]:
    """Matches where a unit may begin within a run of letters, by the table of a vocabulary; None if
    nowhere."""
    table = vocab.lookups.get_table(INNER, None)
    return _pattern(table[INNER]) if table and table[INNER] else None


def _pattern(ends: Sequence[str]) -> Pattern[str]:
    """Longest first: of several ends of a run, each matches at its own place."""
    whole = [re.escape(end) if end[-1] in APOSTROPHES else f"{end}(?!\\w)" for end in ends]
    return re.compile(f"(?<=[^\\W\\d_])(?=({'|'.join(whole)}))", re.IGNORECASE)


def counts_by_key(counts: "Counter[str]") -> Dict[int, int]:
    """The same with words as the keys by which they are found among units, those of one unit left
    out."""
    units = [units_of(word).of(word) for word in counts]
    orths = [get_string_id(unit) for of_word in units for unit in of_word]
    sizes = np.array(list(map(len, units)), np.intp)
    by_key: Counter[int] = Counter()
    keys = word_keys(np.array(orths, np.uint64), sizes).tolist()
    for key, n in zip(keys, counts.values(), strict=True):
        by_key[key] += n
    return {key: n for key, n in by_key.items() if key}
