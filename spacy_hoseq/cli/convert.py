"""`hoseq convert`: corpora in formats that spaCy does not read, into .spacy files."""

import shlex
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Warnings, wrong_value
from ..pipelines import run_code
from ..readers.account import Account
from ..readers.corpora import endings_of, is_unspaced
from ..readers.division import divided
from ..readers.docs import ATTRIBUTES, grouped, sentences_to_doc
from ..readers.formats.recognised import FORMATS, format_named, read_corpus, recognised
from ..readers.formats.tagged_text import check_separator
from ..readers.judging import Outcome
from ..readers.sentences import Sentence
from ..readers.settings import CHOICES, Format, Settings
from ..readers.splits import PARTS, SPLITS, in_part
from .app import done, hoseq_cli, msg
from .shared import Force, check_free, progress, show_account, show_problems

MAX_SHOWN = 12  # labels of a kind, files
COUNTS = (  # in the order of the table
    "Docs",
    "Sentences",
    "Tokens",
    "Chunks",
    "Entities",
    "Traces dropped",
    "Sentences of traces only",
    "Entity tags mended",
    "Sentences without heads (no tree)",
    "Annotations dropped",
    "Texts without annotation",
    "Problems",
)
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
    output_path: Path = typer.Option(
        ..., "--output", "-o", help="The .spacy file to write; with --dev or --test a folder"
    ),
    dev: float = typer.Option(0.0, "--dev", min=0.0, help="Share of the texts for dev.spacy: 0.1"),
    test: float = typer.Option(0.0, "--test", min=0.0, help="Share for test.spacy"),
    seed: int = typer.Option(0, "--seed", help="Which texts they are"),
    strict: bool = typer.Option(
        False, "--strict", help="Write nothing if the outcome looks wrong (HW013)"
    ),
    format: str = typer.Option(
        "auto",
        "--format",
        "-f",
        help=f"auto: by trial, with the first lines of each file. Or {', '.join(FORMATS)}, or one of your own",
    ),
    code: Path | None = typer.Option(None, "--code", "-c", help="Python file with your formats"),
    lang: str = typer.Option(
        "en", "--lang", "-l", help="Language: words of zh are not separated by spaces"
    ),
    n_sents: int | None = typer.Option(
        None,
        "--n-sents",
        min=0,
        help="Sentences per doc (0: one doc per file). Default: 10, with --dev or --test 1",
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
    align: str = typer.Option(
        "strict",
        "--align",
        help=f"offsets: spans that end within words are problems, or moved: {', '.join(CHOICES['align'])}",
    ),
    unanswered: str = typer.Option(
        "missing",
        "--unanswered",
        help="offsets: texts that nobody has annotated, or that were skipped or rejected: "
        + ", ".join(CHOICES["unanswered"]),
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
    """Convert corpora to spaCy's binary format.

    \b
      hoseq convert wsj/ -o train.spacy --format trees
      hoseq convert eng.train -o corpus --dev 0.1

    It reads treebanks, tagged text, columns, tables, texts with offsets. Without options, the first
    lines of each file tell its format.

    What cannot be read is left out and listed with file and line. The exit status is 1 if there was
    a problem. An outcome that looks wrong is told with what mends it.

    DOCS: docs/tasks/convert.md
    """
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    check_output(output_path, force, bool(shares))
    # it may register the format
    run_code(code)
    chosen = "auto" if format == "auto" else format_named(format)
    settings = settings_in(context.params)
    if separator and format == "tagged":
        check_separator(separator)
    account = Account()
    all_files = account.find(input_path, suffix or endings_of(chosen))
    files = in_part(all_files, split, part)
    account.leave_out(set(all_files).difference(files), "in no part asked for")
    if not encoding and any(is_unspaced(file, chosen) for file in files):
        settings = replace(settings, encoding="utf-8,gb18030")
    formats = formats_of(files, chosen, settings, account)
    if n_sents is None:
        n_sents = 1 if shares else 10
    outcome = Outcome()
    docs = progress(docs_in(formats, settings, n_sents, account, outcome))
    # a part is chosen by all texts; what is not divided is never in memory as Docs
    undivided = [*docs] if shares else DocBin(ATTRIBUTES, docs=docs)
    show_formats(formats, settings)
    show(account, outcome, len(undivided))
    findings = [*outcome.findings()]
    for finding in findings:
        msg.warn(Warnings.HW013.format(seen=finding.seen, do=finding.do))
    if not outcome.counts["Sentences"]:
        msg.fail("There are no sentences; nothing is written", exits=1)
    if findings and strict:
        msg.fail("The outcome looks wrong (--strict); nothing is written", exits=1)
    sizes: list[str] = []
    if isinstance(undivided, DocBin):
        with account.writing(output_path) as new:
            undivided.to_disk(new)
    else:
        for name, part_docs in divided(undivided, shares, seed).items():
            with account.writing(output_path / f"{name}.spacy") as new:
                DocBin(ATTRIBUTES, docs=part_docs).to_disk(new)
            sizes.append(f"{name} {len(part_docs):,}")
    account.check()
    if account.problems:
        msg.warn(f"Without what is listed above: {output_path}", exits=1)
    # words alone are fine: some corpora have no labels
    if outcome.richness and any(finding.spoiled > 0.5 for finding in findings):
        msg.warn(f"Most of it is lost or looks wrong: {output_path}", exits=1)
    if not settings.lang or all(is_unspaced(file, format) for file, format in formats.items()):
        settings = replace(settings, lang="zh")
    done(
        f"{output_path}: {', '.join(sizes)}" if sizes else output_path,
        next_command(outcome, settings.lang, output_path, "dev" in shares),
    )


def next_command(outcome: Outcome, lang: str, output: Path, has_dev: bool) -> str:
    """What makes a model of it: a config, and if there is a development part, the training."""
    recipe = "tagger"
    if not outcome.labels["Tags"] and outcome.labels["Entities"]:
        recipe = "entities"
    elif not outcome.labels["Tags"] and outcome.labels["Chunks"]:
        recipe = "chunker"
    language = "" if lang == "en" else f" --lang {lang}"
    if not has_dev:
        return f"python -m spacy hoseq init {recipe}{language} -o {recipe}.cfg"
    config, train, dev, model = (
        shlex.quote(str(output / name))
        for name in (f"{recipe}.cfg", "train.spacy", "dev.spacy", "model")
    )
    return (
        f"python -m spacy hoseq init {recipe}{language} -o {config} --force && python -m spacy train "
        f"{config} --paths.train {train} --paths.dev {dev} --output {model}"
    )


def check_output(path: Path, force: bool, is_folder: bool) -> None:
    """Check where Docs will be written. RAISES ValueError [HS027]: another ending; [HS113]: it is
    there."""
    if is_folder and path.suffix != ".spacy":
        for name in ("train", "dev", "test"):
            check_free(path / f"{name}.spacy", force)
        return
    if is_folder or path.suffix != ".spacy":
        expected = "a folder, for several parts" if is_folder else "a file with the ending .spacy"
        raise wrong_value("output", path, expected)
    check_free(path, force)


def settings_in(options: dict[str, Any]) -> Settings:
    """The settings of a corpus: options that have the names of its fields."""
    names = {field.name for field in fields(Settings)}
    return Settings(**{name: value for name, value in options.items() if name in names})


def formats_of(
    files: list[Path], chosen: str | Format, settings: Settings, account: Account
) -> dict[Path, Format]:
    """The format of each file that is recognised. A text of brat is read with the .ann file beside
    it. RAISES ValueError [HS085]: none is recognised."""
    # each belongs to its .ann file
    texts = {file.with_suffix(".txt") for file in files if file.suffix == ".ann"}
    account.leave_out(texts.intersection(files), "read with the .ann file beside it")
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
            account.leave_out([file], "of no known format")
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


def docs_in(
    formats: dict[Path, Format],
    settings: Settings,
    n_sents: int,
    account: Account,
    outcome: Outcome,
) -> Iterator[Doc]:
    """The Docs of each file, one after the other; what is in them is counted."""
    vocab = Vocab()

    def sentences(file: Path, format: Format) -> Iterator[Sentence]:
        for item in account.read(file, read_corpus(file, format, settings)):
            outcome.add(item)
            if isinstance(item, Sentence):
                yield item

    for file, format in formats.items():
        lang = "zh" if is_unspaced(file, format) else settings.lang
        for group in grouped(sentences(file, format), n_sents):
            yield sentences_to_doc(vocab, group, lang, entities_key=settings.spans_key)


def show(account: Account, outcome: Outcome, n_docs: int) -> None:
    """What became of files; counts, without those that are 0 and need no mention; labels; the first
    sentence; problems."""
    counts = {"Docs": n_docs, **outcome.counts, "Problems": len(account.problems)}
    for kind in ("Chunks", "Entities"):
        counts[kind] = outcome.labels[kind].total()
    shown: dict[str, int] = {}
    for name in COUNTS:
        if counts.get(name) or name in ("Sentences", "Tokens", "Problems"):
            shown[name] = counts.get(name, 0)
    show_account(account, shown)
    for kind, labels in outcome.labels.items():
        listed = [f"{label} {n:,}" for label, n in labels.most_common(MAX_SHOWN)]
        if len(labels) > MAX_SHOWN:
            listed.append(f"{len(labels) - MAX_SHOWN:,} more")
        if listed:
            msg.text(f"{kind}: {', '.join(listed)}")
    if outcome.first:
        msg.text(f"First sentence: {as_read(outcome.first)}")
    if account.problems:
        show_problems(account.problems)


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
