"""Configs for what a treebank has."""

import pytest
import spacy
import srsly
from spacy.util import load_model_from_config

import spacy_hoseq
from spacy_hoseq.pipelines.treebanks import training
from spacy_hoseq.pipelines.treebanks.parts import Contents
from spacy_hoseq.pipelines.treebanks.training import Lexicons, config_for, rules_suffice, save

ALL = ["TAG", "POS", "MORPH", "LEMMA"]


def contents(layers, words=1000):
    return {part: Contents(words, layers, False) for part in ("train", "dev", "test")}


@pytest.mark.parametrize(
    "layers, pipeline",
    [
        (ALL, ["hoseq_morphologizer", "hoseq_lemmatizer"]),
        (ALL[:3], ["hoseq_morphologizer"]),
        (["TAG", "LEMMA"], ["hoseq_lemmatizer"]),
    ],
)
def test_layers(layers, pipeline):
    config = config_for("treebank", "en", contents(layers), Lexicons())
    nlp = load_model_from_config(config.interpolate(), auto_fill=True, validate=True)
    assert nlp.pipe_names == pipeline
    scores = {name for name, weight in config["training"]["score_weights"].items() if weight}
    of_words = {"tag_acc", "pos_acc", "morph_acc"} if "POS" in layers else set()
    assert scores == of_words | ({"lemma_acc"} if "LEMMA" in layers else set())


@pytest.mark.parametrize("words, epochs", [(1000, 15), (200_000, 7), (2_000_000, 6)])
def test_epochs(words, epochs):
    found = config_for("treebank", "en", contents(ALL, words), Lexicons())["training"]["max_epochs"]
    assert found == epochs


def test_lexicons(tmp_path):
    paths = {name: tmp_path / f"{name}.tsv" for name in ("clusters", "forms", "lemmas")}
    config = config_for("treebank", "en", contents(ALL), Lexicons(**paths))
    assert config["initialize"]["lookups"]["lexicon"] == str(paths["forms"])
    emissions = config["components"]["hoseq_morphologizer"]["model"]["emissions"]
    assert emissions["templates"]["classes"] == 2
    found = config["initialize"]["components"]["hoseq_lemmatizer"]["lexicon"]["path"]
    assert found == str(paths["lemmas"])
    load_model_from_config(config.interpolate(), auto_fill=True, validate=True)


def test_rules_that_need_a_package(tmp_path, monkeypatch):
    def blank(lang):
        raise ImportError(lang)

    monkeypatch.setattr(spacy, "blank", blank)
    assert not rules_suffice(tmp_path, "th")


@pytest.mark.parametrize(
    "by_rules, by_tokenizer, expected", [(0.5, 0.5, True), (0.5, 0.6, False), (0.6, 0.5, True)]
)
def test_rules_that_are_as_good_as_a_tokenizer(
    by_rules, by_tokenizer, expected, tmp_path, monkeypatch
):
    scores = iter([by_rules, by_tokenizer])
    monkeypatch.setattr(training, "read_docs", lambda *_: [])
    monkeypatch.setattr(training, "token_f", lambda *_: next(scores))
    monkeypatch.setattr(training, "with_tokenizer", lambda *_: None)
    assert rules_suffice(tmp_path, "en") is expected


@pytest.mark.parametrize(
    "load, lang, n_parts", [(spacy.blank, "zh", 1), (spacy_hoseq.load, "cy", 2)]
)
def test_version_of_spacy(load, lang, n_parts, tmp_path):
    """What the pipeline says holds for the one in its tokenizer, too; spaCy's Chinese tokenizer has none."""
    save(load(lang), {"spacy_version": ">=3.8.14"}, tmp_path / "model", overwrite=False)
    metas = [srsly.read_json(path) for path in (tmp_path / "model").rglob("meta.json")]
    assert [meta["spacy_version"] for meta in metas] == [">=3.8.14"] * n_parts


def test_a_training_is_done_for_its_config_and_its_parts(tmp_path, monkeypatch):
    """What has changed since is trained again; what has not, is not."""
    trained = []
    monkeypatch.setattr(training, "init_nlp", lambda config: None)
    monkeypatch.setattr(training, "train", lambda *_, **__: trained.append(1))
    for folder in ("configs", "corpus"):
        (tmp_path / folder).mkdir()
    files = [tmp_path / "corpus" / "train.spacy", tmp_path / "corpus" / "dev.spacy"]
    config = tmp_path / "configs" / "words.cfg"
    for file in files:
        file.write_bytes(b"one")
    config.write_text("[paths]\ntrain = null\ndev = null\n")
    counts = []
    for change in (None, None, config, files[0], files[1], None):
        if change is not None:
            change.write_text(change.read_text() + "\n")
        training.train_recipe(tmp_path, "words")
        counts.append(len(trained))
    assert counts == [1, 1, 2, 3, 4, 4]
    (tmp_path / "training" / "words" / "done").write_text("")  # of an earlier version
    training.train_recipe(tmp_path, "words")
    assert len(trained) == 5
