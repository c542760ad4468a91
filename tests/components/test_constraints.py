"""Labels that are set already, tag dictionaries, and tokens for which nothing is left."""


import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.components.reading import TagDictionary
from spacy_hoseq.layers.shim import weights_of

from .helpers import (
    CORPUS,
    FREQUENT,
    LABELS,
    VARIANTS,
    blank,
    doc_of,
    examples_of,
    ready,
    reloaded,
    sparse,
    tagger_model,
    tagger_of,
    tags_of,
    train,
    trained,
)

LONG = ("the old dog sees a cat .", "D A N V D N .")
CHAIN = [("a x", "A B"), ("b x", "B A"), ("a x x x", "A B A B"), ("b x x", "B A B"), ("x x b", "B A B")]  # x is either


def with_gaps(nlp, text, tags):
    return Doc(nlp.vocab, words=text.split(), tags=[tag or "" for tag in tags])


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_preset_tags_constrain_their_neighbours(variant):
    patterns = FREQUENT if "patterns" in variant or variant == "frequent" else None
    nlp = trained(variant, 80, corpus=CHAIN, model=tagger_model(sparse(["lower[0]"]), patterns))
    tagger = tagger_of(nlp)
    assert [t.tag_ for t in tagger(with_gaps(nlp, "x x x x", ["B", "", "", ""]))] == ["B", "A", "B", "A"]
    assert [t.tag_ for t in tagger(with_gaps(nlp, "x x x x", ["", "", "", "A"]))] == ["B", "A", "B", "A"]
    best = tagger.top_k([with_gaps(nlp, "x x x x", ["", "", "", "A"])], 3)[0]
    assert [scored.labels for scored in best][0] == ["B", "A", "B", "A"]
    assert all(scored.labels[3] == "A" for scored in best)


def test_preset_tag_that_is_no_label():
    nlp = ready()
    doc = tagger_of(nlp)(with_gaps(nlp, LONG[0], ["", "", "ODD", "", "", "", ""]))
    assert [token.tag_ for token in doc] == ["D", "A", "ODD", "V", "D", "N", "."]
    assert tagger_of(nlp).predict([doc_of(nlp, "the cat", "ODD ODD")]).label_ids[0].tolist() == [
        LABELS.index("D"), LABELS.index("N"),
    ]  # fmt: skip


@pytest.mark.parametrize("variant", ["max_margin", "frequent"])
def test_preset_tag_that_rules_one_out(variant):
    """"!N" on a token is gone when there is a label; the best one of the others is found, over all sequences."""
    nlp = ready(variant)
    words = "the cat runs"
    doc = doc_of(nlp, words)
    doc[1].tag_ = "!N"
    best = next(found for found in tagger_of(nlp).top_k([doc_of(nlp, words)], 216)[0] if found.labels[1] != "N")
    (most,) = tagger_of(nlp).top_k([doc], 1)[0]
    assert most == best
    assert [token.tag_ for token in tagger_of(nlp)(doc)] == best.labels


DICTIONARY = {"cat": ["V"], "zebra": ["R", "A"], "sees": ["UNKNOWN", "D"]}


def with_dictionary(entries, variant="max_margin", **config):
    nlp = blank(variant, **config)
    tagger_of(nlp).initialize(lambda: examples_of(nlp), tag_dictionary=entries)
    train(nlp, 25)
    return nlp


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_words_of_the_dictionary_get_their_tags_only(variant):
    nlp = with_dictionary(DICTIONARY, variant)
    assert tags_of(nlp, "a cat sees")[1:] == ["V", "D"]
    assert all(tag in ("R", "A") for tag in tags_of(nlp, "zebra zebra the zebra")[::3])
    assert tags_of(nlp, "Cat")[0] in LABELS
    assert tags_of(nlp, CORPUS[2][0]) == CORPUS[2][1].split(), "other words are free"
    assert tagger_of(nlp).top_k([doc_of(nlp, "cat")], 10)[0][0].labels == ["V"]
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "zebra cat")], 10)[0]) == 2


@pytest.mark.parametrize("word", ["TIME", "mark", "PERSON", "X", "case", "木", "\n", " "])
def test_every_word_can_be_an_entry(word):
    """Some words are names of spaCy's own symbols, whose ids are no hashes."""
    vocab = blank().vocab
    dictionary = TagDictionary({word: ["B"], "other": ["A"]}, ["A", "B"])
    docs = [Doc(vocab, words=["x", word]), Doc(vocab), Doc(vocab, words=["other", word.swapcase() + "y"])]
    assert dictionary.allowed(docs).astype(int).tolist() == [[1, 1], [0, 1], [1, 0], [1, 1]]


def test_preset_tags_go_before_the_dictionary():
    nlp = with_dictionary(DICTIONARY)
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "A", ""]))
    assert [token.tag_ for token in doc][1:] == ["A", "D"]
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "ODD", ""]))
    assert [token.tag_ for token in doc][1:] == ["ODD", "D"]
    nlp = with_dictionary(DICTIONARY, overwrite=True)
    doc = tagger_of(nlp)(with_gaps(nlp, "the cat sees", ["", "A", ""]))
    assert [token.tag_ for token in doc][1:] == ["V", "D"]


@pytest.mark.parametrize("labels", [["UNKNOWN"], []])
def test_entry_without_a_known_label(labels):
    with pytest.raises(ValueError, match=r"\[HS027\].*\"cat\".*one of \., A, D, N, R, V"):
        with_dictionary({"dog": ["N"], "cat": labels})


def test_dictionary_is_saved_and_forgotten_with_the_component():
    nlp = with_dictionary(DICTIONARY)
    assert tags_of(reloaded(nlp), "a cat sees")[1:] == ["V", "D"]
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 10)
    assert tags_of(nlp, "a cat runs") == ["D", "N", "V"]


@pytest.mark.parametrize("variant", ["max_margin", "frequent"])
def test_no_way_through_forbidden_transitions(variant):
    nlp = trained(variant, 0)
    weights_of(tagger_of(nlp).model).parameters["trans"].values[:] = -np.inf
    assert tags_of(nlp, "cat") == [LABELS[0]]
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 0"):
        tags_of(nlp, "the cat")
