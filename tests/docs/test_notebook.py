"""The notebook of the docs, executed: a Doc, an explanation and a report show themselves."""

import json
import re
import sys
import warnings
from html import unescape

import pytest

from ..repository import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
COMMAND = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
SPEC = {"argv": COMMAND, "language": "python", "display_name": "Python 3"}


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """The cells with their output, by this Python."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(SPEC), "utf8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(NOTEBOOK, as_version=4)
    with warnings.catch_warnings():  # of packages of Jupyter
        warnings.simplefilter("ignore")
        resources = {"metadata": {"path": tmp_path}}
        nbclient.NotebookClient(book, timeout=300, resources=resources).execute()
    return [cell for cell in book.cells if cell.cell_type == "code"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_each_value_shows_itself(executed):
    pages = []
    for cell in executed:
        (shown,) = [output for output in cell.outputs if output.output_type == "execute_result"]
        pages.append(unescape(re.search(r'srcdoc="([^"]*)"', shown.data["text/html"])[1]))
        assert "sandbox=" in shown.data["text/html"], "its styles and scripts stay in its frame"
    text, why, report = pages
    assert "<title>They saw her duck near the bank.</title>" in text and "PRP$" in text
    assert "<button" in why and "<title>Why?</title>" in why and len(text) < len(why) < 40_000
    assert "en on two sentences" in report and "VB, taken for NN: 1" in report
    assert "flies like" in report


def test_the_notebook_is_kept_without_output():
    book = json.loads(NOTEBOOK.read_text("utf8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
