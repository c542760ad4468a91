"""docs/bidirectional.md: its code runs, its tables are those of the code, its links lead somewhere."""

import ast
import contextlib
import inspect
import io
import json
import re
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from thinc.api import Config

from spacy_hoseq.chunks import read_chunks, write_chunks
from spacy_hoseq.errors import Errors, Warnings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXT = (DOCS / "bidirectional.md").read_text(encoding="utf8")
NAME = "hoseq_bidirectional_tagger"
NAMES = sorted(set(re.findall(r"spacy_hoseq\.\w+\.v\d+", TEXT)))
LINKS = sorted(set(re.findall(r"\]\(([^)\s]+)\)", TEXT)))
CODES = sorted(set(re.findall(r"\bH[SW]\d{3}\b", TEXT)))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)


def table(header):
    """Cells of each row of the table whose header begins so."""
    lines = TEXT[TEXT.index(f"\n{header}") + 1 :].split("\n\n")[0].splitlines()[2:]
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in lines]


def section(title):
    return re.split(r"^#+ ", TEXT.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def anchors(path):
    """Of the titles in a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_code_runs_and_prints_what_it_says():
    """A comment after a print that looks like a value, or has "...", is (the beginning of) what was printed."""
    namespace, checked = {}, []
    for block in blocks("python"):
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(ast.Module([statement], []), "docs/bidirectional.md", "exec"), namespace)
            last, following = lines[statement.end_lineno - 1], lines[statement.end_lineno : statement.end_lineno + 1]
            comment = last.partition("  # ")[2] or "".join(following).partition("# ")[2]
            is_value = comment[:1] in tuple("[({'\"0123456789") or re.match(r"\S+/\S+/\d", comment)
            if "print(" in last and (is_value or "..." in comment):
                expected, more, _ = comment.partition(" ...")
                assert output.getvalue().startswith(expected + (" " if more else "\n"))
                checked.append(expected)
    assert len(checked) >= 2 and namespace["page"].startswith("<!DOCTYPE html>")


def test_settings_of_the_component():
    rows = table("| Name | Type | Default | Values")
    defaults = Language.get_factory_meta(NAME).default_config
    assert [row[0] for row in rows] == [f"`{name}`" for name in defaults]
    for name, _, default, *_ in rows:
        expected = defaults[name.strip("`")]
        shown = {"below": defaults["model"], "label scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"}}
        assert (shown[default] if default in shown else json.loads(default.strip("`"))) == expected


def test_settings_of_the_model():
    rows = table("| Name | Type | Default | What it does")
    parameters = inspect.signature(spacy.registry.architectures.get("spacy_hoseq.LocalClassifiers.v1")).parameters
    assert [row[0] for row in rows] == [f"`{name}`" for name in parameters]
    for (*_, default, _), parameter in zip(rows, parameters.values(), strict=True):
        has_default = parameter.default is not inspect.Parameter.empty
        assert has_default == bool(default)
        assert not has_default or json.loads(default.strip("`")) == parameter.default


@pytest.mark.parametrize("name", NAMES)
def test_registered_name(name):
    registries = ("architectures", "misc", "scorers", "readers")
    assert [registry for registry in registries if name in getattr(spacy.registry, registry)] != []


def test_there_are_names():
    assert len(NAMES) >= 7 and len(LINKS) >= 15 and len(CODES) >= 10


def test_templates_table():
    sets = {name for name in spacy.registry.misc.get_all() if re.search(r"(bidirectional|paper)_\w+_templates", name)}
    assert {row[0].strip("`") for row in table("| Registered set")} == sets


def test_strategies_table():
    """Each is taken by the factory, and no other."""
    strategies = [row[0].strip("`") for row in table("| Strategy | Finds")]
    annotation = inspect.signature(spacy.registry.factories.get(NAME)).parameters["strategy"].annotation
    assert sorted(strategies) == sorted(annotation.__args__)


def test_representations_table():
    documented = {}
    for names, tags in (row[:2] for row in table("| `representation` | Tags")):
        for name in re.findall(r"`(\w+)`", names):
            documented[name] = re.findall(r"`([A-Z ]+)`", tags)[:3]
    annotation = inspect.signature(spacy.registry.factories.get(NAME)).parameters["representation"].annotation
    assert set(documented) == set(annotation.__args__[0].__args__)
    for name, expected in documented.items():
        chunks = [read_chunks(["B-NP", "I-NP", "I-NP"][:n]) for n in (1, 2, 3)]
        made = [" ".join(tag[0] for tag in write_chunks(chunk, n, name)) for n, chunk in enumerate(chunks, 1)]
        assert made == expected


@pytest.mark.parametrize("code", CODES)
def test_code_of_an_error(code):
    assert hasattr(Warnings if code.startswith("HW") else Errors, code)


@pytest.mark.parametrize("link", LINKS)
def test_link(link):
    name, _, anchor = link.partition("#")
    path = (DOCS / name).resolve() if name else DOCS / "bidirectional.md"
    assert path.is_file()
    assert not anchor or anchor in anchors(path)


def test_configs():
    """The configs in the table exist, and those in the text are parts of one."""
    names = [row[0].strip("`") for row in table("| Config |")]
    assert names == sorted(path.name for path in (ROOT / "configs").glob("bidirectional*.cfg"))
    for path in re.findall(r"configs/\w+\.cfg", TEXT):
        assert (ROOT / path).is_file()
    chunks = Config().from_disk(ROOT / "configs" / "bidirectional_chunks.cfg", interpolate=False)
    for block in blocks("ini"):
        parents = sorted({name.rsplit(".", 1)[0] for name in re.findall(r"^\[(.+)\]$", block, flags=re.MULTILINE)})
        above = "".join(f"[{name}]\n" for name in parents if f"[{name}]" not in block)
        shown = Config().from_str(above + block, interpolate=False)
        if "corpora" in shown:
            assert shown["corpora"]["train"] == chunks["corpora"]["train"]
        for name, settings in shown.get("components", {}).items():
            nlp = spacy.blank("en")
            nlp.add_pipe(settings.pop("factory"), name, config=settings)
            assert nlp.get_pipe(name).cfg["representation"] == "start_end"
