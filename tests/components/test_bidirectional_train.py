"""`hoseq_bidirectional_tagger` in `spacy train`: tags, chunks, and chunks from tags."""

import pytest
import spacy
from spacy.cli.train import train as train_command
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import Config

from .bidirectional_helpers import (
    CHUNKED,
    NAME,
    blank,
    chunked_doc,
    chunked_examples,
    chunks_of,
    chunks_on,
    local,
    tagger_of,
)
from .helpers import CORPUS, doc_of, reloaded

CONFIG = f"""
[nlp]
lang = "xx"
pipeline = ["{NAME}"]

[components]

[components.{NAME}]
factory = "{NAME}"
width = 0.05

[components.{NAME}.model]
@architectures = "spacy_hoseq.LocalClassifiers.v1"
templates = ["bias", "lower[0]", "lower[-1]", "suffix2[0]", "label[-1]", "label[1]"]

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = "PATH"

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = "PATH"

[training]
max_epochs = 12
eval_frequency = 5
patience = 0
seed = 0
gpu_allocator = null

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 3

[training.score_weights]
tag_acc = 1.0
"""
# Templates that read tags: whether a token begins a chunk depends on its tag and on the one before, and on no word.
TAG_TEMPLATES = ["bias", "tag[0]", "tag[-1]", "tag[-1]+tag[0]", "label[-1]"]
WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "run"], "V": ["sees", "runs"]}
TAGGED = [("the dog sees a cat", "D N V D N"), ("cat runs", "N V"), ("a run sees", "D N V"), ("the the cat", "D D N")]
UNSEEN = [("a dog runs the run", "D N V D N"), ("dog sees cat", "N V N")]


def noun_phrases(tags):
    """A D begins a chunk, and so does an N that does not follow one."""
    tags = tags.split()
    first = [i for i, tag in enumerate(tags) if tag == "D" or (tag == "N" and (i == 0 or tags[i - 1] != "D"))]
    ends = [i + 1 if tags[i] == "N" or tags[i + 1] != "N" else i + 2 for i in first]
    return [(i, end, "NP") for i, end in zip(first, ends, strict=True)]


@spacy.Language.component("tests_hoseq_lookup_tagger")
def lookup_tagger(doc):
    for token in doc:
        token.tag_ = next((tag for tag, words in WORDS.items() if token.text in words), "")
    return doc


def corpus_file(path, docs):
    DocBin(docs=docs).to_disk(path)
    return path


def config_of(path, changes=()):
    config = Config().from_str(CONFIG.replace("PATH", path.as_posix()))
    for name, value in dict(changes).items():
        *sections, last = name.split(".")
        at = config
        for section in sections:
            at = at[section]
        at[last] = value
    return config


def run_training(config, path):
    config.to_disk(path / "config.cfg")
    train_command(path / "config.cfg", path)
    return [spacy.load(path / name) for name in ("model-best", "model-last")]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    nlp = spacy.blank("xx")
    return corpus_file(tmp_path_factory.mktemp("tagged") / "tags.spacy", [doc_of(nlp, *pair) for pair in CORPUS])


@pytest.mark.long
def test_training_of_chunks(tmp_path):
    nlp = spacy.blank("xx")
    path = corpus_file(tmp_path / "chunks.spacy", [chunked_doc(nlp, *pair) for pair in CHUNKED])
    changes = {
        f"components.{NAME}.representation": "start_end",
        f"components.{NAME}.scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
        "training.score_weights": {"spans_chunks_f": 1.0},
        "training.max_epochs": 25,
    }
    for nlp in run_training(config_of(path, changes), tmp_path):
        for text, chunks in CHUNKED:
            assert chunks_of(nlp, text) == chunks
        assert nlp.meta["performance"]["spans_chunks_f"] == 1.0
        assert set(nlp.evaluate(chunked_examples(nlp))["spans_chunks_per_type"]) == {"NP", "VP"}


