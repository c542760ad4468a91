"""README, CONTRIBUTING and all pages in docs/, as the tests read them: code blocks, tables, sections, names."""

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md") if (ROOT / name).exists()]
FILES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf8") for path in FILES}
# whose code is run with their commands
TUTORIALS = (
    "docs/tutorial.md",
    "docs/tasks/adapt.md",
    "docs/tasks/annotation.md",
    "docs/tasks/my-model.md",
    "docs/tasks/names.md",
)
FENCE = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)


@cache
def made_tables() -> ModuleType:
    """docs/tables.py, which makes tables of the site from the code."""
    spec = importlib.util.spec_from_file_location("tables_of_the_site", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def filled_pages() -> dict[str, str]:
    """All pages with the tables that are made from the code, as on the site."""
    return {page: made_tables().filled(text) for page, text in PAGES.items()}


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def with_parents(block: str) -> str:
    """A part of a config below headings of the sections above it."""
    names = re.findall(r"^\[(.+)\]$", block, flags=re.MULTILINE)
    above = {".".join(name.split(".")[:i]) for name in names for i in range(1, name.count(".") + 1)}
    return "".join(f"[{name}]\n" for name in sorted(above - {*names}) if name[-1] != "*") + block


def all_blocks(language: str) -> list[tuple[str, str]]:
    """(page, block) of all pages."""
    return [(page, block) for page in PAGES for block in blocks(page, language)]


def matches(pattern: str) -> list[tuple[str, str]]:
    """What the pages have of a pattern, each with its page."""
    found = {page: re.findall(pattern, text) for page, text in PAGES.items()}
    return sorted({(page, match) for page, matches in found.items() for match in matches})


def headings(text: str) -> list[tuple[int, str, int]]:
    """(level, title, place) of each heading outside of code."""
    masked = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [(len(mark), title, place) for mark, title, place in _marks(masked)]


def _marks(text: str) -> Iterator[tuple[str, str, int]]:
    for match in re.finditer(r"^(#+) (.+)$", text, flags=re.MULTILINE):
        yield match[1], match[2], match.start()


def anchor(title: str) -> str:
    """Of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def section(page: str, title: str) -> str:
    """Text from one heading to the next of any level."""
    places = headings(PAGES[page])
    (at,) = [i for i, (_, name, _) in enumerate(places) if name == title]
    end = places[at + 1][2] if at + 1 < len(places) else None
    return PAGES[page][places[at][2] : end]


def rows_of(table: str) -> list[list[str]]:
    """Cells of each row below the header."""
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in table.splitlines()[2:]]


def tables(header: str) -> list[tuple[str, list[list[str]]]]:
    """(page, rows) of every table whose header begins so."""
    found = []
    for page, text in PAGES.items():
        pattern = rf"^{re.escape(header)}.*\n(?:\|.*\n?)+"
        for match in re.finditer(pattern, text, flags=re.MULTILINE):
            found.append((page, rows_of(match[0])))
    return found


def table(header: str) -> list[list[str]]:
    """Rows of the one table whose header begins so."""
    ((_, rows),) = tables(header)
    return rows
