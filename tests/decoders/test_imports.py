"""Decoders and learning are NumPy only."""

import subprocess
import sys

import numpy as np
import pytest

from spacy_hoseq.decoders import PatternTrie, Potentials, Weights, decode_exact, k_best, path_score

PROGRAM = """
import importlib, pkgutil, sys
package = importlib.import_module({name!r})
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
    print(module.name.split(".")[-1])
loaded = {{name.split(".")[0] for name in sys.modules}}
sys.exit(",".join(sorted(loaded & {{"spacy", "thinc", "srsly", "pydantic"}})) or 0)
"""


@pytest.mark.parametrize(
    "name, module", [("decoders", "forward_backward"), ("learning", "objectives")]
)
def test_importing_loads_neither_spacy_nor_thinc(name, module):
    program = PROGRAM.format(name=f"spacy_hoseq.{name}")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert module in run.stdout.split()


FRONT_DOOR = """
import sys
import spacy_hoseq.decoders as decoders
missing = [name for name in decoders.__all__ if not hasattr(decoders, name)]
loaded = {name.split(".")[0] for name in sys.modules} & {"spacy", "thinc", "srsly", "pydantic"}
sys.exit(",".join(sorted([*missing, *loaded])) or 0)
"""


def test_front_door_exports_what_it_promises():
    run = subprocess.run([sys.executable, "-c", FRONT_DOOR], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_front_door_in_the_words_of_its_docstring():
    """0,1 earns 3 beside transitions that are 0; label 0 is ahead by 1 at both tokens."""
    trie = PatternTrie([(0, 1)], 2)
    node_weights = np.zeros(len(trie))
    node_weights[trie.node_of] = 3.0
    weights = Weights(np.zeros((2, 2)), trie, node_weights)
    potentials = Potentials(np.array([[1.0, 0.0], [1.0, 0.0]]), weights, np.array([2]))
    paths = decode_exact(potentials)
    assert paths.labels.tolist() == [0, 1] and paths.scores.tolist() == [4.0]
    assert k_best(potentials, 2).scores.tolist() == [4.0, 2.0]
    assert path_score(potentials, paths.labels).tolist() == [4.0]
