"""Saving and loading: the same labels, the same bytes, the same settings (ecosystem.md, section 13, rows 9, 12, 13)."""

import pickle

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Token
from spacy.vocab import Vocab
from thinc.api import ConfigValidationError

from spacy_hoseq.components.tagger import HoseqTagger

from .helpers import (
    CORPUS,
    LABELS,
    TEMPLATES,
    VARIANTS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    random_docs,
    ready,
    reloaded,
    sparse,
    tagger_model,
    tagger_of,
    tags_of,
    train,
    trained,
)


def all_tags(nlp):
    """Labels of every token of many docs (the same words in every vocabulary)."""
    return [[token.tag_ for token in doc] for doc in tagger_of(nlp).pipe(random_docs(nlp, 60))]


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_pipeline_from_bytes(variant):
    nlp = ready(variant)
    fresh = reloaded(nlp)
    assert all_tags(fresh) == all_tags(nlp)
    assert tagger_of(fresh).to_bytes(exclude=["vocab"]) == tagger_of(nlp).to_bytes(exclude=["vocab"])
    assert tagger_of(fresh).cfg == tagger_of(nlp).cfg
    assert reloaded(fresh).to_bytes() == fresh.to_bytes()


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_pipeline_from_disk(variant, tmp_path):
    nlp = ready(variant)
    nlp.to_disk(tmp_path / "first")
    fresh = spacy.load(tmp_path / "first")
    assert all_tags(fresh) == all_tags(nlp)
    fresh.to_disk(tmp_path / "second")
    files = sorted(p.relative_to(tmp_path / "first") for p in (tmp_path / "first").rglob("*") if p.is_file())
    assert {"model", "cfg"} == {p.name for p in (tmp_path / "first" / "hoseq_tagger").iterdir()}
    for path in files:
        if path.name != "strings.json":  # a set of strings
            assert (tmp_path / "second" / path).read_bytes() == (tmp_path / "first" / path).read_bytes(), path
    assert fresh.config == nlp.config


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_the_loaded_model_are_equal(variant):
    nlp = ready(variant)
    fresh = reloaded(nlp)
    for ours, theirs in zip(
        tagger_of(nlp).top_k(random_docs(nlp, 10), 3), tagger_of(fresh).top_k(random_docs(fresh, 10), 3), strict=True
    ):
        assert ours == theirs


def test_component_into_a_fresh_vocabulary():
    data = tagger_of(ready()).to_bytes(exclude=["vocab"])
    nlp = blank()
    assert "Q" not in nlp.vocab.strings and LABELS[3] not in spacy.blank("xx").vocab.strings
    tagger_of(nlp).from_bytes(data)
    assert all(label in nlp.vocab.strings for label in LABELS)
    assert predicted(nlp) == gold()
    assert tagger_of(nlp).labels == tagger_of(nlp).label_data == LABELS


def test_component_from_disk_into_a_fresh_vocabulary(tmp_path):
    tagger_of(ready()).to_disk(tmp_path / "tagger", exclude=["vocab"])
    nlp = blank()
    tagger_of(nlp).from_disk(tmp_path / "tagger", exclude=["vocab"])
    assert predicted(nlp) == gold()


def test_vocabulary_comes_along_unless_excluded(tmp_path):
    tagger = tagger_of(ready())
    assert set(srsly.msgpack_loads(tagger.to_bytes())) == {"cfg", "vocab", "model"}
    tagger.to_disk(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"cfg", "vocab", "model"}
    other = blank()
    tagger_of(other).from_disk(tmp_path)
    assert predicted(other) == gold()


@pytest.mark.parametrize("part", ["cfg", "model", "vocab"])
def test_excluded_parts(part, tmp_path):
    tagger = tagger_of(ready())
    data = tagger.to_bytes(exclude=[part])
    assert set(srsly.msgpack_loads(data)) == {"cfg", "vocab", "model"} - {part}
    tagger.to_disk(tmp_path, exclude=[part])
    assert not (tmp_path / part).exists()


def test_model_that_is_excluded_in_loading():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    before = tagger_of(nlp).model.to_bytes()
    tagger_of(nlp).from_bytes(tagger_of(ready()).to_bytes(), exclude=["model"])
    assert tagger_of(nlp).model.to_bytes() == before
    other = blank()
    tagger_of(other).from_bytes(tagger_of(ready()).to_bytes(), exclude=["model"])
    assert tagger_of(other).labels == LABELS


@pytest.mark.parametrize("calibrated", [False, True])
def test_settings_and_labels_that_are_excluded_in_loading(calibrated, tmp_path):
    """The component keeps its own: weights have to be of these labels."""
    nlp = trained()
    tagger = tagger_of(nlp)
    if calibrated:
        tagger.cfg["temperature"] = 2.0
        tagger.cfg["conformal"] = {"labels": [0.1, 0.2]}
    tagger.to_disk(tmp_path)
    other = reloaded(nlp)
    train(other, 3, CORPUS[:2])
    tagger_of(other).cfg.update(tagger.cfg)
    before = dict(tagger_of(other).cfg)
    tagger_of(other).from_bytes(tagger.to_bytes(exclude=["cfg"]), exclude=["cfg"])
    assert tagger_of(other).to_bytes() == tagger.to_bytes() and tagger_of(other).cfg == before
    tagger_of(other).from_disk(tmp_path, exclude=["cfg"])
    assert tagger_of(other).to_bytes() == tagger.to_bytes()
    tagger_of(other).cfg["labels"] = [*LABELS[::-1]]
    with pytest.raises(ValueError, match=r"\[HS064\]"):
        tagger_of(other).from_disk(tmp_path, exclude=["cfg"])


