"""Docs as CoNLL-U, or as columns of CoNLL-2003, which `hoseq convert` reads back (chunks of types
that it does not know only if it is told the columns). White space is no word; in CoNLL-U it stands in
the last column, with chunks and entities."""

import re

from spacy.tokens import Doc, Token

from ..errors import Errors
from .columns import layers_of, sentences_of

NOT_IN_CELLS = re.compile("[\t\r\n\0\ufeff]|^ | $")


def conllu(doc: Doc, name: str) -> str:
    """The sentences of a Doc; one if none are known. name (str): its id. RAISES ValueError [HS171,
    HS177]: it cannot be read back."""
    words = [token for token in doc if not token.is_space]
    if not words:
        return ""
    lines = [f"# newdoc id = {_checked(' '.join(name.split()) or '_')}"]
    misc = _misc(doc, words)
    for sentence in _sentences(doc):
        text = doc[sentence[0].i : sentence[-1].i + 1].text
        lines.append(f"# text = {' '.join(text.split())}")
        numbers = {word.i: number for number, word in enumerate(sentence, 1)}
        for word in sentence:
            lines.append("\t".join(_cells(word, numbers, misc[word.i])))
        lines.append("")
    return "\n".join(lines) + "\n"


def conll(doc: Doc, name: str) -> str:
    """Word, tag, chunk and entity in each line, a blank line after each sentence. RAISES ValueError
    [HS171, HS177]: it cannot be read back."""
    lines = ["-DOCSTART- -X- -X- O", ""]
    chunks, entities = _layers(doc)
    for sentence in _sentences(doc):
        # it would be read as a comment, or as the beginning of a document
        if re.match("# |-DOCSTART-", sentence[0].text):
            raise ValueError(Errors.HS177.format(value=sentence[0].text, format="conll"))
        for word in sentence:
            cells = (word.text, word.tag_ or "_", chunks[word.i], entities[word.i])
            lines.append("\t".join(map(_checked, cells)))
        lines.append("")
    return "\n".join(lines) + "\n"


def _sentences(doc: Doc) -> list[list[Token]]:
    """The words of each sentence that has some."""
    sentences = []
    for sentence in sentences_of(doc) or [doc[:]]:
        words = [token for token in sentence if not token.is_space]
        if words:
            sentences.append(words)
    return sentences


def _layers(doc: Doc) -> list[list[str]]:
    """Tags of chunks, and of entities. If a span begins with white space, its first word has the
    B."""
    layers = [[tag for tag, _ in layer] for layer in layers_of(doc)]
    for tags in layers:
        for i, token in enumerate(doc[:-1]):
            if token.is_space and tags[i][0] == "B" and tags[i + 1][0] == "I":
                tags[i + 1] = tags[i]
    return layers


def _cells(word: Token, numbers: dict[int, int], misc: str) -> list[str]:
    """The columns of a word. numbers: of the words of its sentence."""
    labels = [word.pos_, word.tag_, str(word.morph), word.dep_]
    # "_" would be read as no label
    if "_" in labels or (word.lemma_ == "_" and word.text != "_"):
        raise ValueError(Errors.HS177.format(value="_", format="conllu"))
    head = ""
    if word.dep_:
        # 0: the root; a head in another sentence has no number either
        head = "0" if word.head == word else str(numbers.get(word.head.i, 0))
    number = str(numbers[word.i])
    cells = [number, word.text, word.lemma_, word.pos_, word.tag_, str(word.morph)]
    return [_checked(cell or "_") for cell in (*cells, head, word.dep_, "", misc)]


def _misc(doc: Doc, words: list[Token]) -> dict[int, str]:
    """The last column of each word: its chunk and entity, and the white space after it, as UDPipe
    writes it."""
    items: dict[int, list[str]] = {word.i: [] for word in words}
    if words[0].idx:
        items[words[0].i].append(f"SpacesBefore={_escaped(doc.text[: words[0].idx])}")
    for key, tags in zip(("Chunk", "NER"), _layers(doc), strict=True):
        for word in words:
            tag = tags[word.i]
            if "|" in tag or "\\" in tag:
                raise ValueError(Errors.HS177.format(value=tag, format="conllu"))
            if tag != "O":
                items[word.i].append(f"{key}={tag}")
    ends = [*(word.idx for word in words[1:]), len(doc.text)]
    for word, end in zip(words, ends, strict=True):
        after = doc.text[word.idx + len(word) : end]
        if not after:
            items[word.i].append("SpaceAfter=No")
        elif after != " ":
            items[word.i].append(f"SpacesAfter={_escaped(after)}")
    return {i: "|".join(parts) for i, parts in items.items()}


def _escaped(spaces: str) -> str:
    escapes = {"\\": r"\\", " ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p"}
    return "".join(escapes.get(letter, letter) for letter in spaces)


def _checked(value: str) -> str:
    if not value.strip() or NOT_IN_CELLS.search(value):
        raise ValueError(Errors.HS177.format(value=value, format="CoNLL"))
    return value
