"""Modules of benchmarks/ and of each experiment import one another in one direction."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from .repository import ROOT

PROJECTS = [path.name for path in sorted((ROOT / "experiments").iterdir()) if path.is_dir()]
FOLDERS = ["benchmarks", *(f"experiments/{name}" for name in PROJECTS)]


def imported(text):
    """The modules of the same folder that a file may mean: by `.name`, or by `name` as scripts do."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)


def order(texts):
    """Names of modules, those that others import first. RAISES CycleError."""
    graph = {name: {other for other in imported(text) if other in texts} for name, text in texts.items()}
    return list(TopologicalSorter(graph).static_order())


def texts_of(folder):
    return {path.stem: path.read_text(encoding="utf8") for path in sorted((ROOT / folder).glob("*.py"))}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_circular_imports(folder):
    texts = texts_of(folder)
    assert sorted(order(texts)) == sorted(texts)


def test_circles_are_seen():
    assert order({"a": "from .b import x", "b": "import re"}) == ["b", "a"]
    with pytest.raises(CycleError):
        order({"a": "from .b import x", "b": "def f():\n    from . import a"})
    with pytest.raises(CycleError):
        order({"a": "import b", "b": "from c import x", "c": "import a"})


def test_systems_are_above_what_they_are_made_of():
    names = order(texts_of("benchmarks"))
    assert names.index("system") < min(names.index("peers"), names.index("pipelines"))
    assert max(names.index("peers"), names.index("pipelines")) < names.index("systems") < names.index("worker")
