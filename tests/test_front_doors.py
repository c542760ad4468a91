"""What the packages export, and that asking for one thing does not load all others."""

import importlib
import subprocess
import sys

import pytest

ROOMS = "compaction curation recipes treebanks decoders features inspection".split()
ROOMS += "layers learning patterns segmentation".split()
TAGGER = """
import sys
import spacy_hoseq.components.tagger
for part in ("components.chunker", "components.bidirectional_tagger", "layers.local_classifiers", "patterns.rules"):
    assert f"spacy_hoseq.{part}" not in sys.modules, part
"""


@pytest.mark.parametrize("room", ROOMS)
def test_exported_names_are_there(room):
    package = importlib.import_module(f"spacy_hoseq.{room}")
    assert list(package.__all__) == sorted(package.__all__) and package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None, name
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        package.nothing_of_that_name  # noqa: B018


def test_dir_and_help_show_what_is_there():
    shown = "import pydoc, spacy_hoseq; print(*dir(spacy_hoseq)); "
    shown += "print(pydoc.render_doc(spacy_hoseq))"
    command = [sys.executable, "-c", shown]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, _, others = output.partition("\n")
    assert [
        name for name in first.split() if name == "__version__" or not name.startswith("__")
    ] == ["__version__", "adapt", "load", "noun_chunks"]
    assert "A trained pipeline:" in others
    for room in ROOMS:
        package = importlib.import_module(f"spacy_hoseq.{room}")
        assert {*package.__all__} <= {*dir(package)}


def test_a_component_is_loaded_without_the_others():
    subprocess.run([sys.executable, "-c", TAGGER], check=True)
