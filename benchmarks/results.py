"""The results of README: six rows, each from a table that another step has made.

python -m benchmarks.results [--page README.md ...]
"""

from pathlib import Path
from typing import NamedTuple

import srsly
import typer

from .page import TABLES, show, write_table

HEADER = ("", "ours", "other", "of")


class Result(NamedTuple):
    """ours, other: row and column of each number in a table; other None = nothing is beside it. page: that has the
    table. beside: what ours is compared with."""

    title: str
    page: str
    table: str
    ours: tuple[str, str]
    other: tuple[str, str] | None = None
    beside: str = ""


def beside_small(title: str, row: str) -> Result:
    """A row of the English pipeline beside that of spaCy."""
    small = "en_core_web_sm"
    return Result(title, "english", "installed", (row, "ours"), (row, small), f"`{small}`")


RESULTS = [
    beside_small("tags, web text, %", "tags, EWT dev"),
    beside_small("names, Wikipedia, F", "names, Wikigold, a tenth"),
    Result("chunks, news, F", "performance", "tagging", ("hoseq tagger + chunker", "F")),
    Result(
        "lemmas, Irish, raw text, F",
        "languages",
        "languages",
        ("ga, ours", "lemmas"),
        ("ga, UDPipe 1", "lemmas"),
        "UDPipe 1",
    ),
    beside_small("words a second, raw new text", "raw new text, words a second"),
    beside_small("size, MB", "size, MB"),
]


def main(page: list[Path] | None = None) -> None:
    rows = []
    for result in RESULTS:
        cells = cells_of(result.table)
        other = "-"
        if result.other is not None:
            other = cells[result.other[0]][result.other[1]]
        title = f"[{result.title}](docs/measurements/{result.page}.md)"
        rows.append([title, cells[result.ours[0]][result.ours[1]], other, result.beside])
    show(HEADER, rows)
    for path in page or []:
        write_table(path, "results", HEADER, rows)


def cells_of(name: str) -> dict[str, dict[str, str]]:
    """The cells of a table by their row and column."""
    table = srsly.read_json(TABLES / f"{name}.json")
    return {row[0]: dict(zip(table["header"], row, strict=True)) for row in table["rows"]}


if __name__ == "__main__":
    typer.run(main)
