"""Calibration whenever a training saves: the callback of the recipes."""

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin, Span
from spacy.training import Example

from spacy_hoseq.components.structured import ADAGRAD
from spacy_hoseq.inspection.calibration import calibrate_in_training, is_linear, measured, parts_of
from spacy_hoseq.layers.shim import weights_in

from ..components.helpers import tagger_model
from .test_calibration import examples


def with_dev(nlp, references, tmp_path, frozen=()):
    DocBin(docs=references).to_disk(tmp_path / "dev.spacy")
    reader = {
        "@readers": "spacy_hoseq.corpus.v1",
        "path": str(tmp_path / "dev.spacy"),
        "attributes": [],
    }
    config = nlp.config
    config["corpora"] = {"dev": {**reader, "limit": 0}}
    config["training"] = {**config["training"], "frozen_components": list(frozen)}
    nlp.config = config
    return nlp


def tagger(tmp_path, n_updates=6, **settings):
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", config=settings)
    train = examples(nlp, 40, 0)
    nlp.initialize(lambda: train)
    for _ in range(n_updates):
        nlp.update(train)
    return with_dev(nlp, [eg.reference for eg in examples(nlp, 60, 1)], tmp_path), train


def error_of(nlp):
    """On the text that the temperature is found on."""
    parts = list(parts_of(nlp.get_pipe("hoseq_tagger"), examples(nlp, 60, 1)))
    return measured(parts, [1.0] * len(parts)).ece


def raw(nlp):
    shims = weights_in(nlp.get_pipe("hoseq_tagger").model)
    return [parameter.values.copy() for shim in shims for parameter in shim.parameters.values()]


@pytest.mark.parametrize("average", ["late", False])
def test_what_is_saved_is_calibrated_and_training_goes_on_as_without(tmp_path, average):
    nlp, train = tagger(tmp_path, update_rule={**ADAGRAD, "average": average})
    before = (
        error_of(nlp),
        [token.tag_ for eg in train for token in nlp(eg.reference.copy())],
        raw(nlp),
    )
    callback = calibrate_in_training()
    assert not nlp.get_pipe("hoseq_tagger").is_calibrated
    assert callback(nlp) is nlp and nlp.get_pipe("hoseq_tagger").is_calibrated
    assert error_of(nlp) < before[0] - 0.01
    assert [token.tag_ for eg in train for token in nlp(eg.reference.copy())] == before[1]
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    assert saved.get_pipe("hoseq_tagger").is_calibrated and error_of(saved) == pytest.approx(
        error_of(nlp), abs=1e-9
    )
    for old, now in zip(before[2], raw(nlp), strict=True):
        np.testing.assert_array_equal(old, now)
    nlp.update(train)
    assert not nlp.get_pipe(
        "hoseq_tagger"
    ).is_calibrated  # what was found holds for the weights before
    once, _ = tagger(tmp_path, 7, update_rule={**ADAGRAD, "average": average})
    for a, b in zip(raw(once), raw(nlp), strict=True):
        np.testing.assert_array_equal(a, b)
    callback(nlp)
    calibrate_in_training()(once)
    assert error_of(nlp) == pytest.approx(error_of(once), abs=0.02)


def test_frozen_components_and_networks_stay_as_they_are(tmp_path):
    nlp, _ = tagger(tmp_path)
    before = nlp.get_pipe("hoseq_tagger").to_bytes(exclude=["vocab"])
    dev = [eg.reference for eg in examples(nlp, 5, 1)]
    calibrate_in_training()(with_dev(nlp, dev, tmp_path, ["hoseq_tagger"]))
    assert nlp.get_pipe("hoseq_tagger").to_bytes(exclude=["vocab"]) == before
    assert is_linear(nlp.get_pipe("hoseq_tagger"))
    network = {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "pretrained_vectors": None,
        "width": 8,
        "depth": 1,
    }
    network |= {"embed_size": 50, "window_size": 1, "maxout_pieces": 2, "subword_features": False}
    emissions = {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": network}
    neural, _ = tagger(tmp_path, model=tagger_model(emissions))
    assert not is_linear(neural.get_pipe("hoseq_tagger"))
    assert not calibrate_in_training()(neural).get_pipe("hoseq_tagger").is_calibrated


def test_text_without_gold_labels_changes_nothing(tmp_path):
    nlp, train = tagger(tmp_path)
    before = nlp.get_pipe("hoseq_tagger").to_bytes()
    calibrate_in_training()(with_dev(nlp, [eg.predicted for eg in train], tmp_path))
    assert nlp.get_pipe("hoseq_tagger").to_bytes() == before


@pytest.mark.parametrize("fitted", [True, pytest.param(False, marks=pytest.mark.long)])
def test_threshold_of_entities_is_written_to_the_config(tmp_path, fitted):
    """Names are names in 40 of 100 texts: one at 0.5 or above would find none of them."""
    nlp = spacy.blank("xx")
    settings = {
        "spans_key": "names",
        "annotate_ents": True,
        "span_threshold": 0.6,
        "objective": "log_likelihood",
    }
    model = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1", "patterns": None}
    model["emissions"] = {
        "@architectures": "spacy_hoseq.SparseLinear.v1",
        "templates": ["bias", "orth[0]"],
    }
    nlp.add_pipe("hoseq_chunker", config={**settings, "model": model})
    references = [nlp.make_doc(f"so is Page {i}") for i in range(100)]
    for i, doc in enumerate(references):
        doc.set_ents([Span(doc, 2, 3, "PER")] if i % 5 < 2 else [], default="outside")
    train = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: train)
    for _ in range(100):
        nlp.update(train)
    with_dev(nlp, references, tmp_path)
    calibrate_in_training(span_thresholds=fitted)(nlp)
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    threshold = saved.config["components"]["hoseq_chunker"]["span_threshold"]
    assert threshold == saved.get_pipe("hoseq_chunker").cfg["span_threshold"]
    assert threshold < 0.4 if fitted else threshold == 0.6
    assert len(saved("so is Page 7").ents) == int(fitted)
