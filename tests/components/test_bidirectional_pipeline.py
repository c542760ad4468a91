"""`hoseq_bidirectional_tagger` in a pipeline: factory, settings, sourcing, renaming, processes, memory zones."""

import pickle

import pytest
import spacy
from spacy import ty
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_hoseq.components.bidirectional_tagger import HoseqBidirectionalTagger

from .bidirectional_helpers import (
    NAME,
    blank,
    chunker,
    local,
    predicted,
    ready,
    tagger_of,
    tags_of,
    train,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, examples_of, gold, reloaded

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


def test_factory():
    nlp = spacy.blank("xx")
    tagger = nlp.add_pipe(NAME)
    assert isinstance(tagger, HoseqBidirectionalTagger)
    assert isinstance(tagger, ty.TrainableComponent) and isinstance(tagger, ty.InitializableComponent)
    meta = nlp.get_factory_meta(NAME)
    assert (meta.assigns, meta.requires, meta.retokenizes) == (["token.tag"], [], False)
    assert nlp.analyze_pipes()["summary"][NAME]["scores"] == ["tag_acc"]
    assert tagger.is_trainable and not tagger.is_resizable


def test_default_settings():
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME)
    config = nlp.get_pipe_config(NAME)
    assert (config["strategy"], config["model"]["order"], config["representation"]) == ("easiest_first", 2, None)
    templates = {"@misc": "spacy_hoseq.templates.v1", "name": "bidirectional_pos", "classes": 0}
    assert config["model"]["templates"] == templates
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 25)
    assert predicted(nlp) == gold()
    assert nlp.evaluate(examples_of(nlp))["tag_acc"] == 1.0


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"width": -1.0}, "HS040"),
        ({"attribute": "dep"}, "HS062"),
        ({"save_decisions": True, "strategy": "left_to_right"}, "HS096"),
        ({"save_decisions": True, "strategy": "full_bidirectional"}, "HS096"),
        ({"model": local(order=3)}, "HS090"),
        ({"model": local(min_count=0)}, "HS017"),
        ({"model": local(["bias", "label[0]"])}, "HS018"),
        ({"model": local([])}, "HS011"),
    ],
)
def test_impossible_settings(settings, code):
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        blank(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"nonsense": 1}, {"seed": 1.5}, {"strategy": "inside_out"}, {"representation": "iob3"}, {"save_decisions": "x"},
     {"model": local(train_for=["inside_out"])}],
)  # fmt: skip
def test_settings_are_checked_by_the_config(settings):
    with pytest.raises(ConfigValidationError):
        blank(**settings)


def test_settings_of_the_class():
    model = tagger_of(blank()).model
    for settings, code in [({"strategy": "inside_out"}, "HS092"), ({"representation": "iob3"}, "HS081")]:
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            HoseqBidirectionalTagger(spacy.blank("xx").vocab, model, **settings)


def test_decisions_can_be_saved_of_greedy_strategies():
    for strategy in ("easiest_first", "easiest_last"):
        assert tagger_of(blank(strategy=strategy, save_decisions=True)).cfg["save_decisions"] is True


def test_sourcing_renaming_disabling():
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(NAME, source=trained())
    assert predicted(nlp) == gold() == predicted(reloaded(nlp))
    with nlp.select_pipes(disable=NAME):
        assert [t.tag_ for t in nlp("the cat")] == ["", ""]
        assert nlp.update(examples_of(nlp), losses={}) == {}
    nlp.rename_pipe(NAME, "other")
    assert nlp.update(examples_of(nlp), losses={}).keys() == {"other"}
    assert [t.tag_ for t in reloaded(nlp)("the cat runs")] == ["D", "N", "V"]


def test_replacing():
    nlp = trained()
    nlp.replace_pipe(NAME, NAME, config={"model": local(["bias", "lower[0]"], order=1), "width": 0.05})
    with pytest.raises(ValueError, match="E143"):
        nlp("the cat")
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 20)
    assert tags_of(nlp, "the cat runs") == ["D", "N", "V"]


def test_tags_feed_later_components():
    nlp = trained()
    nlp.add_pipe("attribute_ruler").add(patterns=[[{"TAG": "N"}]], attrs={"POS": "NOUN"})
    assert [t.pos_ for t in nlp("the cat runs")] == ["", "NOUN", ""]


