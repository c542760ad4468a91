"""How much there is to read in the package: `python -m tests.statements` prints a table of its rooms.

Statements are counted, not lines: `a, b = x, y` is two of them, so that packing gains nothing, and a docstring is none.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Union

import spacy_hoseq

PACKAGE = Path(spacy_hoseq.__file__).parent
LONG_LINE = 100
COLUMNS = ("files", "lines", "long lines", "statements", "packed", "functions", "classes", "Any")

AnyFunction = Union[ast.FunctionDef, ast.AsyncFunctionDef]


class Source(NamedTuple):
    """A file of the package. name: its path below the package."""

    name: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.name.rpartition("/")[0] or "."


@dataclass(frozen=True)
class Function:
    """comments: of its lines, and of the line above it."""

    name: str
    node: AnyFunction
    comments: str

    @cached_property
    def n_statements(self) -> int:
        return statements_in(self.node) - 1

    @property
    def parameters(self) -> list[str]:
        given = self.node.args
        names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        return [name for name in names if name not in ("self", "cls")]

    @property
    def is_factory(self) -> bool:
        """Its parameters are settings: of a config, or options of a command."""
        decorators = [ast.unparse(each) for each in self.node.decorator_list]
        registered = any(".command(" in each or ".factory(" in each for each in decorators)
        return registered or self.node.name.startswith("make_")


def sources() -> list[Source]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf8")
        found.append(Source(path.relative_to(PACKAGE).as_posix(), text, ast.parse(text)))
    return found


def functions(source: Source) -> Iterator[Function]:
    lines = source.text.splitlines()
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            own = [line.strip() for line in lines[max(first - 2, 0) : node.end_lineno]]
            comments = "\n".join(line.partition("# ")[2] for line in own if "# " in line)
            yield Function(f"{source.name}:{node.lineno} {node.name}", node, comments)


def statements_in(tree: ast.AST) -> int:
    """Packed ones are counted one by one; docstrings are none."""
    nodes = list(ast.walk(tree))
    statements = sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in nodes)
    return statements + sum(len(packed.value.elts) - 1 for packed in nodes if _is_packed(packed))  # type: ignore


def packed_in(tree: ast.AST) -> list[ast.Assign]:
    """Assignments of a tuple of values to a tuple of names. That two names change places is no such thing."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_packed(node)]


def _is_packed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
    values = {ast.unparse(value) for value in node.value.elts}
    return bool(targets) and all(values != {ast.unparse(name) for name in target.elts} for target in targets)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def counts(source: Source) -> Counter[str]:
    """Of a file, by COLUMNS. Lines without blank ones."""
    lines = [line for line in source.text.splitlines() if line.strip()]
    nodes = list(ast.walk(source.tree))
    return Counter(
        {
            "files": 1,
            "lines": len(lines),
            "long lines": sum(len(line) > LONG_LINE for line in lines),
            "statements": statements_in(source.tree),
            "packed": len(packed_in(source.tree)),
            "functions": sum(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in nodes),
            "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
            "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        }
    )


def total(every: list[Source]) -> Counter[str]:
    return sum(map(counts, every), Counter())


def main() -> None:
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    every = sources()
    for source in every:
        rooms[source.room] += counts(source)
    print(f"{'room':28}" + "".join(f"{column:>12}" for column in COLUMNS))
    for room, count in [*sorted(rooms.items()), ("all", total(every))]:
        print(f"{room:28}" + "".join(f"{count[column]:>12,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
