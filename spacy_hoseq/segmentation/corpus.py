"""`spacy_hoseq.segmented_corpus.v1`: annotated words -> units with labels, on which a segmenter is
trained."""

from collections import Counter
from pathlib import Path
from typing import Callable, Iterator, Optional, Union

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..features.contextual.known_words import OWN_WORDS
from ..readers.annotated import annotated_with, read_docs, spacy_files
from .decoding import ONE_KIND, unit_doc
from .known_words import counts_by_key
from .units import are_parted, units_of

KINDS = ("", "tag", "pos")


def segmented_corpus(
    path: Optional[Union[str, Path]], kinds: str = "", own_words: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Examples whose tokens are the units of texts, and whose tags say of what word they are a
    part: "B-NN", "E-NN".

    path: a .spacy file or a folder of them, with words. They are written without spaces, whatever
        the file says, but for one between two of letters or digits. kinds: the attribute of words,
        "tag" or "pos", that labels tell apart: what a word is says much of where it ends. "" =
        none. own_words (bool): the table of known words is made of these texts, too, so that the
        own words of each do not count in it. limit (int): read so many Docs only; 0 = all.
    RAISES ValueError [E913]: no path; [HS123]: other kinds.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    if kinds not in KINDS:
        raise ValueError(Errors.HS123.format(kinds=kinds, known=", ".join(map(repr, KINDS))))

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
    """The units of the words of a Doc, written without spaces, with a label each as tag. A unit in
    which a word ends belongs to the word in which it begins. White-space tokens are left out."""
    tokens = [token for token in words if not token.is_space]
    text = ""
    of_character = []  # the word of each character
    for i, token in enumerate(tokens):
        if text and are_parted(text[-1], token.text[0]):
            text += " "
            of_character.append(i)
        text += token.text
        of_character += [i] * len(token.text)
    units = units_of(text)
    doc = unit_doc(words.vocab, text, units)
    word = [of_character[start] for start in units.starts.tolist()]
    for i, unit in enumerate(doc):
        begins = i == 0 or word[i - 1] != word[i]
        ends = i + 1 == len(word) or word[i + 1] != word[i]
        kind = getattr(tokens[word[i]], f"{kinds}_") if kinds else ONE_KIND
        unit.tag_ = f"{'S' if begins and ends else 'B' if begins else 'E' if ends else 'I'}-{kind}"
    return doc
