"""Every config of the project, and those of experiments/conll2000: complete, and what it describes can be made; those
of chunks also learn, and recipes with them (what else is said of recipes is in tests/pipelines/recipes)."""

import re

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.util import load_model_from_config

from spacy_hoseq.layers.weights import weights_in

from ..chunk_corpus import doc_of, paths, sentences, trained
from ..repository import ROOT, config_of

FOLDERS = ROOT / "configs", ROOT / "experiments" / "conll2000" / "configs"
CONFIGS = [config for folder in FOLDERS for config in folder.rglob("*.cfg")]
TAGGER, BIDIRECTIONAL, CHUNKER = "hoseq_tagger", "hoseq_bidirectional_tagger", "hoseq_chunker"
COMPONENT = {"multilayer/tagger.cfg": TAGGER, "zh_words.cfg": TAGGER}
for name in ("bidirectional_chunks", "paper_chunks", "paper_tags"):
    COMPONENT[f"{name}.cfg"] = BIDIRECTIONAL
PIPELINES = ["pipeline_1best.cfg", "pipeline", "pipeline-joint"]
PIPELINES += [f"multilayer/{name}.cfg" for name in ("1best", "marginal", "joint")]
CHUNK_COMPONENTS = {"chunker": [CHUNKER], "entities": [CHUNKER]}
CHUNK_COMPONENTS |= dict.fromkeys(PIPELINES, [TAGGER, CHUNKER])
# tests/experiments/organisations, tests/components/test_transformer.py
ELSEWHERE = ["zh_org.cfg", "zh_org_low.cfg", "tagger_transformer.cfg"]
LISTENS = {  # whether the tagger learns from the chunks
    "pipeline": 0.0,
    "pipeline-joint": 1.0,
    "multilayer/marginal.cfg": 0.0,
    "multilayer/joint.cfg": 1.0,
}
SOURCED = ["multilayer/1best.cfg", "multilayer/marginal.cfg"]


