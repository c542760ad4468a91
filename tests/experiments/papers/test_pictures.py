"""Curves of the papers."""

import pytest
import srsly

from ...repository import script

pictures = script("papers/pictures")


def test_errors_of_all_seeds_that_both_systems_have():
    key = {"corpus": "ctb", "learner": "recipe", "words": 1000}
    rows = [
        {**key, "system": system, "seed": seed, "tested": [[right, 10]]}
        for system, seed, right in (("low order", 0, 6), ("rules", 0, 8), ("low order", 1, 6), ("rules", 1, 7))
    ]
    rows.append({**key, "words": 2000, "system": "rules", "seed": 0, "tested": [[1, 10]]})
    assert pictures.changes(rows) == {"ctb, recipe": [(1000, -37.5)]}


def test_what_has_metrics_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    points = [{"order": 1, "n": n, "seconds": 0.001 * n, "queries": n} for n in (10, 100)]
    srsly.write_json(tmp_path / "curve.json", {"rows": points})
    pictures.main(tmp_path, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["curve.svg"]
