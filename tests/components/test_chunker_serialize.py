"""Saving and loading of `hoseq_chunker`; damaged files; weights of another pipeline (`weights_from`)."""

import pickle
import shutil

import pytest
import spacy
import srsly
from spacy.vocab import Vocab

from spacy_hoseq.components.chunker import HoseqChunker

from .chunker_helpers import (
    CORPUS,
    KINDS,
    NAME,
    TAGGER,
    TEXTS,
    TYPES,
    blank,
    chunker_of,
    doc_of,
    examples_of,
    gold,
    on,
    random_docs,
    ready,
    scores_on,
    through,
    train,
    trained,
)
from .helpers import ADDITIVE, reloaded

MODELS = ["words", "patterns", *KINDS]


def everything(nlp):
    """Chunks and scores of many docs (the same words in every vocabulary)."""
    return [(on(doc), scores_on(doc)) for doc in nlp.pipe(random_docs(nlp, 40))]


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_pipeline_from_bytes(model):
    nlp = ready(model)
    fresh = reloaded(nlp)
    assert everything(fresh) == everything(nlp)
    for name in nlp.pipe_names:
        ours, theirs = nlp.get_pipe(name), fresh.get_pipe(name)
        assert theirs.to_bytes(exclude=["vocab"]) == ours.to_bytes(exclude=["vocab"]) and theirs.cfg == ours.cfg


@pytest.mark.parametrize("model", MODELS)
def test_pipeline_from_disk(model, tmp_path):
    nlp = ready(model)
    nlp.to_disk(tmp_path / "first")
    fresh = spacy.load(tmp_path / "first")
    assert everything(fresh) == everything(nlp) and fresh.config == nlp.config
    fresh.to_disk(tmp_path / "second")
    assert {"model", "cfg"} == {p.name for p in (tmp_path / "first" / NAME).iterdir()}
    for path in (p.relative_to(tmp_path / "first") for p in (tmp_path / "first").rglob("*") if p.is_file()):
        if path.name != "strings.json":  # a set of strings
            assert (tmp_path / "second" / path).read_bytes() == (tmp_path / "first" / path).read_bytes(), path


def test_component_into_a_fresh_vocabulary(tmp_path):
    data = chunker_of(ready()).to_bytes(exclude=["vocab"])
    nlp = blank()
    assert "NP" not in nlp.vocab.strings
    chunker_of(nlp).from_bytes(data)
    assert all(label in nlp.vocab.strings for label in TYPES)
    assert through(nlp) == through(ready()) and chunker_of(nlp).label_data == TYPES
    chunker_of(ready()).to_disk(tmp_path, exclude=["vocab"])
    other = blank()
    chunker_of(other).from_disk(tmp_path, exclude=["vocab"])
    assert through(other) == through(ready())


@pytest.mark.parametrize("part", ["cfg", "model", "vocab"])
def test_excluded_parts(part, tmp_path):
    chunker = chunker_of(ready())
    assert set(srsly.msgpack_loads(chunker.to_bytes(exclude=[part]))) == {"cfg", "vocab", "model"} - {part}
    chunker.to_disk(tmp_path, exclude=[part])
    assert {path.name for path in tmp_path.iterdir()} == {"cfg", "vocab", "model"} - {part}


def test_model_that_is_excluded_in_loading():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    before = chunker_of(nlp).model.to_bytes()
    chunker_of(nlp).from_bytes(chunker_of(ready()).to_bytes(), exclude=["model"])
    assert chunker_of(nlp).model.to_bytes() == before and chunker_of(nlp).labels == TYPES


def test_settings_are_those_of_the_config(tmp_path):
    ready().to_disk(tmp_path)
    settings = {"spans_key": "mine", "overwrite": True, "save_marginals": True, "annotate_ents": True}
    nlp = spacy.load(tmp_path, config={"components": {NAME: settings}})
    doc = nlp(TEXTS[0])
    assert list(doc.spans) == ["mine"] and on(doc, "mine") == gold()[0] and len(doc.ents) == 3
    assert list(doc._.hoseq_marginals) == [NAME]
    assert {key: chunker_of(nlp).cfg[key] for key in settings} == settings
    assert reloaded(nlp).get_pipe(NAME).cfg == chunker_of(nlp).cfg


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


@pytest.mark.long
@pytest.mark.parametrize("part", ["cfg", "model"])
@pytest.mark.parametrize("share", [None, 0, 0.3, 0.99])
def test_missing_or_truncated_file(damaged, part, share):
    path = damaged / NAME / part
    data = path.read_bytes()
    path.unlink()
    if share is not None:
        path.write_bytes(data[: int(len(data) * share)])
    assert_refused(damaged)


@pytest.mark.long
@pytest.mark.parametrize("part", ["cfg", "model"])
@pytest.mark.parametrize("data", [b"hello", b"[1, 2]", b"null", bytes(1000)])
def test_file_of_another_program(damaged, part, data):
    (damaged / NAME / part).write_bytes(data)
    assert_refused(damaged)


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
        with pytest.raises(ValueError, match=rf"\[HS068\].*no component \"{component}\""):
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


@pytest.mark.parametrize("model", ["words", "patterns"])
def test_pickling_of_the_component(model):
    nlp = ready(model)
    restored = pickle.loads(pickle.dumps(chunker_of(nlp)))
    assert isinstance(restored, HoseqChunker) and isinstance(restored.vocab, Vocab)
    for text, _, chunks in CORPUS:
        assert on(restored(spacy.tokens.Doc(restored.vocab, words=text.split()))) == chunks
    assert restored.model.to_bytes() == chunker_of(nlp).model.to_bytes() and restored.cfg == chunker_of(nlp).cfg


@pytest.mark.long
@pytest.mark.parametrize("model", ["words", "joint"])
def test_pickled_pipeline_learns_on_as_the_original(model):
    nlp = trained(model, 3, drop=0.3)
    restored = pickle.loads(pickle.dumps(nlp))
    for one in (nlp, restored):
        train(one, 3, drop=0.3)
    for name in nlp.pipe_names:
        assert restored.get_pipe(name).model.to_bytes() == nlp.get_pipe(name).model.to_bytes()


@pytest.mark.long
def test_saving_does_not_disturb_training():
    plain, saved = trained("joint", 0), trained("joint", 0)
    for _ in range(4):
        train(plain, 1)
        train(saved, 1)
        saved.to_bytes()
        through(saved)
    assert through(plain) == through(saved)
    assert plain.get_pipe(TAGGER).model.to_bytes() == saved.get_pipe(TAGGER).model.to_bytes()


def test_empty_pipe_can_be_saved():
    fresh = blank()
    chunker_of(fresh).from_bytes(chunker_of(blank()).to_bytes())
    assert chunker_of(fresh).labels == ()
    with pytest.raises(ValueError, match="E143"):
        chunker_of(fresh)(doc_of(fresh, "a"))
