"""`hoseq convert`: corpora in formats that spaCy does not read, into a .spacy file."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from wasabi import msg

from ..errors import wrong_value
from ..pipelines import run_code
from ..readers.corpora import endings_of, is_unspaced
from ..readers.docs import ATTRIBUTES, grouped, sentences_to_doc
from ..readers.files import find_files
from ..readers.formats.recognised import FORMATS, format_named, read_corpus, recognised
from ..readers.formats.tagged_text import check_separator
from ..readers.sentences import Items, Problem, Sentence
from ..readers.settings import Format, Settings
from ..readers.splits import PARTS, SPLITS, in_part
from .app import done, hoseq_cli
from .shared import Force, check_free, progress, show_problems, whole

MAX_SHOWN = 12  # labels of a kind, files
COLUMN = typer.Option(None, help="columns, table: which column has it, from 1 (0: none, -1: last)")


def parse_groups(text: str) -> dict[str, str]:
    """Names of entities by tags, "nt=ORG,ns=LOC". RAISES typer.BadParameter: a part of another
    form."""
    groups: dict[str, str] = {}
    for pair in filter(str.strip, text.split(",")):
        tag, _, name = pair.strip().partition("=")
        if not tag or not name or "=" in name:
            message = f'expected tag=NAME,tag=NAME, got "{text}"'
            raise typer.BadParameter(message, param_hint="--groups")
        groups[tag] = name
    return groups


def parse_labels(text: str) -> list[str]:
    """Names of labels, "O,B-PER"."""
    return [label for label in text.split(",") if label]


@hoseq_cli.command("convert", failed="Nothing converted")
def convert_cli(
    # fmt: off
    context: typer.Context,
    input_path: Path = typer.Argument(..., help="File, plain or gzipped, or folder of files"),
    output_path: Path = typer.Option(..., "--output", "-o", help="The .spacy file to write"),
    format: str = typer.Option(
        "auto",
        "--format",
        "-f",
        help=f"auto: by the first lines of each file. Or {', '.join(FORMATS)}, or one of your own",
    ),
    code: Path | None = typer.Option(None, "--code", "-c", help="Python file with your formats"),
    lang: str = typer.Option(
        "en", "--lang", "-l", help="Language: words of zh are not separated by spaces"
    ),
    n_sents: int = typer.Option(
        10, "--n-sents", min=0, help="Sentences per doc (0: one doc per file)"
    ),
    split: str = typer.Option(
        "", "--split", "-s", help=f"Named division of a treebank: {', '.join(SPLITS)}"
    ),
    part: str = typer.Option("", "--part", help=f"Part of the division: {', '.join(PARTS)}"),
    encoding: str = typer.Option(
        "", "--encoding", "-e", help="Default: UTF-8, and with -l zh then GB18030"
    ),
    suffix: list[str] | None = typer.Option(
        None, "--suffix", help="Endings of the files to read in a folder"
    ),
    spans_key: str = typer.Option(
        "", "--spans-key", "-sk", help="Spans for entities (default: doc.ents, without overlap)"
    ),
    chunks: bool | None = typer.Option(
        None,
        "--chunks/--no-chunks",
        help="trees: chunks by the rules of CoNLL-2000 (default: unless -l zh)",
    ),
    unescape: bool = typer.Option(
        True, "--unescape/--no-unescape", help="trees: ( for -LRB-, / for \\/"
    ),
    separator: str = typer.Option(
        "", "--separator", help="tagged: of word and tag. columns: of columns. Default: as found"
    ),
    groups: Any = typer.Option(
        "nt=ORG", "--groups", parser=parse_groups, help="peoples-daily: tag=NAME,tag=NAME"
    ),
    split_sentences: bool = typer.Option(
        True, "--sentences/--paragraphs", help="peoples-daily: one by one"
    ),
    word_column: int | None = COLUMN,
    tag_column: int | None = COLUMN,
    chunk_column: int | None = COLUMN,
    entity_column: int | None = COLUMN,
    representation: str = typer.Option(
        "auto", "--representation", help="columns, characters: auto, iob2, bilou ..."
    ),
    labels: Any = typer.Option(
        "",
        "--labels",
        parser=parse_labels,
        help="tokens: names of numbered tags, in order: O,B-PER,I-PER",
    ),
    force: Force = False,
    # fmt: on
) -> None:
    """Convert corpora to spaCy's binary format: treebanks, tagged text, columns, tables, texts with
    offsets. Without options, the first lines of each file tell its format.

    What cannot be read is left out and listed with file and line. The exit status is 1 if there was
    a problem.

    DOCS: docs/tasks/convert.md
    """
    check_output(output_path, force)
    # it may register the format
    run_code(code)
    chosen = "auto" if format == "auto" else format_named(format)
    settings = settings_in(context.params)
    if separator and format == "tagged":
        check_separator(separator)
    all_files = find_files(input_path, suffix or endings_of(chosen))
    files = in_part(all_files, split, part)
    if not encoding and any(is_unspaced(file, chosen) for file in files):
        settings = replace(settings, encoding="utf-8,gb18030")
    formats = formats_of(files, chosen, settings)
    read = Reading()
    binary = DocBin(ATTRIBUTES, docs=progress(read.docs(formats, settings, n_sents)))
    read.counts["Docs"] = len(binary)
    n_other_parts = len(all_files) - len(files)
    read.counts["Files in no part asked for"] = n_other_parts
    n_files = len(find_files(input_path, [""]))  # of any ending
    read.counts["Files of other endings, not read"] = n_files - n_other_parts - len(formats)
    show_formats(formats, settings)
    read.show()
    if not read.counts["Sentences"]:
        msg.fail("There are no sentences; nothing is written", exits=1)
    with whole(output_path) as new:
        binary.to_disk(new)
    if read.problems:
        msg.warn(f"Without what is listed above: {output_path}", exits=1)
    done(output_path, f"python -m spacy hoseq init {read.recipe} -o {read.recipe}.cfg")


def check_output(path: Path, force: bool) -> None:
    """Check where Docs will be written. RAISES ValueError [HS027]: another ending; [HS113]: it is
    there."""
    if path.suffix != ".spacy":
        raise wrong_value("output", path, "a file with the ending .spacy")
    check_free(path, force)


def settings_in(options: dict[str, Any]) -> Settings:
    """The settings of a corpus: options that have the names of its fields."""
    names = {field.name for field in fields(Settings)}
    return Settings(**{name: value for name, value in options.items() if name in names})


def formats_of(files: list[Path], chosen: str | Format, settings: Settings) -> dict[Path, Format]:
    """The format of each file that is recognised. A text of brat is read with the .ann file beside
    it. RAISES ValueError [HS085]: none is recognised."""
    # each belongs to its .ann file
    texts = {file.with_suffix(".txt") for file in files if file.suffix == ".ann"}
    files = [file for file in files if file not in texts]
    if isinstance(chosen, Format):
        return dict.fromkeys(files, chosen)
    formats: dict[Path, Format] = {}
    refused: list[ValueError] = []
    for file in files:
        try:
            formats[file] = format_named(recognised(file, settings))
        except ValueError as error:
            refused.append(error)
    if refused and not formats:
        raise refused[0]
    for problem in refused:
        msg.warn("Not read", str(problem))
    return formats


def show_formats(formats: dict[Path, Format], settings: Settings) -> None:
    """Show the format of each file."""
    for file, format in islice(formats.items(), MAX_SHOWN):
        what = format.what
        if format.details:
            what += f", {format.details(file, settings)}"
        msg.info(f"{file}: {what}")
    if len(formats) > MAX_SHOWN:
        msg.info(f"and {len(formats) - MAX_SHOWN:,} files more")


class Reading:
    """Counts of what was read: numbers of things, labels of each kind, the first sentence,
    problems."""

    def __init__(self) -> None:
        names = (
            "Files",
            "Files of other endings, not read",
            "Files in no part asked for",
            "Docs",
            "Sentences",
            "Tokens",
            "Chunks",
            "Entities",
            "Traces dropped",
            "Sentences of traces only",
            "Entity tags mended",
            "Sentences without heads (no tree)",
            "Problems",
        )
        self.counts: Counter[str] = Counter(dict.fromkeys(names, 0))  # in the order of the table
        self.labels: dict[str, Counter[str]] = {
            "Tags": Counter(),
            "Chunks": Counter(),
            "Entities": Counter(),
        }
        self.first = ""
        self.problems: list[Problem] = []

    def docs(self, formats: dict[Path, Format], settings: Settings, n_sents: int) -> Iterator[Doc]:
        """The Docs of each file, one after the other; what is in them is counted."""
        vocab = Vocab()
        for file, format in formats.items():
            self.counts["Files"] += 1
            lang = "zh" if is_unspaced(file, format) else settings.lang
            for group in grouped(self._sentences(read_corpus(file, format, settings)), n_sents):
                yield sentences_to_doc(vocab, group, lang, entities_key=settings.spans_key)

    def _sentences(self, items: Items) -> Iterator[Sentence]:
        for item in items:
            if isinstance(item, Problem):
                self.problems.append(item)
                continue
            self.counts["Sentences" if item.words else "Sentences of traces only"] += 1
            self.counts["Tokens"] += len(item.words)
            self.counts["Traces dropped"] += item.n_traces
            self.counts["Entity tags mended"] += item.n_mended
            if item.heads is None and any(item.deps or ()):
                self.counts["Sentences without heads (no tree)"] += 1
            self.labels["Tags"].update(filter(None, item.tags or ()))
            self.labels["Chunks"].update(chunk.name for chunk in item.chunks or ())
            self.labels["Entities"].update(entity.name for entity in item.entities or ())
            self.first = self.first or as_read(item)
            yield item

    def show(self) -> None:
        """The counts, without those that are 0 and need no mention; labels; the first sentence;
        problems."""
        self.counts["Chunks"] = self.labels["Chunks"].total()
        self.counts["Entities"] = self.labels["Entities"].total()
        self.counts["Problems"] = len(self.problems)
        rows: list[tuple[str, str]] = []
        for name, n in self.counts.items():
            if n or name in ("Files", "Sentences", "Tokens", "Problems"):
                rows.append((name, f"{n:,}"))
        msg.table(rows, aligns=("l", "r"))
        for kind, labels in self.labels.items():
            listed = [f"{label} {n:,}" for label, n in labels.most_common(MAX_SHOWN)]
            if len(labels) > MAX_SHOWN:
                listed.append(f"{len(labels) - MAX_SHOWN:,} more")
            if listed:
                msg.text(f"{kind}: {', '.join(listed)}")
        if self.first:
            msg.text(f"First sentence: {self.first}")
        if self.problems:
            show_problems(self.problems)

    @property
    def recipe(self) -> str:
        """Recipe that fits it."""
        if not self.labels["Tags"] and self.labels["Entities"]:
            return "entities"
        if not self.labels["Tags"] and self.labels["Chunks"]:
            return "chunker"
        return "tagger"


def as_read(sentence: Sentence) -> str:
    """The first words, with tags behind them and spans in brackets: "[Ann/NNP PER]"."""
    words = [*sentence.words]
    for i, tag in enumerate(sentence.tags or ()):
        if tag:
            words[i] += f"/{tag}"
    # entities say more than chunks
    for first, end, name in sentence.entities or sentence.chunks or ():
        words[first] = f"[{words[first]}"
        words[end - 1] += f" {name}]"
    return " ".join(words[:30])
