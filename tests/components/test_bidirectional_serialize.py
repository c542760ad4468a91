"""Saving and loading of `hoseq_bidirectional_tagger`, settings changed in loading, damaged files."""

import shutil

import numpy as np
import pytest
import spacy
import srsly

from spacy_hoseq.layers.local_classifiers import shim_of
from spacy_hoseq.learning.used_rows import UsedRows

from ..stored import bytes_of, message_of, reseal
from .bidirectional_helpers import (
    NAME,
    STRATEGIES,
    blank,
    local,
    predicted,
    ready,
    tagger_of,
    tags_of,
    trained,
)
from .helpers import LABELS, examples_of, gold, random_docs, reloaded


def all_tags(nlp):
    return [[token.tag_ for token in doc] for doc in tagger_of(nlp).pipe(random_docs(nlp, 40))]


def test_what_prediction_needs_is_made_when_weights_are_loaded():
    fresh = reloaded(ready())
    shim, features = shim_of(tagger_of(fresh).model), tagger_of(fresh).model.attrs["features"]
    stacked, indexes = shim._stacked, features._index.latest
    assert stacked is not None and indexes is not None
    tags_of(fresh, "the cat")
    assert shim._stacked is stacked and features._index.latest is indexes, "and not once more"


SCRIPT = """
import sys
import spacy
nlp = spacy.load(sys.argv[1])
print(" ".join(token._.saved_label for token in nlp("the old dog sees a cat .")))
"""


@pytest.mark.long
def test_settings_are_those_of_the_config(tmp_path):
    """Weights, labels and the tag dictionary are loaded; settings can be changed in loading."""
    ready().to_disk(tmp_path)

    def changed(**settings):
        return spacy.load(tmp_path, config={f"components.{NAME}.{key}": value for key, value in settings.items()})

    assert tags_of(changed(overwrite=True), "the cat", tags="R R") == ["D", "N"]
    for strategy in STRATEGIES:
        nlp = changed(strategy=strategy)
        assert tagger_of(nlp).cfg["strategy"] == strategy
        assert all_tags(nlp) == all_tags(ready(2, strategy))
    doc = changed(save_decisions=True)("the cat")
    assert sorted(doc._.hoseq_decisions[NAME]["order"].tolist()) == [1, 2]
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        changed(save_decisions=True, strategy="left_to_right")
    other = blank(overwrite=True)
    tagger_of(other).from_bytes(tagger_of(ready()).to_bytes())
    assert tagger_of(other).cfg["overwrite"]


def test_loading_into_a_component_in_use():
    nlp = trained(5, lambda nlp: examples_of(nlp, [("the cat runs home here .", "U W X Y Z Q")]))
    assert set(tags_of(nlp, "the cat")) < set("QUWXYZ")
    tagger_of(nlp).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    assert predicted(nlp) == gold()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    ready().to_disk(path)
    return path


@pytest.fixture
def damaged(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


def assert_refused(path, problem=""):
    with pytest.raises(ValueError, match=rf"(?s)\[HS064\] The component \"{NAME}\" cannot be read.*{problem}"):
        spacy.load(path)


CFG = {
    "labels of numbers": {"labels": [1, 2, 3, 4, 5, 6]},
    "labels missing": {"labels": None},
    "one label more": {"labels": [*LABELS, "X"]},
    "one label less": {"labels": list(LABELS[:-1])},
    "label twice": {"labels": [*LABELS[:-1], LABELS[0]]},
    "text for labels": {"labels": "ADNRV."},
    "labels in another order": {"labels": list(LABELS[::-1])},
    "another label": {"labels": [*LABELS[:-1], "X"]},
    "list for dictionary": {"tag_dictionary": ["the"]},
    "dictionary of unknown labels": {"tag_dictionary": {"the": ["UNKNOWN"]}},
}


@pytest.mark.parametrize("change", [{"strategy": "nonsense"}, {"representation": "iob3"}, {"new": 1}])
def test_settings_that_are_not_read(damaged, change):
    path = damaged / NAME / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), **change})
    assert predicted(spacy.load(damaged)) == gold()


def not_a_number(message):
    message["tables"]["3"].table[0, 0] = np.nan


WEIGHTS = {
    "not a number": not_a_number,
    "one classifier less": lambda message: message["tables"].pop("5"),
    "no keys": lambda message: message["extra"].pop("keys"),
    "fewer keys": lambda message: message["extra"].update(keys=[k[:-3] for k in message["extra"]["keys"]]),
    "a group of keys less": lambda message: message["extra"]["keys"].pop(),
    "key twice": lambda message: message["extra"].update(keys=[np.repeat(k, 2) for k in message["extra"]["keys"]]),
    "labels of another model": lambda message: message["extra"].update(values=message["extra"]["values"][:-1]),
    "other order": lambda message: message["made_for"].update(order=1),
    "other layer": lambda message: message.update(layer="sparse_linear"),
    "rows beyond": lambda message: message["tables"].update({"3": UsedRows.of(np.eye(len(LABELS)), n_rows=9999)}),
}


@pytest.mark.long
@pytest.mark.parametrize("change", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_that_cannot_be(damaged, change):
    path = damaged / NAME / "model"
    outer = srsly.msgpack_loads(path.read_bytes())
    message = message_of(outer["shims"][0][0])
    change(message)
    outer["shims"] = [[bytes_of(message)]]
    reseal(path.parent, tagger_of(ready()), outer)
    assert_refused(damaged, r"HS05[0-4]")


@pytest.mark.parametrize("model", [local(order=1), local(["bias", "label[-1]"])])
def test_config_of_another_model(model):
    with pytest.raises(ValueError, match=r"HS064.*HS05[01]"):
        tagger_of(blank(model=model)).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))


def test_parts_of_two_models(damaged):
    trained(1, lambda nlp: examples_of(nlp, [("a b", "X Y")])).to_disk(damaged.parent / "other")
    shutil.copy(damaged.parent / "other" / NAME / "model", damaged / NAME / "model")
    assert_refused(damaged, "not of one training")
