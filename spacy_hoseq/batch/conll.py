"""Docs as lines of text that `hoseq convert` reads back: columns as in CoNLL-2003, and CoNLL-U.

What a format cannot hold (a line break in a label, say) is an error of its Doc.
"""

import re
from itertools import groupby
from typing import Any, Callable, Dict, Iterator, List, Sequence

import pyarrow as pa
from spacy.tokens import Doc

from ..errors import Errors
from .columns import Annotated, token_columns

OUTPUTS = ("word", "lemma", "pos", "tag", "morph", "dep", "head", "sentences", "spans")
CANNOT = re.compile("[\t\r\n\0\ufeff]|^ | $")
COMMENT = re.compile("# |-DOCSTART-")
ESCAPES = str.maketrans(
    {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
)
Words = List[Dict[str, Any]]  # of a sentence


def conll(rows: Annotated, ids: Sequence[str]) -> str:
    """Word, tag, chunk and entity in each line, a blank line behind each sentence. RAISES ValueError
    [HS171, HS177]: a Doc that cannot be read back."""
    return _text(rows, ids, _conll_lines)


def conllu(rows: Annotated, ids: Sequence[str]) -> str:
    """CoNLL-U: white space is no word of it, but stands in the last column, as chunks and entities
    do. RAISES ValueError [HS171, HS177]: a Doc that cannot be read back."""
    return _text(rows, ids, _conllu_lines)


def _text(rows: Annotated, ids: Sequence[str], lines_of: Callable[..., Iterator[str]]) -> str:
    columns, of_row = token_columns(rows, OUTPUTS)
    tokens = zip(of_row.tolist(), pa.table(columns).to_pylist(), strict=True)
    of_docs = {
        i: [token for _, token in group] for i, group in groupby(tokens, lambda pair: pair[0])
    }
    lines: List[str] = []
    for i, (doc, name) in enumerate(zip(rows.docs, ids, strict=True)):
        if doc is not None:
            lines += lines_of(" ".join(name.split()), doc, _sentences(of_docs.get(i, [])))
    return "".join(f"{line}\n" for line in lines)


def _sentences(tokens: Words) -> List[Words]:
    """Words, without white space; one sentence where none are known."""
    for token, following in zip(tokens, tokens[1:], strict=False):
        for layer in ("chunk", "entity"):
            if token["word"].isspace() and token[layer][:1] == "B" and following[layer][:1] == "I":
                following[layer] = token[layer]
    words = [token for token in tokens if not token["word"].isspace()]
    return [list(group) for _, group in groupby(words, lambda token: token["sentence"])]


def _conll_lines(name: str, doc: Doc, sentences: List[Words]) -> Iterator[str]:
    yield from ("-DOCSTART- -X- -X- O", "")
    for sentence in sentences:
        if COMMENT.match(sentence[0]["word"]):
            raise ValueError(Errors.HS177.format(value=sentence[0]["word"], format="conll"))
        for word in sentence:
            values = (word["word"], word["tag"] or "_", word["chunk"], word["entity"])
            yield "\t".join(_field(value, "conll") for value in values)
        yield ""


def _conllu_lines(name: str, doc: Doc, sentences: List[Words]) -> Iterator[str]:
    words = [word for sentence in sentences for word in sentence]
    starts = [*(word["start"] for word in words[1:]), len(doc.text)]
    spaces = [doc.text[word["end"] : start] for word, start in zip(words, starts, strict=False)]
    before = doc.text[: words[0]["start"]] if words else ""
    following = iter(spaces)
    for number, sentence in enumerate(sentences):
        if not number:
            yield f"# newdoc id = {_field(name or '_', 'conllu')}"
        text = doc.text[sentence[0]["start"] : sentence[-1]["end"]]
        yield f"# text = {' '.join(text.split())}"
        places = {word["token"]: place for place, word in enumerate(sentence, 1)}
        for word in sentence:
            yield _conllu_line(word, places, before, next(following))
            before = ""
        yield ""


def _conllu_line(word: Dict[str, Any], places: Dict[int, int], before: str, after: str) -> str:
    place = places[word["token"]]
    is_root = word["head"] == word["token"]
    head = "_" if not word["dep"] else str(0 if is_root else places.get(word["head"], 0))
    labels = [word[name] for name in ("lemma", "pos", "tag", "morph")]
    if "_" in labels[1:] or word["dep"] == "_" or (labels[0] == "_" != word["word"]):
        raise ValueError(Errors.HS177.format(value="_", format="conllu"))
    cells = [
        str(place),
        word["word"],
        *(label or "_" for label in labels),
        head,
        word["dep"] or "_",
    ]
    misc = _misc(word, before, after)
    return "\t".join(_field(cell, "conllu") for cell in (*cells, "_", misc))


def _misc(word: Dict[str, Any], before: str, after: str) -> str:
    """The last column. SpacesAfter is as UDPipe writes it."""
    items = [f"SpacesBefore={before.translate(ESCAPES)}"] if before else []
    for key, tag in (("Chunk", word["chunk"]), ("NER", word["entity"])):
        if "|" in tag or "\\" in tag:
            raise ValueError(Errors.HS177.format(value=tag, format="conllu"))
        items += [] if tag == "O" else [f"{key}={tag}"]
    if after != " ":
        items.append(f"SpacesAfter={after.translate(ESCAPES)}" if after else "SpaceAfter=No")
    return "|".join(items) or "_"


def _field(value: str, form: str) -> str:
    if CANNOT.search(value):
        raise ValueError(Errors.HS177.format(value=value, format=form))
    return value
