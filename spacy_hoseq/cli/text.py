"""Commands for one text: `tag` says its labels, `explain` why it has them, `serve` both on a page for
text that one types."""

import json
import sys
import tempfile
import webbrowser
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from os.path import isdir, isfile
from pathlib import Path
from socket import gethostname
from typing import (
    Any,
)

import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg, table

from ..errors import Errors, Warnings
from ..inspection import Explanation, explanations
from ..inspection.explanation import annotated, as_data, decisions, explained
from ..pipelines.loading import embedded
from ..reporting.layers import Cell, Sentence, sentences_of
from ..reporting.pages import uncalibrated
from ..reporting.text import explanation_text, notes_of, reasons_of, text_page
from .app import hoseq_cli, then
from .shared import CODE, COMPONENTS, FORCE, Model, check_free, pipeline_of, progress, write_page

ALONE = "a text, or - for standard input; to tag the word itself, put en before it"
DEFAULTS = ("en", "-")  # pipeline and text
SIZE = 100_000  # characters of lines that are tagged at once
WIDEST = 80  # characters of a column
NO_FOLDER = "a file or a text (`hoseq apply` takes folders; a word of this name: by standard input)"
ENDINGS = (".txt", ".md", ".html", ".csv", ".tsv", ".json", ".jsonl", ".conllu", ".spacy")


