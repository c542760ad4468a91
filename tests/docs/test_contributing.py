"""CONTRIBUTING.md against the tree and pyproject.toml, and what checks a contribution: hooks, CI."""

import re
from pathlib import Path

import pytest
import srsly

import spacy_hoseq

from ..words import counted
from .pages import PAGES, ROOT

tomllib = pytest.importorskip("tomllib")

PACKAGE = Path(spacy_hoseq.__file__).parent  # which may be installed elsewhere
PAGE = PAGES.get("CONTRIBUTING.md", "")
FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|json))`")
FOLDER = re.compile(r"`((?:spacy_hoseq|tests|docs)/[\w/]*)`")
PLACES = {  # kind -> the registered names that it is about
    "Source of patterns": r"\w+_patterns\.v\d|same_\w+_pairs\.v\d|chunk_words\.v\d",
    "Layer of scores": r"(SparseLinear|MarginalLinear|SumEmissions)\.v\d",
    "Decoder": r"(exact|max_marginal)\.v\d",
    "Loss": r"(max_margin|perceptron|log_likelihood)\.v\d",
    "Component": r"hoseq_\w+",
    "Format of corpora": r"\w+_format\.v\d",
}

pytestmark = pytest.mark.skipif(not PAGE, reason="installed without its source tree")


def rows():
    """Cells by kind, of "How to add"."""
    table = re.search(r"^\| Kind .*?\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = table[0].splitlines()[2:] if table else []
    lines = [line.strip("| ").split(" | ") for line in lines if line]
    return {cells[0]: " ".join(cells[1:]) for cells in lines}


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]


def entry_points():
    """(group, name without that of the package) -> file of the package."""
    files = {}
    for group, names in project()["entry-points"].items():
        for name, target in names.items():
            file = target.partition(":")[0].replace(".", "/") + ".py"
            files[group, name.removeprefix("spacy_hoseq.")] = file
    return files


def test_it_is_read_in_five_minutes():
    assert counted(PAGE).total() <= 600


def test_files_exist():
    """Those with a folder lie there, all others anywhere in the package."""
    for name in FILE.findall(PAGE):
        anywhere = () if "/" in name else PACKAGE.rglob(name)
        assert place_of(name).is_file() or any(anywhere), name
    for name in FOLDER.findall(PAGE):
        assert place_of(name).is_dir(), name


def place_of(name):
    """Where a file or folder of the repository is."""
    return PACKAGE.parent / name if name.startswith("spacy_hoseq/") else ROOT / name


@pytest.mark.parametrize("kind", PLACES)
def test_registered_names_live_where_the_page_says(kind):
    text = rows()[kind]
    found = {k: file for k, file in entry_points().items() if re.fullmatch(PLACES[kind], k[1])}
    assert found
    for (group, name), file in found.items():
        assert f"`{group}`" in text, name
        places = re.findall(r"`(spacy_hoseq/[\w/.]+)`", text)
        assert any(file.startswith(place) for place in places), (name, file)


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="installed without its source tree")
def test_what_runs_for_a_contribution():
    """The same checks by hand, at each commit, for a pull request and at night."""
    hooks = srsly.read_yaml(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    [ruff] = [one for one in project()["optional-dependencies"]["lint"] if one.startswith("ruff")]
    assert [hook["additional_dependencies"] for hook in hooks] == [[ruff], [ruff]]
    jobs = srsly.read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    run = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert run["tests"][-1] == "PYTHON=python .ci/run" and run["nightly"][-1] == ".ci/nightly"
    matrix = jobs["tests"]["strategy"]["matrix"]
    classifiers = [f"Programming Language :: Python :: {version}" for version in matrix["python"]]
    assert set(classifiers) <= set(project()["classifiers"]) and len(classifiers) >= 3
    assert matrix["numpy"] == ["lowest", "newest"]
    checks = (ROOT / ".ci" / "run").read_text("utf8")
    assert "ruff check" in checks and "ruff format --check" in checks