def chunked_and_tagged(nlp, corpus=TAGGED):
    return [chunked_doc(nlp, text, noun_phrases(tags), tags=tags.split()) for text, tags in corpus]


@pytest.mark.long
def test_training_of_chunks_from_given_tags(tmp_path):
    nlp = spacy.blank("xx")
    path = corpus_file(tmp_path / "chunks.spacy", chunked_and_tagged(nlp))
    reader = {"@readers": "spacy_hoseq.corpus.v1", "path": str(path), "attributes": ["tag"]}
    changes = {
        f"components.{NAME}.representation": "iob2",
        f"components.{NAME}.scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
        f"components.{NAME}.model.templates": TAG_TEMPLATES,
        "corpora": {"train": reader, "dev": reader},
        "training.score_weights": {"spans_chunks_f": 1.0},
        "training.max_epochs": 25,
    }
    for nlp in run_training(config_of(path, changes), tmp_path):
        assert nlp.meta["performance"]["spans_chunks_f"] == 1.0
        for text, tags in [*TAGGED, *UNSEEN]:
            assert chunks_on(nlp(chunked_doc(nlp, text, tags=tags.split()))) == noun_phrases(tags)


@pytest.mark.long
def test_tags_of_an_annotating_component(tmp_path):
    nlp = spacy.blank("xx")
    path = corpus_file(tmp_path / "chunks.spacy", chunked_and_tagged(nlp))
    changes = {
        "nlp.pipeline": ["tests_hoseq_lookup_tagger", NAME],
        "components.tests_hoseq_lookup_tagger": {"factory": "tests_hoseq_lookup_tagger"},
        f"components.{NAME}.representation": "iob2",
        f"components.{NAME}.scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
        f"components.{NAME}.model.templates": TAG_TEMPLATES,
        "training.annotating_components": ["tests_hoseq_lookup_tagger"],
        "training.score_weights": {"spans_chunks_f": 1.0},
        "training.max_epochs": 25,
    }
    for nlp in run_training(config_of(path, changes), tmp_path):
        assert nlp.meta["performance"]["spans_chunks_f"] == 1.0
        for text, tags in [*TAGGED, *UNSEEN]:
            assert chunks_on(nlp(text)) == noun_phrases(tags)


def rows_of_keys(nlp):
    return len(tagger_of(nlp).model.shims[0].known["keys"][0])


def test_features_of_gold_tags_and_of_earlier_components():
    """Numbered as the gold annotation has them, and as the components before this one write them."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("tests_hoseq_lookup_tagger")
    nlp.add_pipe(NAME, config={"model": local(["tag[0]"]), "representation": "iob2"})
    nlp.add_pipe("tests_hoseq_lookup_tagger", name="later")
    reference = chunked_doc(nlp, "the dog odd", [(0, 2, "NP")], tags=["GOLD", "N", "N"])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(nlp) == 3, "GOLD, N, and D; no tag for `odd`"
    alone = blank(model=local(["tag[0]"]), representation="iob2")
    alone.initialize(lambda: [Example(Doc(alone.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(alone) == 2, "GOLD and N"
    words = blank(model=local(["orth[0]"]), representation="iob2")
    words.initialize(lambda: [Example(Doc(words.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(words) == 3


@pytest.mark.long
def test_tags_in_updates_by_hand():
    nlp = spacy.blank("xx")
    nlp.add_pipe("tests_hoseq_lookup_tagger")
    nlp.add_pipe(NAME, config={"model": local(TAG_TEMPLATES), "width": 0.05, "representation": "iob2"})

    def examples():
        return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in chunked_and_tagged(nlp)]

    optimizer = nlp.initialize(examples)
    for _ in range(25):
        nlp.update(examples(), sgd=optimizer, annotates=["tests_hoseq_lookup_tagger"])
    for text, tags in [*TAGGED, *UNSEEN]:
        assert chunks_on(nlp(text)) == noun_phrases(tags) == chunks_on(reloaded(nlp)(text))
