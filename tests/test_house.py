"""What library code never does, and what every file says.

Who may import whom stands in test_imports.py.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import spacy_hoseq

from .repository import ROOT

PACKAGE = Path(spacy_hoseq.__file__).parent

BRIEF = 12  # lines of a function that may do without a docstring
NEVER = {"eval", "exec", "print"}
PICKLING = {"pickle", "joblib", "cloudpickle", "dill"}


class Source(NamedTuple):
    """A file of the package. name: its path below the package."""

    name: str
    text: str
    tree: ast.Module


@cache  # not at import: each process of the tests imports this file
def sources() -> list[Source]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf8")
        found.append(Source(path.relative_to(PACKAGE).as_posix(), text, ast.parse(text)))
    return found


def is_packed(node: ast.AST) -> bool:
    """Assigns a tuple of values to a tuple of names. That two names change places is no such thing."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    values = {ast.unparse(value) for value in node.value.elts}
    targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
    names = [{ast.unparse(name) for name in target.elts} for target in targets]
    return bool(targets) and all(values != each for each in names)


def test_one_statement_a_line():
    nodes = [(source.name, node) for source in sources() for node in ast.walk(source.tree)]
    packed = [f"{name}:{node.lineno}" for name, node in nodes if is_packed(node)]
    assert not packed, "assignments of several values: one a line"


def test_library_code_does_not():
    """print outside of the command line, assert, evaluate text, pickle, or add at indices the slow way."""
    found = [(source.name, *each) for source in sources() for each in offences_in(source)]
    offences = [f"{name}:{line}: {what}" for name, line, what in found]
    assert not offences


def offences_in(source) -> Iterator[tuple[int, str]]:
    for node in ast.walk(source.tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert"
        if isinstance(called, ast.Name) and called.id in NEVER:
            if called.id != "print" or not source.name.startswith("cli/"):
                yield node.lineno, called.id
        # of a flat array it is quick since NumPy 1.25
        if isinstance(called, ast.Attribute) and ast.unparse(called) == "np.add.at":
            if not source.text.splitlines()[node.lineno - 1].endswith("# flat"):
                yield node.lineno, "np.add.at, ten times as slow as np.add.reduceat"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            yield from ((node.lineno, str(module)) for module in modules & PICKLING)


def test_every_file_says_what_it_is():
    written = [source for source in sources() if source.text.strip()]
    assert not [source.name for source in written if not ast.get_docstring(source.tree)]


def test_tests_that_are_named_exist():
    texts = "\n".join(source.text for source in sources())
    named = re.findall(r"\btests/[\w/]+\.py", texts)
    assert named and not [name for name in named if not (ROOT / name).exists()]


def test_public_functions_and_classes_say_what_they_do():
    """Not those whose name and signature say it all in a few lines, and not thinc's `forward`, which the layer says."""
    silent = []
    for source in sources():
        for node in source.tree.body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            plain = node.name == "forward" or (node.end_lineno or 0) - node.lineno < BRIEF
            if not ast.get_docstring(node) and not plain:
                silent.append(f"{source.name}: {node.name}")
    assert not silent
