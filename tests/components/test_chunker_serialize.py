"""Saving and loading of `hoseq_chunker`; damaged files; weights of another pipeline (`weights_from`)."""

import shutil

import pytest
import spacy
import srsly

from .chunker_helpers import (
    CORPUS,
    KINDS,
    NAME,
    TAGGER,
    TEXTS,
    TYPES,
    blank,
    chunker_of,
    examples_of,
    gold,
    ready,
    through,
    train,
)
from .helpers import ADDITIVE, reloaded

MODELS = ["words", "patterns", *KINDS]


def test_another_representation_is_refused(tmp_path):
    """Its tags are not those of the weights."""
    ready().to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        spacy.load(tmp_path, config={"components": {NAME: {"representation": "iob2"}}})
    nlp = spacy.load(tmp_path, config={"components": {NAME: {"representation": "start_end"}}})
    assert through(nlp) == through(ready()), "the same letters by other names"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    ready("joint").to_disk(path)
    return path


@pytest.fixture
def damaged(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


def assert_refused(path, problem=""):
    with pytest.raises(ValueError, match=rf"(?s)\[HS064\] The component \"hoseq_chunker\" cannot be read.*{problem}"):
        spacy.load(path)


def test_missing_folder_and_model_of_a_tagger(damaged):
    shutil.copy(damaged / TAGGER / "model", damaged / NAME / "model")
    assert_refused(damaged)
    shutil.rmtree(damaged / NAME)
    assert_refused(damaged)


@pytest.mark.parametrize("labels", [["NP"], ["NP", "VP", "PP"], ["NP", "NP"], "NP", [1, 2], {"NP": 1}, None])
def test_labels_that_do_not_fit(damaged, labels):
    path = damaged / NAME / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), "labels": labels})
    assert_refused(damaged, "labels|twice|TypeError|NoneType")


@pytest.mark.parametrize("model", ["words", "joint"])
def test_weights_of_a_trained_pipeline(model, tmp_path):
    nlp = ready(model)
    nlp.to_disk(tmp_path)
    other = blank(model, overwrite=True, objective="perceptron", update_rule=ADDITIVE, average=False)
    for name in other.pipe_names:
        other.config["initialize"]["components"][name] = {"weights_from": str(tmp_path)}
    optimizer = other.initialize(lambda: examples_of(other, [("x y", "N V", [(0, 1, "XP")])]))
    assert through(other) == through(nlp) and chunker_of(other).labels == TYPES
    assert chunker_of(other).cfg["overwrite"] is True
    shutil.rmtree(tmp_path)  # not needed any more
    new = [*CORPUS, ("fish swim .", "N V .", [(0, 2, "VP")])]
    train(other, 15, lambda nlp: examples_of(nlp, new), optimizer)
    assert through(other, [text for text, _, _ in new])[0] == gold(new)
    assert through(reloaded(other)) == through(other)


def test_tagger_of_a_trained_pipeline_and_a_new_chunker(tmp_path):
    ready("joint").to_disk(tmp_path)
    nlp = blank("joint")
    nlp.config["initialize"]["components"][TAGGER] = {"weights_from": str(tmp_path)}
    optimizer = nlp.initialize(lambda: examples_of(nlp, gold_tags=False))
    tagger = nlp.get_pipe(TAGGER)
    assert [t.tag_ for t in nlp(TEXTS[0])] == "D A N V D N .".split()
    assert tagger.labels == ready("joint").get_pipe(TAGGER).labels
    train(nlp, 15, lambda nlp: examples_of(nlp, gold_tags=False), optimizer)
    assert through(nlp)[0] == gold()


def test_weights_from_nowhere(tmp_path):
    ready("joint").to_disk(tmp_path)
    for component, path in ((TAGGER, tmp_path / "nowhere"), (NAME, tmp_path / "nowhere"), ("renamed", tmp_path)):
        nlp = blank("joint", name="renamed" if component == "renamed" else NAME)
        nlp.config["initialize"]["components"][component] = {"weights_from": str(path)}
        with pytest.raises(ValueError, match=rf"\[HS159\].*no component \"{component}\""):
            nlp.initialize(lambda nlp=nlp: examples_of(nlp))


@pytest.mark.parametrize("component", [TAGGER, NAME])
def test_weights_of_another_model(component, tmp_path):
    ready("words").to_disk(tmp_path)
    shutil.copytree(tmp_path / NAME, tmp_path / TAGGER)
    nlp = blank("patterns" if component == NAME else "joint")
    nlp.config["initialize"]["components"][component] = {"weights_from": str(tmp_path)}
    if component == NAME:  # no pattern weights there: none are used
        nlp.initialize(lambda: examples_of(nlp))
        assert through(nlp) == through(ready("words"))
    else:  # a chunker's weights for a tagger: as many columns as there are tags, not labels
        with pytest.raises(ValueError, match=r"\[HS064\]"):
            nlp.initialize(lambda: examples_of(nlp))
