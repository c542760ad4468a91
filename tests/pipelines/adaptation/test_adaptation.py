"""A pipeline goes on: new labels, missing types, other names, folds, and what is compared."""

from itertools import product

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

import spacy_hoseq
from spacy_hoseq.pipelines.adaptation.adaptation import Adapter
from spacy_hoseq.pipelines.adaptation.comparison import compared, evaluated

from ...builders import learn, unannotated

OLD = {"Ann": "PER", "Bob": "PER", "Oslo": "LOC", "Rome": "LOC", "Lee": "PER", "Bonn": "LOC"}
NEW = {"Ann": "PER", "Zed": "PER", "Ivy": "PER", "Gizmo": "THING", "Widget": "THING"}
FRAMES = ["{} likes {} .", "{} saw {} today .", "yesterday {} left {} .", "{} and {} won ."]


def texts(nlp, names, frames=FRAMES):
    """Examples of every frame with every pair of names."""
    examples = []
    for frame, pair in product(frames, product(names, repeat=2)):
        words = frame.format(*pair).split()
        ents = [f"B-{names[word]}" if word in names else "O" for word in words]
        tags = ["N" if word in names else "X" for word in words]
        doc = Doc(nlp.vocab, words=words, ents=ents, tags=tags)
        examples.append(Example(unannotated(doc, nlp.vocab), doc))
    return examples


def base():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    nlp.add_pipe("hoseq_ner")
    return learn(nlp, texts(nlp, OLD), 10)


def names_in(nlp, text):
    doc = nlp(Doc(nlp.vocab, words=text.split()))
    return [(entity.text, entity.label_) for entity in doc.ents]


def test_a_new_label_joins_and_a_missing_type_stays():
    nlp = base()
    result = spacy_hoseq.adapt(nlp, texts(nlp, NEW), old=texts(nlp, OLD), components=["hoseq_ner"])
    (component,) = result.components
    assert component.labels == ["THING"] and component.missing == ["LOC"]
    assert result.folds == 5 and result.texts == {"train": 100, "test": 100}
    assert nlp.get_pipe("hoseq_ner").labels == ("LOC", "PER", "THING")
    assert names_in(nlp, "Zed likes Gizmo .") == [("Zed", "PER"), ("Gizmo", "THING")]
    assert names_in(nlp, "Bob left Rome .") == [("Bob", "PER"), ("Rome", "LOC")]
    # no fold has seen its texts, and what is not annotated does not count
    assert component.new.after > component.new.before and component.new.p < 0.05
    assert {*component.new.labels} == {"PER", "THING"} and {*component.old.labels} == {"PER", "LOC"}
    assert component.temperature is None


@pytest.mark.parametrize("missing", [True, False])
def test_gold_outside_of_names(missing):
    """From the definition: where a text has no name, there may be one of a type that no text has."""
    nlp = base()
    names = {**NEW, "Oslo": "LOC"}
    if missing:
        names.pop("Oslo")
    examples = texts(nlp, names)
    adapter = Adapter(nlp, [eg.reference for eg in examples], ["hoseq_ner"], {}, 3.0, 0)
    seen = []
    pipe = nlp.get_pipe("hoseq_ner")
    pipe.leave_open(adapter.missing["hoseq_ner"])
    mask = pipe.gold(examples[:1])
    for row, token in zip(mask, examples[0].reference, strict=True):
        seen.append({tag for tag, is_open in zip(pipe.tags, row, strict=True) if is_open})
        expected = {f"{letter}-PER" for letter in "U"}
        if not token.ent_type_:
            expected = {"O", *(f"{letter}-LOC" for letter in "BILU" if missing)}
        assert seen[-1] == expected
    pipe.labels_changed()
    assert pipe.gold(examples[:1]).sum(axis=1).tolist() == [1] * len(mask)


