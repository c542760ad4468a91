"""`spacy_hoseq.units.v1`, an augmenter: annotated words -> units with labels, on which a segmenter is
trained."""

from collections import Counter
from typing import Callable, Iterator, List, Sequence

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..errors import Errors
from ..features.contextual.known_words import OWN_WORDS
from ..readers.annotated import annotated_with
from .decoding import LAST_KIND, ONE_KIND, SPACED_KIND, unit_doc
from .known_words import counts_by_key, inner_cuts
from .units import are_parted, units_of

LAST = "last"
KINDS = ("", "tag", LAST)
PLACES = "IEBS"  # by whether a unit begins its word, and whether it ends it


def make_units(
    kinds: str = "", own_words: bool = False
) -> Callable[[Language, Example], Iterator[Example]]:
    """An example whose tokens are the units of a text, and whose tags tell the place of a unit in
    its word, "B-NN", "E-NN", in place of one of words.

    kinds: "tag": labels also have the tag of the word, which helps to find its end. "last": labels
        mark the last words of sentences and words with spaces in them; texts stay as written. "":
        neither; words are joined without spaces, except between two words of letters or digits.
    own_words (bool): if the table of known words was made from these texts, leave out each text's
        own words.
    RAISES ValueError [HS161]: other kinds.
    """
    if kinds not in KINDS:
        raise ValueError(Errors.HS161.format(name=kinds, known=", ".join(map(repr, KINDS))))

    def units_of_words(nlp: Language, example: Example) -> Iterator[Example]:
        reference = labelled_units(example.reference, kinds)
        units = annotated_with(reference, [])
        if own_words:
            counts = Counter(token.text for token in example.reference)
            units.user_data[OWN_WORDS] = counts_by_key(counts)
        yield Example(units, reference)

    return units_of_words


def labelled_units(words: Doc, kinds: str = "") -> Doc:
    """The units of the words of a Doc, with a label each as tag. A unit in which a word ends belongs
    to the word in which it begins. White-space tokens are left out."""
    tokens = [token for token in words if not token.is_space]
    written: List[str] = []
    for i, token in enumerate(tokens):
        parted = i > 0 and kinds != LAST and are_parted(tokens[i - 1].text[-1], token.text[0])
        written.append(token.text_with_ws if kinds == LAST else " " * parted + token.text)
    word_of = np.repeat(np.arange(len(written)), [len(word) for word in written])  # of a character
    text = "".join(written)
    units = units_of(text, inner_cuts(words.vocab))
    doc = unit_doc(words.vocab, text, units, kinds != LAST)
    word = word_of[units.starts]
    place = 2 * (np.diff(word, prepend=-1) != 0) + (np.diff(word, append=-1) != 0)
    kind_of = _kinds(tokens, kinds)
    for unit, i, at in zip(doc, word.tolist(), place.tolist(), strict=True):
        unit.tag_ = f"{PLACES[at]}-{kind_of[i]}"
    return doc


def _kinds(tokens: Sequence[Token], kinds: str) -> List[str]:
    if kinds != LAST:
        return [token.tag_ if kinds else ONE_KIND for token in tokens]
    is_last = [*(bool(token.is_sent_start) for token in tokens[1:]), True]
    return [
        SPACED_KIND if " " in token.text else LAST_KIND if last else ONE_KIND
        for token, last in zip(tokens, is_last, strict=False)
    ]
