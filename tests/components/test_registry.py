"""Every name that pyproject.toml declares is found through its entry point, with nothing of ours imported before."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import spacy
from spacy.cli.package import get_third_party_dependencies

import spacy_hoseq

tomllib = pytest.importorskip("tomllib")

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
GROUPS = {"spacy_factories": "factories", "spacy_architectures": "architectures", "spacy_scorers": "scorers",
          "spacy_misc": "misc", "spacy_readers": "readers", "spacy_cli": "cli", "thinc_layers": "layers"}  # fmt: skip

SCRIPT = """
import json, sys
import spacy
assert not any(name.startswith("spacy_hoseq") for name in sys.modules)
found = {}
for registry, names in json.loads(sys.argv[1]).items():
    for name in names:
        if registry == "factories":
            spacy.blank("xx").add_pipe(name)  # spaCy looks for entry points of factories here only
        function = spacy.registry.get(registry, name)
        found[registry + " " + name] = function.__module__ + ":" + function.__qualname__
print(json.dumps(found))
"""

pytestmark = pytest.mark.skipif(not PROJECT.exists(), reason="installed without its source tree")


def declared():
    groups = tomllib.loads(PROJECT.read_text(encoding="utf8"))["project"]["entry-points"]
    return {group: dict(names) for group, names in groups.items()}


def test_every_declared_name_is_found():
    groups = declared()
    assert set(groups) <= set(GROUPS)
    wanted = {GROUPS[group]: sorted(names) for group, names in groups.items() if group != "spacy_cli"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps(wanted)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stderr == ""
    expected = {
        f"{GROUPS[group]} {name}": target
        for group, names in groups.items()
        if group != "spacy_cli"
        for name, target in names.items()
    }
    assert json.loads(result.stdout) == expected


def test_declared_names_are_the_installed_ones():
    installed = {
        (point.group, point.name): point.value
        for group in GROUPS
        for point in entry_points(group=group)
        if point.value.startswith("spacy_hoseq")
    }
    assert installed == {(group, name): target for group, names in declared().items() for name, target in names.items()}


def test_names_follow_the_conventions():
    for group, names in declared().items():
        for name in names:
            if group == "spacy_factories":
                assert "." not in name and name.startswith("hoseq_")
            elif group != "spacy_cli":
                assert name.startswith("spacy_hoseq.") and name.endswith(".v1")


@pytest.mark.skipif(Path(spacy_hoseq.__file__).parents[1] == PROJECT.parent, reason="not installed from a wheel")
def test_a_packaged_pipeline_requires_this_package():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    (requirement,) = get_third_party_dependencies(nlp.config)
    assert requirement.startswith(f"spacy-hoseq>={spacy_hoseq.__version__},<")


def test_nothing_heavy_is_imported_at_first():
    code = "import sys, spacy_hoseq; print(spacy_hoseq.__version__, 'spacy' in sys.modules, 'numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split()[1:] == ["False", "False"]
