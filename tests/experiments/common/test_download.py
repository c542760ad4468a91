"""Downloads of a project: those that are not there, compared with their checksums; all that fail are named."""

import hashlib

import pytest
import srsly
import typer

from ...repository import script

download = script("common/download")


def test_downloads(tmp_path, capsys):
    good = tmp_path / "good.txt"
    good.write_text("good")
    files = {"assets/good": "good.txt", "assets/other": "good.txt", "assets/missing": "missing.txt"}
    sums = {"assets/good": hashlib.md5(b"good").hexdigest(), "assets/other": "0" * 32}
    listed = [
        {"dest": dest, "url": (tmp_path / name).as_uri(), "checksum": sums.get(dest)}
        for dest, name in files.items()
    ]
    srsly.write_yaml(tmp_path / "project.yml", {"downloads": listed})
    download.main(tmp_path, ["assets/good"])
    with pytest.raises(typer.Exit):
        download.main(tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "assets" / "good").read_text() == "good" and not (
        tmp_path / "assets" / "missing"
    ).exists()
    assert said.count("Download ") == 3 and "other: not the file" in said
    assert f"Save {(tmp_path / 'missing.txt').as_uri()} as" in said
