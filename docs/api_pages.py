"""Pages of the Python API: one for each room of the package, made from docstrings.

Docstrings of this package are plain text: paragraphs, formulas that are indented by four, and arguments, one in each
line that is not indented:

    scores (N, L), trans (L, L): as in `viterbi`; they may have
        any sign.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64.

Here these lines become lists, formulas become literal blocks, `code` becomes code, and nothing else is markup.
"""

import importlib
import re
from pathlib import Path
from typing import Any

import spacy_hoseq

PACKAGE = Path(spacy_hoseq.__file__).parent
KEYWORD = re.compile(r"(RETURNS|RAISES|YIELDS|DOCS)\b")
NAMES = r"[*\w]+(?: \([^()]*(?:\([^()]*\)[^()]*)*\))?"
ARGUMENT = re.compile(rf"({NAMES}(?:(?:,| and) {NAMES})*(?: \w+)?): \S")
NO_ARGUMENTS = ("Time", "Source", "Cost", "Memory")


def rooms() -> dict[str, list[str]]:
    """Room, as a dotted name -> the public modules in it (not those of the rooms in it)."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        *folders, name = path.relative_to(PACKAGE).with_suffix("").parts
        if folders[:1] == ["cli"]:  # reference/command-line.md
            continue
        room = ".".join([PACKAGE.name, *folders])
        if name == "__init__" and path.stat().st_size > 0:
            found.setdefault(room, []).append(room)
        elif not name.startswith("_"):
            found.setdefault(room, []).append(f"{room}.{name}")
    return dict(sorted(found.items()))


def page(room: str, modules: list[str]) -> str:
    """reStructuredText of a room's page."""
    lines = [room, "=" * len(room)]
    for module in modules:
        title = module if module == room else module.removeprefix(f"{room}.")
        lines += ["", title, "-" * len(title), "", f".. automodule:: {module}"]
        if module == room:  # what it exports is described where it is made
            exported = getattr(importlib.import_module(room), "__all__", [])
            lines += ["   :no-members:", "", *[f"* ``{name}``" for name in exported]]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """All pages, and one that lists them. Files that are right already are left as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {room: page(room, modules) for room, modules in rooms().items()}
    listed = "\n".join(f"   {room}" for room in pages)
    pages["index"] = (
        f"Python API\n==========\n\nFrom the docstrings, room by room.\n\n.. toctree::\n\n{listed}\n"
    )
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf8") != text:
            path.write_text(text, encoding="utf8")


def begins_item(line: str) -> bool:
    """Whether a line is that of an argument, of what is returned, or of an error."""
    return bool(KEYWORD.match(line) or (ARGUMENT.match(line) and not line.startswith(NO_ARGUMENTS)))


def escape(text: str) -> str:
    """A line of prose in which only `code` is markup."""
    return "".join(
        f"`{part}`\\ " if re.fullmatch(r"`[^`]+`", part) else re.sub(r"([\\*_`|])", r"\\\1", part)
        for part in re.split(r"(`[^`]+`)", text)
    )


def item(line: str) -> str:
    """One argument: its names stand out."""
    keyword = KEYWORD.match(line)
    head, colon, rest = (keyword[0], "", line[keyword.end() :]) if keyword else line.partition(":")
    return f"* **{escape(head)}**\\ {colon}{escape(rest)}"


def to_rst(lines: list[str]) -> list[str]:
    """A docstring, not indented, as reStructuredText."""
    out: list[str] = []
    place = "text"  # or "formula", or "items"
    for line in lines:
        is_indented = line.startswith("    ")
        if not line.strip():
            out.append("")
            place = "formula" if place == "formula" else "text"
        elif is_indented and place == "items":
            out.append("  " + escape(line.strip()))
        elif is_indented:
            out += [line] if place == "formula" else ["", "::", "", line]
            place = "formula"
        elif begins_item(line):
            out += [item(line)] if place == "items" else ["", item(line)]
            place = "items"
        else:
            out += [escape(line)] if place == "text" else ["", escape(line)]
            place = "text"
    return out


def process_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Sphinx's event: `lines` are replaced in place."""
    lines[:] = to_rst(list(lines))
