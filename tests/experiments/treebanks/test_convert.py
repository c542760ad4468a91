"""experiments/treebanks/convert.py on made-up trees."""

import re
from types import SimpleNamespace

import pytest
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401  (adds its commands to spaCy's)

from ...repository import call, script

TREE = "( (S (NP-SBJ (PRP {}) ) (VP (VBZ naps) (NP (-NONE- *))) (. .) ))\n"
PARTS = ("train", "dev", "test")


@pytest.fixture
def treebank(monkeypatch):
    """The script; what it runs as other processes runs in this one."""

    def run(command):
        assert command[1:4] == ["-m", "spacy", "hoseq"] and command[4] == "convert"
        return SimpleNamespace(returncode=CliRunner().invoke(app, command[3:]).exit_code)

    module = script("treebanks/convert")
    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run))
    return module


def write(folder, names, text=TREE):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(path.name.split(".")[0]), encoding="utf8")
    return folder


def first_words(folder):
    """Of each Doc of the three parts."""
    return {part: [doc[0].text for doc in DocBin().from_disk(folder / f"{part}.spacy").get_docs(Vocab())]
            for part in PARTS}  # fmt: skip


def test_a_named_division(treebank, tmp_path):
    folder = write(
        tmp_path / "wsj", [f"{section:02}/wsj_{section:02}01.mrg" for section in range(25)]
    )
    code, output = call(treebank, tmp_path / "out", "--folder", folder, "--split", "wsj-tagging")
    assert code == 0 and "not all parts" not in output
    words = first_words(tmp_path / "out")
    sections = {part: [int(word[4:6]) for word in own] for part, own in words.items()}
    assert sections == {"train": [*range(19)], "dev": [19, 20, 21], "test": [22, 23, 24]}
    assert words["dev"][0] == "wsj_1901"
    assert re.findall(r"(\w+): (\d+) files", output) == [
        ("train", "19"),
        ("dev", "3"),
        ("test", "3"),
    ]
    (doc, *_) = DocBin().from_disk(tmp_path / "out" / "test.spacy").get_docs(Vocab())
    assert [(t.text, t.tag_) for t in doc] == [("wsj_2201", "PRP"), ("naps", "VBZ"), (".", ".")]


@pytest.mark.parametrize("folder", ["", "none"])
@pytest.mark.parametrize("name", ["the Penn Treebank", "the Chinese Treebank"])
def test_no_folder(folder, name, treebank, tmp_path):
    """As the workflows do it that need a licensed treebank."""
    given = tmp_path / folder if folder else ""
    code, output = call(treebank, tmp_path / "out", "--folder", given, "--name", name)
    assert code == 1 and not (tmp_path / "out").exists()
    assert f"No folder with {name}" in output and (
        f'"{given}"' in output if folder else "is named" in output
    )
    assert "licensed" in output and "--vars.ptb_dir FOLDER" in output and "--vars.ctb_dir" in output


def test_a_folder_without_trees_or_with_too_few(treebank, tmp_path):
    folder = write(tmp_path / "wsj", ["readme.html"])
    code, output = call(treebank, tmp_path / "out", "--folder", folder)
    assert code == 1 and "Nothing converted [HS074]" in output.replace("✘ ", "")
    write(folder, ["wsj_0001.mrg", "wsj_0002.mrg"])
    code, output = call(treebank, tmp_path / "out", "--folder", folder)
    assert code == 1 and "[HS079]" in output and not (tmp_path / "out").exists()
