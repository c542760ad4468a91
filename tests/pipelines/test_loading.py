"""One function loads any pipeline, and names the file that is at fault."""

import os
import shutil

import pytest
from spacy.pipeline import Sentencizer

import spacy_hoseq
import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.pipelines.loading import MAX_FILE_BYTES, folder_of

from ..components import helpers


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "pipeline"
    nlp = helpers.trained()
    nlp.vocab.lookups.add_table("mine", {"a": 1})
    nlp.add_pipe("sentencizer")
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


def refused(path, file):
    with pytest.raises(ValueError, match=rf"\[HS133\] The pipeline .* because of {file}"):
        spacy_hoseq.load(path)


def test_a_folder(saved):
    assert [token.tag_ for token in spacy_hoseq.load(saved)("the cat runs .")] == list("DNV.")
    assert spacy_hoseq.load(saved, exclude=["sentencizer"]).pipe_names == ["hoseq_tagger"]
    assert spacy_hoseq.load(str(saved)).pipe_names == ["hoseq_tagger", "sentencizer"]


def test_the_folder_of_a_package_has_its_data(saved, tmp_path, monkeypatch):
    """A package of spaCy has its config in a folder below that of its code."""
    package = tmp_path / "xx_made_up"
    shutil.copytree(saved, package / "xx_made_up-1.0.0")
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "spacy_hoseq.pipelines.loading.is_package", lambda name: name == package.name
    )
    assert folder_of("xx_made_up") == package / "xx_made_up-1.0.0"


def test_a_folder_comes_before_a_pipeline_of_the_package(saved, tmp_path, monkeypatch):
    """Of the same name; a file does not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("no pipeline", "utf8")
    assert "hoseq_chunker" in spacy_hoseq.load("en").pipe_names
    (tmp_path / "en").unlink()
    shutil.copytree(saved, tmp_path / "en")
    assert spacy_hoseq.load("en").pipe_names == ["hoseq_tagger", "sentencizer"]


FILES_OF_SPACY = "meta.json config.cfg vocab/strings.json vocab/lookups.bin tokenizer".split()
FILES_OF_SPACY += ["sentencizer.json"]


@pytest.mark.parametrize("name", FILES_OF_SPACY)
@pytest.mark.parametrize("data", [b"", b"\xff\x00\xc1", None])
def test_damaged_files_of_spacy(copy, name, data):
    path = copy / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if data is None else data)
    refused(copy, name.replace("sentencizer.json", "sentencizer").partition("/")[0])


@pytest.mark.parametrize("name", ["meta.json", "config.cfg", "vocab/strings.json"])
def test_missing_files_of_spacy(copy, name):
    (copy / name).unlink()
    refused(copy, name.partition("/")[0])


def test_a_tokenizer_that_is_another_file(copy):
    """spaCy reads it and has no rules of words then."""
    shutil.copy(copy / "vocab" / "lookups.bin", copy / "tokenizer")
    refused(copy, "tokenizer")


def test_what_is_not_installed(copy):
    path = copy / "config.cfg"
    text = path.read_text().replace('factory = "sentencizer"', 'factory = "of_nobody"')
    path.write_text(text, "utf8")
    with pytest.raises(ValueError, match=r"(?s)\[HS133\].*config.cfg.*E002.*--code"):
        spacy_hoseq.load(copy)


def test_components_have_their_own_message(copy):
    (copy / "hoseq_tagger" / "model").write_bytes(b"")
    with pytest.raises(ValueError, match=r"^\[HS064\]"):
        spacy_hoseq.load(copy)


def test_whatever_an_error_is(copy, monkeypatch):
    """Of nothing that can be found when it is tried again."""
    calls = []

    def from_disk(self, path, *, exclude=()):
        calls.append(path)
        if len(calls) == 1:
            raise RuntimeError("once")
        return self

    monkeypatch.setattr(Sentencizer, "from_disk", from_disk)
    refused(copy, "one of its files: once")


def test_nothing_there(tmp_path):
    for name in ("xx", str(tmp_path / "none")):
        with pytest.raises(ValueError, match=r"\[HS130\]"):
            spacy_hoseq.load(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
@pytest.mark.parametrize("name", ["hoseq_tagger/model", "vocab/strings.json", "meta.json"])
@pytest.mark.parametrize("kind", ["fifo", "device", "large"])
def test_files_that_would_never_end(copy, name, kind):
    path = copy / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(MAX_FILE_BYTES + 1)  # holes take no place
    refused(copy, f"{name}: {'more than' if kind == 'large' else 'no regular file'}")
