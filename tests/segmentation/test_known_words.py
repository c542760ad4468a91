"""The table of known words is made of a corpus, and the words of a text itself do not count in training."""

import pytest
import spacy

from spacy_hoseq.features.attributes import token_values
from spacy_hoseq.features.known_words import KNOWN_WORDS_TABLE
from spacy_hoseq.readers import corpus
from spacy_hoseq.segmentation.corpus import known_words, make_units

from .helpers import SENTENCES, saved_words


def test_table(tmp_path):
    table = known_words(saved_words(tmp_path)).get_table(KNOWN_WORDS_TABLE)
    words = [word for sentence in SENTENCES for word, _ in sentence if len(word) > 1]
    words = [word for word in words if not word.isascii()]
    assert len(table) == len(set(words))
    assert sorted(table.values()) == sorted(map(words.count, set(words)))
    with pytest.raises(ValueError, match="E913"):
        known_words(None)


@pytest.mark.parametrize("own_words", [False, True])
def test_own_words(own_words, tmp_path):
    path = saved_words(tmp_path)
    nlp = spacy.blank("zh")
    nlp.vocab.lookups = known_words(path)
    examples = list(corpus(path, augmenter=make_units(own_words=own_words))(nlp))
    begins = [token_values(eg.predicted, "known_begins").tolist() for eg in examples]
    assert begins[0] == [1 if own_words else 2, 1, 1, 1, 1], "我们 is in this text alone"
    assert begins[1][3] == 2, "学校 is in another one, too"
    values = token_values(examples[0].reference, "known_begins")
    assert values.tolist() == [2, 1, 1, 1, 1]
