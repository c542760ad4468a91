"""Raw Chinese text: characters a second, words alone, with tags, and all of the pipeline.

    python -m benchmarks.unspaced --data CORPORA [--turns 5] [--page docs/measurements/chinese.md]

Each sentence of UD Chinese GSD is a text, written without spaces. new: those of the development part, after the
training part. again: the same texts once more. Medians of the turns, each with a pipeline that is loaded anew.
Processor time counts, since other work on the machine makes all times longer.
"""

import gzip
import statistics
import time
from pathlib import Path
from typing import Annotated, Any, Callable, Dict, Iterable, Iterator, List

import typer

import spacy_hoseq

from .page import show, write_table

BEFORE = "zh_ud_gsd/train.conllu.gz"
NEW = "zh_ud_gsd/dev.conllu"
NO_PAGES: List[Path] = []
PARTS = ("words", "words, tags", "all")
HEADER = ("", "new text", "read again")
FORM = 1  # column


def main(
    data: Annotated[Path, typer.Option(exists=True, help="The folder of corpora")],
    turns: Annotated[int, typer.Option(help="Pipelines that are loaded")] = 5,
    page: Annotated[List[Path], typer.Option(help="Pages whose table is replaced")] = NO_PAGES,
) -> None:
    before = list(unspaced(data / BEFORE))
    new = list(unspaced(data / NEW))
    measured = [speeds(before, new) for _ in range(turns)]
    rows = table_rows(measured)
    show(HEADER, rows)
    for each in page:
        write_table(each, "unspaced", HEADER, rows)


def unspaced(path: Path) -> Iterator[str]:
    """The sentences of a CoNLL-U file, their words written together."""
    words: List[str] = []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf8") as file:
        for line in file:
            fields = line.split("\t")
            if fields[0].isdecimal():
                words.append(fields[FORM])
            elif not line.strip() and words:
                yield "".join(words)
                words = []


def speeds(before: List[str], new: List[str]) -> Dict[str, List[float]]:
    """Characters a second of each of `PARTS`: of new text, and read again."""
    nlp = spacy_hoseq.load("zh")
    for _ in nlp.pipe(before):
        pass
    n_characters = sum(map(len, new))
    found: Dict[str, List[float]] = {part: [] for part in PARTS}
    for _ in range(2):
        seconds = 0.0
        docs: List[Any] = new
        stages: List[Callable[[Iterable[Any]], Iterable[Any]]] = [nlp.tokenizer.pipe]
        stages += [pipe.pipe for _, pipe in nlp.pipeline]
        taken = []
        for stage in stages:
            start = time.process_time()
            docs = list(stage(docs))
            seconds += time.process_time() - start
            taken.append(seconds)
        for part, total in zip(PARTS, (taken[0], taken[1], taken[-1]), strict=True):
            found[part].append(n_characters / total)
    return found


def table_rows(measured: List[Dict[str, List[float]]]) -> List[List[str]]:
    return [
        [part, *(f"{statistics.median(turn[part][i] for turn in measured):,.0f}" for i in range(2))]
        for part in PARTS
    ]


if __name__ == "__main__":
    typer.run(main)
