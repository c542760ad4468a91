"""`python -m spacy hoseq treebank`: from a treebank to a pipeline, and on after an interruption."""

import pytest
import spacy
import srsly

from spacy_hoseq.pipelines.treebanks.card import divided
from spacy_hoseq.pipelines.treebanks.parts import Contents
from spacy_hoseq.pipelines.treebanks.training import STEPS, Lexicons, config_for

from ..pipelines.treebanks import tiny
from ..repository import hoseq


def run(*arguments):
    return hoseq("treebank", *arguments)


def few_updates(work, lexicons):
    """Configs that are there are used."""
    (work / "configs").mkdir(parents=True)
    layers = ["TAG", "POS", "MORPH", "LEMMA"]
    contents = {part: Contents(500, layers, False) for part in ("train", "dev", "test")}
    for name in STEPS:
        config = config_for(name, "en", contents, lexicons)
        config["training"]["batcher"]["n_batches"] = config["training"]["eval_frequency"] = 10
        config["training"]["max_epochs"] = 3
        config.to_disk(work / "configs" / f"{name}.cfg")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The output folder, what was printed, and the options."""
    path = tmp_path_factory.mktemp("treebank")
    tiny.write(path / "UD_English-Tiny")
    (path / "raw.txt").write_text("The dog sees. The ponies went.\n" * 20, "utf8")
    (path / "lemmas.tsv").write_text("mice\tmouse\n", "utf8")
    folder = path / "en-training"
    few_updates(folder, Lexicons(folder / "clusters.tsv", None, path / "lemmas.tsv"))
    options = ["--raw", path / "raw.txt", "--lemmas", path / "lemmas.tsv"]
    code, output = run(path / "UD_English-Tiny", "-o", path / "en", *options)
    assert code == 0, output
    return path / "en", output, options


@pytest.mark.long
def test_pipeline(made):
    folder, *_ = made
    nlp = spacy.load(folder)
    assert nlp.pipe_names == ["hoseq_sentences", "hoseq_morphologizer", "hoseq_lemmatizer"]
    doc = nlp("The ponies went again. The dog slept here.")
    assert [sent.text for sent in doc.sents] == ["The ponies went again.", "The dog slept here."]
    assert [token.lemma_ for token in doc][:3] == ["the", "pony", "go"]
    assert [token.tag_ for token in doc][:3] == ["DT", "NNS", "VB"]
    assert doc[1].pos_ == "NOUN" and doc[1].morph.get("Number") == ["Plur"]


@pytest.mark.long
def test_card(made):
    folder, output, _ = made
    meta = srsly.read_json(folder / "meta.json")
    assert meta["license"] == meta["sources"][0]["license"] == "CC0 1.0"
    assert meta["performance"]["lemma_acc"] == 1.0
    card = (folder / "README.md").read_text("utf8")
    assert "UD_English-Tiny" in card and "| lemmas | 100.0 |" in card and "500 words" in card
    licence = (folder / "LICENSE").read_text("utf8")
    assert "en_hoseq_sm is licensed under CC0 1.0" in licence
    assert "UD_English-Tiny (Nobody, In Particular)" in licence
    written = "sentences, tags (XPOS), parts of speech (UPOS), features, lemmas"
    assert meta["version"] == "1.0.0"
    assert meta["description"] == f"English: {written}, from UD_English-Tiny."
    assert "lemmas 100.0" in output
    assert f'spacy.load("{folder}")' in output.replace(" ", "").replace("\n", "")


NINTH, TENTH = "the ninth is for the test", "the tenth is for development"


@pytest.mark.parametrize(
    "made, places", [("test", NINTH), ("dev", TENTH), ("test and dev", f"{NINTH}, {TENTH}")]
)
def test_card_says_what_was_divided(made, places):
    parts = ("train", "dev", "test")
    contents = {part: Contents(500, ["TAG"], part in made.split()) for part in parts}
    expected = f"The treebank has no part {made}: of every ten groups of ten sentences {places}.\n"
    assert divided(contents) == expected


@pytest.mark.long
def test_goes_on(made, monkeypatch):
    """What is there is not made again; what is there already is not replaced without asking."""
    folder, _, options = made
    again = [folder.parent / "UD_English-Tiny", "-o", folder]
    code, output = run(*again, *options)
    assert code == 1 and "HS113" in output
    code, output = run(*again, "--force")
    assert code == 1 and "other files or options" in output
    monkeypatch.setattr("spacy_hoseq.pipelines.treebanks.parts.write_parts", None)
    monkeypatch.setattr("spacy_hoseq.pipelines.treebanks.training.train", None)
    installed = []
    install = lambda *names, **_: installed.extend(names)  # noqa: E731
    monkeypatch.setattr("spacy_hoseq.cli.training.package_cli", install)
    code, output = run(*again, *options, "--force", "--install")
    assert code == 0 and installed == [str(folder)], output


def test_a_release_that_is_not_there(tmp_path, monkeypatch):
    place = tmp_path.as_uri()
    monkeypatch.setattr("spacy_hoseq.pipelines.treebanks.download.REPOSITORIES", place)
    code, output = run("UD_Irish-IDT", "-o", tmp_path / "ga", "--release", "2.99")
    assert code == 1 and "[HS192]" in output and "/UD_Irish-IDT/archive/refs/tags/r2.99" in output


def test_what_is_missing(tmp_path):
    code, output = run(tmp_path, "-o", tmp_path / "en")
    assert code == 1 and "HS074" in output
    (tmp_path / "small.tsv").write_text("word\n", "utf8")
    tiny.write(tmp_path / "small", train=5, dev=0, test=0)
    code, output = run(tmp_path / "small", "-o", tmp_path / "en")
    assert code == 1 and "HS191" in output
    for option in ("--lexicon", "--lemmas"):
        options = ["-o", tmp_path / "en", option, tmp_path / "small.tsv"]
        code, output = run(tmp_path / "small", *options)
        assert code == 1 and "HS073" in output
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["small", "small.tsv"], "no empty folder is left"


@pytest.mark.parametrize("name", ["a b/c", "a-b", "caf\u00e9", "a_", ""])
def test_names_that_no_package_can_have(name, tmp_path):
    code, output = run(tmp_path, "-o", tmp_path / "en", "--name", name)
    assert code == 1 and f"[HS027] Wrong name of a pipeline: {name!r}" in output
