"""Saving and loading: the same labels, the same bytes, the same settings (ecosystem.md, section 13, rows 9, 12, 13)."""


import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Token

from .helpers import (
    CORPUS,
    LABELS,
    VARIANTS,
    blank,
    examples_of,
    gold,
    predicted,
    random_docs,
    ready,
    reloaded,
    tagger_of,
    train,
    trained,
)


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_the_loaded_model_are_equal(variant):
    nlp = ready(variant)
    fresh = reloaded(nlp)
    for ours, theirs in zip(
        tagger_of(nlp).top_k(random_docs(nlp, 10), 3), tagger_of(fresh).top_k(random_docs(fresh, 10), 3), strict=True
    ):
        assert ours == theirs


def test_vocabulary_comes_along_unless_excluded(tmp_path):
    tagger = tagger_of(ready())
    assert set(srsly.msgpack_loads(tagger.to_bytes())) == {"cfg", "vocab", "model"}
    tagger.to_disk(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"cfg", "vocab", "model"}
    other = blank()
    tagger_of(other).from_disk(tmp_path)
    assert predicted(other) == gold()


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


@pytest.mark.parametrize("attribute", ["pos", "sent_start"])
def test_attribute_of_the_config_that_cannot_have_the_labels(attribute, tmp_path):
    """As a part of speech, "D" would be a number that stands for nothing; no label would begin a sentence."""
    ready().to_disk(tmp_path)
    config = {"components": {"hoseq_tagger": {"attribute": attribute}}}
    with pytest.raises(ValueError, match=rf"\[HS064\].*HS027\] Wrong label of {attribute}"):
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
