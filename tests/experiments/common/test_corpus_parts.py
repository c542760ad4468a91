"""experiments/common/corpus_parts.py on miniature files."""

import gzip

import pytest

from ...repository import call, script

PARTS = script("common/corpus_parts")


def write(folder, **texts):
    """Files by their names, with `_` for a dot; those of "gz" are compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        data = text.encode("utf8")
        path = folder / name.replace("_", ".")
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return folder


def lay_out(tmp_path, *arguments, suffix="tsv"):
    """The texts of the three parts, and what was said."""
    code, output = call(PARTS, tmp_path / "out", suffix, "semeval", "zh_ctb_sdp", *arguments)
    assert code == 0, output
    texts = [
        (tmp_path / "out" / f"{part}.{suffix}").read_bytes().decode("utf8")
        for part in ("train", "dev", "test")
    ]
    return texts, output


def test_three_parts(tmp_path):
    folder = write(
        tmp_path / "in", train_tsv="茶\tNN\n\n喝\tVV\n", dev_tsv="碗\tNN\n\n\n\n", test_tsv="桥\tNN"
    )
    texts, output = lay_out(tmp_path, "--folder", folder)
    assert texts == ["茶\tNN\n\n喝\tVV\n\n", "碗\tNN\n\n", "桥\tNN\n\n"]
    assert output.count("✔") == 3 and "⚠" not in output


def test_folder_goes_before_environment_before_assets(tmp_path):
    names = {"assets": tmp_path / "a", "environment": tmp_path / "e", "folder": tmp_path / "f"}
    write(names["assets"], train_tsv="a", dev_tsv="a")
    write(names["environment"] / "zh_ctb_sdp", train_tsv="e", dev_tsv="e")
    write(names["folder"], train_tsv="f", dev_tsv="f")
    arguments = []
    for name, folder in names.items():
        arguments += [f"--{name}", folder]
        assert lay_out(tmp_path, *arguments)[0] == [f"{name[0]}\n\n"] * 3
    assert lay_out(tmp_path, *arguments, "--folder", "")[0] == ["e\n\n"] * 3, (
        "an empty variable of the project"
    )


@pytest.mark.parametrize("missing", ["train", "dev"])
@pytest.mark.parametrize("assets", [True, False])
def test_a_part_is_missing(missing, assets, tmp_path):
    folder = write(
        tmp_path / "in",
        **{f"{part}_tsv": part for part in ("train", "dev", "test") if part != missing},
    )
    arguments = ["--assets", folder] if assets else ["--folder", folder]
    code, output = call(PARTS, tmp_path / "out", "tsv", "semeval", "zh_ctb_sdp", *arguments)
    assert code == 1 and f"No *{missing}.tsv or *{missing}.tsv.gz in {folder}" in output
    assert ("spacy project run download" in output) == assets and "--vars.semeval FOLDER" in output
    assert not (tmp_path / "out").exists()
