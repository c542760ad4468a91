"""What commands share: arguments and options, the pipeline that they load, the texts that they read,
and how they write a file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from tqdm import tqdm
from typer import Argument, Option

from ..components.base import SequenceComponent
from ..errors import Errors, unreadable
from ..pipelines import load, run_code
from ..readers.account import Account, whole
from ..readers.annotated import read_docs
from ..readers.sentences import Problem
from ..readers.texts import texts_in
from .app import done, msg

PROBLEMS_SHOWN = 20
RAW_ENDINGS = (".txt", ".jsonl", ".spacy")  # of texts

Item = TypeVar("Item")

# types of parameters: each option has one name, one letter and one meaning in all commands
Model = Annotated[str, Argument(help="Folder or package of a trained pipeline, or en, zh, af, cy")]
Code = Annotated[Path | None, Option("--code", "-c", help="Python file that the pipeline needs")]
Force = Annotated[bool, Option("--force", "-F", help="Replace the output if it is there")]
Folder = Annotated[Path, Option("--output", "-o", help="Folder to write", file_okay=False)]
TextKey = Annotated[str, Option("--text-key", "-tk", help="Field of the text in .jsonl")]
Texts = Annotated[
    list[str], Argument(help="Files of texts, folders and globs of them; - for standard input")
]
NewPipeline = Annotated[
    Path, Option("--output", "-o", help="Folder of the pipeline to write", file_okay=False)
]
Install = Annotated[bool, Option("--install", help="Install it as a package, with pip")]
Corpus = Annotated[Path, Argument(help="Annotated .spacy file, or folder of them", exists=True)]
Page = Annotated[Path | None, Option("--output", "-o", help="Page (.html) to write")]
AsJson = Annotated[bool, Option("--json", help="Print everything as JSON")]
Limit = Annotated[
    int, Option("--limit", min=0, help="Use so many texts of the corpus only; 0 = all")
]
Components = Annotated[
    list[str] | None, Option("--component", help="Default: all taggers and chunkers")
]


@contextmanager
def arrow_needed() -> Iterator[None]:
    """Around imports of what needs pyarrow. RAISES ImportError [HS170]: it is not installed."""
    try:
        yield
    except ImportError as error:
        install = '"spacy-hoseq[arrow]"'
        raise ImportError(Errors.HS170.format(package="pyarrow", install=install)) from error


def pipeline_of(name: str | Path, code: Path | None = None, *, probable: bool = False) -> Language:
    """The trained pipeline that MODEL names. probable: its taggers write probabilities. RAISES
    ValueError [HS130, HS133, HS172]."""
    run_code(code)
    nlp = load(name)
    for _, pipe in nlp.pipeline:
        if probable and isinstance(pipe, SequenceComponent):
            # spans always have probabilities, and nothing shows those of sentences
            if not pipe.target.labels_spans and not pipe.target.finds_sentences:
                pipe.keep_probabilities()
    return nlp


def progress(items: Iterable[Item], what: str = "docs", total: int | None = None) -> Iterator[Item]:
    """The items, with a progress bar in a terminal."""
    bar: Iterable[Item] = tqdm(items, total=total, unit=f" {what}", leave=False, disable=None)
    return iter(bar)


def docs_in(corpus: Path, vocab: Vocab, account: Account) -> list[Doc]:
    """All Docs of .spacy files. RAISES ValueError [HS172]: not all can be read, and findings are
    numbered by all of them."""
    docs: list[Doc] = []
    files = account.find(corpus, [".spacy"])
    for problem in account.unreadable:
        raise unreadable(problem.actual, problem.expected)
    for file in files:
        docs += progress(account.read(file, read_docs([file], vocab)))  # type: ignore[arg-type]
    return docs


def docs_of(
    nlp: Language,
    paths: Iterable[Path],
    text_key: str,
    account: Account,
    *,
    words: bool = False,
) -> Iterator[Doc]:
    """A Doc for each line of .txt and .jsonl files, and the Docs of .spacy files. What cannot be read
    is in the account, and shown at the end. words: spaces separate the words already."""
    files: list[Path] = []
    for path in paths:
        files += account.find(path, RAW_ENDINGS)
    for file in files:
        docs = _docs_in(file, nlp, text_key, words)
        for item in progress(account.read(file, docs), "texts read"):
            if not isinstance(item, Problem):
                yield item
    if account.problems:
        show_problems(account.problems)


def _docs_in(file: Path, nlp: Language, text_key: str, words: bool) -> Iterator[Doc | Problem]:
    """The Docs of a file."""
    if file.suffix == ".spacy":
        try:
            yield from read_docs([file], nlp.vocab)
        except (OSError, ValueError) as error:
            yield Problem(file, 0, str(error), "a .spacy file that can be read")
        return
    for item in texts_in(file, text_key):
        if isinstance(item, Problem):
            yield item
            continue
        if words:
            doc = Doc(nlp.vocab, words=item.text.split())
        else:
            doc = nlp.tokenizer(item.text)
        # `select` writes the other fields of a line beside its text again
        if item.fields:
            doc.user_data["meta"] = item.fields
        yield doc


def show_account(account: Account, counts: Mapping[str, int]) -> None:
    """Show what became of files, then other counts."""
    rows = account.rows()
    rows += [(name, f"{n:,}", "") for name, n in counts.items()]
    msg.table(rows, aligns=("l", "r", "l"))


def finish(
    account: Account, counts: Mapping[str, int], what: object, step: str, n_items: int | None = None
) -> None:
    """Show the account, say what was made, and what to do next; exit with 1 if something could not be
    read, which was shown before. n_items: as `Account.check`, whose error it RAISES."""
    account.check(n_items)
    show_account(account, counts)
    if account.problems:
        msg.warn(f"Without what is listed above: {what}", exits=1)
    done(what, step)


def show_problems(problems: Sequence[Problem]) -> None:
    """Show the first problems with file and line; if there are more, their number in each file."""
    rows = []
    for path, line, actual, expected, _ in problems[:PROBLEMS_SHOWN]:
        # line 0: the whole file
        where = f"{path}:{line}" if line else str(path)
        rows.append((where, actual, expected))
    msg.table(rows, header=("Where", "Found", "Expected"), divider=True, max_col=60)
    if len(problems) > PROBLEMS_SHOWN:
        counts = Counter(str(problem.path) for problem in problems)
        msg.text(f"and {len(problems) - PROBLEMS_SHOWN:,} more. Problems by file:")
        msg.table([(path, f"{count:,}") for path, count in counts.items()], aligns=("l", "r"))


def check_free(path: Path | None, force: bool) -> None:
    """Check an output before any work. path: None = nothing will be written. RAISES ValueError
    [HS113]: it is below a file, or it exists and must not be replaced."""
    if path is None:
        return
    if any(map(Path.is_file, path.parents)):
        raise ValueError(Errors.HS113.format(path=path, problem="a part of this path is a file"))
    if path.exists() and not force:
        raise ValueError(Errors.HS113.format(path=path, problem="there is a file already"))


def write_page(path: Path, html: str) -> None:
    """Write an HTML page, and say where it is."""
    write(path, html)
    done(path, f"look at {path}")


def write(path: Path, content: Any, account: Account | None = None) -> None:
    """Write a text, rows (.jsonl) or Docs (any other ending). account: that this is to be in."""
    with whole(path) as part:
        if isinstance(content, str):
            part.write_text(content, encoding="utf8")
        elif path.suffix == ".jsonl":
            srsly.write_jsonl(part, content)
        else:
            DocBin(docs=content, store_user_data=True).to_disk(part)
    if account is not None:
        account.wrote(path)