@hoseq_cli.command("tag", failed="Nothing tagged")
def tag_cli(
    # fmt: off
    arguments: list[str] | None = typer.Argument(
        None,
        metavar="[MODEL] [TEXT]",
        help="Folder or package of a trained pipeline, or en (the default), zh, af, cy; "
        "the text, or a file with it, or - for standard input (the default)",
    ),
    html: bool = typer.Option(False, "--html", help="Open the text as a page in the browser"),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Write the page here, without opening it"
    ),
    code: Path | None = CODE,
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Tag a text: each word with its labels, how probable they are, and its chunks and entities.

    DOCS: docs/reference/command-line.md
    """
    given = arguments or []
    if len(given) > len(DEFAULTS):
        raise typer.BadParameter("expected a pipeline and a text in quotes, or a text alone.")
    model, text = [*DEFAULTS[: len(DEFAULTS) - len(given)], *given]
    if len(given) == 1 and text in embedded():
        raise ValueError(
            Errors.HS172.format(actual=f'"{text}", the name of a pipeline', expected=ALONE)
        )
    check_free(output, force)
    nlp = pipeline_of(model, code, probable=True)
    docs = nlp.pipe(texts_of(text))
    if html or output:
        path = output or Path(tempfile.mkdtemp()) / "text.html"
        write_page(path, text_page(progress(docs), nlp))
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


@hoseq_cli.command("explain", failed="Nothing explained")
def explain_cli(
    # fmt: off
    model: Model,
    text: str = typer.Argument("-", help="The text, or a file with it, or - for standard input"),
    token: list[int] | None = typer.Option(
        None, "--token", "-t", help="Number of a token; default: the least sure"
    ),
    against: str | None = typer.Option(
        None, "--against", "-a", help="Why not this label? (not the one that comes next)"
    ),
    component: list[str] | None = COMPONENTS,
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Write a page on which each word opens its reasons"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Say why a token has its label, or a chunk is there, and not what comes next: the features,
    transitions and label patterns that the difference of the best labellings is the sum of.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    nlp = pipeline_of(model, code, probable=True)
    names = having(nlp, explained(nlp, component or None), against)
    parts = [
        annotated(nlp, nlp.make_doc(part), names) for part in progress(texts_of(text), "texts")
    ]
    if output:
        reasons = [list(progress(reasons_of(nlp, *part), "decisions")) for part in parts]
        write_page(output, text_page([doc for doc, _ in parts], nlp, reasons=reasons))
        return
    found = [pair for doc, seen in parts for pair in chosen(nlp, doc, seen, token, against)]
    if not found:
        raise ValueError(
            Errors.HS159.format(
                what="chunk", source=f"what {', '.join(names)} found", expected="a token of a chunk"
            )
        )
    notes = uncalibrated(nlp, names)
    for doc, one in found:
        is_calibrated = one.component not in notes
        if as_json:
            print(
                json.dumps({"calibrated": is_calibrated, **as_data(one, doc)}, ensure_ascii=False)
            )
        else:
            print(explanation_text(one, doc, calibrated=is_calibrated))
    for note in () if as_json else notes.values():
        print(note, file=sys.stderr)


@hoseq_cli.command("serve", failed="Nothing served")
def serve_cli(
    # fmt: off
    model: Model = "en",
    host: str = typer.Option(
        "127.0.0.1", "--host", help="Address or name to listen on; 0.0.0.0: all, for everybody"
    ),
    port: int = typer.Option(8000, "--port", "-p", min=0, max=65535, help="0: any that is free"),
    component: list[str] | None = COMPONENTS,
    max_length: int = typer.Option(
        5000, "--max-length", min=1, help="Characters of the longest text"
    ),
    max_words: int = typer.Option(
        500, "--max-words", min=1, help="Words that a request may have reasons for"
    ),
    max_seconds: float = typer.Option(10.0, "--max-seconds", min=0.0, help="Of work for a request"),
    name: list[str] | None = typer.Option(
        None, "--name", help="Another name that browsers use, or name:port"
    ),
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Serve a page for text that one types: words with their labels and probabilities, chunks, and
    for each of them its alternatives and reasons. Only this machine can reach it, unless --host
    says otherwise. Ctrl+C ends it.

    DOCS: docs/tasks/why.md
    """
    from ..reporting.answers import Answers
    from ..reporting.serving import Server, listening

    with listening(host, port) as listener:
        nlp = pipeline_of(model, code, probable=True)
        answers = Answers(nlp, component or None, max_length=max_length, max_words=max_words)
        names = {"localhost", host, gethostname(), *(name or ())}
        server = Server(listener, answers, hosts=names, max_seconds=max_seconds)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        msg.good(address, "Ctrl+C ends it.")
        then("look at this page in a browser")
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def texts_of(text: str) -> Iterator[str]:
    """The text itself, or that of a file or of standard input, some lines at a time. RAISES
    ValueError [HS172]: it is no text, or a folder; [HS159]: it has no words. Warns of what looks
    like the name of a file [HW012]."""
    if isdir(text):
        raise ValueError(Errors.HS172.format(actual=f"the folder {text}", expected=NO_FOLDER))
    is_path = isfile(text)
    if text.endswith(ENDINGS) and " " not in text and not is_path:
        print(Warnings.HW012.format(text=text), file=sys.stderr)
    is_blank = True
    try:
        with Path(text).open("rb") if is_path else nullcontext(sys.stdin.buffer) as lines:
            is_read = is_path or text == "-"
            for block in blocks((line.decode("utf8") for line in lines) if is_read else [text]):
                is_blank = is_blank and not block.strip()
                yield block
    except UnicodeDecodeError as error:
        source = "standard input" if text == "-" else text
        actual = f"{source}, with the byte 0x{error.object[error.start]:02X}"
        raise ValueError(Errors.HS172.format(actual=actual, expected="text in utf-8")) from error
    if is_blank:
        raise ValueError(
            Errors.HS159.format(what="word", source="the text", expected="one with words")
        )


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines together, up to SIZE characters; a block ends at a blank line if there is one in its
    second half."""
    block = ""
    for line in lines:
        block += line
        if len(block) >= (SIZE if line.strip() else SIZE // 2):
            yield block
            block = ""
    if block:
        yield block


def text_table(sentence: Sentence, notes: Collection[str] = ()) -> str:
    """A sentence with a row for each word. A span stands beside its first word, a line beside its
    other words. Columns of layers that have nothing in this sentence are left out. notes: layers
    whose probabilities have a mark, since they are not calibrated."""
    columns = [("word", "l", [word.text for word in sentence.words])]
    for number, name in enumerate(sentence.labels):
        pairs = [word.labels[number] for word in sentence.words]
        columns.append((name, "l", [label for label, *_ in pairs]))
        if any(p is not None for _, p, _ in pairs):
            columns.append((f"p{'*' * (name in notes)}", "r", [percent(p) for _, p, _ in pairs]))
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


def percent(p: float | None) -> str:
    return "" if p is None else f"{p:.2f}"


def having(nlp: Language, names: Sequence[str], label: str | None) -> list[str]:
    """Components that have a label, None = any. RAISES ValueError [HS161]: none has."""
    labels: dict[str, Any] = {name: getattr(nlp.get_pipe(name), "labels", ()) for name in names}
    of_label = [name for name in names if label is None or label in labels[name]]
    if not of_label:
        known = "; ".join(f"{', '.join(of)} ({name})" for name, of in labels.items())
        raise ValueError(Errors.HS161.format(name=label, known=known))
    return of_label


def chosen(
    nlp: Language,
    doc: Doc,
    seen: Mapping[str, Doc],
    tokens: list[int] | None,
    against: str | None,
) -> Iterator[tuple[Doc, Explanation]]:
    """Of some tokens, or of the least probable label of each component."""
    if tokens:
        yield from decisions(nlp, doc, seen, tokens, against)
        return
    for name, given in seen.items():
        every = explanations(nlp.get_pipe(name), given, reasons=False)
        least = sorted(every, key=lambda one: one.p)[:1]
        for one in least:
            yield from decisions(nlp, given, {name: given}, [one.first], against)
