"""Components of more labels and features: before they learn, they decide as they did."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.inspection.calibration import annotated_before
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.pipelines.adaptation.growth import check_growth, grown
from spacy_hoseq.pipelines.recipes import RECIPES

from ...builders import misc, packaged, unannotated
from ...components import helpers as tags
from ...components.test_compose import quiet, saved  # noqa: F401

pytestmark = [quiet, pytest.mark.filterwarnings("ignore::UserWarning:spacy")]
# with a network, with cells of rules, or with labels decided one by one
REFUSED = {"bidirectional", "neural-chunker", "neural-entities"}
GROWS = sorted({*RECIPES, "cy"} - REFUSED - {"words"})


def new_texts(nlp):
    """Words and labels of every kind that no recipe and no pipeline has seen."""
    words = "Zorg sees the quux .".split()
    doc = Doc(
        nlp.vocab,
        words=words,
        tags="X N V D N".split(),
        pos="X VERB DET NOUN PUNCT".split(),
        morphs=["Case=Zz", "", "", "", ""],
        lemmas="zorg went the quux .".split(),
        ents=["B-NEW", "O", "B-NP", "I-NP", "O"],
        sent_starts=[True, False, False, False, False],
    )
    doc.spans["chunks"] = list(doc.ents)
    return [Example(unannotated(doc, nlp.vocab), doc)]


@pytest.mark.long
@pytest.mark.parametrize("name", GROWS)
def test_scores_of_old_labels_stay(saved, name):  # noqa: F811
    nlp = saved(name)
    doc = nlp(Doc(nlp.vocab, words="Ann Lee sees the dog in Leeds .".split()))
    for pipe_name, old in nlp.pipeline:
        if not hasattr(old, "target"):
            continue
        before = old.read([doc], preset=False).potentials
        examples = annotated_before(nlp, pipe_name, new_texts(nlp))
        new = grown(nlp, old, examples, {})
        after = new.read([doc], preset=False).potentials
        at = [new.tags.index(tag) for tag in old.tags]
        assert {*new.labels} > {*old.labels} or old.target.finds_sentences
        assert np.array_equal(after.scores[:, at], before.scores)
        assert np.array_equal(after.trans[np.ix_(at, at)], before.trans)
        new.update(examples)
        new.finish_update(None)


def test_columns_and_rows_are_those_of_before():
    """Of a compacted table: old keys and weights first, new keys cut to as many bits."""
    nlp = packaged("en")
    old = nlp.get_pipe("hoseq_entities")
    examples = annotated_before(nlp, "hoseq_entities", new_texts(nlp))
    new = grown(nlp, old, examples, {"PER": "PERSON"})
    assert new.labels == ("LOC", "MISC", "ORG", "PERSON", "NEW", "NP")
    head, emissions = weights_in(new.model)
    trans, table = (shim.values(name, is_train=True) for shim, name in
                    ((head, "trans"), (emissions, "table")))  # fmt: skip
    before = [shim.values(name, is_train=False) for shim, name in
              zip(weights_in(old.model), ("trans", "table"), strict=True)]  # fmt: skip
    n = len(old.tags)
    assert (
        np.array_equal(trans[:n, :n], before[0]) and not trans[n:].any() and not trans[:, n:].any()
    )
    n_rows = len(before[1]) - 1
    assert np.array_equal(table[:n_rows, :n], before[1][:-1])
    assert not table[n_rows:].any() and not table[:, n:].any()
    keys = emissions.extra["keys"]
    old_keys = weights_in(old.model)[1].extra["keys"]
    assert np.array_equal(keys[:n_rows], old_keys) and len(np.unique(keys)) == len(keys)
    assert keys.max() < 2 ** int(old_keys.max()).bit_length()


def test_gold_beats_the_tag_dictionary():
    nlp = tags.blank()
    examples = tags.examples_of(nlp)
    nlp.initialize(lambda: examples)
    tagger = nlp.get_pipe("hoseq_tagger")
    tagger.initialize(lambda: examples, tag_dictionary={"cat": ["N"], "old": ["A"]})
    doc = Doc(nlp.vocab, words=["cat", "dog"], tags=["NEW", "N"])
    new = grown(nlp, tagger, [Example(unannotated(doc, nlp.vocab), doc)], {"A": "ADJ"})
    assert new.cfg["tag_dictionary"] == {"cat": ["N", "NEW"], "old": ["ADJ"]}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_others_are_refused(saved, name):  # noqa: F811
    pipe = saved(name).pipeline[-1][1]
    with pytest.raises(ValueError, match=r"\[HS193\].*(one by one|a network)"):
        check_growth(pipe)


def test_sets_of_labels_in_patterns_are_refused():
    """A rule for any label: another label would have the number of the set."""
    rule = {"name": "a", "tokens": [{"LOWER": "the"}, {}], "labels": ["D", "*"]}
    nlp = tags.blank(model=tags.tagger_model(patterns=misc("rule_patterns", rules=[rule])))
    examples = tags.examples_of(nlp)
    nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match=r"\[HS193\].*patterns"):
        grown(nlp, nlp.get_pipe("hoseq_tagger"), new_texts(nlp), {})


def test_own_tables_are_refused():
    nlp = spacy.blank("en")
    nlp.vocab.lookups.add_table("hoseq_word_classes", {"a": [1]})
    nlp.add_pipe("hoseq_entities", source=packaged("en"))
    nlp("Ann")
    with pytest.raises(ValueError, match=r"\[HS193\].*tables"):
        check_growth(nlp.get_pipe("hoseq_entities"))
