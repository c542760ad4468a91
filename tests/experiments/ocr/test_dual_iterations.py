"""experiments/ocr/dual_iterations.py on invented letters."""

import pytest
import srsly

from ...repository import ROOT, run
from .toy import toy_file

SCRIPT = ROOT / "experiments" / "ocr" / "dual_iterations.py"


@pytest.mark.long
def test_rows(tmp_path):
    """Bounds come down with the iterations, to the score of the best labelling where all is certified."""
    data = toy_file(tmp_path / "letter.data.gz", noise=0.2)
    settings = ["--train-words", "8", "--test-words", "6", "--epochs", "3", "--min-count", "1"]
    process = run(SCRIPT, "--data", data, "--output", tmp_path / "new" / "x.json", *settings)
    assert process.returncode == 0, process.stdout
    measured = srsly.read_json(tmp_path / "new" / "x.json")
    assert (measured["train_words"], measured["test_words"], measured["epochs"]) == (8, 6, 3)
    names = [(row["trained"], row["iterations"]) for row in measured["rows"]]
    assert names == [("order 1", None)] + [
        (name, n) for name in ("exact", "dual decomposition, 10") for n in (1, 10, 50, 200, None)
    ]
    for first in (1, 6):
        *rows, exact = measured["rows"][first : first + 5]
        bounds, certified = ([row[key] for row in rows] for key in ("bound", "certified"))
        assert bounds == sorted(bounds, reverse=True) and bounds[-1] > 1 - 1e-9
        assert certified == sorted(certified) and bounds[0] > bounds[-1]
        assert certified[-1] < 1 or rows[-1]["accuracy"] == exact["accuracy"]
