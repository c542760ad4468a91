"""README and docs/: code prints what it says, configs can be filled, tables and names are those of the code."""

import ast
import contextlib
import inspect
import io
import json
import re
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens.underscore import Underscore
from spacy.util import load_model_from_config
from thinc.api import Config, Model

import spacy_hoseq
from spacy_hoseq.errors import Errors, Warnings
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.patterns.frequent import FrequentTransitions

ROOT = Path(__file__).parents[1]
PATHS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf8") for path in PATHS}
REGISTRIES = ("architectures", "misc", "scorers", "readers")
OBJECTS = {  # defaults that tables name by a word
    "below": lambda name: Language.get_factory_meta(name).default_config["model"],
    "exact": lambda name: {"@misc": "spacy_hoseq.exact_decoder.v1"},
    "AdaGrad": lambda name: {"@misc": "spacy_hoseq.adagrad.v1", "learn_rate": 0.1, "l1": 0.0, "l2": 0.0},
    "label scorer": lambda name: {"@scorers": "spacy_hoseq.label_scorer.v1"},
    "chunk scorer": lambda name: {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
}
FILES = r"\b(?:assets|benchmarks|configs|docs|experiments|spacy_hoseq|tests)/[\w./*]+\w"
SETTINGS = r"^\| Name \| Type \| Default \|.*\n\|[- |:]+\n((?:\|.*\n)+)"
REQUIRED = ("required", "`SparseLinear`", "English set")  # a config that is filled has the last two


def found_in(pattern):
    """What the pages have of it, each with its page."""
    return sorted({(page, found) for page, text in PAGES.items() for found in re.findall(pattern, text)})


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def said_of(lines, end):
    """The comment behind a statement, or the lines of comment that follow it."""
    same = lines[end - 1].partition("  # ")[2]
    if same:
        return [same]
    following = []
    for line in lines[end:]:
        if not line.startswith("# "):
            break
        following.append(line[2:])
    return following


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_code_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    """Comments after a statement that prints are what it printed; " ..." stands for the rest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Underscore, "token_extensions", dict(Underscore.token_extensions))
    namespace = {}
    for block in blocks(page, "python"):
        if "by the demo above" in block:
            continue  # tests/project/test_demo.py
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(ast.Module([statement], []), page, "exec"), namespace)
            printed, said = output.getvalue().splitlines(), said_of(lines, statement.end_lineno)
            if not printed:
                continue
            assert said, f"nothing is said of what this prints: {lines[statement.lineno - 1]}"
            for found, expected in zip(printed, said, strict=False):
                start, cut, _ = expected.partition(" ...")
                assert found.startswith(start) if cut else found == start
            assert len(printed) == len(said) or said[-1].endswith(" ...")


def whole(block, lang):
    """A part of a config as spaCy can fill it: with the sections above it, and factories for its components."""
    names = re.findall(r"^\[(.+)\]$", block, flags=re.MULTILINE)
    parents = {".".join(name.split(".")[:i]) for name in names for i in range(1, name.count(".") + 1)}
    above = "".join(f"[{name}]\n" for name in sorted(parents) if name not in names and not name.endswith("*"))
    config = Config().from_str(above + block, interpolate=False)
    sections = config.setdefault("components", {})
    config["components"] = components = {n: {"factory": n, **s} for n, s in sections.items() if "source" not in s}
    for name in config.setdefault("nlp", {"lang": lang}).setdefault("pipeline", list(components)):
        components.setdefault(name, {"factory": name})
    config["nlp"].setdefault("lang", lang)
    for variable in re.findall(r"\$\{paths\.(\w+)\}", block):
        config.setdefault("paths", {}).setdefault(variable, None)
    return config


def made_by_functions(section):
    """(registry, name, settings) of everything in a config that a registered function makes."""
    for value in section.values():
        if isinstance(value, dict):
            yield from made_by_functions(value)
    functions = [key for key in section if key.startswith("@")]
    for key in functions:
        yield key[1:], section[key], [name for name in section if name not in functions and name != "*"]


@pytest.fixture
def files_of_the_pages(tmp_path, monkeypatch):
    """Files and functions that the text says are the reader's."""
    monkeypatch.chdir(tmp_path)
    rules = [{"name": "list", "tokens": [{}, {"ORTH": ","}, {}], "labels": ["?y", ",", "?y"]}]
    for name in ("rules.json", "my_rules.json"):
        srsly.write_json(name, rules)
    if "same_word.v1" not in spacy.registry.misc.get_all():
        spacy.registry.misc("same_word.v1")(lambda: FrequentTransitions())
    if "letter_emissions.v1" not in spacy.registry.architectures.get_all():
        spacy.registry.architectures("letter_emissions.v1")(lambda: Model("letters", lambda *_: ([], None)))


@pytest.mark.parametrize("page, block", [(page, block) for page in PAGES for block in blocks(page, "ini")])
@pytest.mark.usefixtures("files_of_the_pages")
def test_config_can_be_filled(page, block):
    """As by `spacy init fill-config`: all settings are known, and have values of their types."""
    config = whole(block, "zh" if "chinese" in page else "en")
    nlp = load_model_from_config(config, auto_fill=True, validate=True)
    assert nlp.pipe_names == config["nlp"]["pipeline"]
    for settings in config["components"].values():
        assert set(settings) - {"factory"} <= set(Language.get_factory_meta(settings["factory"]).default_config)
    for registry, function, settings in made_by_functions(config):
        parameters = inspect.signature(spacy.registry.get(registry, function)).parameters
        assert set(settings) <= set(parameters), function


def settings_tables():
    """(page, registered name or factory, rows) of each table of settings."""
    found = []
    for page, text in PAGES.items():
        factory = re.match(r"# `(\w+)`", text)
        for table in re.finditer(SETTINGS, text, flags=re.MULTILINE):
            rows = [re.split(r"\s*\|\s*", line)[1:-1] for line in table[1].splitlines()]
            title, _, before = text[: table.start()].rpartition("\n## ")[2].partition("\n")
            names = re.findall(r"spacy_hoseq\.\w+\.v\d", f"{title}\n{before}")
            name = factory[1] if title == "Settings of the component" else names[-1]
            found.append(pytest.param(page, name, rows, id=f"{page}-{name}"))
    return found


@pytest.mark.parametrize("page, name, rows", settings_tables())
def test_settings_and_their_defaults(page, name, rows):
    if name.startswith("hoseq_"):
        expected = Language.get_factory_meta(name).default_config
    else:
        (registry,) = [registry for registry in REGISTRIES if name in getattr(spacy.registry, registry)]
        parameters = inspect.signature(spacy.registry.get(registry, name)).parameters.values()
        expected = {p.name: "required" if p.default is p.empty else p.default for p in parameters}
    shown = {}
    for names, _, default, *_ in rows:
        names = re.findall(r"`(\w+)`", names)
        values = [default] * len(names) if default in REQUIRED or default in OBJECTS else default.split(", ")
        assert len(values) == len(names)
        shown.update(zip(names, values, strict=True))
    assert list(shown) == list(expected)
    for setting, default in shown.items():
        if default in REQUIRED:
            assert expected[setting] == "required"
        else:
            value = OBJECTS[default](name) if default in OBJECTS else json.loads(default.strip("`"))
            assert expected[setting] == value and type(expected[setting]) is type(value)


@pytest.mark.parametrize("page, name", [("components", "hoseq_tagger"), ("chunker", "hoseq_chunker")])
def test_arguments_of_initialize(page, name):
    table = PAGES[f"docs/{page}.md"].partition("| Argument | Type | Default |")[2].partition("\n\n")[0]
    _, _, *parameters = inspect.signature(spacy.blank("en").add_pipe(name).initialize).parameters
    assert re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE) == parameters


