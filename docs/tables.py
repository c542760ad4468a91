"""Tables of the reference that are made from the code when the site is built.

A page has a comment in the place of each: `<!-- settings: NAME -->` of a factory or registered function (its signature
and docstring), `<!-- errors -->` and `<!-- warnings -->` (their messages), `<!-- template sets -->`, `<!-- rooms -->`,
`<!-- names -->`. So nothing of them is written twice. In Python: `help(HoseqTagger)`.

Options of commands stand in the page itself, each list below `<!-- options: COMMAND -->`: `python docs/tables.py`
writes them anew.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from typer.main import get_command

import spacy_hoseq
from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.errors import Errors, Warnings
from spacy_hoseq.features.templates import parse_templates, template_sets

MARK = re.compile(
    r"^<!-- (settings|errors|warnings|template sets|rooms|names)(?:: (\S+))? -->$",
    flags=re.MULTILINE,
)
OPTIONS = re.compile(r"^<!-- options: (\S+) -->\n(?:\n(?:- `.*\n)+)?", flags=re.MULTILINE)
COMMANDS = Path(__file__).parent / "reference" / "command-line.md"
SAID_ABOVE = (
    "Replace the output if it is there",
    "Python file that the pipeline needs",
)  # of most commands
REGISTRIES = (
    "architectures",
    "misc",
    "scorers",
    "readers",
    "batchers",
    "tokenizers",
    "augmenters",
    "callbacks",
)
PACKAGE = Path(spacy_hoseq.__file__).parent
CODE = re.compile(r"H[SW]\d{3}")


def filled(text: str) -> str:
    """A page with its tables."""
    return MARK.sub(lambda mark: made(mark[1], mark[2]), text)


@cache
def made(kind: str, name: str) -> str:
    """The table that a mark stands for."""
    if kind == "settings":
        rows = [(n, meaning, default, kind) for n, kind, default, meaning in settings(name)]
        return table(("Setting", "What it does", "Default", "Type"), rows)
    if kind == "names":
        return table(("Name", "Registry", "What it is"), names())
    if kind == "rooms":
        return table(("Room", "What is there"), rooms())
    if kind == "template sets":
        return table(("`name`", "Templates", "For"), template_rows())
    return "\n".join(
        f"- **{code}** {text}" for code, text in messages(Errors if kind == "errors" else Warnings)
    )


def with_options(text: str) -> str:
    """The page of the commands with the options of each as its `--help` has them."""
    return OPTIONS.sub(
        lambda mark: f"{mark[0].splitlines()[0]}\n\n{listed(options(mark[1]))}\n", text
    )


def listed(rows: Sequence[tuple[str, str, str]]) -> str:
    """Markdown: options with the same help are one item, the default stands in parentheses."""
    items: dict[tuple[str, str], list[str]] = {}
    for spelled, default, text in rows:
        items.setdefault((default, text), []).append(spelled)
    lines = []
    for (default, text), spellings in items.items():
        default = f" ({default})" if default else ""
        escaped = re.sub(r"([\\*])", r"\\\1", text)
        lines.append(f"- {', '.join(spellings)}{default}: {escaped}")
    return "\n".join(lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells
    )


def registered(name: str) -> Callable[..., Any]:
    """The function behind a registered name."""
    (registry,) = [registry for registry in REGISTRIES if name in getattr(spacy.registry, registry)]
    return spacy.registry.get(registry, name)


def settings(name: str) -> list[tuple[str, str, str, str]]:
    """(name, type, default, meaning) of each setting of a factory or a registered function."""
    if name.startswith("hoseq_"):
        component = type(spacy.blank("en").add_pipe(name))
        defaults = Language.get_factory_meta(name).default_config
        types = {n: p.annotation for n, p in parameters(component).items()}
        names = [*types, "target"]  # where the next one begins
        meanings = {
            n: m
            for base in reversed(component.__mro__)
            for n, m in items(base.__doc__ or "", names).items()
        }
    else:
        function = registered(name)
        types = {n: p.annotation for n, p in parameters(function).items()}
        defaults = {n: p.default for n, p in parameters(function).items()}
        meanings = items(inspect.getdoc(function) or "", [*types])
    return [
        (f"`{n}`", type_name(types[n]), default_name(default), meanings.get(n, ""))
        for n, default in defaults.items()
    ]


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Those that a config can set."""
    found = inspect.signature(function).parameters
    return {name: p for name, p in found.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def items(doc: str, names: Sequence[str]) -> dict[str, str]:
    """What a docstring says of each setting: "name (type): meaning", on lines of its own or behind another one."""
    known = "|".join(map(re.escape, names))
    begins = re.compile(
        rf"(?:^|(?<=[.;] ))((?:{known})(?:, (?:{known}))*)(?: \([^()]*\))?: ", flags=re.MULTILINE
    )
    lines = re.sub(r"(?<=\S)\n *(?=\S)(?!RAISES|RETURNS)", " \n", inspect.cleandoc(doc))
    found: dict[str, str] = {}
    for paragraph in lines.split("\n\n"):
        text = re.split(r" ?\n?(?:RAISES|RETURNS)\b", paragraph)[0].replace(" \n", " ")
        places = list(begins.finditer(text))
        for place, end in zip(places, [*(p.start() for p in places[1:]), len(text)], strict=False):
            found.update(dict.fromkeys(place[1].split(", "), text[place.end() : end].strip()))
    return found


def type_name(annotation: Any) -> str:
    """As a reader of a config understands it."""
    text = getattr(annotation, "__name__", "") if inspect.isclass(annotation) else str(annotation)
    text = re.sub(r"\b(?:typing|spacy_hoseq|thinc|spacy|pathlib|numpy)(?:\.\w+)*\.", "", text)
    text = re.sub(r"Literal\[([^\]]*)\]", lambda values: values[1].replace("'", '"'), text)
    text = re.sub(r"(.*) \| None$", r"\1 or null", text.replace("collections.abc.", ""))
    text = text.replace("str | Path", "path")
    if "Model[" in text:
        return "Model or null" if text.startswith("Optional") else "Model"
    if "Callable" in text or "PatternSource" in text:
        is_optional = text.startswith("Optional") or text.endswith("or null")
        return "function or null" if is_optional else "function"
    return re.sub(r"Optional\[(.*)\]$", r"\1 or null", text)


def default_name(value: Any) -> str:
    """As it stands in a config; of an object the registered name."""
    if value is inspect.Parameter.empty:
        return "required"
    if isinstance(value, dict):
        made_by = [f"`{name}`" for key, name in value.items() if key.startswith("@")]
        given = {
            key: v
            for key, v in value.items()
            if not isinstance(v, dict) and not key.startswith("@")
        }
        settings = [f"`{key} = {json.dumps(v)}`" for key, v in given.items()]
        return ": ".join([*(made_by or ["`{}`"]), *([", ".join(settings)] if settings else [])])
    return f"`{json.dumps(value)}`"


def options(name: str) -> list[tuple[str, str, str]]:
    """(spellings, default, help) of each option of a command but those that the page says once."""
    rows = []
    for option in get_command(hoseq_cli).commands[name].params:  # type: ignore[attr-defined]
        if (
            option.opts[0].startswith("-")
            and option.name != "help"
            and not getattr(option, "hidden", False)
            and option.help not in SAID_ABOVE
        ):
            spelled = ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])
            rows.append(
                (
                    spelled,
                    "required" if option.required else shown(option.default),
                    option.help or "",
                )
            )
    return rows


