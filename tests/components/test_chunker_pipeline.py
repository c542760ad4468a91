"""`hoseq_chunker` as a component: settings, labels, initialization, updates, life in a pipeline (ecosystem.md, section
13, rows 1 to 7, 10, 11, 14 to 20, 26, 28)."""

import multiprocessing

import numpy as np
import pytest
import spacy
import srsly
from spacy import ty
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.learning.adagrad import AdaGrad

from .chunker_helpers import (
    CORPUS,
    NAME,
    TEXTS,
    TYPES,
    blank,
    chunker_of,
    chunks_of,
    doc_of,
    examples_of,
    gold,
    on,
    ready,
    scores_on,
    through,
    train,
    trained,
)
from .helpers import reloaded, sparse, tagger_model

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
        ({"objective": "nonsense"}, "HS060"),
        ({"update_rule": 3}, "HS067"),
        ({"representation": "nonsense"}, "HS081"),
        ({"representation": "iob1"}, "HS084"),
        ({"representation": "ioe2"}, "HS084"),
    ],
)
def test_impossible_settings(settings, code):
    nlp = spacy.blank("xx")
    model = spacy.util.registry.resolve({"model": tagger_model()})["model"]
    possible = {"objective": "max_margin", "update_rule": AdaGrad()}
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        HoseqChunker(nlp.vocab, model, **{**possible, **settings})
    assert HoseqChunker(nlp.vocab, model, **possible).labels == ()


@pytest.mark.parametrize(
    "settings", [{"nonsense": 1}, {"objective": "nonsense"}, {"representation": "iob1"}, {"annotate_ents": "perhaps"}]
)
def test_settings_of_the_config_are_checked(settings):
    with pytest.raises(ConfigValidationError):
        blank(**settings)


@pytest.mark.parametrize("label", [9, None, b"NP", ["NP"]])
def test_labels_are_strings(label):
    nlp = blank()
    with pytest.raises(ValueError, match="E187"):
        chunker_of(nlp).add_label(label)
    with pytest.raises(ValueError, match="E187"):
        chunker_of(nlp).initialize(lambda: examples_of(nlp), labels=["NP", label])


def test_labels_have_a_name():
    nlp = blank()
    with pytest.raises(ValueError, match="HS057"):
        chunker_of(nlp).add_label("")
    assert chunker_of(nlp).labels == ()


def test_adding_labels():
    chunker = chunker_of(blank())
    assert chunker.labels == chunker.label_data == ()
    assert [chunker.add_label(label) for label in ("VP", "NP", "VP")] == [1, 1, 0]
    assert chunker.labels == chunker.label_data == ("VP", "NP") and "VP" in chunker.vocab.strings
    assert chunker.tags == ["O", "U-VP", "B-VP", "I-VP", "L-VP", "U-NP", "B-NP", "I-NP", "L-NP"]


@pytest.mark.parametrize("model", MODELS)
def test_no_labels_after_initialization(model):
    nlp = blank(model)
    nlp.initialize(lambda: examples_of(nlp))
    assert chunker_of(nlp).add_label("NP") == 0
    with pytest.raises(ValueError, match="E922"):
        chunker_of(nlp).add_label("NEW")
    with pytest.raises(ValueError, match="E922"):
        nlp.initialize(lambda: examples_of(nlp, [("a b", "T T", [(0, 1, "NEW")])]))
    assert chunker_of(nlp).labels == TYPES and through(trained(model))[0] == gold()


def test_initialization_without_labels():
    nlp = blank()
    without = [Example(doc_of(nlp, text), doc_of(nlp, text)) for text in TEXTS]
    outside = [Example(doc_of(nlp, text), doc_of(nlp, text, [])) for text in TEXTS]
    for get_examples in (None, lambda: without, lambda: outside):
        with pytest.raises(ValueError, match="HS069"):
            nlp.initialize(get_examples)


def test_use_without_labels_or_weights():
    nlp = blank()
    chunker, doc = chunker_of(nlp), doc_of(nlp, "dogs run")
    uses = [lambda: nlp("dogs"), lambda: chunker.update(examples_of(nlp)), lambda: chunker.top_k([doc], 2)]
    for use in uses:
        with pytest.raises(ValueError, match="E143"):
            use()
    chunker.add_label("NP")
    for use in uses:
        with pytest.raises(ValueError, match="HS052"):
            use()


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


def test_label_data_restores_the_labels(tmp_path):
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    srsly.write_json(tmp_path / "labels.json", chunker_of(nlp).label_data)
    other = blank()
    labels = {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "labels.json")}
    other.config["initialize"]["components"][NAME] = {"labels": labels}
    other.initialize(lambda: [Example(doc_of(other, text), doc_of(other, text)) for text in TEXTS])
    assert chunker_of(other).labels == TYPES


@pytest.mark.parametrize("settings", [{"nonsense": 1}, {"labels": 3}, {"weights_from": 3}])
def test_settings_of_initialization_are_checked(settings):
    nlp = blank()
    nlp.config["initialize"]["components"][NAME] = settings
    with pytest.raises(ConfigValidationError):
        nlp.initialize(lambda: examples_of(nlp))


def test_examples_of_a_wrong_type():
    nlp = blank()
    chunker_of(nlp).add_label("NP")
    for get_examples in (lambda: None, lambda: examples_of(nlp)[0], list, examples_of(nlp)):
        with pytest.raises(TypeError):
            chunker_of(nlp).initialize(get_examples)
    with pytest.raises(TypeError):
        chunker_of(nlp).update([doc_of(nlp, "dogs")])


