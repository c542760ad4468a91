"""Damaged, incomplete and foreign model files give an error with a code, and never tags."""

import shutil

import numpy as np
import pytest
import spacy
import srsly

from spacy_hoseq.learning.used_rows import UsedRows

from ..stored import bytes_of, message_of, reseal
from .helpers import (
    LABELS,
    blank,
    gold,
    predicted,
    ready,
    tagger_model,
    tagger_of,
    trained,
)

PARTS = ("cfg", "model")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    ready().to_disk(path)
    return path


@pytest.fixture
def damaged(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


def assert_refused(path, problem=""):
    with pytest.raises(ValueError, match=rf"(?s)\[HS064\] The component \"hoseq_tagger\" cannot be read.*{problem}"):
        spacy.load(path)


@pytest.mark.parametrize("corpus", [[("a b", "X Y")], [("a b c d e f g h", "A B C D E F G H")]])
def test_parts_of_two_models(damaged, corpus):
    other = damaged.parent / "other"
    trained(corpus=corpus).to_disk(other)
    shutil.copy(other / "hoseq_tagger" / "model", damaged / "hoseq_tagger" / "model")
    assert_refused(damaged, "labels")


CFG = {
    "labels of numbers": {"labels": [1, 2, 3, 4, 5, 6]},
    "labels missing": {"labels": None},
    "one label more": {"labels": [*LABELS, "X"]},
    "one label less": {"labels": list(LABELS[:-1])},
    "label twice": {"labels": [*LABELS[:-1], LABELS[0]]},
    "number for labels": {"labels": 6},
    "text for labels": {"labels": "ADNRV."},
    "list for dictionary": {"tag_dictionary": ["the"]},
    "dictionary of unknown labels": {"tag_dictionary": {"the": ["UNKNOWN"]}},
}


@pytest.mark.long
@pytest.mark.parametrize("change", CFG.values(), ids=CFG)
def test_settings_that_cannot_be(damaged, change):
    path = damaged / "hoseq_tagger" / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), **change})
    with pytest.raises(ValueError, match="HS06[0-9]"):
        predicted(spacy.load(damaged))


def with_weights(path, change):
    message = srsly.msgpack_loads(path.read_bytes())
    shims = [message_of(shims[0]) if shims else None for shims in message["shims"]]
    change(*shims)
    message["shims"] = [[bytes_of(shim)] for shim in shims]
    reseal(path.parent, tagger_of(ready()), message)


def nan(head, table):
    head["tables"]["trans"].table[0] = np.nan


def swapped(head, table):
    head["layer"], table["layer"] = table["layer"], head["layer"]


def fewer_keys(head, table):
    table["extra"]["keys"] = table["extra"]["keys"][:-5]


def no_transitions(head, table):
    del head["tables"]["trans"]


def other_shape(head, table):
    head["tables"]["trans"] = UsedRows.of(np.eye(2))


def no_extra(head, table):
    table["extra"] = None


@pytest.mark.parametrize("change", [nan, swapped, fewer_keys, no_transitions, other_shape, no_extra])
def test_weights_that_cannot_be(damaged, change):
    with_weights(damaged / "hoseq_tagger" / "model", change)
    with pytest.raises(ValueError, match=r"HS064|HS05[0-4]|HS024"):
        predicted(spacy.load(damaged))


@pytest.mark.parametrize("size", [np.full(4, -1), 5])
def test_sizes_that_cannot_be(damaged, size):
    path = damaged / "hoseq_tagger" / "model"
    message = srsly.msgpack_loads(path.read_bytes())
    message["nodes"][0]["dims"]["nO"] = size
    reseal(path.parent, tagger_of(ready()), message)
    assert_refused(damaged)


def test_weights_written_back_unchanged(damaged):
    with_weights(damaged / "hoseq_tagger" / "model", lambda head, table: None)
    assert predicted(spacy.load(damaged)) == gold()


def test_config_of_another_architecture():
    data = tagger_of(ready()).to_bytes(exclude=["vocab"])
    network = {"@architectures": "spacy.HashEmbedCNN.v2", "width": 8, "depth": 1, "embed_size": 20, "window_size": 1}
    network.update(maxout_pieces=2, subword_features=False, pretrained_vectors=None)
    other = blank(model=tagger_model({"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": network}))
    with pytest.raises(ValueError, match="HS064"):
        tagger_of(other).from_bytes(data)
