"""`spacy_hoseq.units.v1`, an augmenter: annotated words -> units with labels, on which a segmenter is
trained."""

from collections import Counter
from typing import Callable, Iterator, List, Sequence, Tuple

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
    text, of_character = _written(tokens, kinds == LAST)
    units = units_of(text, inner_cuts(words.vocab))
    doc = unit_doc(words.vocab, text, units, kinds != LAST)
    word = [of_character[start] for start in units.starts.tolist()]
    of_words = _kinds(tokens, kinds)
    for i, unit in enumerate(doc):
        begins = i == 0 or word[i - 1] != word[i]
        ends = i + 1 == len(word) or word[i + 1] != word[i]
        place = "S" if begins and ends else "B" if begins else "E" if ends else "I"
        unit.tag_ = f"{place}-{of_words[word[i]]}"
    return doc


def _written(tokens: Sequence[Token], as_written: bool) -> Tuple[str, List[int]]:
    """RETURNS the text, and the word of each of its characters."""
    text = ""
    of_character: List[int] = []
    for i, token in enumerate(tokens):
        if not as_written and text and are_parted(text[-1], token.text[0]):
            text += " "
            of_character.append(i)
        written = token.text_with_ws if as_written else token.text
        text += written
        of_character += [i] * len(written)
    return text, of_character


def _kinds(tokens: Sequence[Token], kinds: str) -> List[str]:
    if not kinds:
        return [ONE_KIND] * len(tokens)
    if kinds != LAST:
        return [token.tag_ for token in tokens]
    begins = [bool(token.is_sent_start) for token in tokens[1:]]
    kinds_of = [LAST_KIND if last else ONE_KIND for last in [*begins, True]]
    return [
        SPACED_KIND if " " in token.text else kind
        for token, kind in zip(tokens, kinds_of, strict=True)
    ]
