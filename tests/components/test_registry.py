"""Every name that pyproject.toml declares is found through its entry point, with nothing of ours imported before."""

import inspect
import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

tomllib = pytest.importorskip("tomllib")

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
GROUPS = {"spacy_factories": "factories", "spacy_architectures": "architectures", "spacy_scorers": "scorers",
          "spacy_misc": "misc", "spacy_readers": "readers", "spacy_batchers": "batchers",
          "spacy_callbacks": "callbacks", "spacy_augmenters": "augmenters",
          "spacy_tokenizers": "tokenizers", "spacy_cli": "cli", "spacy_languages": "languages",
          "thinc_layers": "layers"}  # fmt: skip

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
    groups = tomllib.loads(PROJECT.read_text("utf8"))["project"]["entry-points"]
    return {group: dict(names) for group, names in groups.items()}


@pytest.mark.long
def test_every_declared_name_is_found():
    groups = declared()
    assert set(groups) <= set(GROUPS)
    wanted = {GROUPS[key]: sorted(names) for key, names in groups.items() if key != "spacy_cli"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, json.dumps(wanted)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stderr == ""
    expected = {
        f"{GROUPS[group]} {name}": target
        for group, names in groups.items()
        if group != "spacy_cli"
        for name, target in names.items()
    }
    # (spaCy wraps a component that is a function)
    expected["factories hoseq_merge_noun_chunks"] = (
        "spacy.language:Language.component.<locals>.add_component.<locals>.factory_func"
    )
    # the same function with other defaults; a class in a module of its package
    factories = "spacy_hoseq.components.factories"
    expected["factories hoseq_senter"] = f"{factories}:make_hoseq_tagger"
    expected["factories hoseq_ner"] = f"{factories}:make_hoseq_chunker"
    local = "spacy_hoseq.layers.local_classifiers"
    expected["architectures spacy_hoseq.LocalClassifiers.v1"] = (
        f"{local}.classifiers:LocalClassifiers"
    )
    assert json.loads(result.stdout) == expected


def test_declared_names_are_the_installed_ones():
    installed = {
        (point.group, point.name): point.value
        for group in GROUPS
        for point in entry_points(group=group)
        if point.value.startswith("spacy_hoseq")
    }
    names = [(group, *each) for group, names in declared().items() for each in names.items()]
    assert installed == {(group, name): target for group, name, target in names}


def test_names_follow_the_conventions():
    for group, names in declared().items():
        for name in names:
            if group == "spacy_factories":
                assert "." not in name and name.startswith("hoseq_")
            elif group == "spacy_languages":
                assert re.fullmatch(r"[a-z]{2}", name)
            elif group != "spacy_cli":
                assert re.fullmatch(r"spacy_hoseq\.\w+\.v[1-4]", name)


def test_nothing_heavy_is_imported_at_first():
    code = "import sys, spacy_hoseq; print(spacy_hoseq.__version__, 'spacy' in sys.modules, 'numpy' in sys.modules)"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split()[1:] == ["False", "False"]


@pytest.mark.parametrize(
    "name",
    [
        "hoseq_tagger",
        "hoseq_bidirectional_tagger",
        "hoseq_chunker",
        "hoseq_lemmatizer",
        "hoseq_morphologizer",
    ],
)
def test_every_setting_has_a_meaning(name):
    """In the docstring of the component or of the one whose settings it takes, once; `help` shows it."""
    component = type(spacy.blank("xx").add_pipe(name))
    settings = {*Language.get_factory_meta(name).default_config} - {"model"}
    ours = [each for each in component.__mro__ if each.__name__.startswith("Hoseq")]
    told = "\n".join(inspect.getdoc(each) or "" for each in ours)
    assert not {name for name in settings if not re.search(rf"^{name} \(", told, re.M)}
