"""`python -m spacy hoseq convert`: corpora in formats that spaCy does not read, into a .spacy
file."""

from enum import Enum
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional, Sequence

import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from wasabi import msg

from ..readers.docs import UNSPACED, grouped, sentences_to_doc
from ..readers.files import encodings_for, find_files, has_ending
from ..readers.formats.columns import Columns, dropped_entity_columns
from ..readers.formats.table import (
    CHARACTERS,
    TOLD_COLUMNS,
    Format,
    column_format,
    conllu_format,
    mixed_format,
    peoples_daily_format,
    tagged_format,
    tree_format,
)
from ..readers.splits import PARTS, SPLITS, in_part
from .app import hoseq_cli, then
from .files import FORCE, check_free, whole
from .progress import progress
from .tally import Tally, show_counts, show_problems


class FormatName(str, Enum):
    """The formats, by the names of the option."""

    auto = "auto"
    trees = "trees"
    tagged = "tagged"
    peoples_daily = "peoples-daily"
    columns = "columns"
    characters = "characters"
    conllu = "conllu"


@hoseq_cli.command("convert", failed="Nothing converted")
def convert_cli(
    # fmt: off
    input_path: Path = typer.Argument(..., help="File, plain or gzipped, or folder of files"),
    output_path: Path = typer.Option(..., "--output", "-o", help="The .spacy file to write"),
    format_name: FormatName = typer.Option(
        FormatName.auto, "--format", "-f", help="auto: told by each file's ending"
    ),
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
    suffix: Optional[List[str]] = typer.Option(
        None, "--suffix", help="Endings of the files to read in a folder"
    ),
    spans_key: Optional[str] = typer.Option(
        None,
        "--spans-key",
        "-sk",
        help="Spans for chunks (default: chunks) or entities (default: doc.ents)",
    ),
    chunks: Optional[bool] = typer.Option(
        None,
        "--chunks/--no-chunks",
        help="trees: chunks by the rules of CoNLL-2000 (default: unless -l zh)",
    ),
    unescape: bool = typer.Option(
        True, "--unescape/--no-unescape", help="trees: ( for -LRB-, / for \\/"
    ),
    separator: str = typer.Option(
        "", "--separator", help="tagged: of word and tag (/). columns: tab or spaces"
    ),
    entities: str = typer.Option("nt=ORG", "--entities", help="peoples-daily: tag=NAME,tag=NAME"),
    split_sentences: bool = typer.Option(
        True, "--sentences/--paragraphs", help="peoples-daily: one by one"
    ),
    word_column: int = typer.Option(
        1, "--word-column", help="columns: number of the column of words"
    ),
    tag_column: int = typer.Option(2, "--tag-column", help="columns: of tags (0: none)"),
    entity_column: int = typer.Option(
        0, "--entity-column", help="columns: of entity tags (0: none, -1: last)"
    ),
    representation: str = typer.Option(
        "auto", "--representation", help="columns, characters: auto, iob2, bilou ..."
    ),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Convert treebanks, tagged text and columns to spaCy's binary format.

    What cannot be read is left out and listed with file and line: a damaged file of trees as a
    whole, otherwise the sentence. The exit status is 1 if there was a problem.

    DOCS: docs/reference/command-line.md
    """
    if output_path.suffix != ".spacy":
        msg.fail("The output must be a file with the ending .spacy", str(output_path), exits=1)
    tally = Tally()
    check_free(output_path, force)
    columns = Columns(word_column, tag_column, entity_column, separator, representation)
    with_chunks = lang not in UNSPACED if chunks is None else chunks
    form = form_of(
        format_name,
        with_chunks,
        unescape,
        separator,
        parse_entities(entities),
        split_sentences,
        columns,
    )
    all_files = find_files(input_path, suffix or form.suffixes)
    tally.others = len(find_files(input_path, [""])) - len(all_files)
    files = in_part(all_files, split, part)
    languages = {file: language_of(file, format_name, lang) for file in files}
    encodings = encodings_for(encoding, "zh" if "zh" in languages.values() else lang)
    endings = {FormatName.columns: ("",), FormatName.auto: TOLD_COLUMNS}.get(format_name, ())
    tables = [file for file in files if has_ending(file, endings)]
    warn_of_dropped_entities(tables, encodings, columns)
    binary = DocBin(
        form.attributes,
        docs=progress(read_docs(languages, form, encodings, n_sents, spans_key, tally)),
    )
    show_counts(msg, tally, len(all_files) - len(files), len(binary))
    finish(binary, output_path, tally)


def form_of(
    name: FormatName,
    chunks: bool,
    unescape: bool,
    separator: str,
    entities: Dict[str, str],
    split_sentences: bool,
    columns: Columns,
) -> Format:
    """The format with those of the settings that are for it. RAISES ValueError: as the formats do
    (table.py)."""
    forms = {
        FormatName.conllu: conllu_format,
        FormatName.trees: lambda: tree_format(chunks, unescape),
        FormatName.tagged: lambda: tagged_format(separator or "/"),
        FormatName.columns: lambda: column_format(columns),
        FormatName.characters: lambda: column_format(columns._replace(word=1, tag=0, entity=-1)),
        FormatName.peoples_daily: lambda: peoples_daily_format(entities, split_sentences),
    }
    if name is not FormatName.auto:
        return forms[name]()
    forms.pop(FormatName.peoples_daily)
    return mixed_format(*(make() for make in forms.values()))


def warn_of_dropped_entities(
    files: Iterable[Path], encodings: Sequence[str], columns: Columns
) -> None:
    """Say which columns look like entity tags and are not read as such."""
    places: Dict[int, Path] = {}
    for file in files:
        for number in dropped_entity_columns(file, encodings, columns):
            places.setdefault(number, file)
    for number, file in sorted(places.items()):
        is_tag = number == columns.tag
        what = "is read as tags of words" if is_tag else "is not read"
        options = f"--entity-column {number}" + (" --tag-column 0" if is_tag else "")
        msg.warn(
            f"Column {number} looks like entity tags (B-, I-, O) and {what}: take {options}",
            str(file),
        )


def parse_entities(text: str) -> Dict[str, str]:
    """Names of entities by tags, "nt=ORG,ns=LOC". RAISES typer.BadParameter: a part of another
    form."""
    pairs = [pair.strip().split("=") for pair in text.split(",") if pair.strip()]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise typer.BadParameter(
            f'expected tag=NAME,tag=NAME, got "{text}"', param_hint="--entities"
        )
    return {tag: name for tag, name in pairs}


def language_of(file: Path, name: FormatName, lang: str) -> str:
    """Characters are written without spaces between them, as in Chinese."""
    told = name is FormatName.auto and has_ending(file, CHARACTERS)
    return "zh" if told or name is FormatName.characters else lang


def read_docs(
    files: Dict[Path, str],
    form: Format,
    encodings: Sequence[str],
    n_sents: int,
    spans_key: Optional[str],
    tally: Tally,
) -> Iterator[Doc]:
    """The docs of each file, one after the other; what is in them and what could not be read is
    counted. files: with their languages."""
    vocab = Vocab()
    for file, lang in files.items():
        tally.files += 1
        yield from (
            sentences_to_doc(vocab, group, lang, spans_key or "chunks", spans_key or "")
            for group in grouped(tally.sentences_of(form.read(file, encodings)), n_sents)
        )


def finish(binary: DocBin, output_path: Path, tally: Tally) -> None:
    """Write the docs. Exits with 1 if there were problems, or no sentences at all."""
    if tally.problems:
        show_problems(msg, tally.problems)
    if not tally.sentences:
        msg.fail("There are no sentences; nothing is written", exits=1)
    try:
        with whole(output_path) as part:
            binary.to_disk(part)
    except OSError as error:
        msg.fail(f"Cannot write {output_path}", str(error), exits=1)
    if tally.problems:
        msg.warn(f"Without what is listed above: {output_path}", exits=1)
    msg.good(f"{output_path}")
    then("python -m spacy hoseq init tagger -o tagger.cfg")