def test_settings_are_those_of_the_config(tmp_path):
    """Weights, labels and the tag dictionary are loaded; settings can be changed in loading."""
    ready().to_disk(tmp_path)
    assert tags_of(spacy.load(tmp_path), "the cat", tags="R R") == ["R", "R"]
    changed = spacy.load(tmp_path, config={"components.hoseq_tagger.overwrite": True})
    assert tags_of(changed, "the cat", tags="R R") == ["D", "N"]
    assert tagger_of(changed).cfg["overwrite"] is True
    assert tagger_of(reloaded(changed)).cfg == tagger_of(changed).cfg
    other = blank(neg_prefix="?", overwrite=True)
    tagger_of(other).from_bytes(tagger_of(ready()).to_bytes())
    assert (tagger_of(other).cfg["neg_prefix"], tagger_of(other).cfg["overwrite"]) == ("?", True)
    assert predicted(other) == gold()


@pytest.mark.parametrize("attribute", ["pos", "sent_start"])
def test_attribute_of_the_config_that_cannot_have_the_labels(attribute, tmp_path):
    """As a part of speech, "D" would be a number that stands for nothing; no label would begin a sentence."""
    ready().to_disk(tmp_path)
    config = {"components": {"hoseq_tagger": {"attribute": attribute}}}
    with pytest.raises(ValueError, match=rf"\[HS064\].*HS065\] .*attribute .*{attribute}"):
        spacy.load(tmp_path, config=config)
    config["components"]["hoseq_tagger"]["attribute"] = "_.test_of_loading"
    assert spacy.load(tmp_path, config=config)("the")[0]._.test_of_loading == "D"
    Token.remove_extension("test_of_loading")


def test_saved_weights_are_the_averages():
    nlp = trained(n_updates=4)
    fresh = reloaded(nlp)
    ours, theirs = (tagger_of(one).model.shims[0] for one in (nlp, fresh))
    finished = ours.values("trans", is_train=False)
    assert np.array_equal(theirs.values("trans", is_train=True), finished)
    assert not np.array_equal(ours.values("trans", is_train=True), finished)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_saving_does_not_disturb_training(variant):
    plain, saved = trained(variant, 0), trained(variant, 0)
    for _ in range(4):
        train(plain, 1)
        train(saved, 1)
        saved.to_bytes()
        predicted(saved)
    assert tagger_of(plain).model.to_bytes() == tagger_of(saved).model.to_bytes()


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_training_of_a_loaded_model_goes_on(variant):
    nlp = reloaded(trained(variant, 2))
    optimizer = nlp.resume_training()
    new = [*CORPUS, ("fish swim .", "N V ."), ("the old fish swims .", "D A N V .")]
    train(nlp, 30, new, optimizer=optimizer)
    assert predicted(nlp, new) == gold(new)
    assert tagger_of(nlp).labels == LABELS


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_pickling_of_the_component(variant):
    nlp = ready(variant)
    restored = pickle.loads(pickle.dumps(tagger_of(nlp)))
    assert isinstance(restored, HoseqTagger) and isinstance(restored.vocab, Vocab)
    for text, _ in CORPUS:
        doc = spacy.tokens.Doc(restored.vocab, words=text.split())
        assert [token.tag_ for token in restored(doc)] == tags_of(nlp, text)
    assert restored.model.to_bytes() == tagger_of(nlp).model.to_bytes()
    assert restored.cfg == tagger_of(nlp).cfg and restored.name == "hoseq_tagger"


def test_pickled_component_learns_on_as_the_original():
    nlp = trained(n_updates=3, drop=0.3)
    restored = pickle.loads(pickle.dumps(nlp))
    train(nlp, 3, drop=0.3)
    train(restored, 3, drop=0.3)
    assert tagger_of(restored).model.to_bytes() == tagger_of(nlp).model.to_bytes()


def test_config_round_trip():
    config = {
        "objective": "perceptron",
        "attribute": "pos",
        "overwrite": True,
        "neg_prefix": "~",
        "save_marginals": True,
        "model": tagger_model(sparse(TEMPLATES, min_count=2, hash_rows=99)),
    }
    nlp = blank(**config)
    text = nlp.config.interpolate().to_str()
    fresh = spacy.util.load_model_from_config(spacy.util.Config().from_str(text), auto_fill=False, validate=True)
    assert fresh.config.to_str() == text
    settings = fresh.get_pipe_config("hoseq_tagger")
    assert {key: settings[key] for key in config if key != "model"} == {k: v for k, v in config.items() if k != "model"}
    assert settings["model"]["emissions"]["min_count"] == 2
    assert tagger_of(fresh).cfg == tagger_of(nlp).cfg


@pytest.mark.parametrize("settings", [{"nonsense": 1}, {"update_rule": 3}])
def test_settings_are_checked(settings):
    with pytest.raises(ConfigValidationError):
        blank(**settings)


def test_empty_pipe_can_be_saved():
    nlp = blank()
    fresh = blank()
    tagger_of(fresh).from_bytes(tagger_of(nlp).to_bytes())
    assert tagger_of(fresh).labels == ()
    with pytest.raises(ValueError, match="E143"):
        tagger_of(fresh)(doc_of(fresh, "a"))
