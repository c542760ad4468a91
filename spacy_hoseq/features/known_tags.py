"""Tags that words had in the training data: a table of the vocabulary, with the attributes that
read it.

A component whose templates ask for it makes the table in its initialization, of its own labels in
the training examples, and it is saved with the vocabulary. A table of other tags, or with other
limits, is given beforehand:

    [initialize.lookups]
    @misc = "spacy_hoseq.known_tags.v1"
    path = ${paths.train}

`known_tagN` asks for one tag, `known_tags` for all of them together: the ambiguity class of the
word (Cutting et al. 1992, "A practical part-of-speech tagger"; Gimenez & Marquez 2004, "SVMTool").
"""

from collections import Counter
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

TABLE = "hoseq_known_tags"  # word -> numbers of its tags
MAX_TAGS = 128  # as many as templates can name
# of what components count: words of new text are unknown, so rare ones are, too
MIN_COUNT = 5
MIN_SHARE = 0.02


def known_tags(path: str | Path | None, min_count: int = 1, min_share: float = 0.0) -> Lookups:
    """Registered as `spacy_hoseq.known_tags.v1`: the tags of every word in a .spacy file, or a
    folder of them, numbered in sorted order.

    min_count (int): words with a tag fewer times are left out. min_share (float): so are tags that
        a smaller share of the word's occurrences have. Both make what is known of a word in
        training depend less on its tag there.
    RAISES ValueError [E913]: no path.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    vocab = Vocab()
    counts_of: dict[str, Counter[str]] = {}
    for file in walk_corpus(ensure_path(path), ".spacy"):
        for token in (
            token for doc in DocBin().from_disk(file).get_docs(vocab) for token in doc if token.tag
        ):
            counts_of.setdefault(token.text, Counter())[token.tag_] += 1
    lookups = Lookups()
    lookups.add_table(TABLE, numbered(counts_of, min_count, min_share))
    return lookups


def numbered(
    counts_of: dict[str, Counter[str]], min_count: int, min_share: float
) -> dict[str, list[int]]:
    """The table of words whose tags were counted. Arguments as `known_tags` has them."""
    names = sorted(set().union(*counts_of.values())) if counts_of else []
    numbers = {name: i for i, name in enumerate(names)}
    table = {}
    for word, counts in sorted(counts_of.items()):
        n = sum(counts.values())
        if n >= min_count:
            table[word] = sorted(
                numbers[tag] for tag, count in counts.items() if count >= min_share * n
            )
    return table


@register_attribute("known_tag", numbers=range(MAX_TAGS), word="lexeme", table=TABLE)
def known_tag(number: int, word: Any) -> bool:
    """True if the word was seen with the tag of this number; False without a table. RAISES
    ValueError [HS009]: it was seen with a tag that no template can ask for."""
    lookups = word.vocab.lookups
    numbers = lookups.get_table(TABLE).get(word.orth, ()) if lookups.has_table(TABLE) else ()
    if numbers and numbers[-1] >= MAX_TAGS:
        raise ValueError(Errors.HS009.format(n=numbers[-1] + 1, limit=MAX_TAGS))
    return number in numbers


@register_attribute("known_tags", word="lexemes", table=TABLE)
def all_known_tags(words: Sequence[Any]) -> list[str]:
    """Numbers of all tags of each word, or else of those of its lower-case form; "" if
    neither is in the table. RAISES ValueError [HS007]: there is no table."""
    lookups = words[0].vocab.lookups
    if not lookups.has_table(TABLE):
        raise ValueError(Errors.HS007.format(name="known_tags", table=TABLE, n=0))
    numbers = partial(dict.get, lookups.get_table(TABLE))  # spaCy's `get` hashes the key again
    return [" ".join(map(str, numbers(word.orth) or numbers(word.lower) or ())) for word in words]
