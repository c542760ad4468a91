"""Decoders and learning are NumPy only."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib, pkgutil, sys
package = importlib.import_module({name!r})
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
    print(module.name.split(".")[-1])
loaded = {{name.split(".")[0] for name in sys.modules}}
sys.exit(",".join(sorted(loaded & {{"spacy", "thinc", "srsly", "pydantic"}})) or 0)
"""


@pytest.mark.parametrize("name, module", [("decoders", "forward_backward"), ("learning", "objectives")])
def test_importing_loads_neither_spacy_nor_thinc(name, module):
    program = PROGRAM.format(name=f"spacy_hoseq.{name}")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert module in run.stdout.split()
