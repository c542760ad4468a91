"""Recipes for tagging Chinese: the same but for the rules, and trained on the corpus in assets/zh."""

import numpy as np
import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.patterns.chinese import chinese_pos_rules
from spacy_hoseq.patterns.sources import PatternFeatures

from ..chunk_corpus import trained
from ..repository import ROOT, config_of

RECIPES = ["tagger/zh", "chinese"]
QUICK = {"training.max_steps": 0, "training.max_epochs": 1}


def test_the_recipes_differ_in_the_rules_only():
    low, high = map(config_of, RECIPES)
    rules = high["components"]["hoseq_tagger"]["model"].pop("patterns")
    assert low["components"]["hoseq_tagger"]["model"].pop("patterns") is None and low == high
    assert rules["rules"] == {"@misc": "spacy_hoseq.chinese_pos_rules.v1", "tag_set": "ctb"}


def sentences(part):
    """Words, tags of each sentence in assets/zh."""
    blocks = (ROOT / "assets" / "zh" / f"{part}.conllu").read_text("utf8").strip().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n") if line[0] != "#"] for block in blocks]
    return [([row[1] for row in sentence], [row[4] for row in sentence]) for sentence in rows]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder, vocab = tmp_path_factory.mktemp("zh"), Vocab()
    for part in ("train", "dev"):
        docs = [Doc(vocab, words=words, tags=tags) for words, tags in sentences(part)]
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    return folder


@pytest.fixture(scope="module")
def nlp(corpus, tmp_path_factory):
    paths = {"paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    return trained("chinese", tmp_path_factory.mktemp("model") / "output", {**QUICK, **paths})[0]


def docs_of(corpus, part, vocab):
    return list(DocBin().from_disk(corpus / f"{part}.spacy").get_docs(vocab))


def rules_with_weights(nlp):
    """Names of the rules that stand for patterns."""
    model = nlp.get_pipe("hoseq_tagger").model
    features = PatternFeatures.from_arrays(weights_of(model).extra["patterns"])
    rules = chinese_pos_rules("ctb")
    return {rules[number]["name"] for number in set(features.rule_of.tolist())}


@pytest.mark.long
def test_rules_whose_tags_are_missing_are_left_out(nlp, corpus):
    """The corpus has no FW, for one, and no VN; a rule that needs one of them has no patterns."""
    known = {token.tag_ for doc in docs_of(corpus, "train", nlp.vocab) for token in doc}
    assert set(nlp.get_pipe("hoseq_tagger").labels) == known and "VN" not in known
    rules = {rule["name"]: {label for some in rule["labels"] for label in ([some] if isinstance(some, str) else some)
                            if label[0] != "?"} for rule in chinese_pos_rules("ctb")}  # fmt: skip
    complete = {name for name, labels in rules.items() if labels <= known}
    assert rules_with_weights(nlp) == complete and 50 < len(complete) < len(rules)
    assert {"coordination 1", "coordination 2", "percentage 1", "from-to 1"} <= complete
    assert {"attribute 1", "attribute 11"} == rules.keys() - complete


@pytest.mark.long
@pytest.mark.parametrize("weight, same", [(0.0, False), (50.0, True)])
def test_rules_have_a_say(weight, same, nlp):
    """Words enumerated have one tag if the rule says so loudly enough, though none would have it alone."""
    shim = weights_of(nlp.get_pipe("hoseq_tagger").model)
    before = shim.parameters["patterns"]
    values = np.zeros_like(before.values)
    features = PatternFeatures.from_arrays(shim.extra["patterns"])
    values[features.weight_of[features.rule_of == 0]] = weight  # coordination 1
    assert np.count_nonzero(values) == (weight > 0), "tied: one weight for all tags"
    shim.set(Parameter("patterns", values, nonnegative=True))
    try:
        tags = [token.tag_ for token in nlp(Doc(nlp.vocab, words=["昨天", "、", "我", "、", "吃"]))]
    finally:
        shim.set(before)
    assert (tags[0] == tags[2] == tags[4]) is same and tags[1] == tags[3] == "PU"