def test_all_configs_are_tested():
    names = [path.as_posix().rpartition("/configs/")[2] for path in CONFIGS]
    tested = [*COMPONENT, *CHUNK_COMPONENTS, *ELSEWHERE]
    assert sorted(names) == sorted(name for name in tested if ".cfg" in name)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Overrides that name made-up corpora."""
    return paths(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def models(tmp_path_factory, corpus):
    """Of each config with chunks, and of the tagger that some of them need, quickly trained: folder, log."""
    folder, logs = tmp_path_factory.mktemp("models"), {}
    for file in ("multilayer/tagger.cfg", *CHUNK_COMPONENTS):
        changes = dict(corpus)
        if file in SOURCED:
            changes["paths.tagger"] = str(folder / "multilayer" / "tagger" / "model-last")
        elif file == "multilayer/joint.cfg":
            changes["paths.start"] = str(folder / "multilayer" / "marginal" / "model-last")
        _, logs[file] = trained(file, folder / file.removesuffix(".cfg"), changes)
    return folder, logs


def model_of(models, file):
    return spacy.load(models[0] / file.removesuffix(".cfg") / "model-last")


@pytest.mark.long
@pytest.mark.parametrize("file", [*COMPONENT, *CHUNK_COMPONENTS])
def test_config_is_complete_and_can_be_made(file, request):
    changes = {}
    if file in SOURCED:
        folder, _ = request.getfixturevalue("models")
        changes["paths.tagger"] = str(folder / "multilayer" / "tagger" / "model-last")
    config = config_of(file, changes).interpolate()
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    names = CHUNK_COMPONENTS.get(file) or [COMPONENT[file]]
    assert nlp.pipe_names == names == config["nlp"]["pipeline"]
    if file in COMPONENT:
        component, settings = nlp.get_pipe(names[0]), config["components"][names[0]]
        assert component.cfg["attribute"] == settings["attribute"]
        if names == [TAGGER]:
            assert component.model.name == "higher_order_tagger"
            without = settings["model"]["patterns"] is None
            assert (component.model.attrs["source"] is None) == without
        else:
            assert component.model.name == "local_classifiers"
            assert component.model.attrs["order"] == 2
            assert component.cfg["representation"] == settings["representation"]
    filled = load_model_from_config(config, auto_fill=True, validate=True)
    for name in nlp.pipe_names:
        assert filled.get_pipe_config(name) == nlp.get_pipe_config(name)
        if "source" not in config["components"][name]:
            assert nlp.get_pipe_config(name) == config["components"][name]
    found = filled.config.interpolate()
    if file not in COMPONENT:  # those leave out defaults of registered functions
        for section in ("nlp", "initialize", "corpora"):
            assert found[section] == config[section], section
    assert found["training"].keys() == config["training"].keys()
    training = spacy.registry.resolve({"training": config["training"]})["training"]
    assert callable(training["optimizer"]) and callable(training["batcher"])


@pytest.mark.parametrize("file", LISTENS)
def test_what_the_chunker_listens_to(file):
    """The systems of a group differ in nothing else."""
    config = config_of(file)
    model = config["components"][CHUNKER]["model"]
    listeners = [model["emissions"]["second"]["upstream"]]
    if file.startswith("multilayer"):
        listeners.append(model["transitions"]["upstream"])
        # arc feature of the paper's Table 1
        assert model["transitions"]["templates"] == ["upstream[-1]+upstream[0]"]
        assert model["emissions"]["second"]["templates"] == ["upstream[0]"], "node feature"
        assert config["initialize"]["lookups"] == {
            "@misc": "spacy_hoseq.known_tags.v1", "path": "${paths.train}", "min_count": 1, "min_share": 0.0,
        }  # fmt: skip
    for listener in listeners:
        assert listener["grad_factor"] == LISTENS[file]
        listener["grad_factor"] = None
    group = re.split("[-/]", file)[0]
    first = next(other for other in LISTENS if other.startswith(group))
    same = config_of(first)["components"][CHUNKER]["model"]
    same["emissions"]["second"]["upstream"]["grad_factor"] = None
    if len(listeners) > 1:
        same["transitions"]["upstream"]["grad_factor"] = None
    assert same == model


@pytest.mark.long
@pytest.mark.parametrize("file", CHUNK_COMPONENTS)
def test_chunks_are_learnt_and_loaded_again(file, models):
    rows, nlp = models[1][file], model_of(models, file)
    assert [row["#"] for row in rows] == [0, 6, 12] and rows[-1]["SCORE"] > 0.97
    entities = file == "entities"
    for text in sentences()[80:85]:
        gold = doc_of(nlp.vocab, text)
        tags = [token.tag_ for token in gold] if file == "chunker" else None
        doc = nlp(Doc(nlp.vocab, [token.text for token in gold], tags=tags))
        group = doc.spans["entities" if entities else "chunks"]
        expected = gold.ents if entities else gold.spans["chunks"]
        found = [(s.start, s.end, s.label_) for s in group]
        assert found == [(s.start, s.end, s.label_) for s in expected]
        assert len(group.attrs["scores"]) == len(group)
        assert all(0.5 < p <= 1 for p in group.attrs["scores"])
        assert not entities or [ent.text for ent in doc.ents] == [ent.text for ent in gold.ents]
        assert TAGGER not in nlp.pipe_names or [t.tag_ for t in doc] == [t.tag_ for t in gold]


def tagger_weights(models, file):
    shims = weights_in(model_of(models, file).get_pipe(TAGGER).model)
    parameters = [each for shim in shims for each in shim.parameters.values()]
    return np.concatenate([each.values.reshape(-1) for each in parameters])


@pytest.mark.long
def test_tagger_learns_from_the_chunker_in_joint_training_only(models):
    tagger = tagger_weights(models, "multilayer/tagger.cfg")
    for file in SOURCED:
        assert np.array_equal(tagger_weights(models, file), tagger), "it stays as it is"
    assert not np.array_equal(tagger_weights(models, "multilayer/joint.cfg"), tagger)
    alone, joint = (tagger_weights(models, name) for name in ("pipeline", "pipeline-joint"))
    assert alone.shape == joint.shape and np.abs(alone - joint).max() > 1e-3


STARTS = {"multilayer/joint.cfg": "multilayer/marginal.cfg", "pipeline-joint": "pipeline"}


def weights_of(nlp):
    shims = [shim for name in nlp.pipe_names for shim in weights_in(nlp.get_pipe(name).model)]
    return [shim.values(key, is_train=False) for shim in shims for key in sorted(shim.parameters)]


@pytest.mark.long
@pytest.mark.parametrize("file", STARTS)
def test_joint_training_begins_with_the_weights_it_is_given(file, models, corpus):
    """And with none if it is not."""
    start = models[0] / STARTS[file].removesuffix(".cfg") / "model-last"
    config = config_of(file, {**corpus, "paths.start": str(start)})
    expected = weights_of(spacy.load(start))
    assert len(expected) >= 5 and all(map(np.array_equal, weights_of(init_nlp(config)), expected))
    fresh = init_nlp(config_of(file, corpus))
    assert len(weights_of(fresh)) == len(expected)
    assert not any(values.any() for values in weights_of(fresh))
