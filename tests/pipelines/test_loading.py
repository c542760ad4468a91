"""One function loads any pipeline, and names the file that is at fault."""

import json
import shutil

import pytest
import spacy
from spacy.cli._util import app
from spacy.pipeline import Sentencizer
from typer.testing import CliRunner

import spacy_hoseq
import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.components.digest import (
    FILES,
    changed_file,
    write_digest_of_tokenizer,
    write_digests,
)
from spacy_hoseq.pipelines import embedded_names, embedded_path, load_found

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
    assert [token.tag_ for token in spacy_hoseq.load(saved)("the cat runs .")] == ["D", "N", "V", "."]
    assert spacy_hoseq.load(saved, exclude=["sentencizer"]).pipe_names == ["hoseq_tagger"]
    assert load_found(str(saved)).pipe_names == ["hoseq_tagger", "sentencizer"]


FILES_OF_SPACY = ["meta.json", "config.cfg", "vocab/strings.json", "vocab/lookups.bin", "tokenizer", "sentencizer.json"]


@pytest.mark.parametrize("name", FILES_OF_SPACY)
@pytest.mark.parametrize("data", [b"", b"\xff\x00\xc1", None])
def test_damaged_files_of_spacy(copy, name, data):
    path = copy / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if data is None else data)
    refused(copy, name.replace("sentencizer.json", "sentencizer"))


@pytest.mark.parametrize("name", ["meta.json", "config.cfg", "vocab/strings.json"])
def test_missing_files_of_spacy(copy, name):
    (copy / name).unlink()
    refused(copy, name.replace("sentencizer.json", "sentencizer"))


@pytest.mark.parametrize(
    "before, after, problem",
    [
        (b"NOUN", b"NOWN", "'NOWN' is not in vocab/strings.json"),
        (b"rodents", b"rodentz", "'rodentz' is not in vocab/strings.json"),
        (b"POS", b"POR", "there is no attribute 'POR'"),
        (b"\xa5index\x01", b"\xa5index\x02", "no rule has a word 2"),
    ],
)
def test_damaged_rules_of_spacy(tmp_path, before, after, problem):
    """A flipped bit in what spaCy reads without looking, and would fail at the text, or say something else."""
    nlp = spacy.blank("xx")
    rules = [[{"LOWER": "two"}, {"TEXT": "rodents", "IS_SENT_START": False, "OP": "?"}], [{"LOWER": {"IN": ["a"]}}]]
    nlp.add_pipe("attribute_ruler").add(rules[:1], {"POS": "NOUN", "MORPH": "Number=Plur"})
    nlp.get_pipe("attribute_ruler").add([rules[1] * 2], {"LEMMA": "a"}, index=1)
    nlp.to_disk(tmp_path)
    write_digest_of_tokenizer(tmp_path)  # as every component of ours does
    spacy_hoseq.load(tmp_path)
    path = tmp_path / "attribute_ruler" / "patterns"
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(ValueError, match=rf"\[HS133\] .* attribute_ruler/patterns.*{problem}"):
        spacy_hoseq.load(tmp_path)


def test_what_is_not_installed(copy):
    path = copy / "config.cfg"
    path.write_text(path.read_text().replace('factory = "sentencizer"', 'factory = "of_nobody"'), encoding="utf8")
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
        with pytest.raises(ValueError, match=r"\[HS130\]"):
            load_found(name)


def test_sealed(copy):
    """Every file counts, also where it could be read."""
    write_digests(copy)
    names = json.loads((copy / FILES).read_text(encoding="utf8"))
    assert {*FILES_OF_SPACY[1:], "hoseq_tagger/model", "hoseq_tagger/cfg"} <= {*names} and "meta.json" not in names
    spacy_hoseq.load(copy)
    for name in names:
        path = copy / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"?")
        refused(copy, name)
        path.unlink()
        refused(copy, name)
        path.write_bytes(data)
    (copy / "names.json").write_text("{}")  # of `hoseq inspect`
    spacy_hoseq.load(copy).to_disk(copy)
    assert [*json.loads((copy / FILES).read_text())] == ["tokenizer"], "saved anew, it is another pipeline"
    for text in ("", "[", "[1]", "null"):
        (copy / FILES).write_text(text)
        refused(copy, FILES)


def test_another_tokenizer(copy):
    """It could be read, and would cut otherwise."""
    nlp = spacy.blank("en")
    nlp.tokenizer.to_disk(copy / "tokenizer")
    refused(copy, "tokenizer")
    spacy.load(copy).to_disk(copy)
    spacy_hoseq.load(copy)


def test_the_command(copy):
    result = CliRunner().invoke(app, ["hoseq", "seal", str(copy)])
    assert result.exit_code == 0 and (copy / FILES).exists()
    (copy / "tokenizer").write_bytes(b"")
    assert changed_file(copy) == "tokenizer"
    for command in (["tag", str(copy), "a"], ["inspect", str(copy), str(copy)], ["seal", str(copy)]):
        result = CliRunner().invoke(app, ["hoseq", *command])
        assert result.exit_code == 1 and "[HS133]" in result.output, command


def test_a_compacted_pipeline_with_rules_is_sealed_again(tmp_path):
    """Its vocabulary has no strings of the rules."""
    folder = shutil.copytree(embedded_path("zh"), tmp_path / "zh")
    assert any("attribute_ruler" in name for name in spacy_hoseq.load(folder).pipe_names)
    config = folder / "config.cfg"
    changed = config.read_text(encoding="utf8").replace("batch_size = 1000", "batch_size = 999")
    config.write_text(changed, encoding="utf8")
    with pytest.raises(ValueError, match=r"\[HS133\].*config.cfg"):
        spacy_hoseq.load(folder)
    result = CliRunner().invoke(app, ["hoseq", "seal", str(folder)])
    assert result.exit_code == 0, result.output
    assert spacy_hoseq.load(folder).batch_size == 999


@pytest.mark.parametrize("name", embedded_names())
def test_pipelines_of_the_package_are_sealed(name):
    folder = embedded_path(name)
    assert (folder / FILES).exists() and not changed_file(folder)
    assert "tokenizer" in json.loads((folder / FILES).read_text()) or (folder / "tokenizer").is_dir()


def test_spacy_loads_them_as_ever(copy):
    write_digests(copy)
    assert spacy.load(copy).pipe_names


def test_packages_need_build(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_hoseq.cli.package.has_build", lambda: False)
    result = CliRunner().invoke(app, ["hoseq", "package", "en", str(tmp_path / "new")])
    assert result.exit_code == 1 and "[HS170]" in result.output and "pip install build" in result.output
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["en", "zh"])
def test_pipelines_of_the_package_are_whole(name):
    """A compacted vocabulary has no strings of rules, which is no damage."""
    assert spacy_hoseq.load(name).pipe_names
