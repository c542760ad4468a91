"""Corpora that are streamed: labels from a file, hashed features, no pass over the data beforehand."""

import pytest
import spacy
import srsly
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train

from .helpers import (
    CORPUS,
    LABELS,
    blank,
    doc_of,
    examples_of,
    gold,
    reloaded,
    sparse,
    tagger_model,
    tagger_of,
)

CONFIG = """
[nlp]
lang = "xx"
pipeline = ["hoseq_tagger"]

[components]

[components.hoseq_tagger]
factory = "hoseq_tagger"

[components.hoseq_tagger.model]
@architectures = "spacy_hoseq.HigherOrderTagger.v1"

[components.hoseq_tagger.model.emissions]
@architectures = "spacy_hoseq.SparseLinear.v1"
templates = ["bias", "lower[0]", "lower[-1]", "suffix2[0]"]
hash_rows = 5000

[corpora]

[corpora.train]
@readers = "tests_hoseq.stream.v1"

[corpora.dev]
@readers = "tests_hoseq.finite.v1"

[training]
max_epochs = -1
max_steps = 40
eval_frequency = 10
dropout = 0.0
seed = 0
gpu_allocator = null

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 12

[training.score_weights]
tag_acc = 1.0

[initialize]

[initialize.components]

[initialize.components.hoseq_tagger]

[initialize.components.hoseq_tagger.labels]
@readers = "spacy.read_labels.v1"
path = "PATH"
"""


def example(nlp, text, tags):
    return Example.from_dict(doc_of(nlp, text), {"tags": tags.split()})


@spacy.registry.readers("tests_hoseq.stream.v1")
def make_stream():
    """Initialization sees 100 examples, all of one sentence; the others come later."""

    def stream(nlp):
        for _ in range(120):
            yield example(nlp, *CORPUS[2])
        while True:
            for pair in CORPUS:
                yield example(nlp, *pair)

    return stream


@spacy.registry.readers("tests_hoseq.finite.v1")
def make_finite():
    return lambda nlp: examples_of(nlp)


@pytest.fixture
def config(tmp_path):
    srsly.write_json(tmp_path / "labels.json", list(LABELS))
    return spacy.util.Config().from_str(CONFIG.replace("PATH", (tmp_path / "labels.json").as_posix()))


def tagged(nlp):
    return [[t.tag_ for t in nlp(doc_of(nlp, text))] for text, _ in CORPUS]


def test_streaming(config, tmp_path):
    nlp = init_nlp(config)
    assert tagger_of(nlp).labels == LABELS
    train(nlp, tmp_path)
    loaded = spacy.load(tmp_path / "model-best")
    assert tagged(loaded) == gold()
    assert loaded.meta["performance"]["tag_acc"] == 1.0
    assert tagged(spacy.load(tmp_path / "model-last")) == gold()


@pytest.mark.long
@pytest.mark.parametrize("hash_rows, learnt", [(1, False), (300, True)])
def test_hashed_rows(hash_rows, learnt):
    nlp = blank(model=tagger_model(sparse(hash_rows=hash_rows)))
    optimizer = nlp.initialize(lambda: examples_of(nlp, CORPUS[:1] + [("x", label) for label in LABELS]))
    assert tagger_of(nlp).model.layers[0].shims[0].parameters["table"].values.shape == (hash_rows + 1, len(LABELS))
    for _ in range(40):
        nlp.update(examples_of(nlp), sgd=optimizer, losses={})
    assert (tagged(nlp) == gold()) == learnt
    assert tagged(reloaded(nlp)) == tagged(nlp)
