"""Tables of measurements, written into a page of the documentation between two marks that name the table.

Above each stands where it comes from: commit, recipe, what chose the settings, what it was measured on (all.yml), the
day, the machine. What was written is kept in docs/measurements/tables, too, and a test compares the pages with it.
"""

import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from wasabi import MarkdownRenderer, table

from .machine import description

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "docs" / "measurements" / "tables"
MEASURED = ("spacy_hoseq", "benchmarks", "configs", "experiments")  # what a measurement depends on


class Step(NamedTuple):
    """run: commands. tables: by name, what is said of each. minutes: about. alone (bool): nothing runs beside."""

    run: list[str] = []
    tables: dict[str, dict[str, str]] = {}
    minutes: int = 0
    alone: bool = False


def steps() -> dict[str, Step]:
    """All measurements, by name, in their order."""
    read: list[dict[str, Any]] = srsly.read_yaml(Path(__file__).with_name("all.yml"))
    return {each.pop("name"): Step(**each) for each in read}


STEPS = steps()
SAID = {name: said for step in STEPS.values() for name, said in step.tables.items()}


def show(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the table. The first column is text."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(table(rows, header=header, widths=widths, divider=True, aligns=aligns_of(header)))


def aligns_of(header: Sequence[str]) -> Any:
    """The first column is text."""
    return ("l", *["r"] * (len(header) - 1))


def has_table(page: Path, name: str) -> bool:
    """Whether the page has the marks of this table."""
    return f"<!-- begin {name} -->" in page.read_text(encoding="utf8")


def write_table(
    page: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> None:
    """Replace what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. The first column is text. A table for
    which the page has no place is left out of it."""
    if not has_table(page, name):
        return
    written = {
        "origin": origin(name),
        "header": list(header),
        "rows": [list(row) for row in rows],
        "note": note,
    }
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = page.read_text(encoding="utf8").partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{markdown(written)}\n{end}{after}", encoding="utf8")
    if page.resolve().is_relative_to(ROOT):
        TABLES.mkdir(exist_ok=True)
        srsly.write_json(TABLES / f"{name.replace(' ', '-')}.json", written)


def markdown(written: dict[str, Any]) -> str:
    """A table as it stands in a page, with its origin above and its note below."""
    header = written["header"]
    lines = MarkdownRenderer().table(written["rows"], header, aligns=aligns_of(header))
    parts = [written["origin"], lines, written["note"]]
    return "\n\n".join(part for part in parts if part)


def origin(name: str) -> str:
    """A line that says where a table comes from. One that is not in all.yml has only commit, day and machine."""
    said = SAID.get(name, {})
    machine = description()
    about = {
        "recipe": "recipe ",
        "settings": "settings: ",
        "text": "measured on: ",
        "docs": "tokens a Doc: ",
    }
    parts = [
        f"Commit {commit()}{' and changes' if is_changed() else ''}, {date.today()}",
        *(f"{title}{said[key]}" for key, title in about.items() if key in said),
        f"{machine['processor'] or machine['machine']}, Python {machine['python']}, NumPy {machine['numpy']}, "
        f"spaCy {machine['spacy']}",
    ]
    return f"*{'; '.join(parts)}.*"


def commit() -> str:
    return git("rev-parse", "--short=8", "HEAD") or "unknown"


def last_change() -> str:
    """The last commit that changed what is measured: pages may have changed since."""
    return git("log", "-1", "--format=%h", "--abbrev=8", "--", *MEASURED) or "unknown"


def is_changed() -> bool:
    """Whether what is measured differs from the commit."""
    return bool(git("status", "--porcelain", "--", *MEASURED))


def git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