def test_ready_made_templates():
    """Their numbers, two of the sets, and a message, in docs/templates.md."""
    english, chinese, message = blocks("docs/templates.md", "text")[1:]
    written = {"english_pos_templates": english, "chinese_pos_templates": chinese}
    rows = re.findall(r"^\| `spacy_hoseq\.(\w+)\.v1` \|.*\| (\d+) \|$", PAGES["docs/templates.md"], flags=re.MULTILINE)
    assert len(rows) == 10
    for name, n in rows:
        templates = parse_templates(spacy.registry.misc.get(f"spacy_hoseq.{name}.v1")())
        assert len(templates) == int(n)
        assert name not in written or set(parse_templates(written[name].split())) == set(templates)
    with pytest.raises(ValueError) as refused:
        parse_templates(["suffix3..1[0]"])
    assert str(refused.value) == message.rstrip("\n")


@pytest.mark.parametrize("page, name", found_in(r"spacy_hoseq\.\w+\.v\d+"))
def test_registered_name(page, name):
    assert [registry for registry in REGISTRIES if name in getattr(spacy.registry, registry)] != []


@pytest.mark.parametrize("page, code", found_in(r"\bH[SW]\d{3}\b"))
def test_code_of_an_error(page, code):
    assert hasattr(Warnings if code.startswith("HW") else Errors, code)


def test_all_that_is_registered_and_all_codes_are_on_some_page():
    text = "".join(PAGES.values())
    names = {name for registry in REGISTRIES for name in getattr(spacy.registry, registry).get_all()}
    assert {name for name in names if name.startswith("spacy_hoseq.") and name not in text} == set()
    codes = {code for group in (Errors, Warnings) for code in vars(group) if re.fullmatch(r"H[SW]\d{3}", code)}
    assert {code for code in codes if code not in text} == set()


def anchors(text):
    """Of the titles in a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page, link", found_in(r"\]\((?!http)([^)\s]+)\)"))
def test_link(page, link):
    name, _, anchor = link.partition("#")
    path = (ROOT / page).parent / name if name else ROOT / page
    assert path.is_file()
    assert not anchor or anchor in anchors(path.read_text(encoding="utf8"))


@pytest.mark.parametrize("page, path", found_in(FILES))
def test_file_of_the_repository(page, path):
    root = Path(spacy_hoseq.__file__).parents[1] if path.startswith("spacy_hoseq") else ROOT
    assert list(root.glob(path))


@pytest.mark.parametrize("page, command", found_in(r"spacy project run (\w+(?: experiments/\w+)?)"))
def test_workflow(page, command):
    workflow, _, folder = command.partition(" ")
    assert workflow in srsly.read_yaml(ROOT / folder / "project.yml")["workflows"]
