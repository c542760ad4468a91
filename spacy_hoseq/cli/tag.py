"""`python -m spacy hoseq tag`: words, tags, probabilities and chunks of a text that one types."""

import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

import spacy
import typer
from spacy.language import Language
from wasabi import msg, table

from ..errors import Errors
from ..pipelines import embedded_names, found_at
from ..reporting.text import sentences_of, text_page
from .app import hoseq_cli

Row = Tuple[str, str, str, str, str]
HEADER = ("word", "tag", "p", "pos", "chunk")
SIZE = 100_000  # characters of lines that are tagged at once


@hoseq_cli.command("tag")
def tag_cli(
    # fmt: off
    text: str = typer.Argument("-", help="The text, or a file with it, or - for standard input"),
    model: str = typer.Option("en", "--model", "-m", help="en or zh, or directory or package of another pipeline"),
    html: bool = typer.Option(False, "--html", help="Open the text as a page in the browser"),
    output: Optional[Path] = typer.Option(None, "--output", "-o", help="Write the page here, without opening it"),
    # fmt: on
) -> None:
    """Tag a text: each word with its tag, how probable that is, and its chunk.

    DOCS: docs/reference/command-line.md
    """
    try:
        nlp = pipeline_of(model)
        docs = nlp.pipe(texts_of(text))
        if html or output:
            path = output or Path(tempfile.mkdtemp()) / "text.html"
            path.write_text(text_page(docs, title=f"{nlp.meta['lang']}_{nlp.meta['name']}"), encoding="utf8")
        else:
            for doc in docs:
                for sentence in sentences_of(doc):
                    print(table(rows_of(sentence), header=HEADER, aligns=("l", "l", "r", "l", "l")))
            return
    except (OSError, ValueError) as error:
        msg.fail("Nothing tagged", str(error), exits=1)
    msg.good(str(path))
    if not output:
        webbrowser.open(path.as_uri())


def pipeline_of(name: str) -> Language:
    """A pipeline of the package or another one, whose tagger keeps probabilities. RAISES ValueError [HS130]."""
    try:
        nlp = spacy.load(found_at(name))
    except OSError as error:  # (spaCy's message has what it looked for)
        known = ", ".join(f'"{pipeline[:2]}"' for pipeline in embedded_names())
        raise ValueError(Errors.HS130.format(name=name, known=known)) from error
    for _, pipe in nlp.pipeline:
        settings: Dict[str, Any] = getattr(pipe, "cfg", None) or {}
        if "save_marginals" in settings and settings.get("attribute") == "tag":
            settings["save_marginals"] = True
    return nlp


def texts_of(text: str) -> Iterator[str]:
    """The text itself, or that of a file or of standard input, some lines at a time."""
    if text == "-":
        yield from blocks(sys.stdin)
    elif is_file(text):
        with Path(text).open(encoding="utf8") as file:
            yield from blocks(file)
    else:
        yield text


def is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for the name of a file
        return False


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines together, up to SIZE characters; a block ends at a blank line if there is one in its second half."""
    block: List[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= SIZE or (size >= SIZE // 2 and not line.strip()):
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)


def rows_of(sentence: List[Dict[str, Any]]) -> List[Row]:
    """Rows of a sentence, as `sentences_of` has it: a chunk stands beside its first word, its other words below."""
    rows = []
    for group in sentence:
        chunk = f"{group['label']} {percent(group['p'])}".strip()
        for i, token in enumerate(group["tokens"]):
            mark = ("" if i == 0 else "|") if group["label"] else ""
            rows.append((token["word"], token["tag"], percent(token["p"]), token["pos"], chunk if i == 0 else mark))
    return rows


def percent(p: Optional[float]) -> str:
    return "" if p is None else f"{p:.2f}"