def test_error_handler():
    nlp = trained()
    failed, tagger = [], tagger_of(nlp)
    predict = tagger.predict

    def fragile(docs):
        if any(doc[0].text == "bad" for doc in docs):
            raise ValueError("on purpose")
        return predict(docs)

    tagger.predict = fragile
    tagger.set_error_handler(lambda name, proc, docs, error: failed.append((name, [doc[0].text for doc in docs])))
    docs = [Doc(nlp.vocab, words=[word]) for word in ("cat", "the", "bad", "a", "runs")]
    assert [doc[0].text for doc in tagger.pipe(iter(docs), batch_size=2)] == ["cat", "the", "runs"]
    assert failed == [(NAME, ["bad", "a"])]


def test_texts_docs_and_tuples():
    nlp = ready()
    assert [[t.tag_ for t in doc] for doc in nlp.pipe(["the cat", "", "hi"])][:2] == [["D", "N"], []]
    config = {NAME: {"batch_size": 1}}
    pairs = list(nlp.pipe([("the cat", 1), ("a dog", 2)], as_tuples=True, component_cfg=config))
    assert [([t.tag_ for t in doc], i) for doc, i in pairs] == [(["D", "N"], 1), (["D", "N"], 2)]
    doc = doc_of(nlp, "the cat")
    tagger_of(nlp).set_annotations(doc, tagger_of(nlp).predict([doc]))
    assert [t.tag_ for t in doc] == ["D", "N"]


@pytest.mark.parametrize("attribute", ["pos", "_.local_label"])
def test_other_attributes(attribute):
    nlp = blank(attribute=attribute)
    docs = [(doc_of(nlp, text), doc_of(nlp, text)) for text in ("the cat runs", "cats run")]
    for (_, reference), labels in zip(docs, ["DET NOUN VERB", "NOUN VERB"], strict=True):
        for token, label in zip(reference, labels.split(), strict=True):
            if attribute == "pos":
                token.pos_ = label
            else:
                token._.local_label = label
    nlp.initialize(lambda: [Example(*pair) for pair in docs])
    for _ in range(15):
        nlp.update([Example(*pair) for pair in docs])
    doc = tagger_of(nlp)(doc_of(nlp, "the cat runs"))
    assert [t.tag_ for t in doc] == [""] * 3
    assert [t.pos_ if attribute == "pos" else t._.local_label for t in doc] == ["DET", "NOUN", "VERB"]
    if attribute == "pos":
        with pytest.raises(ValueError, match=r"\[HS065\]"):
            tagger_of(blank(attribute="pos")).add_label("NN")


@pytest.mark.long
def test_pickling():
    restored = pickle.loads(pickle.dumps(tagger_of(trained())))
    for (text, _), tags in zip(CORPUS, gold(), strict=True):
        assert [t.tag_ for t in restored(Doc(restored.vocab, words=text.split()))] == tags
    nlp = pickle.loads(pickle.dumps(trained(n_updates=3)))
    train(nlp)
    assert predicted(nlp) == gold()
    doc = pickle.loads(pickle.dumps(chunker()))("the old dog sees a cat")
    assert [span.text for span in doc.spans["chunks"]] == ["the old dog", "sees", "a cat"]


def test_two_processes_in_prediction():
    nlp = trained(save_decisions=True)
    texts = [text for text, _ in CORPUS] * 3 + ["unseen words", "12"]
    single = list(nlp.pipe(texts))
    for ours, theirs in zip(single, nlp.pipe(texts, n_process=2, batch_size=5), strict=True):
        assert [t.tag_ for t in ours] == [t.tag_ for t in theirs] and all(t.tag_ in LABELS for t in ours)
        first, second = (doc._.hoseq_decisions[NAME]["order"].tolist() for doc in (ours, theirs))
        assert first == second and sorted(first) == list(range(1, len(ours) + 1))


def test_memory_zone():
    nlp = reloaded(trained())
    texts = ["the zebra runs home .", "the old brontosaurus", *[text for text, _ in CORPUS]]
    with nlp.memory_zone():
        inside = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    assert "brontosaurus" not in nlp.vocab.strings
    outside = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    with nlp.memory_zone():
        assert [[t.tag_ for t in doc] for doc in nlp.pipe(texts)] == inside == outside
    assert outside[2:] == gold()
    assert all(label in nlp.vocab.strings for label in LABELS)


def test_words_of_a_memory_zone_are_forgotten():
    nlp = trained()
    lexicon = tagger_of(nlp).model.attrs["features"].extractor._words._lexicon.latest
    with pytest.raises(RuntimeError, match="on purpose"), nlp.memory_zone():
        nlp("some words that vanish")
        assert len(lexicon)
        raise RuntimeError("on purpose")
    assert not len(lexicon)


def test_training_within_a_memory_zone():
    nlp = blank()
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(15):
        with nlp.memory_zone():
            train(nlp, 1, optimizer=optimizer)
    assert predicted(nlp) == gold()
