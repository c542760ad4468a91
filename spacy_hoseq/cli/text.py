"""Commands for one text: `tag` shows its labels, `explain` why it has them, `serve` both on a page for
any text."""

import json
import sys
import tempfile
import webbrowser
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from os.path import exists, isdir
from pathlib import Path
from socket import gethostname
from typing import Annotated

import typer
from spacy.language import Language
from spacy.tokens import Doc
from typer import Argument, Option

from ..errors import not_found, unknown_name, unreadable
from ..inspection import Explanation, explanations
from ..inspection.explanation import annotated, as_data, decisions, explained
from ..pipelines.loading import embedded
from ..readers.files import lines_of
from ..reporting.layers import Cell, Sentence, sentences_of
from ..reporting.pages import table_lines, uncalibrated
from ..reporting.text import explanation_text, notes_of, reasons_of, text_page
from .app import hoseq_cli, msg, then
from .shared import (
    AsJson,
    Code,
    Components,
    Force,
    Model,
    Page,
    check_free,
    pipeline_of,
    progress,
    write_page,
)

BLOCK_CHARACTERS = 100_000  # of lines that are read together


@hoseq_cli.command("tag", failed="Nothing tagged")
def tag_cli(
    arguments: Annotated[
        list[str] | None,
        Argument(
            metavar="[MODEL] [TEXT]",
            help="Folder or package of a trained pipeline, or en (the default), zh, af, cy; "
            "the text, or a file with it, or - for standard input (the default)",
        ),
    ] = None,
    html: Annotated[bool, Option("--html", help="Open the text as a page in the browser")] = False,
    output: Page = None,
    code: Code = None,
    force: Force = False,
) -> None:
    """Tag a text: labels, probabilities, chunks and entities.

    \b
      hoseq tag "They tag it at once."
      hoseq tag zh "..."                                          by another pipeline
      hoseq tag report.txt --html                                 a file, in the browser

    DOCS: docs/reference/command-line.md
    """
    model, text = model_and_text(arguments or [])
    check_free(output, force)
    nlp = pipeline_of(model, code, probable=True)
    # block by block, so that a file of any size can be tagged
    docs = nlp.pipe(texts_of(text))
    if html or output:
        path = output or Path(tempfile.mkdtemp()) / "text.html"
        write_page(path, text_page(progress(docs), nlp))
        # --html without --output: nobody would find the page
        if not output:
            webbrowser.open(path.as_uri())
        return
    # layers whose probabilities are not calibrated
    notes = notes_of(nlp)
    for doc in docs:
        for sentence in sentences_of(doc):
            print(text_table(sentence, notes))
    for note in dict.fromkeys(notes.values()):
        msg.warn(f"* {note}")
    then(f'python -m spacy hoseq explain {model} "..." says why')


def model_and_text(arguments: Sequence[str]) -> tuple[str, str]:
    """The arguments of `tag`: both may be left out, and one alone is the text. RAISES
    typer.BadParameter: there are more; ValueError [HS172]: the text is the name of a pipeline."""
    if len(arguments) > 2:
        raise typer.BadParameter("expected a pipeline and a text in quotes, or a text alone.")
    if len(arguments) == 2:
        return arguments[0], arguments[1]
    text = arguments[0] if arguments else "-"
    if text in embedded():
        raise unreadable(
            f'"{text}", the name of a pipeline',
            "a text, or - for standard input; to tag the word itself, put en before it",
        )
    return "en", text


