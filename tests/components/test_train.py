"""The commands of spaCy on recipes: train, evaluate, init labels, init fill-config, debug."""

import json

import pytest
import spacy
import srsly
from spacy.cli import app
from spacy.cli.train import train as train_command
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_hoseq.recipes import recipe

from .helpers import CORPUS, LABELS, blank, doc_of, gold

NAMES = ["tagger", "higher-order", "crf"]
QUICK = {
    "training.max_epochs": 8,
    "training.eval_frequency": 5,
    "training.batcher.n_batches": 5,
    "training.dropout": 0.0,
}


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    """A function: the file of a recipe."""
    folder = tmp_path_factory.mktemp("configs")
    for name in NAMES:
        (folder / f"{name}.cfg").write_text(recipe(name), encoding="utf8")
    return lambda name: folder / f"{name}.cfg"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "tiny.spacy"
    nlp = blank()
    DocBin(docs=[doc_of(nlp, text, tags) for text, tags in CORPUS]).to_disk(path)
    return path


def overrides(corpus, name="tagger", **changes):
    found = {"paths.train": str(corpus), "paths.dev": str(corpus), **QUICK}
    if name == "higher-order":
        found["components.hoseq_tagger.model.patterns.min_count"] = 1
    return {**found, **changes}


def arguments(corpus, **changes):
    return [part for key, value in overrides(corpus, **changes).items() for part in (f"--{key}", json.dumps(value))]


def run(*command):
    result = CliRunner().invoke(app, [str(part) for part in command])
    assert result.exit_code == 0, result.output
    return result.output


def tagged(nlp):
    return [[t.tag_ for t in nlp(doc_of(nlp, text))] for text, _ in CORPUS]


@pytest.fixture(scope="module", params=NAMES)
def output(request, configs, corpus, tmp_path_factory):
    """A model trained by `spacy train` on a recipe."""
    path = tmp_path_factory.mktemp("output")
    train_command(configs(request.param), path, overrides=overrides(corpus, request.param))
    return path


def test_training_without_a_frequent_transition(configs, corpus, tmp_path):
    """The model must still be saved and loaded."""
    changes = {"training.max_epochs": 1, "training.eval_frequency": 1}
    changes["components.hoseq_tagger.model.patterns.min_count"] = 100
    train_command(configs("higher-order"), tmp_path, overrides=overrides(corpus, **changes))
    nlp = spacy.load(tmp_path / "model-last")
    assert {tag for tags in tagged(nlp) for tag in tags} <= set(LABELS)


def contains(filled, own):
    if isinstance(own, dict) and isinstance(filled, dict):
        return all(key in filled and contains(filled[key], value) for key, value in own.items())
    return filled == own


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_a_config(name, configs, corpus, tmp_path):
    run("init", "labels", configs(name), tmp_path, *arguments(corpus))
    assert srsly.read_json(tmp_path / "hoseq_tagger.json") == list(LABELS)


@spacy.registry.callbacks("tests_hoseq.interrupt.v1")
def make_interrupt(step: int):
    def before_update(nlp, info):
        if info["step"] == step:
            raise KeyboardInterrupt

    return before_update


@pytest.mark.long
def test_interrupted_training_leaves_a_model(configs, corpus, tmp_path):
    config = spacy.util.load_config(configs("tagger"))
    config["training"]["before_update"] = {"@callbacks": "tests_hoseq.interrupt.v1", "step": 12}
    config.to_disk(tmp_path / "config.cfg")
    with pytest.raises(KeyboardInterrupt):
        train_command(tmp_path / "config.cfg", tmp_path, overrides=overrides(corpus))
    for name in ("model-best", "model-last"):
        nlp = spacy.load(tmp_path / name)
        got, wanted = sum(tagged(nlp), []), sum(gold(), [])
        assert sum(a == b for a, b in zip(got, wanted, strict=True)) > 0.7 * len(wanted)
    nlp = spacy.load(tmp_path / "model-best")
    optimizer = nlp.resume_training()
    examples = [spacy.training.Example.from_dict(doc_of(nlp, text), {"tags": tags.split()}) for text, tags in CORPUS]
    for _ in range(25):
        nlp.update(examples, sgd=optimizer)
    assert tagged(nlp) == gold()
