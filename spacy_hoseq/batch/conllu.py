"""Docs as CoNLL-U, or as columns of CoNLL-2003, which `hoseq convert` reads back. White space is no
word; in CoNLL-U it stands in the last column, as chunks and entities do."""

import re

from spacy.tokens import Doc, Token

from ..errors import Errors
from .columns import layers_of, sentences_of

COMMENT = re.compile("# |-DOCSTART-")
CANNOT = re.compile("[\t\r\n\0\ufeff]|^ | $")
ESCAPES = str.maketrans(
    {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
)


def conllu(doc: Doc, name: str) -> str:
    """The sentences of a Doc; one where none are known. name (str): its id. RAISES ValueError
    [HS171, HS177]: it cannot be read back."""
    lines = [f"# newdoc id = {_checked(' '.join(name.split()) or '_')}"]
    words = [token for token in doc if not token.is_space]
    misc = _misc(doc, words)
    for block in _blocks(doc):
        text = doc[block[0].i : block[-1].i + 1].text
        places = {word.i: place for place, word in enumerate(block, 1)}
        lines.append(f"# text = {' '.join(text.split())}")
        lines += ["\t".join(map(_checked, _cells(word, places, misc))) for word in block]
        lines.append("")
    return "".join(f"{line}\n" for line in lines) if words else ""


def conll(doc: Doc, name: str) -> str:
    """Word, tag, chunk and entity in each line, a blank line behind each sentence. RAISES ValueError
    [HS171, HS177]: it cannot be read back."""
    lines = ["-DOCSTART- -X- -X- O", ""]
    layers = _layers(doc)
    for block in _blocks(doc):
        if COMMENT.match(block[0].text):
            raise ValueError(Errors.HS177.format(value=block[0].text, format="conll"))
        for word in block:
            cells = [word.text, word.tag_ or "_", *(tags[word.i] for tags in layers)]
            lines.append("\t".join(map(_checked, cells)))
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _blocks(doc: Doc) -> list[list[Token]]:
    """The words of each sentence."""
    blocks = [
        [token for token in each if not token.is_space] for each in sentences_of(doc) or [doc[:]]
    ]
    return [block for block in blocks if block]


def _layers(doc: Doc) -> list[list[str]]:
    """Tags of chunks, and of entities; a span that begins with white space begins with a word."""
    layers = [[tag for tag, _ in layer] for layer in layers_of(doc)]
    for tags in layers:
        for i, token in enumerate(doc[:-1]):
            if token.is_space and tags[i][0] == "B" and tags[i + 1][0] == "I":
                tags[i + 1] = tags[i]
    return layers


def _cells(word: Token, places: dict[int, int], misc: dict[int, str]) -> list[str]:
    """places: of the words of the sentence."""
    lemma, *labels = [word.lemma_, word.pos_, word.tag_, str(word.morph), word.dep_]
    if "_" in labels or lemma == "_" != word.text:  # which would be read as no label
        raise ValueError(Errors.HS177.format(value="_", format="conllu"))
    is_root = word.head == word
    head = "_" if not word.dep_ else str(0 if is_root else places.get(word.head.i, 0))
    columns = [lemma, *labels[:3], head, labels[3], "", misc[word.i]]
    return [str(places[word.i]), word.text, *(cell or "_" for cell in columns)]


def _misc(doc: Doc, words: list[Token]) -> dict[int, str]:
    """The last column of each word: its chunk and entity, and the white space behind it, as UDPipe
    writes it."""
    items: dict[int, list[str]] = {word.i: [] for word in words}
    if words and words[0].idx:
        before = doc.text[: words[0].idx]
        items[words[0].i].append(f"SpacesBefore={before.translate(ESCAPES)}")
    for key, tags in zip(("Chunk", "NER"), _layers(doc), strict=True):
        for word in words:
            if "|" in tags[word.i] or "\\" in tags[word.i]:
                raise ValueError(Errors.HS177.format(value=tags[word.i], format="conllu"))
            items[word.i] += [] if tags[word.i] == "O" else [f"{key}={tags[word.i]}"]
    ends = [*(word.idx for word in words[1:]), len(doc.text)]
    for word, end in zip(words, ends, strict=False):
        after = doc.text[word.idx + len(word) : end]
        if after != " ":
            spaces = f"SpacesAfter={after.translate(ESCAPES)}" if after else "SpaceAfter=No"
            items[word.i].append(spaces)
    return {i: "|".join(each) for i, each in items.items()}


def _checked(value: str) -> str:
    if CANNOT.search(value):
        raise ValueError(Errors.HS177.format(value=value, format="CoNLL"))
    return value
