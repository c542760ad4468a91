"""README and docs/: code prints what it says, configs can be filled, tables and names are those of the code."""

import ast
import contextlib
import inspect
import io
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
from spacy_hoseq.features.attributes import WORD_ATTRIBUTES
from spacy_hoseq.features.templates import template_sets
from spacy_hoseq.patterns.counted import FrequentTransitions
from spacy_hoseq.pipelines.recipes import RECIPES

from .pages import (
    PAGES,
    ROOT,
    TUTORIALS,
    all_blocks,
    anchor,
    blocks,
    filled_pages,
    headings,
    made_tables,
    matches,
    table,
    tables,
    with_parents,
)

REGISTRIES = "architectures misc scorers readers batchers tokenizers augmenters callbacks".split()
CODE = re.compile(r"H[SW]\d{3}")
LINK = r"\]\((?!http)([^)\s]+)\)"
FILES = r"\b(?:assets|benchmarks|configs|docs|experiments|spacy_hoseq|tests)/[\w./*-]+\w"


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


@pytest.fixture
def own_attributes():
    """Attributes that a page registers are gone after it; those of a module that it is the first to import stay."""
    yield
    for name, attribute in list(WORD_ATTRIBUTES.items()):
        code = getattr(attribute.function, "__code__", None)
        if code is not None and code.co_filename in PAGES:
            del WORD_ATTRIBUTES[name]


@pytest.mark.long
@pytest.mark.usefixtures("own_attributes")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python") and page not in TUTORIALS]
)
def test_code_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    """Comments after a statement that prints are what it printed; " ..." stands for the rest."""
    monkeypatch.chdir(tmp_path)
    for kind in ("token_extensions", "doc_extensions"):
        monkeypatch.setattr(Underscore, kind, dict(getattr(Underscore, kind)))
    namespace = {}
    for block in blocks(page, "python"):
        if "trained above" in block:
            continue
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
    config = Config().from_str(with_parents(block), interpolate=False)
    sections = config.setdefault("components", {})
    if 'upstream = "hoseq_tagger"' in block and "hoseq_tagger" not in sections:
        sections = {"hoseq_tagger": {}, **sections}  # which must come before its listener
    own = {name: section for name, section in sections.items() if "source" not in section}
    config["components"] = components = {n: {"factory": n, **s} for n, s in own.items()}
    sourced = {name for name in sections if name not in components}
    pipeline = config.setdefault("nlp", {"lang": lang}).setdefault("pipeline", list(components))
    config["nlp"]["pipeline"] = [name for name in pipeline if name not in sourced]
    for name in config["nlp"]["pipeline"]:
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
        yield key[1:], section[key], set(section) - {*functions, "*"}


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
        letters = Model("letters", lambda *_: ([], None))
        spacy.registry.architectures("letter_emissions.v1")(lambda: letters)


@pytest.mark.long
@pytest.mark.parametrize("page, block", all_blocks("ini"))
@pytest.mark.usefixtures("files_of_the_pages")
def test_config_can_be_filled(page, block):
    """As by `spacy init fill-config`: all settings are known, and have values of their types."""
    config = whole(block, "zh" if "chinese" in page else "en")
    nlp = load_model_from_config(config, auto_fill=True, validate=True)
    assert nlp.pipe_names == config["nlp"]["pipeline"]
    for settings in config["components"].values():
        known = Language.get_factory_meta(settings["factory"]).default_config
        assert set(settings) <= {"factory", *known}
    for registry, function, settings in made_by_functions(config):
        parameters = inspect.signature(spacy.registry.get(registry, function)).parameters
        assert settings <= set(parameters), function


