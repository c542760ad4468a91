"""How much there is to read in the package: `python -m tests.statements` prints its rooms, and what is large.

Nothing here fails: a count is no property of the product. `.ci/run` prints it.

Statements are counted, not lines: `a, b = x, y` is two of them, so that packing gains nothing, and a docstring is none.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import spacy_hoseq

PACKAGE = Path(spacy_hoseq.__file__).parent
LONG_LINE = 100
ROOM = 16  # files
STATEMENTS = 25  # of a function, unless a comment in it begins with "long:" and says why
PARAMETERS = 6  # of a function, unless a comment in it begins with "wide:" and says why; factories have settings
MOST = {  # statements of a room and of the rooms within it
    ".": 350,
    "decoders": 3300,
    "layers": 1600,
    "learning": 450,
    "components": 1650,
    "features": 800,
    "patterns": 480,
    "readers": 800,
    "segmentation": 340,
    "inspection": 650,
    "reporting": 650,
    "curation": 250,
    "batch": 650,
    "cli": 600,
}
OTHERS = 800  # of all other rooms together
COLUMNS = ("files", "lines", "long lines", "statements", "packed", "functions", "classes", "Any")

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


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
        text = path.read_text("utf8")
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
    return bool(targets) and all(
        values != {ast.unparse(name) for name in target.elts} for target in targets
    )


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
            "functions": sum(
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in nodes
            ),
            "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
            "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        }
    )


def total(every: list[Source]) -> Counter[str]:
    return sum(map(counts, every), Counter())


def says(function: Function, word: str) -> bool:
    """Whether a comment gives a reason: `# long: the recursion of the paper, line by line`."""
    return any(
        line.startswith(word) and len(line) > len(word) + 10
        for line in function.comments.splitlines()
    )


def findings(every: list[Source]) -> Iterator[str]:
    """Rooms above their size or with many files; functions that are long or wide and do not say why."""
    sizes: Counter[str] = Counter()
    for source in every:
        top = source.room.partition("/")[0]
        sizes[top if top in MOST else "others"] += statements_in(source.tree)
    for room, n in sorted(sizes.items()):
        most = MOST.get(room, OTHERS)
        if n > most:
            yield f"{room}: {n:,} statements, at most {most:,}"
    files = Counter(source.room for source in every)
    yield from (f"{room}: {n} files, at most {ROOM}" for room, n in files.items() if n > ROOM)
    for source in every:
        for each in functions(source):
            if each.n_statements > STATEMENTS and not says(each, "long:"):
                yield f"{each.name}: {each.n_statements} statements"
            if (
                len(each.parameters) > PARAMETERS
                and not each.is_factory
                and not says(each, "wide:")
            ):
                yield f"{each.name}: {len(each.parameters)} parameters"


def main() -> None:
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    every = sources()
    for source in every:
        rooms[source.room] += counts(source)
    print(f"{'room':28}" + "".join(f"{column:>12}" for column in COLUMNS))
    for room, count in [*sorted(rooms.items()), ("all", total(every))]:
        print(f"{room:28}" + "".join(f"{count[column]:>12,}" for column in COLUMNS))
    print("\n" + "\n".join(findings(every)))


if __name__ == "__main__":
    main()
