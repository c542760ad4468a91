"""Every benchmark can be imported: what it names of the package is there."""

import importlib

import pytest

from ..repository import ROOT

FILES = [path.relative_to(ROOT) for path in sorted((ROOT / "benchmarks").rglob("[!_]*.py"))]
MODULES = [".".join(path.with_suffix("").parts) for path in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_import(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name.split(".")[0] not in ("benchmarks", "spacy_hoseq", "tests")
        pytest.skip(f"{error.name} is not installed")
    assert module.__doc__
