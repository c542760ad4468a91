"""Tags that words had in the training data: a table of the vocabulary, with the attributes that
read it.

A component whose templates read it makes the table in its initialization, from its own labels in
the training examples, and it is saved with the vocabulary. A table of other tags, or with other
minimal counts, is given beforehand:

    [initialize.lookups]
    @misc = "spacy_hoseq.known_tags.v1"
    path = ${paths.train}

`known_tagN` says whether the word had one tag. `known_tags` is all tags together: the ambiguity
class of the word (Cutting et al. 1992, "A practical part-of-speech tagger"; Gimenez & Marquez 2004, "SVMTool").
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spacy.errors import Errors as SpacyErrors
from spacy.lookups import Lookups
from spacy.tokens import DocBin
from spacy.training.corpus import walk_corpus
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..errors import Errors
from .attributes import register_attribute

KNOWN_TAGS_TABLE = "hoseq_known_tags"  # word -> numbers of its tags
MAX_KNOWN_TAGS = 128  # as many as templates can name


def known_tags(path: str | Path | None, min_count: int = 1, min_share: float = 0.0) -> Lookups:
    """Registered as `spacy_hoseq.known_tags.v1`: the tags of every word in a .spacy file, or in a
    folder of such files, numbered in sorted order.

    min_count (int): words with a tag fewer times are left out. min_share (float): so are tags that
        a smaller share of the word's occurrences have. Both make what is known of a word in
        training depend less on its tag there.
    RAISES ValueError [E913]: no path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    vocab = Vocab()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file in walk_corpus(ensure_path(path), ".spacy"):
        for doc in DocBin().from_disk(file).get_docs(vocab):
            for token in doc:
                if token.tag:
                    counts[token.text][token.tag_] += 1
    lookups = Lookups()
    lookups.add_table(KNOWN_TAGS_TABLE, numbered(counts, min_count, min_share))
    return lookups


def component_table(counts: dict[str, Counter[str]]) -> dict[str, list[int]]:
    """The table of known tags that components make. counts: how often each word has each tag."""
    # words of new text are often unknown: so rare words are unknown in training, too
    return numbered(counts, min_count=5, min_share=0.02)


def numbered(
    counts: dict[str, Counter[str]], min_count: int, min_share: float
) -> dict[str, list[int]]:
    """The table of known tags: of each word the numbers of its tags, ascending.

    counts: how often each word has each tag. min_count, min_share: as in `known_tags`.
    """
    number_of = {tag: number for number, tag in enumerate(sorted(set().union(*counts.values())))}
    table = {}
    for word, tags in sorted(counts.items()):
        n = sum(tags.values())
        if n >= min_count:
            frequent = [number_of[tag] for tag, count in tags.items() if count >= min_share * n]
            table[word] = sorted(frequent)
    return table


@register_attribute(
    "known_tag", numbers=range(MAX_KNOWN_TAGS), word="lexeme", table=KNOWN_TAGS_TABLE
)
def known_tag(number: int, word: Any) -> bool:
    """True if the word was seen with the tag of this number; False without a table. RAISES
    ValueError [HS009]: it was seen with a tag that no template can name."""
    lookups = word.vocab.lookups
    if not lookups.has_table(KNOWN_TAGS_TABLE):
        return False
    numbers = lookups.get_table(KNOWN_TAGS_TABLE).get(word.orth, ())
    if numbers and numbers[-1] >= MAX_KNOWN_TAGS:
        raise ValueError(Errors.HS009.format(n=numbers[-1] + 1, limit=MAX_KNOWN_TAGS))
    return number in numbers


@register_attribute("known_tags", word="lexemes", table=KNOWN_TAGS_TABLE)
def all_known_tags(words: Sequence[Any]) -> list[str]:
    """Numbers of all tags of each word, or else of its lower-case form; "" if neither is in the
    table. RAISES ValueError [HS007]: there is no table."""
    lookups = words[0].vocab.lookups
    if not lookups.has_table(KNOWN_TAGS_TABLE):
        raise ValueError(Errors.HS007.format(name="known_tags", table=KNOWN_TAGS_TABLE, n=0))
    table = lookups.get_table(KNOWN_TAGS_TABLE)
    numbers_of = partial(dict.get, table)  # spaCy's `get` hashes the key again
    values = []
    for word in words:
        numbers = numbers_of(word.orth) or numbers_of(word.lower) or ()
        values.append(" ".join(map(str, numbers)))
    return values
