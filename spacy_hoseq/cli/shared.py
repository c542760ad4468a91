"""Shared by commands: options, the pipeline they load, texts they read, files they write whole or
not at all."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from tqdm import tqdm
from wasabi import msg

from ..components.base import SequenceComponent
from ..errors import Errors
from ..pipelines import load, run_code
from ..readers.annotated import read_docs
from ..readers.files import find_files
from ..readers.sentences import Problem
from ..readers.texts import texts_in
from .app import done

Model = Annotated[
    str, typer.Argument(help="Folder or package of a trained pipeline, or en, zh, af, cy")
]
CODE: Any = typer.Option(None, "--code", "-c", help="Python file that the pipeline needs")
FORCE: Any = typer.Option(False, "--force", "-F", help="Replace the output if it is there")
FOLDER: Any = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False)
TEXT_KEY: Any = typer.Option("text", "--text-key", "-tk", help="Field of the text in .jsonl")
COMPONENTS: Any = typer.Option(None, "--component", help="Default: all taggers and chunkers")

TEXTS = (".txt", ".jsonl", ".spacy")  # endings of the files of a folder that are read
META = "meta"  # the key of `doc.user_data` for what a line of .jsonl has beside the text
PROBLEMS = 20  # in a table

T = TypeVar("T")


def pipeline_of(name: str | Path, code: Path | None = None, *, probable: bool = False) -> Language:
    """A pipeline of the package or another one. probable: its taggers keep probabilities. RAISES
    ValueError [HS130, HS133, HS172]."""
    run_code(code)
    nlp = load(name)
    for _, pipe in nlp.pipeline if probable else ():
        if isinstance(pipe, SequenceComponent):
            if not pipe.target.labels_spans and not pipe.target.finds_sentences:
                pipe.keep_probabilities()
    return nlp


def progress(items: Iterable[T], what: str = "docs", total: int | None = None) -> Iterator[T]:
    """The items, with a bar in a terminal."""
    bar: Iterable[T] = tqdm(items, total=total, unit=f" {what}", leave=False, disable=None)
    return iter(bar)


def docs_of(
    nlp: Language,
    paths: Iterable[Path],
    text_key: str,
    problems: list[Problem],
    *,
    words: bool = False,
) -> Iterator[Doc]:
    """Of each line of .jsonl and of plain text, and all of .spacy files. In the end problems are
    shown. problems: is appended to. words: spaces separate them already."""

    def read() -> Iterator[Doc]:
        for file in [file for path in paths for file in find_files(path, TEXTS)]:
            if file.suffix == ".spacy":
                yield from read_docs([file], nlp.vocab)
                continue
            for item in texts_in(file, text_key):
                if isinstance(item, Problem):
                    problems.append(item)
                    continue
                doc = Doc(nlp.vocab, words=item.text.split()) if words else nlp.tokenizer(item.text)
                doc.user_data.update({META: item.fields} if item.fields else {})
                yield doc

    yield from progress(read(), "texts read")
    if problems:
        show_problems(problems)


def show_problems(problems: Sequence[Problem]) -> None:
    """The first problems with file and line, and how many there are in each file if there are
    more."""
    rows = [
        (f"{path}:{line}", actual, expected) for path, line, actual, expected in problems[:PROBLEMS]
    ]
    msg.table(rows, header=("Where", "Found", "Expected"), divider=True, max_col=60)
    if len(problems) > PROBLEMS:
        counts = Counter(str(problem.path) for problem in problems)
        msg.text(f"and {len(problems) - PROBLEMS:,} more. Problems by file:")
        msg.table([(path, f"{count:,}") for path, count in counts.items()], aligns=("l", "r"))


def check_free(path: Path | None, force: bool) -> None:
    """Before any work. path: None = nothing will be written. RAISES ValueError [HS113]: it would
    be below a file, or something is there that would be replaced."""
    if path and any(map(Path.is_file, path.parents)):
        raise ValueError(Errors.HS113.format(path=path, problem="a part of this path is a file"))
    if path and path.exists() and not force:
        raise ValueError(Errors.HS113.format(path=path, problem="there is a file already"))


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path beside, to write to. In the end the file is renamed; what was there before stays
    until then."""
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_page(path: Path, html: str) -> None:
    """And say where."""
    write(path, html)
    done(path, f"look at {path}")


def write(path: Path, content: Any) -> None:
    """A text; or rows of .jsonl, or Docs of any other file."""
    with whole(path) as part:
        if isinstance(content, str):
            part.write_text(content, encoding="utf8")
        elif path.suffix == ".jsonl":
            srsly.write_jsonl(part, content)
        else:
            DocBin(docs=content, store_user_data=True).to_disk(part)
