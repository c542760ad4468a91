"""experiments/ocr/lay_out.py: where the handwritten letters are taken from."""

import gzip
import os

import pytest

from ...repository import ROOT, run, script
from .toy import file_fields, text_of, write

SCRIPT = ROOT / "experiments" / "ocr" / "lay_out.py"


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


@pytest.mark.parametrize("place", ["letter.data", "letter.data.gz", "ocr/letter.data", "ocr/letter.data.gz"])
def test_letters_from_the_environment(place, tmp_path):
    rows = file_fields([("dab", 1)])
    (tmp_path / "corpora" / "ocr").mkdir(parents=True)
    write(tmp_path / "corpora" / place, rows)
    given = dict(environment=str(tmp_path / "corpora"), assets=tmp_path / "none.gz")
    assert lay_out(tmp_path / "out.gz", **given) == text_of(rows)


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


def test_same_file_whenever_it_is_made(tmp_path):
    path = write(tmp_path / "mine.data", file_fields([("cab", 0)]))
    contents = []
    for name in ("a.gz", "b.gz"):
        lay_out(tmp_path / name, file=str(path))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1] and contents[0][4:8] == bytes(4), "no time in the header"


@pytest.mark.parametrize("given", [{"file": "mine.data"}, {"environment": "corpora"}, {}])
def test_letters_that_are_missing(given, tmp_path, capsys):
    given = {name: str(tmp_path / value) for name, value in given.items()}
    given["assets"] = tmp_path / "none.gz"
    where = str(tmp_path / "none.gz") if "file" not in given else given["file"]
    use, hint = script("ocr/lay_out").main, "python -m spacy project assets experiments/ocr --extra"
    with pytest.raises(SystemExit) as stop:
        use(tmp_path / "out.gz", **given)
    text = capsys.readouterr().out
    assert stop.value.code == 1 and "No letters in" in text and hint in " ".join(text.split())
    assert os.path.basename(where) in "".join(text.split()) and "HOSEQ_CORPORA" in text
    assert not (tmp_path / "out.gz").exists()


def test_letters_that_cannot_be_read(tmp_path):
    path = write(tmp_path / "mine.data", file_fields([("cab", 0)])[:2])
    with pytest.raises(ValueError, match=r"Cannot read line 2 .*the file ends within a word"):
        script("ocr/lay_out").main(tmp_path / "out.gz", file=str(path))


@pytest.mark.long
def test_letters_on_the_command_line(tmp_path):
    path = write(tmp_path / "mine.data", file_fields([("cab", 0)]))
    process = run(SCRIPT, tmp_path / "out.gz", "--file", path, "--environment", "", folder=tmp_path)
    assert process.returncode == 0 and "1 words, 3 letters, folds [0]" in process.stdout, process.stdout
    process = run(SCRIPT, tmp_path / "out.gz", "--file", "none", "--environment", "", folder=tmp_path)
    assert process.returncode == 1 and "No letters in none" in process.stdout
