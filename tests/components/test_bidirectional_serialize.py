"""Saving and loading of `hoseq_bidirectional_tagger`, settings changed in loading, damaged files."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import spacy
import srsly

from spacy_hoseq.layers.local.classifiers import shim_of

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
    train,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, examples_of, gold, random_docs, reloaded


def all_tags(nlp):
    return [[token.tag_ for token in doc] for doc in tagger_of(nlp).pipe(random_docs(nlp, 40))]


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pipeline_from_bytes(strategy, order):
    nlp = ready(order, strategy)
    fresh = reloaded(nlp)
    assert all_tags(fresh) == all_tags(nlp)
    assert tagger_of(fresh).to_bytes(exclude=["vocab"]) == tagger_of(nlp).to_bytes(exclude=["vocab"])
    assert tagger_of(fresh).cfg == tagger_of(nlp).cfg


def test_what_prediction_needs_is_made_when_weights_are_loaded():
    fresh = reloaded(ready())
    shim, features = shim_of(tagger_of(fresh).model), tagger_of(fresh).model.attrs["features"]
    stacked, indexes = shim._stacked, features._index.latest
    assert stacked is not None and indexes is not None
    tags_of(fresh, "the cat")
    assert shim._stacked is stacked and features._index.latest is indexes, "and not once more"


@pytest.mark.long
def test_scores_of_the_loaded_model_are_equal():
    nlp = ready()
    docs = [doc_of(nlp, text) for text, _ in CORPUS]
    at = np.arange(sum(map(len, docs)))
    contexts = np.random.default_rng(0).integers(0, len(LABELS), (len(at), 4))
    scores = [
        tagger_of(one).model.predict(docs)(at, np.full(len(at), visible), at, contexts)
        for visible in range(16)
        for one in (nlp, reloaded(nlp))
    ]
    for ours, theirs in zip(scores[::2], scores[1::2], strict=True):
        assert np.array_equal(ours, theirs) and ours.any()


def test_pipeline_from_disk(tmp_path):
    nlp = ready()
    nlp.to_disk(tmp_path / "first")
    fresh = spacy.load(tmp_path / "first")
    assert all_tags(fresh) == all_tags(nlp) and fresh.config == nlp.config
    fresh.to_disk(tmp_path / "second")
    assert {"model", "cfg"} == {p.name for p in (tmp_path / "first" / NAME).iterdir()}
    for name in ("model", "cfg"):
        assert (tmp_path / "second" / NAME / name).read_bytes() == (tmp_path / "first" / NAME / name).read_bytes()


SCRIPT = """
import sys
import spacy
nlp = spacy.load(sys.argv[1])
print(" ".join(token._.saved_label for token in nlp("the old dog sees a cat .")))
"""


@pytest.mark.long
def test_new_process(tmp_path):
    nlp = blank(attribute="_.saved_label")
    examples = examples_of(nlp)
    for eg in examples:
        for token in eg.reference:
            token._.saved_label = token.tag_
    nlp.initialize(lambda: examples)
    for _ in range(15):
        nlp.update(examples)
    nlp.to_disk(tmp_path / "saved")
    spacy.tokens.Token.remove_extension("saved_label")
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path / "saved")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.stderr == "" and result.stdout.split() == gold()[0]


def test_component_into_a_fresh_vocabulary(tmp_path):
    nlp = blank()
    assert LABELS[3] not in spacy.blank("xx").vocab.strings
    tagger_of(nlp).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    assert all(label in nlp.vocab.strings for label in LABELS)
    assert predicted(nlp) == gold() and tagger_of(nlp).labels == tagger_of(nlp).label_data == LABELS
    tagger_of(ready()).to_disk(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"cfg", "vocab", "model"}
    other = blank()
    tagger_of(other).from_disk(tmp_path, exclude=["vocab"])
    assert predicted(other) == gold()


@pytest.mark.parametrize("part", ["cfg", "model", "vocab"])
def test_excluded_parts(part, tmp_path):
    tagger = tagger_of(ready())
    assert set(srsly.msgpack_loads(tagger.to_bytes(exclude=[part]))) == {"cfg", "vocab", "model"} - {part}
    tagger.to_disk(tmp_path, exclude=[part])
    assert {path.name for path in tmp_path.iterdir()} == {"cfg", "vocab", "model"} - {part}


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
    with pytest.raises(ValueError, match=r"\[HS096\]"):
        changed(save_decisions=True, strategy="left_to_right")
    other = blank(overwrite=True)
    tagger_of(other).from_bytes(tagger_of(ready()).to_bytes())
    assert tagger_of(other).cfg["overwrite"]


def test_loading_into_a_component_in_use():
    nlp = trained(5, lambda nlp: examples_of(nlp, [("the cat runs home here .", "U W X Y Z Q")]))
    assert set(tags_of(nlp, "the cat")) < set("QUWXYZ")
    tagger_of(nlp).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    assert predicted(nlp) == gold()


@pytest.mark.long
def test_training_of_a_loaded_model_goes_on():
    nlp = reloaded(trained(5))
    new = [*CORPUS, ("fish swim .", "N V ."), ("the old fish swims .", "D A N V .")]
    train(nlp, 30, lambda nlp: examples_of(nlp, CORPUS), nlp.resume_training())
    assert predicted(nlp) == gold()
    train(nlp, 30, lambda nlp: examples_of(nlp, new))
    assert predicted(nlp, CORPUS) == gold() and tagger_of(nlp).labels == LABELS


def test_empty_pipe_can_be_saved():
    fresh = blank()
    tagger_of(fresh).from_bytes(tagger_of(blank()).to_bytes())
    assert tagger_of(fresh).labels == ()
    with pytest.raises(ValueError, match="E143"):
        tags_of(fresh, "a")


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


@pytest.mark.long
@pytest.mark.parametrize("part", ["cfg", "model"])
def test_damaged_files(damaged, part):
    path = damaged / NAME / part
    data = path.read_bytes()
    for share in (0, 0.01, 0.3, 0.7, 0.99):
        path.write_bytes(data[: int(len(data) * share)])
        assert_refused(damaged)
    for other in (b"hello", b"\x80\x02}q\x00.", b"[1, 2]", b"null", b"PK\x03\x04", bytes(1000)):
        path.write_bytes(other)
        assert_refused(damaged)
    path.unlink()
    assert_refused(damaged)
    path.write_bytes(data)
    assert predicted(spacy.load(damaged)) == gold()


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


@pytest.mark.long
@pytest.mark.parametrize("change", CFG.values(), ids=CFG)
def test_labels_that_cannot_be(damaged, change):
    path = damaged / NAME / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), **change})
    assert_refused(damaged)


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
    "other order": lambda message: message.update(settings={"order": 1}),
    "other layer": lambda message: message.update(layer="sparse_linear"),
    "rows beyond": lambda message: message["tables"].update({"3": message["tables"]["5"]}),
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


@pytest.mark.parametrize("model", [local(order=1), local(["bias", "label[-1]"]), local(train_for=["left_to_right"])])
def test_config_of_another_model(model):
    with pytest.raises(ValueError, match=r"HS064.*HS05[01]"):
        tagger_of(blank(model=model)).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))


def test_parts_of_two_models(damaged):
    trained(1, lambda nlp: examples_of(nlp, [("a b", "X Y")])).to_disk(damaged.parent / "other")
    shutil.copy(damaged.parent / "other" / NAME / "model", damaged / NAME / "model")
    assert_refused(damaged, "not of one training")
