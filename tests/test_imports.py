"""Who may import whom: the house is a one-way street (docs/architecture.md). Read from the syntax trees."""

import ast
import sys
from functools import cache
from pathlib import Path

import spacy_hoseq

PACKAGE = Path(spacy_hoseq.__file__).parent
STANDARD = sys.stdlib_module_names
FREE = {"reporting", "cli"}  # may import everything; others only where it is permitted

# Each may import itself, too. A name with a dot permits that module (and what is in it) only.
PERMITTED = {
    "arrays": {"numpy"},
    "chunks": {"numpy", "arrays", "errors"},
    "errors": set(),
    "lazy_names": set(),
    "caches": set(),
    "words": {"numpy", "spacy", "srsly", "arrays"},
    "__init__": {"lazy_names", "pipelines", "components"},
    "features": {"numpy", "spacy", "words", "arrays", "errors", "caches"},
    "decoders": {"numpy", "arrays", "errors", "caches"},
    "learning": {"numpy", "arrays", "errors", "decoders"},
    "patterns": {
        "numpy", "spacy", "srsly", "decoders", "features", "arrays", "errors", "caches", "lazy_names",
    },
    "layers": {
        "numpy", "thinc", "srsly", "spacy.tokens",
        "features", "patterns", "learning", "decoders", "words", "arrays", "errors", "caches", "lazy_names",
    },
    "components": {
        "numpy", "spacy", "thinc", "srsly",
        "layers", "learning", "decoders", "patterns", "features", "scorers", "chunks", "words", "arrays", "errors",
        "caches", "lazy_names",
    },
    "inspection": {
        "numpy", "spacy", "thinc.api",
        "components", "layers", "learning", "decoders", "patterns", "features", "chunks", "readers", "words",
        "arrays", "errors", "caches", "lazy_names",
    },
    "readers": {"numpy", "spacy", "srsly", "pyarrow", "features", "chunks", "arrays", "errors"},
    "pipelines": {
        "numpy", "spacy", "srsly", "thinc",
        "inspection", "segmentation", "readers", "components", "layers", "learning", "patterns", "features", "arrays",
        "errors", "lazy_names", "reporting.scores", "reporting.significance",
    },
    "segmentation": {
        "numpy", "spacy", "thinc.api", "srsly",
        "components.tagger", "pipelines.loading", "readers.annotated", "features.known_words", "features.simplified",
        "decoders", "chunks", "arrays", "errors", "lazy_names",
    },
    "scorers": {"numpy", "spacy", "words", "errors"},
    "batch": {
        "numpy", "spacy", "srsly", "pyarrow",
        "components", "readers", "pipelines.loading", "arrays", "errors", "lazy_names", "words",
        "__version__",
    },
    # doors that docs/reference/names.md lists
    "compaction": {"pipelines.compaction"},
    "curation": {"inspection"},
    "recipes": {"pipelines.recipes"},
    "treebanks": {"pipelines.treebanks"},
}  # fmt: skip

# Rooms of decoders from the ground up: each may import itself and those before it.
FLOORS = ("problem", "chain", "patterns", "pruning", "short", "answers")
BESIDE = {"bidirectional": {"problem"}}
# All other modules of the package itself are front doors, which may import everything below and beside.

FILES = sorted(PACKAGE.rglob("*.py"))


