"""Words and the tags that they had in the training data: a table of the vocabulary, and the attribute that reads it.

The table is made in initialization and saved with the vocabulary:

    [initialize.lookups]
    @misc = "spacy_hoseq.known_tags.v1"
    path = ${paths.train}
"""

from pathlib import Path
from typing import Any, Dict, Optional, Set, Union

from spacy.errors import Errors as SpacyErrors
from spacy.lookups import Lookups
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from .attributes import register_attribute

TABLE = "hoseq_known_tags"  # word -> numbers of its tags
MAX_TAGS = 128  # as many as templates can name


def known_tags(path: Optional[Union[str, Path]]) -> Lookups:
    """Registered as `spacy_hoseq.known_tags.v1`: the tags of every word in a .spacy file, numbered in sorted order.

    RAISES ValueError [E913]: no path; [HS009]: more than MAX_TAGS tags.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    vocab = Vocab()
    tags_of: Dict[str, Set[str]] = {}
    for doc in DocBin().from_disk(path).get_docs(vocab):
        for token in doc:
            if token.tag:
                tags_of.setdefault(token.text, set()).add(token.tag_)
    names = sorted(set().union(*tags_of.values())) if tags_of else []
    if len(names) > MAX_TAGS:
        raise ValueError(Errors.HS009.format(n=len(names), limit=MAX_TAGS))
    numbers = {name: i for i, name in enumerate(names)}
    lookups = Lookups()
    lookups.add_table(TABLE, {word: sorted(numbers[tag] for tag in tags) for word, tags in sorted(tags_of.items())})
    return lookups


@register_attribute("known_tag", numbers=range(MAX_TAGS), word="lexeme", table=TABLE)
def known_tag(number: int, word: Any) -> bool:
    """Whether the word was seen with the tag of this number; not so if there is no table."""
    lookups = word.vocab.lookups
    return lookups.has_table(TABLE) and number in lookups.get_table(TABLE).get(word.orth, ())
