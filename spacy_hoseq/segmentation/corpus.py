"""`spacy_hoseq.segmented_corpus.v1`: annotated words -> units with labels, on which a segmenter is
trained."""

from collections import Counter
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence, Tuple, Union

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..errors import Errors
from ..features.contextual.known_words import OWN_WORDS
from ..readers.annotated import annotated_with, read_docs, spacy_files
from .decoding import LAST_KIND, ONE_KIND, SPACED_KIND, unit_doc
from .known_words import counts_by_key, inner_cuts
from .units import are_parted, units_of

LAST = "last"
KINDS = ("", "tag", LAST)


def segmented_corpus(
    path: Optional[Union[str, Path]], kinds: str = "", own_words: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Examples whose tokens are the units of texts, and whose tags tell the place of a unit in its
    word: "B-NN", "E-NN".

    path: a .spacy file or a folder of them, with words. Words are joined without spaces, except
        between two words of letters or digits. kinds: "tag": labels also have the tag of the
        word, which helps to find its end. "last": labels mark the last words of sentences and
        words with spaces in them; texts stay as written. "": neither. own_words (bool): if the
        table of known words was made from these texts, leave out each text's own words. limit
        (int): read at most this many Docs; 0 = all.
    RAISES ValueError [E913]: no path; [HS161]: other kinds.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    if kinds not in KINDS:
        raise ValueError(Errors.HS161.format(name=kinds, known=", ".join(map(repr, KINDS))))

    def read(nlp: Language) -> Iterator[Example]:
        files = spacy_files(path)
        for words in read_docs(files, nlp.vocab, limit):
            reference = labelled_units(words, kinds)
            units = annotated_with(reference, [])
            if own_words:
                units.user_data[OWN_WORDS] = counts_by_key(Counter(token.text for token in words))
            yield Example(units, reference)

    return read


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
