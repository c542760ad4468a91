"""What a folder of a treebank has."""

import pytest

from spacy_hoseq.pipelines.treebanks.source import language_of, part_of, treebank_in

from . import tiny


def test_folder(tmp_path):
    treebank = treebank_in(tiny.write(tmp_path / "UD_English-Tiny"))
    assert (treebank.name, treebank.lang) == ("UD_English-Tiny", "en")
    assert treebank.licence == "CC0 1.0" and treebank.contributors == "Nobody, In Particular"
    found = {part: [file.name for file in files] for part, files in treebank.files.items()}
    assert found == {part: [f"en_tiny-ud-{part}.conllu"] for part in ("train", "dev", "test")}


def test_folders_below(tmp_path):
    """Those of the repositories of UD have the same sentences again, in other files."""
    tiny.write(tmp_path / "UD_A" / "not-to-release" / "sources")
    for nothing in (tmp_path, tmp_path / "UD_A"):
        with pytest.raises(ValueError, match="HS074"):
            treebank_in(nothing)
    tiny.write(tmp_path / "UD_A", train=10)
    files = [file for files in treebank_in(tmp_path / "UD_A").files.values() for file in files]
    (tmp_path / "UD_A" / "README.md").unlink()
    assert treebank_in(tmp_path / "UD_A").licence == ""
    assert len(files) == 3 and {file.parent for file in files} == {tmp_path / "UD_A"}


@pytest.mark.parametrize(
    "name, part, lang",
    [
        ("af_x-ud-train.conllu", "train", "af"),
        ("cy_x-ud-dev.conllu", "dev", "cy"),
        ("dev.conllu.gz", "dev", "xx"),
        ("qq_training.conllu", "", "xx"),
    ],
)
def test_names_of_files(tmp_path, name, part, lang):
    assert part_of(tmp_path / name) == part
    assert language_of(tmp_path / name) == lang
