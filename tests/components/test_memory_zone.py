"""Memory zones: nothing of their words is kept, and nothing that is needed later is lost with them."""

import pytest
import spacy

from spacy_hoseq.features.lexicon import lexicon_of

from . import morphology_helpers as tiny
from .helpers import (
    ALL_PATTERNS,
    CORPUS,
    FREQUENT,
    LABELS,
    blank,
    examples_of,
    gold,
    predicted,
    reloaded,
    tagger_model,
    train,
    trained,
)


def test_memory_zone():
    nlp = reloaded(trained(model=tagger_model(patterns=ALL_PATTERNS)))
    texts = ["the zebra runs home .", "the old brontosaurus", *[text for text, _ in CORPUS]]
    with nlp.memory_zone():
        inside = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    assert "brontosaurus" not in nlp.vocab.strings
    outside = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    with nlp.memory_zone():
        again = [[t.tag_ for t in doc] for doc in nlp.pipe(texts)]
    assert inside == outside == again
    assert outside[2:] == gold()
    assert all(label in nlp.vocab.strings for label in LABELS)


def test_words_of_a_memory_zone_are_forgotten():
    nlp = trained()
    lexicon = lexicon_of(nlp.vocab)
    with nlp.memory_zone():
        nlp("some words that vanish")
        assert len(lexicon)
    assert not len(lexicon)
    with pytest.raises(RuntimeError, match="on purpose"):
        with nlp.memory_zone():
            nlp("some words that vanish")
            raise RuntimeError("on purpose")
    assert not len(lexicon), "also after an error"


def test_training_within_a_memory_zone():
    nlp = blank(model=tagger_model(patterns=ALL_PATTERNS))
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(10):
        with nlp.memory_zone():
            train(nlp, 1, optimizer=optimizer)
    assert predicted(nlp) == gold()


def test_rules_forget_the_words_of_a_zone():
    rule = {"name": "the", "tokens": [{"LOWER": "the"}, {}], "labels": ["?x", "?y"]}
    rules = {"@misc": "spacy_hoseq.rule_patterns.v1", "rules": [rule]}
    sources = {"@misc": "spacy_hoseq.pattern_sources.v1", "*": {"a": rules, "b": FREQUENT}}
    nlp = trained(model=tagger_model(patterns=sources))
    words = lexicon_of(nlp.vocab)
    expected = [t.tag_ for t in nlp("the brontosaurus runs")]
    with nlp.memory_zone():
        nlp("the words that vanish")
        assert len(words) > 0
    assert len(words) == 0
    assert [t.tag_ for t in nlp("the brontosaurus runs")] == expected


def test_tags_that_are_part_of_a_label():
    """First written in a zone: of white space, and of a label that the training text does not have."""
    nlp = tiny.blank(with_tag=True)
    labels = [*nlp.get_pipe(tiny.NAME).target.labels_in(tiny.examples_of(nlp)), "POS=NOUN|TAG=of_no_text"]
    nlp.get_pipe(tiny.NAME).initialize(lambda: tiny.examples_of(nlp), nlp=nlp, labels=labels)
    with nlp.memory_zone():
        inside = tiny.said(nlp("magna urbs \n\n ardet"))
    assert "_SP" in inside[0]
    assert tiny.said(nlp("magna urbs \n\n ardet")) == inside
    assert "of_no_text" in nlp.vocab.strings


def test_labels_that_are_new_in_a_zone():
    """Words of the zone and its gold annotation are spelt as labels; afterwards they are gone."""
    corpus = [("Xd Xn old .", "Xd Xn Xn Xp"), ("old Xn .", "Xd Xn Xp")]
    nlp = blank()
    with nlp.memory_zone():
        examples = examples_of(nlp, corpus)
        optimizer = nlp.initialize(lambda: examples)
        for _ in range(20):
            nlp.update(examples, sgd=optimizer)
        inside = [t.tag_ for t in nlp("old Xn .")]
    with nlp.memory_zone():
        assert [t.tag_ for t in nlp("Xd old Xp")][1] in inside
    assert [t.tag_ for t in nlp("old Xn .")] == inside == ["Xd", "Xn", "Xp"]


@pytest.mark.parametrize("name", ["hoseq_tagger", "hoseq_chunker", "hoseq_bidirectional_tagger"])
def test_a_label_that_is_added_in_a_zone(name):
    nlp = spacy.blank("xx")
    component = nlp.add_pipe(name)
    with nlp.memory_zone():
        component.add_label("Xq")
    assert "Xq" in nlp.vocab.strings and component.labels == ("Xq",)
