"""`python -m spacy hoseq clusters`: clusters of the words of raw text."""

import time
from pathlib import Path
from typing import Iterable, Iterator, List, Tuple

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg

from ..arrays import Ints
from ..errors import Errors
from ..lexicons import Bigrams, bigrams_of, exchange_words
from ..pipelines import load_found
from ..readers.files import find_files
from ..readers.sentences import Problem
from ..recipes import checked
from .app import hoseq_cli, then
from .files import FORCE, check_free, write_text
from .progress import progress
from .texts import SUFFIXES, docs_of


@hoseq_cli.command("clusters", failed="No clusters")
def clusters_cli(
    # fmt: off
    texts: List[Path] = typer.Argument(
        ..., help="Texts (.txt, .jsonl, also .gz), Docs (.spacy), or folders", exists=True
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File to write: words and their clusters", dir_okay=False
    ),
    n: int = typer.Option(1000, "--number", "-n", min=2, help="Clusters"),
    min_count: int = typer.Option(3, "--min-count", min=1, help="Rarer words get no cluster"),
    sweeps: int = typer.Option(
        3, "--sweeps", "-i", min=1, help="How often each word is looked at, at most"
    ),
    lang: str = typer.Option("en", "--lang", "-l", help="Language whose tokenizer finds the words"),
    model: str = typer.Option(
        "", "--model", "-m", help="Pipeline whose tokenizer finds them, in place of --lang"
    ),
    words: bool = typer.Option(
        False, "--words", help="Words of texts are separated by spaces already"
    ),
    text_key: str = typer.Option("text", "--text-key", "-tk", help="Field of the text in .jsonl"),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Put words into clusters by the words before and after them in raw text: features for
    `word_classes.v1`.

    DOCS: docs/tasks/words.md
    """
    check_free(output, force)
    problems: List[Problem] = []
    nlp = load_found(model) if model else spacy.blank(checked(lang))
    files = [file for path in texts for file in find_files(path, SUFFIXES)]
    docs = docs_of(nlp, files, text_key, problems, words=words)
    start = time.perf_counter()
    bigrams, classes = clusters_of(docs, output, n, min_count, sweeps)
    seconds = time.perf_counter() - start
    tokens = int(bigrams.counts.sum())
    msg.good(f"{output}: {len(classes):,} words in {len(set(classes.tolist())):,} clusters")
    msg.text(f"{tokens:,} pairs of neighbours, {seconds:.0f} s")
    then(f'[initialize.lookups] @misc = "spacy_hoseq.word_classes.v1", path = "{output}"')
    if problems:
        msg.warn("Without what is listed above", exits=1)


def clusters_of(
    docs: Iterable[Doc], output: Path, n: int, min_count: int, sweeps: int
) -> Tuple[Bigrams, Ints]:
    """Write the file of clusters. RETURNS pairs of neighbours, and the cluster of each word. RAISES
    ValueError [HS159]: too few words."""
    bigrams = bigrams_of(docs, min_count)
    if not bigrams.words:
        what = f"word that occurs at least {min_count} times"
        expected = "more text, or a smaller --min-count"
        raise ValueError(Errors.HS159.format(what=what, source="the text", expected=expected))
    classes = exchange_words(bigrams, n, sweeps, with_bar)
    write_text(output, "".join(lines(bigrams.words, classes)))
    return bigrams, classes


def with_bar(words: range, sweep: int) -> Iterable[int]:
    """The words of a sweep."""
    return progress(words, f"words, sweep {sweep + 1}", len(words))


def lines(words: List[str], classes: Ints) -> Iterator[str]:
    """Word and cluster, by cluster, the most frequent words of each first."""
    yield from (f"{words[i]}\t{classes[i]}\n" for i in classes.argsort(kind="stable").tolist())
