"""`hoseq_bidirectional_tagger` in a pipeline: factory, settings, sourcing, renaming, processes, memory zones."""


import pytest
import spacy
from spacy import ty
from spacy.training import Example

from spacy_hoseq.components.bidirectional_tagger import HoseqBidirectionalTagger

from .bidirectional_helpers import (
    NAME,
    blank,
    local,
    predicted,
    tagger_of,
    train,
    trained,
)
from .helpers import doc_of, examples_of, gold

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
        ({"width": -1.0}, "HS027"),
        ({"attribute": "dep"}, "HS027"),
        ({"save_decisions": True, "strategy": "left_to_right"}, "HS027"),
        ({"save_decisions": True, "strategy": "full_bidirectional"}, "HS027"),
        ({"model": local(order=3)}, "HS027"),
        ({"model": local(min_count=0)}, "HS027"),
        ({"model": local(["bias", "label[0]"])}, "HS027"),
        ({"model": local([])}, "HS027"),
    ],
)
def test_impossible_settings(settings, code):
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        blank(**settings)


def test_settings_of_the_class():
    model = tagger_of(blank()).model
    for settings, code in [({"strategy": "inside_out"}, "HS161"), ({"representation": "iob3"}, "HS161")]:
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            HoseqBidirectionalTagger(spacy.blank("xx").vocab, model, **settings)


def test_decisions_can_be_saved_of_greedy_strategies():
    for strategy in ("easiest_first", "easiest_last"):
        assert tagger_of(blank(strategy=strategy, save_decisions=True)).cfg["save_decisions"] is True


def test_tags_feed_later_components():
    nlp = trained()
    nlp.add_pipe("attribute_ruler").add(patterns=[[{"TAG": "N"}]], attrs={"POS": "NOUN"})
    assert [t.pos_ for t in nlp("the cat runs")] == ["", "NOUN", ""]


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
        with pytest.raises(ValueError, match=r"\[HS027\]"):
            tagger_of(blank(attribute="pos")).add_label("NN")
