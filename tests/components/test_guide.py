"""A tagger that reads the tags of another one, which was trained on a corpus with other tags and is frozen."""

import contextlib
import io

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_config, load_model_from_config

from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.recipes import recipe

from ..builders import learn, unannotated

# Nouns are "x", verbs "y"; here a noun is "a" at the start and "b" elsewhere. Only half of the words are in both.
OTHER = [("ant dig", "x y"), ("bee eat cow", "x y x"), ("elk dig", "x y"), ("fox eat gnu", "x y x")]
TEXTS = [("ant dig", "a v"), ("bee eat cow", "a v b"), ("dig ant", "v b")]
UNSEEN = [("elk eat fox", "a v b"), ("gnu dig", "a v")]
RUN = {"training.max_epochs": 4, "training.patience": 0, "training.logger.progress_bar": None}


def gold(vocab, texts):
    return [Doc(vocab, words=text.split(), tags=tags.split()) for text, tags in texts * 6]


def examples(nlp, texts):
    return [Example(unannotated(doc, nlp.vocab), doc) for doc in gold(nlp.vocab, texts)]


def guided_config(folder):
    """The lines of docs/tasks/words.md."""
    config = load_config(folder / "guide.cfg")
    source = {"source": str(folder / "guide"), "component": "hoseq_tagger"}
    tagger = {**config["components"]["hoseq_tagger"], "overwrite": True}
    templates = {"@misc": "spacy_hoseq.templates.v1", "name": "english_pos+guide_tags"}
    tagger["model"]["emissions"]["templates"] = templates
    config["components"] = {"guide": source, "hoseq_tagger": tagger}
    config["nlp"]["pipeline"] = ["guide", "hoseq_tagger"]
    config["training"].update(frozen_components=["guide"], annotating_components=["guide"])
    return config


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a trained guide."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "guide.cfg").write_text(recipe("tagger", "xx"), "utf8")
    nlp = load_model_from_config(load_config(folder / "guide.cfg").interpolate(), auto_fill=True)
    learn(nlp, examples(nlp, OTHER), 10)
    nlp.to_disk(folder / "guide")
    return folder


def tags_of(nlp, texts):
    docs = [nlp(Doc(nlp.vocab, words=text.split())) for text, _ in texts]
    return [" ".join(token.tag_ for token in doc) for doc in docs]


@pytest.mark.long
def test_two_trainings(folder, tmp_path):
    guided_config(folder).to_disk(tmp_path / "config.cfg")
    corpus = str(tmp_path / "train.spacy")
    DocBin(docs=gold(spacy.blank("xx").vocab, TEXTS)).to_disk(corpus)
    with contextlib.redirect_stdout(io.StringIO()):
        paths = {"paths.train": corpus, "paths.dev": corpus}
        train(tmp_path / "config.cfg", tmp_path, overrides=RUN | paths)
    guide, nlp = spacy.load(folder / "guide"), spacy.load(tmp_path / "model-last")
    assert nlp.meta["performance"]["tag_acc"] == 1.0
    assert tags_of(nlp, UNSEEN) == [tags for _, tags in UNSEEN], "words that only the guide knows"
    tables = [each.vocab.lookups.get_table(KNOWN_TAGS_TABLE) for each in (nlp, guide)]
    assert dict(tables[0]) == dict(tables[1])
    nlp.disable_pipe("hoseq_tagger")
    assert tags_of(nlp, OTHER) == tags_of(guide, OTHER) == [tags for _, tags in OTHER]


@pytest.mark.parametrize(
    "annotating, expected", [(["guide"], {"a", "b", "v", "x", "y"}), ([], {"a", "b", "v"})]
)
def test_tags_of_a_frozen_component_are_numbered(folder, annotating, expected):
    """`spacy train` disables it in initialization; without annotating it has no say."""
    config = guided_config(folder).interpolate()
    config["components"]["hoseq_tagger"]["model"]["emissions"]["templates"] = ["tag[0]"]
    config["training"]["annotating_components"] = annotating
    nlp = load_model_from_config(config, auto_fill=True)
    with nlp.select_pipes(disable="guide"):
        nlp.initialize(lambda: examples(nlp, TEXTS))
    keys = weights_in(nlp.get_pipe("hoseq_tagger").model)[-1].extra["keys"]
    assert len(keys) == len(expected)