@pytest.mark.long
def test_other_names_in_texts_and_pipeline():
    nlp = base()
    names = {"Ann": "human", "Ivy": "human", "Zed": "man", "Bonn": "place"}
    labels = {"man": "PERSON", "human": "PERSON", "PER": "PERSON", "place": "LOC", "N": "NOUN"}
    result = spacy_hoseq.adapt(nlp, texts(nlp, names), labels=labels)
    tagger, ner = result.components
    assert nlp.get_pipe("hoseq_ner").labels == ("LOC", "PERSON") and not ner.labels
    assert nlp.get_pipe("hoseq_tagger").labels == ("NOUN", "X") and not tagger.labels
    assert names_in(nlp, "Zed saw Bonn today .") == [("Zed", "PERSON"), ("Bonn", "LOC")]
    # Ann and Bonn were right before, by their new names
    assert ner.new.labels["LOC"][1] > 0.9


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes_and_another_time_goes_on():
    saved = []
    for seed in (0, 0, 1):
        nlp = base()
        few = texts(nlp, NEW)[::3]
        spacy_hoseq.adapt(nlp, few, dev=few, seed=seed)
        saved.append(nlp.get_pipe("hoseq_ner").to_bytes(exclude=["vocab"]))
    assert saved[0] == saved[1] != saved[2]
    few = texts(nlp, {"Gizmo": "THING", "Rome": "CITY"})
    result = spacy_hoseq.adapt(nlp, few, dev=few)
    assert nlp.get_pipe("hoseq_ner").labels == ("LOC", "PER", "THING", "CITY")
    assert result.components[1].missing == ["LOC", "PER"]
    assert names_in(nlp, "Gizmo left Rome .")[0][1] == "THING"


@pytest.mark.long
def test_texts_that_are_kept_apart_calibrate():
    nlp = base()
    result = spacy_hoseq.adapt(nlp, texts(nlp, {**OLD, **NEW}))
    assert result.folds == 0 and result.texts == {"train": 320, "test": 80}
    assert all(component.temperature for component in result.components)
    given = spacy_hoseq.adapt(nlp, texts(nlp, NEW)[:40], dev=texts(nlp, NEW)[40:])
    assert given.folds == 0 and given.texts == {"train": 40, "test": 60}


def test_settings_of_the_config_stay():
    nlp = base()
    config = nlp.config.to_str()
    spacy_hoseq.adapt(nlp, texts(nlp, NEW)[:20], dev=texts(nlp, NEW)[:20])
    assert nlp.config.to_str() == config
    rule = nlp.get_pipe("hoseq_ner")._update_rule
    assert type(rule).__name__ == "AdaGrad"


def test_a_comparison():
    """By hand: of three gold names, one and then two are found; a type that is not annotated does not count."""
    vocab = spacy.blank("xx").vocab
    words = ["Ann", "Bob", "Oslo", "x"]
    gold, before, after = (
        Doc(vocab, words=words, ents=ents)
        for ents in (
            ["B-PER", "B-PER", "B-LOC", "O"],
            ["B-PER", "B-LOC", "O", "B-DATE"],
            ["B-PER", "O", "B-LOC", "O"],
        )
    )
    first, second = (evaluated([gold], [doc], "ents", ["PER", "LOC"]) for doc in (before, after))
    assert first.value == pytest.approx(2 * 1 / (2 + 3)) and second.value == pytest.approx(0.8)
    comparison = compared(first, second)
    assert comparison.labels == {
        "PER": (2, pytest.approx(2 / 3), pytest.approx(2 / 3)),
        "LOC": (1, 0.0, 1.0),
    }
    assert comparison.p == 0 and compared(first, first).p == 1


WRONG = {
    "component": ({"components": ["ner"]}, r"\[HS161\].*hoseq_ner"),
    "no labels": ({"components": ["hoseq_tagger"], "tags": False}, r"\[HS159\].*hoseq_tagger"),
    "two become one": ({"labels": {"PER": "LOC"}}, r"\[HS027\] Wrong labels"),
    "hold": ({"hold": -1}, r"\[HS027\] Wrong hold"),
}


@pytest.mark.parametrize("settings, message", WRONG.values(), ids=WRONG)
def test_wrong_settings(settings, message):
    nlp = base()
    settings = dict(settings)
    examples = texts(nlp, NEW)
    if not settings.pop("tags", True):
        for example in examples:
            for token in example.reference:
                token.tag_ = ""
    with pytest.raises(ValueError, match=message):
        spacy_hoseq.adapt(nlp, examples, **settings)
