"""Factories load what a component needs, and nothing else: whoever starts a worker waits for it."""

import subprocess
import sys

from ..test_imports import PACKAGE

NEEDED = {
    "arrays", "chunks", "components", "decoders", "errors", "features", "kept", "lazy_names", "layers", "learning",
    "messages", "patterns", "scorers", "words",
}  # fmt: skip
OTHERS = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"} - NEEDED

PROGRAM = """
import sys
import spacy, spacy.lang.en, numpy.typing  # spaCy loads NumPy, but for its names of types
before = set(sys.modules)
from spacy_hoseq.components import bidirectional_tagger, chunker, morphologizer, tagger
print(*sorted(set(sys.modules) - before))
"""


def test_nothing_is_loaded_in_vain():
    """No rooms of commands, reports, readers or batches; no library beyond spaCy's own."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    loaded = run.stdout.split()
    assert not [name for name in loaded if name.split(".")[0] not in {"spacy_hoseq", *sys.stdlib_module_names}]
    assert not {name.split(".")[1] for name in loaded if name.count(".")} & OTHERS
    assert {"cli", "readers", "reporting", "inspection", "batch"} <= OTHERS
