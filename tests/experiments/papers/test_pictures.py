"""Curves of the papers."""

import pytest
import srsly

from ...repository import script

pictures = script("papers/pictures")


def test_what_has_metrics_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    points = [{"order": 1, "n": n, "seconds": 0.001 * n, "queries": n} for n in (10, 100)]
    srsly.write_json(tmp_path / "curve.json", {"rows": points})
    pictures.main(tmp_path, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["curve.svg"]
