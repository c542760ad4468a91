"""Rules of the house that a machine can check: sizes of rooms, files and functions, and what library code never does.

Who may import whom stands in test_imports.py.
"""

import ast
from collections import Counter
from pathlib import Path
from typing import Iterator, Tuple

import pytest

import spacy_hoseq

PACKAGE = Path(spacy_hoseq.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
ROOM, FILE, FUNCTION = 16, 350, 60  # files of a room, lines of a file and of a function
BRIEF = 12  # lines of a function that may do without a docstring
NEVER = {"eval", "exec", "print"}
ALIASES = {f"NDArray[np.{name}]" for name in ("float64", "float32", "floating", "intp", "integer", "bool_")}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf8"))


def functions() -> Iterator[Tuple[str, ast.AST, int]]:
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{name_of(path)}:{node.lineno} {node.name}", node, (node.end_lineno or 0) - node.lineno + 1


def test_rooms_are_small_enough_to_know():
    sizes = Counter(path.parent for path in FILES)
    assert len(sizes) > 10
    assert not {room: size for room, size in sizes.items() if size > ROOM}


def test_files_hold_one_idea():
    sizes = {name_of(path): len(path.read_text(encoding="utf8").splitlines()) for path in FILES}
    assert sum(sizes.values()) > 10_000
    assert not {name: size for name, size in sizes.items() if size > FILE}


def test_functions_can_be_read_at_a_glance():
    sizes = {name: size for name, _, size in functions()}
    assert len(sizes) > 1000
    assert not {name: size for name, size in sizes.items() if size > FUNCTION}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_library_code_does_not(path):
    """print outside of the command line, assert, evaluate text, pickle, or add at indices the slow way."""
    problems = []
    for node in ast.walk(tree_of(path)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Assert):
            problems.append(f"{node.lineno}: assert")
        if isinstance(called, ast.Name) and called.id in NEVER and not (called.id == "print" and "cli" in path.parts):
            problems.append(f"{node.lineno}: {called.id}")
        if isinstance(called, ast.Attribute) and ast.unparse(called) == "np.add.at":
            problems.append(f"{node.lineno}: np.add.at, ten times as slow as np.add.reduceat")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            problems += [f"{node.lineno}: {m}" for m in modules if m in ("pickle", "joblib", "cloudpickle", "dill")]
    assert not problems


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "arrays.py"], ids=name_of)
def test_names_of_arrays_are_defined_in_one_place(path):
    tree = tree_of(path)
    assigned = [node for node in getattr(tree, "body", ()) if isinstance(node, ast.Assign)]
    assert not [ast.unparse(node) for node in assigned if ast.unparse(node.value) in ALIASES]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_says_what_it_is(path):
    text = path.read_text(encoding="utf8").strip()
    assert not text or ast.get_docstring(ast.parse(text)), "a module begins with what it is about"


def test_public_functions_and_classes_say_what_they_do():
    """Not those whose name and signature say it all in a few lines, and not thinc's `forward`, which the layer says."""
    silent = []
    for path in FILES:
        for node in getattr(tree_of(path), "body", ()):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            plain = node.name == "forward" or (node.end_lineno or 0) - node.lineno < BRIEF
            if not ast.get_docstring(node) and not plain:
                silent.append(f"{name_of(path)}: {node.name}")
    assert not silent
