"""experiments/ocr/lay_out.py: where the handwritten letters are taken from."""

import gzip

import pytest

from ...repository import script
from .toy import file_fields, text_of, write


def lay_out(output, **arguments):
    script("ocr/lay_out").main(output, **arguments)
    return gzip.decompress(output.read_bytes()).decode()


@pytest.mark.parametrize("name", ["mine.data", "mine.gz"])
def test_letters_from_a_file(name, tmp_path, capsys):
    rows = file_fields([("bead", 0), ("cab", 4), ("a", 2)])
    path = write(tmp_path / name, rows)
    assert lay_out(tmp_path / "new" / "out.gz", file=str(path)) == text_of(rows)
    text = " ".join(capsys.readouterr().out.split())
    assert "3 words, 8 letters, folds [0, 2, 4]: " in text and "out.gz" in text


def test_file_goes_before_environment_before_assets(tmp_path):
    rows = {name: file_fields([(name, 0)]) for name in ("cab", "dab", "bead")}
    (tmp_path / "corpora").mkdir()
    given = {"assets": write(tmp_path / "assets.gz", rows["bead"])}
    assert lay_out(tmp_path / "out.gz", **given) == text_of(rows["bead"])
    write(tmp_path / "corpora" / "letter.data", rows["dab"])
    given["environment"] = str(tmp_path / "corpora")
    assert lay_out(tmp_path / "out.gz", **given) == text_of(rows["dab"])
    given["file"] = str(write(tmp_path / "mine.data", rows["cab"]))
    assert lay_out(tmp_path / "out.gz", **given) == text_of(rows["cab"])