@pytest.mark.parametrize("page, name", matches(r"(?m)^<!-- settings: (\S+) -->$"))
def test_settings(page, name):
    """Those of the factory or function, all of them with their meaning."""
    rows = made_tables().settings(name)
    if name.startswith("hoseq_"):
        expected = Language.get_factory_meta(name).default_config
        assert re.search(rf"(?m)^#+ `{name}`$", PAGES[page])
    else:
        (registry,) = [kind for kind in REGISTRIES if name in getattr(spacy.registry, kind)]
        expected = inspect.signature(spacy.registry.get(registry, name)).parameters
    assert [row[0].strip("`") for row in rows] == list(expected)
    assert all(kind and default and len(meaning) > 10 for _, kind, default, meaning in rows), rows


def test_defaults_are_shown_as_in_a_config():
    rows = made_tables().settings("hoseq_tagger")
    defaults = {name.strip("`"): default for name, _, default, _ in rows}
    assert defaults["objective"] == '`"log_likelihood"`' and defaults["overwrite"] == "`false`"
    name, _, rule = defaults["update_rule"].partition(": ")
    assert name == "`spacy_hoseq.adagrad.v1`"
    assert rule == '`learn_rate = 0.1`, `l1 = 0.0`, `l2 = 0.0`, `average = "late"`'


def test_every_component_has_its_settings():
    marked = {name for _, name in matches(r"(?m)^<!-- settings: (\S+) -->$")}
    factories = {name for name in spacy.registry.factories.get_all() if name.startswith("hoseq_")}
    assert len(factories) >= 5 and factories <= marked | {"hoseq_merge_noun_chunks"}


@pytest.mark.parametrize("page, rows", tables("| Argument | Type | Default |"))
def test_arguments_of_initialize(page, rows):
    """In the pages of components, whose titles are the names of their factories."""
    factory = re.match(r"# `(\w+)`", PAGES[page])[1]
    _, _, *parameters = inspect.signature(spacy.blank("en").add_pipe(factory).initialize).parameters
    assert [row[0].strip("`") for row in rows] == parameters


def registered(registry):
    """Names that the package registers: experiments and tests register others, perhaps in this process."""
    functions = getattr(spacy.registry, registry).get_all().items()
    # what code of a page has registered is of no module
    modules = {name: function.__module__ or "" for name, function in functions}
    ours = [name for name, module in modules.items() if module.split(".")[0] == "spacy_hoseq"]
    return {name for name in ours if name.startswith("spacy_hoseq.")}


def test_no_page_has_two_versions():
    """Marks that git leaves where two changes meet."""
    marks = re.compile(r"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert not [page for page, text in PAGES.items() if marks.search(text)]


def test_ready_made_templates():
    """All are listed."""
    rows = made_tables().template_rows()
    assert {row[0].strip("`") for row in rows} == {*template_sets()}
    assert all(int(n) > 10 and what for _, n, what in rows)


def test_every_attribute_of_words_is_in_the_tables():
    rows = table("| Name | Value | No value |")
    named = {re.sub(r"\d+$", "N", name) for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    for name, each in WORD_ATTRIBUTES.items():
        module = str(getattr(each.function, "__module__", "")).split(".")[0]
        assert name in named or module not in ("spacy_hoseq", "operator", "builtins")


def test_every_message_is_on_the_site():
    text = filled_pages()["docs/reference/errors.md"]
    codes = [code for code in sorted(dir(Warnings)) + sorted(dir(Errors)) if CODE.fullmatch(code)]
    listed = re.findall(r"^- \*\*(\w+)\*\* \S.{20}", text, flags=re.MULTILINE)
    assert len(codes) > 60 and listed == codes


def test_configs():
    """All of them are listed, and what is listed exists."""
    listed = {}
    for page, rows in tables("| Config | What it trains |"):
        listed[page] = {name for row in rows for name in re.findall(r"`(\S+\.cfg)`", row[0])}
    for names in listed.values():
        assert all(list(ROOT.glob(name if "/" in name else f"configs/{name}")) for name in names)
    everything = {path for name in listed["docs/reference/configs.md"] for path in ROOT.glob(name)}
    assert everything >= set((ROOT / "configs").rglob("*.cfg"))


def test_recipes():
    """All of them are listed, and no others."""
    rows = table("| Recipe | What it trains |")
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row[0])} == {*RECIPES}


