"""Memory zones: nothing of their words is kept, and nothing that is needed later is lost with them."""

import pytest
import spacy

from spacy_hoseq.features.lexicon import lexicon_of

from . import morphology_helpers as tiny
from .helpers import (
    FREQUENT,
    blank,
    examples_of,
    tagger_model,
    trained,
)


def test_rules_forget_the_words_of_a_zone():
    rule = {"name": "the", "tokens": [{"LOWER": "the"}, {}], "labels": ["?x", "?y"]}
    rules = {"@misc": "spacy_hoseq.rule_patterns.v1", "rules": [rule]}
    sources = {"@misc": "spacy_hoseq.pattern_sources.v1", "*": {"a": rules, "b": FREQUENT}}
    nlp = trained(model=tagger_model(patterns=sources))
    words = lexicon_of(nlp.vocab.lookups)
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
