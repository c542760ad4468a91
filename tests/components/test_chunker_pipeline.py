"""`hoseq_chunker` as a component: settings, labels, initialization, updates, life in a pipeline (ecosystem.md, section
13, rows 1 to 7, 10, 11, 14 to 20, 26, 28)."""

import multiprocessing

import pytest
import spacy
from spacy import ty

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.learning.adagrad import AdaGrad

from .chunker_helpers import (
    NAME,
    TYPES,
    blank,
    chunker_of,
    examples_of,
    gold,
    on,
    through,
    train,
    trained,
)
from .helpers import tagger_model

MODELS = ["words", "patterns"]


def test_factory():
    nlp = spacy.blank("xx")
    chunker = nlp.add_pipe(NAME)
    assert isinstance(chunker, HoseqChunker)
    assert isinstance(chunker, ty.TrainableComponent) and isinstance(chunker, ty.InitializableComponent)
    assert not isinstance(chunker, ty.ListenedToComponent)
    meta = nlp.get_factory_meta(NAME)
    assert (meta.assigns, meta.requires, meta.retokenizes) == (["doc.spans"], ["token.tag"], False)
    summary = nlp.analyze_pipes()["summary"][NAME]
    assert sorted(summary["scores"]) == ["spans_chunks_f", "spans_chunks_p", "spans_chunks_r"]
    assert not chunker.is_resizable and chunker.is_trainable


def test_default_settings():
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME)
    config = nlp.get_pipe_config(NAME)
    expected = {"objective": "log_likelihood", "representation": "bilou", "spans_key": "chunks", "annotate_ents": False}
    assert {key: config[key] for key in expected} == expected
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp)
    assert through(nlp)[0] == gold()


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"objective": "nonsense"}, "HS161"),
        ({"update_rule": 3}, "HS027"),
        ({"representation": "nonsense"}, "HS161"),
        ({"representation": "iob1"}, "HS161"),
        ({"representation": "ioe2"}, "HS161"),
    ],
)
def test_impossible_settings(settings, code):
    nlp = spacy.blank("xx")
    model = spacy.util.registry.resolve({"model": tagger_model()})["model"]
    possible = {"objective": "max_margin", "update_rule": AdaGrad()}
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        HoseqChunker(nlp.vocab, model, **{**possible, **settings})
    assert HoseqChunker(nlp.vocab, model, **possible).labels == ()


def test_labels_have_a_name():
    nlp = blank()
    with pytest.raises(ValueError, match="HS027"):
        chunker_of(nlp).add_label("")
    assert chunker_of(nlp).labels == ()


def test_labels_of_the_examples_and_given_ones():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    assert chunker_of(nlp).labels == TYPES and list(nlp.meta["labels"][NAME]) == list(TYPES)
    nlp = blank()
    chunker_of(nlp).add_label("FIRST")
    chunker_of(nlp).initialize(lambda: examples_of(nlp), labels=["VP", "NP", "UNUSED"])
    assert chunker_of(nlp).labels == ("FIRST", "VP", "NP", "UNUSED")
    train(nlp)
    assert through(nlp)[0] == gold()


def test_sentences_from_an_earlier_component():
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(NAME, source=trained())
    assert on(nlp("dogs run . dogs run .")) == [(0, 1, "NP"), (1, 2, "VP"), (3, 4, "NP"), (4, 5, "VP")]


@pytest.fixture
def spawn():
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("spawn", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


def test_annotates_on_update():
    nlp = trained()
    seen = []
    nlp.add_pipe("tests_hoseq_spans_seen")
    nlp.get_pipe("tests_hoseq_spans_seen").seen = seen
    nlp.update(examples_of(nlp), losses={})
    nlp.update(examples_of(nlp), losses={}, annotates=[NAME])
    assert seen == [None] * 5 + gold()


class SpansSeen:
    """Notes the chunks that it sees in training."""

    is_trainable, model = True, None

    def __call__(self, doc):
        return doc

    def update(self, examples, **settings):
        self.seen.extend(on(eg.predicted) if "chunks" in eg.predicted.spans else None for eg in examples)


spacy.Language.factory("tests_hoseq_spans_seen", func=lambda nlp, name: SpansSeen())
