"""docs/architecture.md against the tree: the picture, the rooms, and the functions in the order in which they begin."""

import ast
import re
import sys
from pathlib import Path

import pytest
import spacy
from spacy.training import Example

import spacy_hoseq

from ..test_imports import FILES, imports, place
from .pages import PAGES, blocks, headings, made_tables, tables

PAGE = "docs/architecture.md"
PACKAGE = Path(spacy_hoseq.__file__).parent
LISTENING = {
    "@architectures": "spacy_hoseq.MarginalLinear.v1",
    "templates": ["upstream[0]", "upstream[-1]+upstream[0]"],
    "upstream": {"@architectures": "spacy_hoseq.MarginalListener.v1", "upstream": "hoseq_tagger"},
}


def floors():
    """Names of each floor of the picture, from above."""
    (picture,) = blocks(PAGE, "text")
    return [re.findall(r"\w+", line.partition("|")[2]) for line in picture.splitlines()]


def test_picture_has_every_package_and_module():
    names = [name for floor in floors() for name in floor]
    assert sorted(names) == sorted({place(path)[0] for path in FILES} - {"__init__"})


def test_nothing_imports_from_above():
    """On its own floor, or from below."""
    floor_of = {name: i for i, floor in enumerate(floors()) for name in floor}
    for path in FILES:
        owner, _ = place(path)
        for module in imports(path):
            name = module.split(".")[0]
            if owner in floor_of and name in floor_of:
                assert floor_of[name] >= floor_of[owner], f"{path} imports {module}"


def test_rooms():
    """Each folder and each module beside them, with a sentence."""
    rows = made_tables().rooms()
    packages = [path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*/__init__.py")]
    folders = {f"{path.as_posix()}/" for path in packages}
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert {row[0].strip("`") for row in rows} == folders | modules
    assert all(len(row[1]) > 10 for row in rows)
    assert "<!-- rooms -->" in PAGES[PAGE]


def defined(path):
    """Qualified names of all functions in a file, without those that are made on the way: "Class.method", "f.g"."""

    def names(node, above):
        for child in ast.iter_child_nodes(node):
            is_scope = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            name = f"{above}{child.name}" if is_scope else above
            if isinstance(child, ast.FunctionDef):
                yield name
            yield from names(child, f"{name}." if is_scope else above)

    return set(names(ast.parse(path.read_text("utf8")), ""))


def ways():
    """(title, [(file, function)]) of each way."""
    rows = tables("| File | Function | What it does |")
    titles = [title for _, title, _ in headings(PAGES[PAGE]) if title.startswith("From a")]
    return [
        (title, [tuple(cell.strip("`") for cell in row[:2]) for row in of_way])
        for title, (_, of_way) in zip(titles, rows, strict=True)
    ]


@pytest.mark.parametrize(
    "title, steps", ways(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_functions_exist(title, steps):
    assert len(steps) >= 10
    for file, function in steps:
        assert function in defined(PACKAGE / file), f"{file} has no {function}"


@pytest.fixture(scope="module")
def calls():
    """What runs, in order: (file, function) of a Doc, of an Example, and of an update of two components."""
    text, tags = "time flies like an arrow", ["NN", "VBZ", "IN", "DT", "NN"]
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger")
    examples = [Example.from_dict(nlp.make_doc(text), {"tags": tags})]
    nlp.initialize(lambda: examples)
    update = recorded(lambda: nlp.update(examples))
    doc = recorded(lambda: list(nlp.pipe([text] * 40)))
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger", config={"objective": "log_likelihood"})
    nlp.add_pipe("hoseq_chunker", config={"model": {"emissions": LISTENING}})
    annotation = {"tags": tags, "spans": {"chunks": [(0, 4, "NP")]}}
    examples = [Example.from_dict(nlp.make_doc(text), annotation)]
    nlp.initialize(lambda: examples)
    return [doc, update, recorded(lambda: nlp.update(examples))]


def recorded(run):
    calls = []

    def record(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            path = Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix()
            calls.append((path, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("way", range(3), ids=[title for title, _ in ways()])
def test_functions_run_in_this_order(way, calls):
    remaining = iter(calls[way])
    for file, function in ways()[way][1]:
        name = function.rpartition(".")[2]
        assert (file, name) in remaining, f"{file} {function} does not run here"
