"""Rules of the house that a machine can check: how much there is to read at once, and what library code never does.

Budgets count statements, not lines (`python -m tests.statements`). Who may import whom stands in test_imports.py.
"""

import ast
from collections import Counter
from functools import cache
from typing import Iterator, List, Tuple

from .statements import Function, Source, functions, packed_in, statements_in, total
from .statements import sources as read_sources

ROOM = 16  # files
STATEMENTS = 25  # of a function, unless a comment in it begins with "long:" and says why
PARAMETERS = 6  # of a function, unless a comment in it begins with "wide:" and says why; factories have settings
BRIEF = 12  # lines of a function that may do without a docstring
NEVER = {"eval", "exec", "print"}
PICKLING = {"pickle", "joblib", "cloudpickle", "dill"}
ALIASES = {f"NDArray[np.{name}]" for name in ("float64", "float32", "floating", "intp", "integer", "bool_")}

# What is left to mend: none of these numbers may grow, and who lowers one writes the new one here.
LEFT_PACKED = 0
LEFT_LONG_FUNCTIONS = 23
LEFT_WIDE_FUNCTIONS = 27
ALL_STATEMENTS = 23_323
LONG_LINES = 0.01  # share of lines above 100 characters


@cache  # not at import: each process of the tests imports this file
def sources() -> List[Source]:
    return list(read_sources())


@cache
def all_functions() -> List[Function]:
    return [function for source in sources() for function in functions(source)]


def test_rooms_are_small_enough_to_know():
    sizes = Counter(source.room for source in sources())
    assert len(sizes) > 10
    assert not {room: size for room, size in sizes.items() if size > ROOM}


def test_functions_can_be_read_at_a_glance():
    long = {each.name: each.n_statements for each in all_functions() if each.n_statements > STATEMENTS}
    unexplained = [each.name for each in all_functions() if each.name in long and not says(each, "long:")]
    assert len(all_functions()) > 1000
    assert len(unexplained) <= LEFT_LONG_FUNCTIONS, {name: long[name] for name in unexplained}


def test_functions_take_few_parameters():
    wide = [each for each in all_functions() if len(each.parameters) > PARAMETERS and not each.is_factory]
    unexplained = [f"{each.name}: {', '.join(each.parameters)}" for each in wide if not says(each, "wide:")]
    assert len(unexplained) <= LEFT_WIDE_FUNCTIONS, unexplained


def test_one_statement_a_line():
    packed = [f"{source.name}:{node.lineno}" for source in sources() for node in packed_in(source.tree)]
    assert len(packed) <= LEFT_PACKED, f"{len(packed)} assignments of several values: one a line"


def test_package_can_be_read_in_a_week():
    count = total(sources())
    assert 10_000 < count["statements"] <= ALL_STATEMENTS
    assert count["long lines"] / count["lines"] <= LONG_LINES


def says(function: Function, word: str) -> bool:
    """Whether a comment gives a reason: `# long: the recursion of the paper, line by line`."""
    return any(line.startswith(word) and len(line) > len(word) + 10 for line in function.comments.splitlines())


def test_statements_are_counted_one_by_one():
    tree = ast.parse('def f(x):\n    """What."""\n    a, b = 1, 2\n    a, b = b, a\n    return a, b, x')
    assert statements_in(tree) == 5 and len(packed_in(tree)) == 1


def test_library_code_does_not():
    """print outside of the command line, assert, evaluate text, pickle, or add at indices the slow way."""
    offences = [f"{source.name}:{line}: {what}" for source in sources() for line, what in offences_in(source)]
    assert not offences


def offences_in(source) -> Iterator[Tuple[int, str]]:
    for node in ast.walk(source.tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert"
        if isinstance(called, ast.Name) and called.id in NEVER:
            if called.id != "print" or not source.name.startswith("cli/"):
                yield node.lineno, called.id
        if isinstance(called, ast.Attribute) and ast.unparse(called) == "np.add.at":
            # of a flat array it is quick since NumPy 1.25
            if not source.text.splitlines()[node.lineno - 1].endswith("# flat"):
                yield node.lineno, "np.add.at, ten times as slow as np.add.reduceat"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            yield from ((node.lineno, str(module)) for module in modules & PICKLING)


def test_names_of_arrays_are_defined_in_one_place():
    assigned = [
        f"{source.name}:{node.lineno}"
        for source in sources()
        for node in source.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in ALIASES
    ]
    assert assigned and all(place.startswith("arrays.py:") for place in assigned)


def test_every_file_says_what_it_is():
    assert not [source.name for source in sources() if source.text.strip() and not ast.get_docstring(source.tree)]


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
