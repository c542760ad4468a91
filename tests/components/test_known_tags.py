"""Components count the tags of words for templates that ask for them."""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.features.known_tags import TABLE

A, B = (["the", "run"], ["D", "N"]), (["run", "on"], ["V", "P"])


def sentences(n_a, n_b):
    return [A] * n_a + [B] * n_b


def examples(nlp, texts):
    return [Example.from_dict(Doc(nlp.vocab, words=words), {"tags": tags}) for words, tags in texts]


def table(nlp):
    known = nlp.vocab.lookups.get_table(TABLE)
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
    texts = [Example.from_dict(Doc(nlp.vocab, words=w), {"tags": t, "pos": ["X"] * 2}) for w, t in sentences(6, 5)]
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
    nlp.config["initialize"]["components"]["hoseq_tagger"] = {"weights_from": str(tmp_path / "first")}
    nlp.initialize(lambda: examples(nlp, sentences(1, 1)))
    assert table(nlp) == table(first)
    taken = spacy.blank("xx")
    taken.add_pipe("hoseq_tagger", source=first)
    for other in (nlp, taken):
        expected = [[token.tag_ for token in doc] for doc in first.pipe(["the run", "run on"])]
        assert [[token.tag_ for token in doc] for doc in other.pipe(["the run", "run on"])] == expected
    assert table(taken) == table(first)


def test_two_that_were_trained_apart_have_tables_of_their_own(tmp_path):
    first, second = tagger(6, 5), tagger(4, 5)
    first.add_pipe("hoseq_tagger", "other", source=second)
    assert first.get_pipe("other").model.layers[0].attrs["features"].extractor.own_tables is not None
    second.to_disk(tmp_path)
    both = spacy.blank("xx")
    both.add_pipe("hoseq_tagger", "mine")
    both.add_pipe("hoseq_tagger", "hoseq_tagger")
    both.config["initialize"]["components"]["hoseq_tagger"] = {"weights_from": str(tmp_path)}
    both.initialize(lambda: examples(both, sentences(6, 5)))
    assert table(both) == table(tagger(6, 5)) != table(second)
