"""Label patterns in the component: found in initialization, in use afterwards."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.patterns.sources import PatternFeatures

from ..builders import doc_of, tagger_of
from .helpers import FREQUENT, RULES, blank, sparse, tagger_model

CORPUS = [("a b c d e f", "X Y X Y X Z"), ("a b c", "X Y Z")]


def with_patterns(patterns, **settings):
    return blank(model=tagger_model(sparse(["lower[0]"]), patterns), **settings)


def found(nlp):
    """Patterns by name, in the order in which they were found."""
    features = PatternFeatures.from_arrays(weights_of(tagger_of(nlp).model).extra["patterns"])
    return ["".join(tagger_of(nlp).labels[y] for y in pattern) for pattern in features.patterns]


def examples_of(nlp, starts=None):
    examples = []
    for text, tags in CORPUS:
        doc = doc_of(nlp, text, sent_starts=starts and starts[: len(text.split())])
        examples.append(Example.from_dict(doc, {"tags": tags.split()}))
    return examples


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


def test_weights_of_rules_count_where_they_fire_only():
    nlp = with_patterns(SKIP)
    tagger_of(nlp).add_label("P"), tagger_of(nlp).add_label("A"), tagger_of(nlp).add_label("B")
    example = Example.from_dict(doc_of(nlp, "from a to b"), {"tags": "P A P A".split()})
    nlp.initialize(lambda: [example])
    weights_of(tagger_of(nlp).model).parameters["patterns"].values[:] = 2.0
    texts = ["from a to b", "a from a to b from c to d", "to a from b", "from a to"]
    scores = [tagger_of(nlp).top_k([doc_of(nlp, text)], 1)[0][0].score for text in texts]
    assert scores == [2, 4, 0, 0]
    split = doc_of(nlp, "from a to b", sent_starts=[1, 0, 0, 1])
    assert tagger_of(nlp).top_k([split], 1)[0][0].score == 0
    assert np.array_equal(tagger_of(nlp).predict([split]).label_ids[0], [0, 0, 0, 0])


# Components count the tags of words for templates that ask for them


A, B = (["the", "run"], ["D", "N"]), (["run", "on"], ["V", "P"])


def sentences(n_a, n_b):
    return [A] * n_a + [B] * n_b


def examples(nlp, texts):
    return [Example.from_dict(Doc(nlp.vocab, words=words), {"tags": tags}) for words, tags in texts]


def table(nlp):
    known = nlp.vocab.lookups.get_table(KNOWN_TAGS_TABLE)
    return {word: known[word] for word in ("the", "run", "on", "On") if word in known}


def tagger(n_a=6, n_b=5, name="hoseq_tagger"):
    nlp = spacy.blank("xx")
    nlp.add_pipe(name)
    nlp.initialize(lambda: examples(nlp, sentences(n_a, n_b)))
    return nlp


@pytest.mark.parametrize("n_a, n_b, expected", [
    (6, 5, {"the": [0], "run": [1, 3], "on": [2]}),  # labels D, N, P, V
    (4, 5, {"run": [1, 3], "on": [2]}),  # words that occur fewer than five times are left out
    (245, 5, {"the": [0], "run": [1, 3], "on": [2]}),  # V: 2 %
    (246, 5, {"the": [0], "run": [1], "on": [2]}),  # less
    (1, 1, {}),
])  # fmt: skip
def test_labels_of_words(n_a, n_b, expected):
    assert table(tagger(n_a, n_b)) == expected


def test_table_is_made_again_with_other_text():
    nlp = tagger(6, 5)
    nlp.initialize(lambda: examples(nlp, sentences(4, 6)))
    assert table(nlp) == {"run": [1, 3], "on": [2]}


def test_second_component_reads_the_table_of_the_first():
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    nlp.add_pipe("hoseq_tagger", "other", config={"attribute": "pos"})
    rows = [(Doc(nlp.vocab, words=words), tags) for words, tags in sentences(6, 5)]
    texts = [Example.from_dict(doc, {"tags": tags, "pos": ["X"] * 2}) for doc, tags in rows]
    for _ in range(2):
        nlp.initialize(lambda: texts)
        assert table(nlp) == {"the": [0], "run": [1, 3], "on": [2]}


def test_examples_of_another_vocabulary():
    """As spaCy's components, which do not look at the vocabulary of examples."""
    words = []
    for other in (spacy.blank("xx"), None):
        nlp = spacy.blank("xx")
        nlp.add_pipe("hoseq_tagger")
        texts = examples(other or nlp, sentences(6, 5))
        nlp.initialize(lambda texts=texts: texts)
        for _ in range(10):
            nlp.update(texts)
        words.append([token.tag_ for doc in nlp.pipe(["the run", "run on"]) for token in doc])
        assert table(nlp) == {"the": [0], "run": [1, 3], "on": [2]}
    assert words[0] == words[1] == ["D", "N", "V", "P"]


def test_table_goes_with_the_weights(tmp_path):
    first = tagger()
    for _ in range(10):
        first.update(examples(first, sentences(6, 5)))
    first.to_disk(tmp_path / "first")
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    settings = {"weights_from": str(tmp_path / "first")}
    nlp.config["initialize"]["components"]["hoseq_tagger"] = settings
    nlp.initialize(lambda: examples(nlp, sentences(1, 1)))
    assert table(nlp) == table(first)
    taken = spacy.blank("xx")
    taken.add_pipe("hoseq_tagger", source=first)
    for other in (nlp, taken):
        expected = [[token.tag_ for token in doc] for doc in first.pipe(["the run", "run on"])]
        docs = other.pipe(["the run", "run on"])
        assert [[token.tag_ for token in doc] for doc in docs] == expected
    assert table(taken) == table(first)


def test_two_that_were_trained_apart_have_tables_of_their_own(tmp_path):
    first, second = tagger(6, 5), tagger(4, 5)
    first.add_pipe("hoseq_tagger", "other", source=second)
    first("the run")
    features = first.get_pipe("other").model.layers[0].attrs["features"]
    assert features.extractor.own_tables is not None
    second.to_disk(tmp_path)
    both = spacy.blank("xx")
    both.add_pipe("hoseq_tagger", "mine")
    both.add_pipe("hoseq_tagger", "hoseq_tagger")
    both.config["initialize"]["components"]["hoseq_tagger"] = {"weights_from": str(tmp_path)}
    both.initialize(lambda: examples(both, sentences(6, 5)))
    assert table(both) == table(tagger(6, 5)) != table(second)