@pytest.mark.parametrize("model", MODELS)
def test_initialization_without_data_after_adding_labels(model):
    nlp = blank(model)
    for label in TYPES:
        chunker_of(nlp).add_label(label)
    nlp.initialize()
    doc = nlp("a b c")
    if model == "words":
        assert on(doc) == []  # all scores are equal: the first tag
    before = chunker_of(nlp).model.to_bytes()
    train(nlp, 1)
    assert chunker_of(nlp).model.to_bytes() != before


@pytest.mark.parametrize("model", MODELS)
def test_initialization_twice(model):
    nlp, weights = blank(model), []
    for _ in range(2):
        optimizer = nlp.initialize(lambda: iter(examples_of(nlp)))
        train(nlp, 5, optimizer=optimizer)
        weights.append(chunker_of(nlp).model.to_bytes())
    assert weights[0] == weights[1], "everything is learnt anew, in the same way"


def test_all_examples_count_not_only_a_sample():
    corpus = CORPUS * 4 + [("zebras", "Z", [(0, 1, "ZP")])]
    nlp = trained(examples=lambda nlp: examples_of(nlp, corpus))
    assert chunks_of(nlp, "zebras") == [(0, 1, "ZP")]


def test_updates_on_empty_docs():
    nlp = trained(n_updates=2)
    before = chunker_of(nlp).model.to_bytes()
    empty = Example(doc_of(nlp, ""), doc_of(nlp, "", []))
    assert nlp.update([empty, empty], losses={}) == {NAME: 0.0} and chunker_of(nlp).update([]) == {NAME: 0.0}
    assert chunker_of(nlp).model.to_bytes() == before
    for _ in range(20):
        nlp.update([empty, *examples_of(nlp), empty])
    assert through(nlp)[0] == gold()


def test_gradients_are_accumulated():
    """Two halves of a batch and one step are the batch."""
    whole, halves = blank(average=False), blank(average=False)
    for nlp in (whole, halves):
        nlp.initialize(lambda nlp=nlp: examples_of(nlp))
    chunker = chunker_of(halves)
    for _ in range(3):
        expected = chunker_of(whole).update(examples_of(whole), sgd=whole.create_optimizer())
        losses = chunker.update(examples_of(halves)[:2], losses={"other": 1.0})
        chunker.update(examples_of(halves)[2:], losses=losses)
        assert losses == {"other": 1.0, NAME: pytest.approx(expected[NAME])}
        chunker.finish_update(None)
    assert through(halves)[0] == through(whole)[0]
    for ours, theirs in zip(through(halves)[1], through(whole)[1], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-3)  # weights are rounded to half precision


@pytest.mark.long
def test_sourcing_renaming_and_replacing():
    source = trained(save_marginals=True)
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(NAME, source=source)
    assert through(nlp)[0] == gold()
    nlp.rename_pipe(NAME, "other")
    doc = nlp("dogs run .")
    assert list(doc._.hoseq_marginals) == ["other"] and on(doc) == gold()[1]
    assert nlp.update(examples_of(nlp), losses={}).keys() == {"other"}
    assert through(reloaded(nlp))[0] == through(nlp)[0]
    nlp.replace_pipe("other", NAME, config={"model": tagger_model(sparse(["bias"]))})
    with pytest.raises(ValueError, match="E143"):
        nlp("dogs")


def test_disabling(tmp_path):
    nlp = ready()
    with nlp.select_pipes(disable=NAME):
        assert not nlp("dogs run").spans
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path, disable=[NAME])
    assert not loaded("dogs run").spans and spacy.load(tmp_path, exclude=[NAME]).pipe_names == []
    loaded.enable_pipe(NAME)
    assert on(loaded("dogs run .")) == gold()[1]


def test_sentences_from_an_earlier_component():
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(NAME, source=trained())
    assert on(nlp("dogs run . dogs run .")) == [(0, 1, "NP"), (1, 2, "VP"), (3, 4, "NP"), (4, 5, "VP")]


def test_error_handler():
    nlp = trained()
    chunker, failed = chunker_of(nlp), []
    predict = chunker.predict

    def fragile(docs):
        if any(doc[0].text == "bad" for doc in docs):
            raise ValueError("on purpose")
        return predict(docs)

    chunker.predict = fragile
    chunker.set_error_handler(lambda name, proc, docs, error: failed.append((name, [d.text for d in docs], str(error))))
    docs = [Doc(nlp.vocab, words=[word], spaces=[False]) for word in ("cat", "the", "bad", "a", "dogs")]
    assert [doc.text for doc in chunker.pipe(iter(docs), batch_size=2)] == ["cat", "the", "dogs"]
    assert failed == [(NAME, ["bad", "a"], "on purpose")]


@pytest.fixture
def spawn():
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("spawn", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.mark.long
def test_two_processes(spawn):
    nlp = ready()
    texts = [*TEXTS, "", "unseen words", "\n"]
    single, double = list(nlp.pipe(texts)), list(nlp.pipe(texts, n_process=2, batch_size=3))
    assert [on(doc) for doc in double] == [on(doc) for doc in single] and [on(doc) for doc in single][:5] == gold()
    for ours, theirs in zip(double, single, strict=True):
        assert scores_on(ours) == pytest.approx(scores_on(theirs), abs=1e-6)


def test_dropout_is_repeated_from_the_seed():
    one, two = (trained(n_updates=3, drop=0.5, seed=seed) for seed in (3, 3))
    assert np.allclose(chunker_of(one).model.predict([doc_of(one, "dogs run")]).scores,
                       chunker_of(two).model.predict([doc_of(two, "dogs run")]).scores)  # fmt: skip


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