def test_registered_names():
    known = {name for kind in REGISTRIES for name in getattr(spacy.registry, kind).get_all()}
    named = matches(r"spacy_hoseq\.\w+\.v\d+")
    assert len(named) > 30 and not [(page, name) for page, name in named if name not in known]


def test_codes_of_errors():
    named = matches(r"\bH[SW]\d{3}\b")
    groups = {"HW": Warnings, "HS": Errors}
    assert len(named) > 30
    assert not [(page, code) for page, code in named if not hasattr(groups[code[:2]], code)]


def test_all_that_is_registered_is_on_some_page():
    text = "".join(filled_pages().values())
    names = {name for registry in REGISTRIES for name in registered(registry)}
    assert len(names) >= 30 and {name for name in names if name not in text} == set()


def test_every_registered_name_says_what_it_is():
    rows = made_tables().names()
    assert len(rows) > 20 and [row for row in rows if len(row[2]) < 15] == []


def test_pages_install_the_checkout():
    """As long as nothing is published."""
    named = matches(r"pip install [^\n`]*")
    assert len(named) > 5 and not [(page, line) for page, line in named if "spacy-hoseq" in line]


def test_links():
    links = matches(LINK)
    assert len(links) > 100
    assert not [(page, link) for page, link in links if not leads_somewhere(page, link)]


def test_links_of_experiments():
    links = []
    for path in ROOT.glob("experiments/**/README.md"):
        page = path.relative_to(ROOT)
        links += [(page, link) for link in re.findall(LINK, path.read_text("utf8"))]
    assert len(links) > 30
    assert not [(str(page), link) for page, link in links if not leads_somewhere(page, link)]


def leads_somewhere(page, link):
    name, _, place = link.partition("#")
    path = (ROOT / page).parent / name if name else ROOT / page
    if not path.is_file():
        return False
    titles = headings(path.read_text("utf8")) if path.suffix == ".md" else []
    return not place or place in {anchor(title) for _, title, _ in titles}


def test_files_of_the_repository():
    named = matches(FILES)
    library = Path(spacy_hoseq.__file__).parents[1]
    assert len(named) > 100
    for page, path in named:
        folder = library if path.startswith("spacy_hoseq") else ROOT
        assert list(folder.glob(path)), (page, path)


def test_pages_that_the_code_names_exist():
    files = [*Path(spacy_hoseq.__file__).parent.rglob("*.py"), ROOT / "project.yml"]
    files += (ROOT / "configs").rglob("*.cfg")
    for folder in ("benchmarks", "experiments", "tests"):
        files += (ROOT / folder).rglob("*.py")
    named = set()
    for path in files:
        named.update(re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf8")))
    assert len(named) > 5 and {page for page in named if not (ROOT / page).is_file()} == set()


@pytest.mark.parametrize(
    "page, command", matches(r"spacy project run ([\w-]+(?: experiments/\w+)?)")
)
def test_workflow(page, command):
    workflow, _, folder = command.partition(" ")
    project = srsly.read_yaml(ROOT / folder / "project.yml")
    assert workflow in {*project["workflows"], *(each["name"] for each in project["commands"])}


SECTIONS = PAGES["docs/papers.md"].split("\n## ")[1:]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("(")[0])
def test_figures_of_all_papers_are_those_of_their_pages(section):
    """The column "Here" quotes tables that commands have made."""
    page = PAGES["docs/" + re.search(r"\]\((papers/[\w-]+\.md)\)", section)[1]]
    here = [line.split("|")[3] for line in section.splitlines() if line.startswith("| ")]
    number = r"\d[\d,]*(?:\.\d+)?\b"
    quoted = re.findall(number, "\n".join(cell for cell in here if "](" not in cell))
    assert quoted and {*quoted} <= {*re.findall(number, page)}