def shown(default: Any) -> str:
    """A default of an option; a switch is off, a list may be empty."""
    if default in (None, False, "", [], ()) or callable(default):
        return ""
    return "on" if default is True else f"`{getattr(default, 'value', default)}`"


def messages(group: Any) -> Iterator[tuple[str, str]]:
    """(code, text) of all messages. What is filled in stands in braces."""
    for code in sorted(code for code in dir(group) if CODE.fullmatch(code)):
        text = re.sub(r"\s+", " ", getattr(group, code).partition("] ")[2])
        yield code, re.sub(r"([*_<>\[\]#|])", r"\\\1", re.sub(r"!r\}", "}", text))


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether the package has it: code of an experiment may have been run in this process, too."""
    return str(function.__module__).partition(".")[0] == PACKAGE.name  # code run from a page: None


def template_rows() -> list[tuple[str, str, str]]:
    """(name, number of templates, what for) of all ready-made sets of templates."""
    sets = template_sets().items()
    return [
        (f"`{name}`", str(len(parse_templates(each["templates"]))), each["about"])
        for name, each in sets
    ]


def first_sentence(function: Callable[..., Any]) -> str:
    """Of a docstring, without line breaks."""
    text = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
    return re.sub(r"^Registered as `[^`]+`[.:] ?", "", text)


def rooms() -> list[tuple[str, str]]:
    """(folder or module, its first sentence) of the package."""
    found = [
        (f"{path.parent.relative_to(PACKAGE).as_posix()}/", path)
        for path in PACKAGE.rglob("*/__init__.py")
    ]
    found += [(path.name, path) for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    docs = {
        name: ast.get_docstring(ast.parse(path.read_text(encoding="utf8"))) or ""
        for name, path in found
    }
    return [
        (f"`{name}`", " ".join(doc.partition("\n\n")[0].split()))
        for name, doc in sorted(docs.items())
    ]


def names() -> list[tuple[str, str, str]]:
    """(name, registry, first sentence) of all registered functions."""
    return [
        (f"`{name}`", f"`{registry}`", first_sentence(function))
        for registry in REGISTRIES
        for name, function in sorted(getattr(spacy.registry, registry).get_all().items())
        if is_ours(function)
    ]


if __name__ == "__main__":
    COMMANDS.write_text(with_options(COMMANDS.read_text(encoding="utf8")), encoding="utf8")
