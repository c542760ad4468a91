"""Tables of measurements, written into a page of the documentation between two marks that name the table."""

from pathlib import Path
from typing import Sequence

from wasabi import MarkdownRenderer, table


def show(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the table. The first column is text."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(table(rows, header=header, widths=widths, divider=True, aligns=("l", *["r"] * (len(header) - 1))))


def has_table(page: Path, name: str) -> bool:
    """Whether the page has the marks of this table."""
    return f"<!-- begin {name} -->" in page.read_text(encoding="utf8")


def write_table(page: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Replace what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. The first column is text."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = page.read_text(encoding="utf8").partition(begin)
    markdown = MarkdownRenderer().table(rows, header, aligns=("l", *["r"] * (len(header) - 1)))
    parts = [f"{before}{begin}", markdown, *([f"\n{note}"] if note else []), f"{end}{rest.partition(end)[2]}"]
    page.write_text("\n".join(parts), encoding="utf8")
