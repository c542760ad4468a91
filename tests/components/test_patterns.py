"""Label patterns in the component: found in initialization, in use afterwards."""

import numpy as np
import pytest
from spacy.training import Example

from spacy_hoseq.layers.shim import weights_of
from spacy_hoseq.patterns.sources import PatternFeatures

from .helpers import FREQUENT, RULES, blank, doc_of, sparse, tagger_model, tagger_of, trained

CORPUS = [("a b c d e f", "X Y X Y X Z"), ("a b c", "X Y Z")]


def with_patterns(patterns, **settings):
    return blank(model=tagger_model(sparse(["lower[0]"]), patterns), **settings)


def found(nlp):
    """Patterns by name, in the order in which they were found."""
    features = PatternFeatures.from_arrays(weights_of(tagger_of(nlp).model).extra["patterns"])
    return ["".join(tagger_of(nlp).labels[y] for y in pattern) for pattern in features.patterns]


def examples_of(nlp, starts=None):
    return [
        Example.from_dict(doc_of(nlp, text, sent_starts=starts and starts[: len(text.split())]), {"tags": tags.split()})
        for text, tags in CORPUS
    ]


def test_patterns_of_the_training_data():
    nlp = with_patterns({**FREQUENT, "max_order": 3})
    nlp.initialize(lambda: examples_of(nlp))
    assert found(nlp) == ["XYX", "XYZ", "YXY", "YXZ", "XYXY", "XYXZ", "YXYX"]
    nlp = with_patterns({**FREQUENT, "max_order": 2, "min_count": 2})
    nlp.initialize(lambda: examples_of(nlp))
    assert found(nlp) == ["XYX"]


def test_no_patterns_across_sentences():
    """A pattern over a sentence boundary can never occur: decoding is sentence by sentence."""
    nlp = with_patterns(FREQUENT)
    nlp.initialize(lambda: examples_of(nlp, [1, 0, 0, 1, 0, 0]))
    assert found(nlp) == ["XYX", "XYZ", "YXZ"]


@pytest.mark.filterwarnings("ignore:.*HW010")
def test_no_patterns_across_missing_gold():
    nlp = with_patterns(FREQUENT)
    tags = ["X", "Y", "X", "", "X", "Y", "!Z", "Z"]
    nlp.initialize(lambda: [Example.from_dict(doc_of(nlp, "a b c d e f g h"), {"tags": tags})])
    assert found(nlp) == ["XYX"]


def test_patterns_follow_a_second_initialization():
    nlp = with_patterns(FREQUENT)
    nlp.initialize(lambda: examples_of(nlp))
    first = found(nlp)
    nlp.initialize(lambda: examples_of(nlp)[1:])
    assert (len(first), found(nlp)) == (7, ["XYZ"])
    assert not weights_of(tagger_of(nlp).model).parameters["patterns"].values.any()


def test_rule_with_a_label_that_nobody_has():
    nlp = with_patterns(RULES)
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"the\": the label \"D\" is unknown"):
        nlp.initialize(lambda: examples_of(nlp))


def test_source_that_is_none():
    with pytest.raises(ValueError, match="HS027"):
        with_patterns({"@misc": "spacy_hoseq.adagrad.v1"})


FROM_TO = [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}]
SKIP = {
    "@misc": "spacy_hoseq.rule_patterns.v1",
    "rules": [{"name": "from-to", "tokens": FROM_TO, "labels": ["P", "?y", "P", "?y"]}],
}


@pytest.mark.long
@pytest.mark.parametrize("objective", ["max_margin", "perceptron"])
def test_a_rule_carries_a_label_over_a_distance(objective):
    """What follows "to" is labelled as what follows "from": no first-order feature can tell, one tied weight does."""
    corpus = [("from x to u", "P A P A"), ("from z to u", "P B P B"), ("x", "A"), ("z", "B")]
    model = tagger_model(sparse(["lower[0]"]), SKIP)
    nlp = trained(objective=objective, model=model, corpus=corpus, n_updates=40)
    tags = [[t.tag_ for t in tagger_of(nlp)(doc_of(nlp, text))] for text, _ in corpus]
    assert tags == [tags.split() for _, tags in corpus]
    assert [t.tag_ for t in tagger_of(nlp)(doc_of(nlp, "from u to z"))] == ["P", "B", "P", "B"], "in both directions"
    weight = weights_of(tagger_of(nlp).model).values("patterns", is_train=False)
    assert weight.shape == (1,) and weight[0] > 0
    plain = trained(objective=objective, model=tagger_model(sparse(["lower[0]"])), corpus=corpus, n_updates=40)
    last = [tagger_of(plain)(doc_of(plain, text))[3].tag_ for text, _ in corpus[:2]]
    assert last[0] == last[1]


def test_weights_of_rules_count_where_they_fire_only():
    nlp = with_patterns(SKIP)
    tagger_of(nlp).add_label("P"), tagger_of(nlp).add_label("A"), tagger_of(nlp).add_label("B")
    nlp.initialize(lambda: [Example.from_dict(doc_of(nlp, "from a to b"), {"tags": "P A P A".split()})])
    weights_of(tagger_of(nlp).model).parameters["patterns"].values[:] = 2.0
    texts = ["from a to b", "a from a to b from c to d", "to a from b", "from a to"]
    scores = [tagger_of(nlp).top_k([doc_of(nlp, text)], 1)[0][0].score for text in texts]
    assert scores == [2, 4, 0, 0]
    split = doc_of(nlp, "from a to b", sent_starts=[1, 0, 0, 1])
    assert tagger_of(nlp).top_k([split], 1)[0][0].score == 0
    assert np.array_equal(tagger_of(nlp).predict([split]).label_ids[0], [0, 0, 0, 0])
