"""How easiest-first decoding grows."""

import srsly

from ...repository import script

curve = script("papers/curve")


def test_classifications_grow_with_the_words(tmp_path):
    curve.main(tmp_path / "x.json", lengths="1000,2000", labels=3, turns=1)
    rows = srsly.read_json(tmp_path / "x.json")["rows"]
    assert [(row["order"], row["n"]) for row in rows] == [
        (1, 1000),
        (1, 2000),
        (2, 1000),
        (2, 2000),
    ]
    for row in rows:
        assert (
            row["n"] <= row["queries"] <= (2 * row["order"] + 1) * row["n"] and row["seconds"] > 0
        )
