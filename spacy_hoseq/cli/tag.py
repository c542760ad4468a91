"""`python -m spacy hoseq tag`: words, tags, probabilities and chunks of a text that one types."""

import sys
import tempfile
import webbrowser
from contextlib import nullcontext
from os.path import isdir, isfile
from pathlib import Path
from textwrap import shorten
from typing import Collection, Iterable, Iterator, List, Optional

import typer
from spacy.language import Language
from wasabi import msg, table

from ..components import SequenceComponent
from ..errors import Errors, Warnings
from ..pipelines import load_found, run_code
from ..reporting.text import Cell, Sentence, notes_of, sentences_of, text_page
from .app import hoseq_cli, then
from .files import FORCE, check_free, write_text
from .progress import progress

DEFAULTS = ("en", "-")  # pipeline and text
BEGINNING = 40  # characters of a text in a title
SIZE = 100_000  # characters of lines that are tagged at once
WIDEST = 80  # characters of a column
NO_FOLDER = "a file or a text (`hoseq apply` takes folders; a word of this name: by standard input)"
ENDINGS = (".txt", ".md", ".html", ".csv", ".tsv", ".json", ".jsonl", ".conllu", ".spacy")


@hoseq_cli.command("tag", failed="Nothing tagged")
def tag_cli(
    # fmt: off
    arguments: Optional[List[str]] = typer.Argument(
        None,
        metavar="[MODEL] [TEXT]",
        help="Directory or package of a trained pipeline, or en (the default), zh, af, cy; "
        "the text, or a file with it, or - for standard input (the default)",
    ),
    html: bool = typer.Option(False, "--html", help="Open the text as a page in the browser"),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Write the page here, without opening it"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Tag a text: each word with its labels, how probable they are, and its chunks and entities.

    DOCS: docs/reference/command-line.md
    """
    given = list(arguments or ())
    if len(given) > len(DEFAULTS):
        raise typer.BadParameter("expected a pipeline and a text in quotes, or a text alone.")
    model, text = [*DEFAULTS[: len(DEFAULTS) - len(given)], *given]
    check_free(output, force)
    run_code(code)
    nlp = pipeline_of(model)
    docs = nlp.pipe(texts_of(text))
    if html or output:
        path = output or Path(tempfile.mkdtemp()) / "text.html"
        write_text(path, text_page(progress(docs), title=title_of(text, nlp), notes=notes_of(nlp)))
        msg.good(str(path))
        then(f"look at {path}")
        if not output:
            webbrowser.open(path.as_uri())
        return
    notes = notes_of(nlp)
    for doc in docs:
        for sentence in sentences_of(doc):
            print(text_table(sentence, notes))
    for note in dict.fromkeys(notes.values()):
        msg.warn(f"* {note}")
    then(f'python -m spacy hoseq explain {model} "..." says why')


def pipeline_of(name: str) -> Language:
    """A pipeline of the package or another one, whose tagger keeps probabilities. RAISES ValueError
    [HS130, HS133]."""
    nlp = load_found(name)
    for _, pipe in nlp.pipeline:
        if (
            isinstance(pipe, SequenceComponent)
            and not pipe.target.of_spans
            and not pipe.target.finds_sentences
        ):
            pipe.keep_probabilities()
    return nlp


def title_of(text: str, nlp: Language) -> str:
    """Of a page: the name of the file, or how the text begins, and the pipeline."""
    name = Path(text).name if isfile(text) else shorten(text, BEGINNING, placeholder=" \u2026")
    model = f"{nlp.meta['lang']}_{nlp.meta['name']}"
    return model if text == "-" else f"{name} ({model})"


def texts_of(text: str) -> Iterator[str]:
    """The text itself, or that of a file or of standard input, some lines at a time. RAISES
    ValueError [HS172]: it is no text, or a folder. Warns of what looks like the name of a file
    [HW012]."""
    if isdir(text):
        raise ValueError(Errors.HS172.format(actual=f"the folder {text}", expected=NO_FOLDER))
    is_path = text != "-" and isfile(text)
    if text.endswith(ENDINGS) and " " not in text and not is_path:
        print(Warnings.HW012.format(text=text), file=sys.stderr)
    if not is_path and text != "-":
        yield text
        return
    try:
        with Path(text).open("rb") if is_path else nullcontext(sys.stdin.buffer) as lines:
            yield from blocks(line.decode("utf8") for line in lines)
    except UnicodeDecodeError as error:
        source = "standard input" if text == "-" else text
        actual = f"{source}, with the byte 0x{error.object[error.start]:02X}"
        raise ValueError(Errors.HS172.format(actual=actual, expected="text in utf-8")) from error


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines together, up to SIZE characters; a block ends at a blank line if there is one in its
    second half."""
    block: List[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= SIZE or (size >= SIZE // 2 and not line.strip()):
            yield "".join(block)
            block = []
            size = 0
    if block:
        yield "".join(block)


def text_table(sentence: Sentence, notes: Collection[str] = ()) -> str:
    """A sentence with a row for each word. A span stands beside its first word, a line beside its
    other words. Columns of layers that have nothing in this sentence are left out. notes: layers
    whose probabilities have a mark, since they are not calibrated."""
    columns = [("word", "l", [word.text for word in sentence.words])]
    for number, name in enumerate(sentence.labels):
        pairs = [word.labels[number] for word in sentence.words]
        columns.append((name, "l", [label for label, _ in pairs]))
        if any(p is not None for _, p in pairs):
            columns.append((f"p{'*' * (name in notes)}", "r", [percent(p) for _, p in pairs]))
    for number, name in enumerate(sentence.spans):
        mark = "*" * (name in notes)
        columns.append((name, "l", [_said(word.spans[number], mark) for word in sentence.words]))
    names, aligns, cells = zip(*columns, strict=True)
    return table(list(zip(*cells, strict=True)), header=names, aligns=aligns, max_col=WIDEST)


def _said(cell: Cell, mark: str) -> str:
    """mark: behind a probability."""
    if not cell.label or not cell.begins:
        return "|" if cell.label else ""
    return cell.label if cell.p is None else f"{cell.label} {percent(cell.p)}{mark}"


def percent(p: Optional[float]) -> str:
    return "" if p is None else f"{p:.2f}"
