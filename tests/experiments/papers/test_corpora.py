"""Corpora of the papers: made of what is downloaded, or taken from a folder."""

import gzip
import hashlib
import zipfile

import pytest
import srsly
import typer

from ...repository import ROOT, script

corpora = script("papers/corpora")
SIZES = srsly.read_yaml(ROOT / "experiments" / "papers" / "steps.yml")
NEWS = "".join(
    f"1\t新{i}\t_\tNN\t_\t0\n1\t新{i}\t_\tNN\t_\t2\n2\t闻\t_\tVV\t_\t0\n\n" for i in range(11)
)


def test_words_with_several_heads_stand_once():
    train, dev = (corpora.semeval(first)([NEWS.encode()]).decode() for first in (True, False))
    assert train.startswith("新0\tNN\n闻\tVV\n\n") and train.count("\n\n") == 9
    assert dev == "新9\tNN\n闻\tVV\n\n新10\tNN\n闻\tVV\n\n"


@pytest.fixture
def web(tmp_path, monkeypatch):
    """The file at the address, in place of the network."""
    monkeypatch.setattr(corpora, "HERE", tmp_path)
    file = tmp_path / "web.zip"
    download = {"dest": "assets/conll2000.zip", "url": file.as_uri()}
    srsly.write_yaml(tmp_path / "project.yml", {"downloads": [download]})
    return file


def source(sha256):
    return corpora.Source(
        "conll2000/train.txt", ["assets/conll2000.zip"], corpora.conll2000, sha256
    )


def test_what_is_downloaded_is_checked(web, tmp_path, capsys):
    with zipfile.ZipFile(web, "w") as archive:
        archive.writestr("conll2000/train.txt", "a DT B-NP\n")
    corpora.lay_out(source(hashlib.sha256(b"a DT B-NP\n").hexdigest()), tmp_path / "sources", "")
    assert (tmp_path / "sources" / "conll2000" / "train.txt").read_bytes() == b"a DT B-NP\n"
    (tmp_path / "sources" / "conll2000" / "train.txt").unlink()
    with pytest.raises(SystemExit):
        corpora.lay_out(source("0"), tmp_path / "sources", "")
    assert "not the content" in " ".join(capsys.readouterr().out.split())


def test_without_a_network_it_says_how_to_get_the_file(web, tmp_path, capfd):
    with pytest.raises(typer.Exit):
        corpora.lay_out(source("0"), tmp_path / "sources", "")
    said = capfd.readouterr()
    assert f"Save {web.as_uri()}" in " ".join(said.out.split()) and "HOSEQ_CORPORA" in said.out
    assert "Traceback" not in said.err


def test_a_folder_goes_first(web, tmp_path):
    (tmp_path / "mine" / "conll2000").mkdir(parents=True)
    (tmp_path / "mine" / "conll2000" / "train.txt.gz").write_bytes(gzip.compress(b"mine"))
    corpora.lay_out(source("0"), tmp_path / "sources", str(tmp_path / "mine"))
    assert (tmp_path / "sources" / "conll2000" / "train.txt").read_bytes() == b"mine"


def test_every_step_has_a_script_and_every_size(monkeypatch):
    sized = script("papers/sized")
    for step in SIZES.values():
        assert (ROOT / "experiments" / "papers" / step["run"].split()[0]).is_file() and {
            *sized.SIZES
        } < {*step}
    ran = []
    monkeypatch.setattr(sized, "ran", lambda name, step, size: ran.append(name) or name != "curve")
    with pytest.raises(SystemExit):
        sized.main("trial")
    assert sorted(ran) == sorted(name for name in SIZES if SIZES[name]["trial"] is not None)
    with pytest.raises((SystemExit, typer.Exit)):
        sized.main("day")