@hoseq_cli.command("explain", failed="Nothing explained")
def explain_cli(
    model: Model,
    text: Annotated[
        str, Argument(help="The text, or a file with it, or - for standard input")
    ] = "-",
    token: Annotated[
        list[int] | None,
        Option("--token", "-t", help="Number of a token; default: the least sure"),
    ] = None,
    against: Annotated[
        str | None,
        Option("--against", "-a", help="Why not this label? (not the one that comes next)"),
    ] = None,
    component: Components = None,
    output: Page = None,
    as_json: AsJson = False,
    force: Force = False,
    code: Code = None,
) -> None:
    """Say why a token has its label, or a chunk is there.

    \b
      hoseq explain en "They tag it at once."                     the least sure label
      hoseq explain en "They tag it at once." -t 1 --against NN
      hoseq explain en "They tag it at once." -o why.html         each word, on a page

    The score of the best labelling less that of the next one is a sum: of features, transitions and
    label patterns.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    nlp = pipeline_of(model, code, probable=True)
    # with --against, only components that have this label can say why it is not there
    names = having(nlp, explained(nlp, component or None), against)
    parts = [
        annotated(nlp, nlp.make_doc(part), names) for part in progress(texts_of(text), "texts")
    ]
    if output:
        reasons = [list(progress(reasons_of(nlp, *part), "decisions")) for part in parts]
        write_page(output, text_page([doc for doc, _ in parts], nlp, reasons=reasons))
        return
    shown: list[tuple[Doc, Explanation]] = []
    for doc, annotations in parts:
        shown += chosen(nlp, doc, annotations, token, against)
    if not shown:
        raise not_found("chunk", f"what {', '.join(names)} found", "a token of a chunk")
    notes = uncalibrated(nlp, names)
    for doc, one in shown:
        is_calibrated = one.component not in notes
        if as_json:
            data = {"calibrated": is_calibrated, **as_data(one, doc)}
            print(json.dumps(data, ensure_ascii=False))
        else:
            print(explanation_text(one, doc, calibrated=is_calibrated))
    # the data say it themselves: "calibrated"
    if not as_json:
        for note in notes.values():
            print(note, file=sys.stderr)


@hoseq_cli.command("serve", failed="Nothing served")
def serve_cli(
    model: Model = "en",
    host: Annotated[
        str,
        Option("--host", help="Address or name to listen on; 0.0.0.0: all, for everybody"),
    ] = "127.0.0.1",
    port: Annotated[
        int, Option("--port", "-p", min=0, max=65535, help="0: any that is free")
    ] = 8000,
    component: Components = None,
    max_length: Annotated[
        int, Option("--max-length", min=1, help="Characters of the longest text")
    ] = 5000,
    max_words: Annotated[
        int,
        Option("--max-words", min=1, help="Words that a request may have reasons for"),
    ] = 500,
    max_seconds: Annotated[
        float, Option("--max-seconds", min=0.0, help="Of work for a request")
    ] = 10.0,
    name: Annotated[
        list[str] | None,
        Option("--name", help="Another name that browsers use, or name:port"),
    ] = None,
    code: Code = None,
) -> None:
    """Serve a page for text that one types.

    \b
      hoseq serve                                                 http://127.0.0.1:8000
      hoseq serve training/model-best --port 8080

    It shows words with their labels and probabilities, chunks, and for each of them its alternatives
    and reasons. Only this machine can reach it, unless --host says otherwise. Ctrl+C ends it.

    DOCS: docs/tasks/why.md
    """
    # not above: only this command needs a server
    from ..reporting.answers import Answers
    from ..reporting.serving import Server, listening

    # a port that is taken is found before the pipeline is loaded
    with listening(host, port) as listener:
        nlp = pipeline_of(model, code, probable=True)
        answers = Answers(nlp, component or None, max_length=max_length, max_words=max_words)
        names = {"localhost", host, gethostname(), *(name or ())}
        server = Server(listener, answers, hosts=names, max_seconds=max_seconds)
        # an address of IPv6 stands in brackets
        if ":" in host:
            host = f"[{host}]"
        msg.good(f"http://{host}:{listener.getsockname()[1]}", "Ctrl+C ends it.")
        then("look at this page in a browser")
        with server, suppress(KeyboardInterrupt):
            server.serve_forever()


def texts_of(text: str) -> Iterator[str]:
    """The text itself, or a file or standard input ("-") by blocks of lines. RAISES ValueError
    [HS172]: it is a folder, or the name of a file that does not exist, or not in UTF-8, or a line does
    not end; [HS159]: it has no words."""
    if isdir(text):
        raise unreadable(
            f"the folder {text}",
            "a file or a text (`hoseq apply` takes folders; a word of this name: by standard input)",
        )
    # also a pipe; not Path(text).exists(): that fails for a text that is too long for a name
    is_path = exists(text)
    if not is_path:
        _check_unicode(text)
    endings = (".txt", ".md", ".html", ".csv", ".tsv", ".json", ".jsonl", ".conllu", ".spacy")
    if text.endswith(endings) and " " not in text and not is_path:
        raise unreadable(
            f"{text}: there is no such file",
            "a file or a text (a word like this: by standard input)",
        )
    is_blank = True
    try:
        with Path(text).open("rb") if is_path else nullcontext(sys.stdin.buffer) as file:
            lines: Iterable[str] = [text]
            if is_path or text == "-":
                lines = (line.decode("utf8") for line in lines_of(file))
            for block in blocks(lines):
                is_blank = is_blank and not block.strip()
                yield block
    except UnicodeDecodeError as error:
        source = "standard input" if text == "-" else text
        raise unreadable(
            f"{source}, with the byte 0x{error.object[error.start]:02X}", "text in utf-8"
        ) from error
    if is_blank:
        raise not_found("word", "the text", "one with words")


def _check_unicode(text: str) -> None:
    """RAISES ValueError [HS172]: there are surrogates, which stand for bytes that are no text."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError as error:
        raise unreadable(
            "a text with bytes that are none in this locale",
            "text in utf-8 (with PYTHONUTF8=1, or in a file)",
        ) from error


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined to blocks of about BLOCK_CHARACTERS. A block ends at a blank line if it has one
    in its second half."""
    block = ""
    for line in lines:
        block += line
        is_full = len(block) >= BLOCK_CHARACTERS
        if is_full or (len(block) >= BLOCK_CHARACTERS // 2 and not line.strip()):
            yield block
            block = ""
    if block:
        yield block


def text_table(sentence: Sentence, notes: Collection[str] = ()) -> str:
    """A table of a sentence with a row for each word. A span stands beside its first word, a line
    beside its other words. Layers without labels in this sentence are left out. notes: layers whose
    probabilities are marked, because they are not calibrated."""
    columns = [("word", "l", [word.text for word in sentence.words])]
    for number, name in enumerate(sentence.labels):
        labels = []
        probabilities = []
        for word in sentence.words:
            label, p, *_ = word.labels[number]
            labels.append(label)
            probabilities.append(percent(p))
        columns.append((name, "l", labels))
        if any(probabilities):
            columns.append((f"p{mark_of(name, notes)}", "r", probabilities))
    for number, name in enumerate(sentence.spans):
        mark = mark_of(name, notes)
        columns.append(
            (name, "l", [cell_text(word.spans[number], mark) for word in sentence.words])
        )
    # wasabi takes rows
    names, aligns, cells = zip(*columns, strict=True)
    rows = list(zip(*cells, strict=True))
    return "\n".join(["", *table_lines(rows, header=names, aligns=aligns), ""])


def mark_of(layer: str, notes: Collection[str]) -> str:
    """The mark of a layer whose probabilities are not calibrated."""
    return "*" if layer in notes else ""


def cell_text(cell: Cell, mark: str) -> str:
    """A span beside one of its words, its probability with a mark."""
    if not cell.label:
        return ""
    if not cell.begins:
        return "|"
    if cell.p is None:
        return cell.label
    return f"{cell.label} {percent(cell.p)}{mark}"


def percent(p: float | None) -> str:
    """A probability with two decimals; "" if there is none."""
    return "" if p is None else f"{p:.2f}"


def having(nlp: Language, names: Sequence[str], label: str | None) -> list[str]:
    """The components that have a label; all if it is None. RAISES ValueError [HS161]: none has it."""
    is_lemmatizer = len(names) == 1 and nlp.get_pipe_meta(names[0]).factory == "hoseq_lemmatizer"
    if label is None or is_lemmatizer:  # any lemma may be compared with
        return list(names)
    labels = {name: getattr(nlp.get_pipe(name), "labels", ()) for name in names}
    matching = [name for name in names if label in labels[name]]
    if not matching:
        raise unknown_name(label, dict.fromkeys(chain.from_iterable(labels.values())))
    return matching


def chosen(
    nlp: Language,
    doc: Doc,
    docs: Mapping[str, Doc],
    tokens: list[int] | None,
    against: str | None,
) -> Iterator[tuple[Doc, Explanation]]:
    """Explanations of some tokens, or of the least probable label of each component. docs: component
    -> the Doc that it was given."""
    if tokens:
        yield from decisions(nlp, doc, docs, tokens, against)
        return
    # reasons take long, so they are computed for one decision only
    for name, given in docs.items():
        every = explanations(nlp.get_pipe(name), given, reasons=False)
        least = min(every, key=lambda one: one.p, default=None)
        if least is not None:
            yield from decisions(nlp, given, {name: given}, [least.first], against)
