"""Others beside the pipelines of the package: what of it needs none of them."""

import sys

import pytest
import srsly

from ...repository import ROOT, script


@pytest.fixture(scope="module")
def peers():
    """It imports its neighbour."""
    folder = str(ROOT / "experiments" / "released")
    had = "measure_text" in sys.modules
    sys.path.insert(0, folder)
    yield script("released/peers")
    sys.path.remove(folder)
    if not had:
        sys.modules.pop("measure_text", None)


def test_page(peers, tmp_path):
    rows = [
        peers.row("words, raw text", "dev", "ours", 0.95),
        peers.row("seconds of new text", "dev", "ours", 1.234),
        peers.row("words a second", "dev", "ours", 12345.6),
    ]
    srsly.write_json(tmp_path / "rows.json", rows)
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{peers.BEGIN}\nold\n{peers.END}\nAfter.\n")
    peers.page(page, [tmp_path / "rows.json"])
    text = page.read_text()
    assert text.startswith("# Before\n") and text.endswith("After.\n") and "old" not in text
    assert [line.split(" | ")[-1].strip(" |") for line in text.split("\n")[4:7]] == ["1.23 s", "12,346", "95.00"]
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="there are no marks"):
        peers.page(page, [tmp_path / "rows.json"])
