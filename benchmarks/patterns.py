"""What label patterns change, from the tables of other steps: README's third table.

python -m benchmarks.patterns [--page README.md ...]
"""

import re
from pathlib import Path
from typing import NamedTuple

import typer

from .page import ROOT, show, write_table

HEADER = ("task", "first order", "with patterns", "p")


class Quoted(NamedTuple):
    """Two rows of a table: how their first cells begin, and the columns of the score and of p (0: there is none)."""

    page: str
    table: str
    first: str
    after: str
    score: int
    p: int


QUOTED = {
    "handwritten letters, %": Quoted(
        "papers/nonnegative", "letters", "perceptron, order 1", "perceptron, order 7", 1, 0
    ),
    "their words that training has, %": Quoted(
        "papers/nonnegative", "words", "perceptron, order 1", "perceptron, order 7", 1, 0
    ),
    "their other words, %": Quoted(
        "papers/nonnegative", "words", "perceptron, order 1", "perceptron, order 7", 3, 0
    ),
    **{
        f"organisations, {text}{chosen}, F": Quoted(
            "papers/sparse-crf",
            "organisations",
            f"{corpus} | low order{chosen}",
            f"{corpus} | patterns{chosen}",
            2,
            4,
        )
        for corpus, text in (("pfr", "People's Daily"), ("msra", "MSRA"), ("resume", "resumes"))
        for chosen in ("", ", by probability")
    },
    "Chinese tags, %": Quoted("measurements/chinese", "chinese", "GSD: tagger", "GSD: rules", 1, 4),
    "English tags, %": Quoted(
        "measurements/recipes",
        "features",
        "English news: tagger",
        "English news: higher-order",
        1,
        4,
    ),
}


def main(page: list[Path] | None = None) -> None:
    rows = []
    for task, quoted in QUOTED.items():
        cells = table(quoted)
        p = cells[quoted.after][quoted.p] if quoted.p else ""
        rows.append([task, cells[quoted.first][quoted.score], cells[quoted.after][quoted.score], p])
    show(HEADER, rows)
    for each in page or []:
        write_table(each, "patterns", HEADER, rows)


def table(quoted: Quoted) -> dict[str, list[str]]:
    """The two rows, by how they begin."""
    text = (ROOT / "docs" / f"{quoted.page}.md").read_text(encoding="utf8")
    (made,) = re.findall(f"<!-- begin {quoted.table} -->(.*?)<!-- end", text, re.DOTALL)
    rows: dict[str, list[str]] = {}
    for start in (quoted.first, quoted.after):
        line = next(line for line in made.splitlines() if line.startswith(f"| {start} |"))
        rows[start] = [cell.strip() for cell in line.strip("|").split("|")]
    return rows


if __name__ == "__main__":
    typer.run(main)
