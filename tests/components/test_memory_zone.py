"""Memory zones: nothing of their words is kept, and nothing that is needed later is lost with them."""

import sys

import pytest
import spacy
from spacy.tokens import Doc

import spacy_hoseq
from spacy_hoseq.caches import IdentityCache
from spacy_hoseq.features.lexicon import lexicon_of
from spacy_hoseq.layers.local_classifiers import BatchScores
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.patterns.same_word import SameWordPairs

from ..builders import learn
from . import morphology_helpers as tiny
from .bidirectional_helpers import ready as bidirectional
from .helpers import FREQUENT, blank, examples_of, ready, tagger_model, trained


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
    labels = nlp.get_pipe(tiny.NAME).target.labels_in(tiny.examples_of(nlp))
    labels = [*labels, "POS=NOUN|TAG=of_no_text"]
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
        learn(nlp, examples_of(nlp, corpus), 20)
        inside = [t.tag_ for t in nlp("old Xn .")]
    with nlp.memory_zone():
        assert [t.tag_ for t in nlp("Xd old Xp")][1] in inside
    assert [t.tag_ for t in nlp("old Xn .")] == inside == ["Xd", "Xn", "Xp"]


@pytest.mark.parametrize(
    "name, text",
    [
        pytest.param("af", "Die grypskaapmannetjies blafwerk in Vlinderdorpies .", id="af"),
        pytest.param(
            "en", "The wumpuses of Blorvania glorfed two dribblets in Zanzibarry .", id="en"
        ),
        pytest.param("cy", "Mae Blorfaniaid yn glorffio ddribledau yn Sansibarri .", id="cy"),
    ],
)
def test_the_same_new_words_in_two_zones(name, text):
    """Strings of the first zone, such as new lemmas, are gone in the second, and are written anew."""
    nlp = spacy_hoseq.load(name)

    def written():
        doc = nlp(Doc(nlp.vocab, words=text.split()))
        tokens = [(t.tag_, t.pos_, str(t.morph), t.lemma_, t.ent_type_) for t in doc]
        spans = {key: [(s.text, s.label_) for s in group] for key, group in doc.spans.items()}
        return tokens, spans

    with nlp.memory_zone():
        inside = written()
    lemmas = {row[3] for row in inside[0]}
    assert any(lemma not in nlp.vocab.strings for lemma in lemmas - {*text.split()})
    with nlp.memory_zone():
        assert written() == inside
    assert written() == inside


@pytest.mark.parametrize("name", ["hoseq_tagger", "hoseq_chunker", "hoseq_bidirectional_tagger"])
def test_a_label_that_is_added_in_a_zone(name):
    nlp = spacy.blank("xx")
    component = nlp.add_pipe(name)
    with nlp.memory_zone():
        component.add_label("Xq")
    assert "Xq" in nlp.vocab.strings and component.labels == ("Xq",)


# Threads that predict with one pipeline: whatever another one does between two lines, the result is the same


def with_another_between(function, work, other):
    """What `work` returns if `other` runs before one of the lines of `function`, for each of its lines."""
    results, n_lines = [], 0
    while n_lines == len(results):
        left = len(results)

        def before_line(frame, event, arg):
            nonlocal left, n_lines
            if event == "line":
                if left == 0:
                    n_lines += 1
                    sys.settrace(None)
                    other()
                left -= 1
            return before_line

        sys.settrace(lambda frame, *_: before_line if frame.f_code is function.__code__ else None)  # noqa: B023
        try:
            results.append(work())
        finally:
            sys.settrace(None)
    return results[:-1]


@pytest.mark.parametrize("function", [BatchScores.__init__, BatchScores._type_scores])
@pytest.mark.parametrize("forget", [True, False])
def test_scores_of_words_while_words_are_forgotten(forget, function):
    """A word type is another word then."""
    nlp = bidirectional()
    model = nlp.get_pipe("hoseq_bidirectional_tagger").model

    def tags(text):
        return [token.tag_ for token in nlp(text)]

    def other():
        if forget:
            scorer_of(model).forget_words()
        assert tags("a cat runs home .") == "D N V R .".split()

    def work():
        scorer_of(model).forget_words()
        return tags("the old dog sees a cat .")

    found = with_another_between(function, work, other)
    assert len(found) > 5 and all(labels == "D A N V D N .".split() for labels in found)


def test_mentions_while_they_are_first_looked_for():
    """Both of the two find them."""
    doc = Doc(ready().vocab, words=["a", "b", "a"])
    sources, found = [], []

    def find():
        return sources[-1].fire([doc]).tokens.tolist()

    def work():
        sources.append(SameWordPairs([["B"]], {}, 5))
        return find()

    def other():
        found.append(find())

    found += with_another_between(IdentityCache.of, work, other)
    assert len(found) > 5 and all(tokens == [2] for tokens in found)
