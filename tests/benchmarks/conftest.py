"""What the tests of the benchmarks share."""

import importlib
import sys

import pytest

from ..repository import ROOT


@pytest.fixture
def benchmarks(monkeypatch):
    """Modules by name. They are imported from the repository, which is no package that is installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]
