"""Gold annotation: partial, negative, on another tokenization, of unknown labels."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.components.reading import Reading
from spacy_hoseq.components.targets.target import LabelTable
from spacy_hoseq.components.targets.token_labels import TokenLabels
from spacy_hoseq.features.sequences import words_of

from .helpers import (
    blank,
    doc_of,
    examples_of,
    tagger_of,
    trained,
)

NLP = blank()
TABLE = LabelTable(["A", "B", "C"], NLP.vocab.strings, "!")
TAGS = TokenLabels("tag", "!")


def example(predicted, reference, tags):
    reference = Doc(NLP.vocab, words=reference, tags=tags, spaces=[False] * len(reference))
    return Example(Doc(NLP.vocab, words=predicted, spaces=[False] * len(predicted)), reference)


def names(values):
    return [NLP.vocab.strings[int(value)] if value else "" for value in values]


def permitted(examples):
    return TABLE.masks[TAGS.gold_rows(examples, TABLE)]


TOKENIZATIONS = [
    (["ab", "cd"], ["ab", "cd"], ["A", "B"], ["A", "B"]),
    (["ab", "cd"], ["ab", "cd"], ["A", ""], ["A", ""]),
    (["a", "b", "cd"], ["ab", "cd"], ["A", "B"], ["A", "A", "B"]),
    (["abcd"], ["ab", "cd"], ["A", "B"], [""]),
    (["abcd"], ["ab", "cd"], ["A", "A"], ["A"]),
    (["abcd"], ["ab", "cd"], ["A", ""], [""]),
    (["abc", "d"], ["ab", "cd"], ["A", "B"], ["", "B"]),
    (["ab", " ", "cd"], ["ab", "cd"], ["A", "B"], ["A", "", "B"]),
    ([], [], [], []),
    (["ab", "cd"], ["ab", " ", "cd"], ["A", "C", "B"], ["A", "B"]),
    (["AB", "cd"], ["ab", "cd"], ["A", "B"], ["A", "B"]),
]


@pytest.mark.parametrize("predicted, reference, tags, expected", TOKENIZATIONS)
def test_gold_on_another_tokenization(predicted, reference, tags, expected):
    eg = example(predicted, reference, tags)
    assert names(TAGS.aligned(eg)) == expected
    aligned = [tag or "" for tag in eg.get_aligned("TAG", as_string=True)]
    assert aligned == expected, "as spaCy's own components see it"


def test_gold_of_random_tokenizations():
    rng = np.random.default_rng(0)
    for _ in range(50):
        text = "".join(rng.choice(list("xyz"), size=12))
        cuts = [sorted(set([0, 12, *rng.integers(1, 12, size=4).tolist()])) for _ in range(2)]
        words = [[text[a:b] for a, b in zip(cut, cut[1:], strict=False)] for cut in cuts]
        tags = rng.choice(["A", "B", ""], size=len(words[1])).tolist()
        eg = example(words[0], words[1], tags)
        expected = [tag or "" for tag in eg.get_aligned("TAG", as_string=True)]
        assert names(TAGS.aligned(eg)) == expected


def test_gold_of_an_extension_is_aligned_too():
    tagger_of(blank(attribute="_.gold_label"))
    eg = example(["a", "b", "cd", "ef"], ["ab", "c", "d", "ef"], None)
    for token, label in zip(eg.reference, ["A", "B", "C", ""], strict=True):
        token._.gold_label = label
    assert names(TokenLabels("_.gold_label", "!").aligned(eg)) == ["A", "A", "", ""]


def test_masks_of_annotation():
    eg = example(["a", "b", "c", "d"], ["a", "b", "c", "d"], ["B", "", "!A", "C"])
    assert permitted([eg, eg]).astype(int).tolist() == [[0, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]] * 2


def test_unknown_labels_count_as_missing():
    eg = example(["a", "b", "c", "d"], ["a", "b", "c", "d"], ["B", "UNHEARD", "!UNSEEN", "UNHEARD"])
    with pytest.warns(UserWarning, match=r"\[HW001\] 3 tokens .*\(!UNSEEN, UNHEARD\)"):
        mask = permitted([eg])
    assert mask.astype(int).tolist() == [[0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]


def test_no_prefix_for_negative_annotation():
    table = LabelTable(["A", "!A"], NLP.vocab.strings, "")
    values = np.array([NLP.vocab.strings.add(name) for name in ("!A", "A", "!!A")] + [0], np.uint64)
    assert table.masks[table.rows(values)].astype(int).tolist() == [[0, 1], [1, 0], [1, 1], [1, 1]]


def test_writing_and_reading():
    doc = Doc(NLP.vocab, words=["a", "b"])
    reading = Reading(words_of([doc, Doc(NLP.vocab)]), "", TABLE.labels, None, np.array([2, 0], np.int32))
    TAGS.write([doc, Doc(NLP.vocab)], reading, TABLE, overwrite=False)
    assert [token.tag_ for token in doc] == ["C", "A"]
    assert TAGS.read(doc).tolist() == TABLE.values[[2, 0]].tolist()
    assert TAGS.read(Doc(NLP.vocab)).tolist() == []


def test_unknown_labels_of_another_vocabulary():
    nlp, other = trained(n_updates=2), spacy.blank("xx")
    reference = Doc(other.vocab, words=["the", "cat"], tags=["UNHEARD", "N"])
    with pytest.warns(UserWarning, match=r"HW001.* \(UNHEARD\)"):
        nlp.update([*examples_of(nlp), Example(doc_of(nlp, "the cat"), reference)])


def test_a_warning_names_five_unknown_labels_and_counts_the_others():
    words = [f"w{i}" for i in range(8)]
    with pytest.warns(UserWarning, match=r"\[HW001\] 8 tokens .*\(L0, L1, L2, L3, L4, 3 others\)"):
        permitted([example(words, words, [f"L{i}" for i in range(8)])])
