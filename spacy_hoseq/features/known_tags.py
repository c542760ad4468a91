"""Words and the tags that they had in the training data: a table of the vocabulary, and the attribute that reads it.

The table is made in initialization and saved with the vocabulary:

    [initialize.lookups]
    @misc = "spacy_hoseq.known_tags.v1"
    path = ${paths.train}
"""

from pathlib import Path
from typing import Any, Dict, Optional, Set, Union

from spacy.errors import Errors as SpacyErrors
from spacy.lookups import Lookups, Table
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors

TABLE = "hoseq_known_tags"  # word -> numbers of its tags
MAX_TAGS = 128  # as many as templates can name


def known_tags(path: Optional[Union[str, Path]]) -> Lookups:
    """Registered as `spacy_hoseq.known_tags.v1`: the tags of every word in a .spacy file, numbered in sorted order.

    RAISES ValueError [E913]: no path; [HS009]: more than MAX_TAGS tags.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    vocab = Vocab()
    found: Dict[str, Set[str]] = {}
    for doc in DocBin().from_disk(path).get_docs(vocab):
        for token in doc:
            if token.tag:
                found.setdefault(token.text, set()).add(token.tag_)
    names = sorted(set().union(*found.values())) if found else []
    if len(names) > MAX_TAGS:
        raise ValueError(Errors.HS009.format(n=len(names), limit=MAX_TAGS))
    numbers = {name: i for i, name in enumerate(names)}
    lookups = Lookups()
    lookups.add_table(TABLE, {word: sorted(numbers[tag] for tag in tags) for word, tags in sorted(found.items())})
    return lookups


def known_tag(number: int, lexeme: Any) -> int:
    """Whether the word was seen with the tag of this number; 0 if there is no table."""
    table = known_tag_table(lexeme.vocab)
    return int(table is not None and number in table.get(lexeme.orth, ()))


def known_tag_table(vocab: Vocab) -> Optional[Table]:
    """The table of a vocabulary, None if it has none."""
    return vocab.lookups.get_table(TABLE) if vocab.lookups.has_table(TABLE) else None