def place(path):
    """(subpackage or module, dotted path of the module's folder within the package)."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0], parts


@cache
def imports(path):
    """Modules that a file imports: "numpy.typing", or "decoders.trie" within the package."""
    return list(_imports(path))


def _imports(path):
    _, parts = place(path)
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = parts[: len(parts) - node.level]
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [[] if node.module else [alias.name] for alias in node.names]
            yield from (".".join([*module, *name]) for name in names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def allowed(module, permitted):
    return any(module == name or module.startswith(name + ".") for name in permitted)


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def test_imports_of_every_file_are_permitted():
    forbidden = {name_of(path): modules for path in FILES if (modules := forbidden_in(path))}
    assert len(FILES) > 100 and not forbidden


def forbidden_in(path):
    """Imports within the package are relative."""
    owner, _ = place(path)
    found = set(imports(path))
    absolute = {module for module in found if module.split(".")[0] == "spacy_hoseq"}
    if owner in FREE:
        return absolute
    permitted = PERMITTED[owner] | {owner}
    library = {module for module in found if module.split(".")[0] not in STANDARD}
    wrong = {module for module in library if not allowed(module, permitted)}
    return absolute | wrong


TOOLS = ("inspection", "reporting", "batch", "pipelines", "cli")
OF_TOOLS = [path for path in FILES if place(path)[0] in TOOLS]
ROOMS_OF_DECODERS = {"decoders", *(f"decoders.{room}" for room in (*FLOORS, *BESIDE))}


def test_tools_ask_components_and_decoders_by_their_public_names():
    """What a component is, is asked of itself: `target`, `read`, `knows`."""
    targets = ("targets.target", "targets.places", "targets.lemmas")
    of_components = (
        "base", "structured", "tagger", "predictions", "extensions", "expected_spans", *targets
    )  # fmt: skip
    public = {*(f"components.{module}" for module in of_components), *ROOMS_OF_DECODERS}
    inside = {(name_of(path), module) for path in OF_TOOLS for module in imports(path)}
    assert len(OF_TOOLS) > 20
    rooms = ("components", "decoders")
    inner = [(name, module) for name, module in inside if module.split(".")[0] in rooms]
    assert not {(name, module) for name, module in inner if module not in public}


DECODERS = [path for path in FILES if place(path)[0] == "decoders"]


def test_rooms_of_decoders_stand_on_those_below():
    from_above = {name_of(path): rooms for path in DECODERS if (rooms := rooms_above(path))}
    assert len(DECODERS) > 15 and not from_above


def rooms_above(path):
    """Rooms that a file imports, but may not."""
    room = place(path)[1][1]
    if room in FLOORS:
        permitted = set(FLOORS[: FLOORS.index(room) + 1])
    elif room in BESIDE:
        permitted = BESIDE[room] | {room}
    else:
        return set()
    decoders = [module for module in imports(path) if module.startswith("decoders.")]
    return {module.split(".")[1] for module in decoders} - permitted


def test_rooms_of_decoders_are_entered_by_their_front_doors():
    """From elsewhere a room is one name: `from ..problem import Potentials`, whatever file that lies in."""
    inner = tuple(f"decoders.{room}." for room in FLOORS)
    others = {
        (name_of(path), module)
        for path in FILES
        for module in imports(path)
        if module.startswith(inner) and module.rpartition(".")[0] != ".".join(place(path)[1][:-1])
    }
    assert not others


def test_the_reader_of_syntax_trees_sees_imports():
    """The tests above would pass for ever if `imports` saw nothing."""
    tagger = set(imports(PACKAGE / "components" / "tagger.py"))
    assert {"spacy.tokens", "decoders.choice", "components.predictions"} <= tagger
    columns = set(imports(PACKAGE / "readers" / "formats" / "columns.py"))
    assert {"chunks", "readers.files"} <= columns
    found = set(imports(PACKAGE / "features" / "word_attributes.py"))
    assert {"features.attributes", "spacy.lexeme"} <= found
    assert "decoders.problem" in set(imports(PACKAGE / "decoders" / "chain" / "best_path.py"))
    found = imports(PACKAGE / "decoders" / "problem" / "potentials.py")
    assert "decoders.problem.layout" in found
    assert not allowed("spacy.matcher", {"spacy.tokens"}) and not allowed("spacyx", {"spacy"})


def test_no_circular_imports():
    names = {path: ".".join(place(path)[1]) for path in FILES}
    known = set(names.values())
    used = {name: imports(path) for path, name in names.items()}
    graph = {}
    for name, modules in used.items():
        graph[name] = {m if m in known else f"{m}.__init__" for m in modules} & known
    done, order = set(), []

    def visit(module, above):
        assert module not in above, f"circular: {[*above, module]}"
        if module in done:
            return
        for other in graph[module]:
            visit(other, [*above, module])
        done.add(module)
        order.append(module)

    for name in graph:
        visit(name, [])
    expected = ["errors", "decoders.problem.trie", "layers.structured"]
    assert sorted(expected, key=order.index) == expected
