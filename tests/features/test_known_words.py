"""Where known words lie among units, against a plain search for the longest ones."""

import numpy as np
import pytest
import spacy
from spacy.strings import get_string_id
from spacy.tokens import Doc

from spacy_hoseq.features.attributes import token_values, values_of_docs
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.known_words import KNOWN_WORDS_TABLE, MAX_WORD_UNITS, OWN_WORDS, word_keys
from spacy_hoseq.features.templates import parse_templates


def keys_of(words):
    units = [get_string_id(character) for word in words for character in word]
    sizes = np.array([len(word) for word in words])
    return word_keys(np.array(units, np.uint64), sizes).tolist()


def table_of(counts):
    return {key: n for key, n in zip(keys_of(counts), counts.values(), strict=True) if key}


def doc_of(vocab, text, own=None):
    """A space in the text stands after the character before it."""
    spaces = [text[i + 1 : i + 2] == " " for i, character in enumerate(text) if character != " "]
    doc = Doc(vocab, words=list(text.replace(" ", "")), spaces=spaces)
    if own:
        doc.user_data[OWN_WORDS] = table_of(own)
    return doc


def plain(text, counts, own):
    """The definition, character by character."""
    values = [[1, 1, 1] for character in text if character != " "]
    place = np.cumsum([character != " " for character in text]) - 1
    for size in range(2, MAX_WORD_UNITS + 1):
        for start in range(len(text) - size + 1):
            word = text[start : start + size]
            if counts.get(word, 0) > own.get(word, 0):
                values[place[start]][0] = size
                values[place[start + size - 1]][2] = size
                for inner in range(start + 1, start + size - 1):
                    values[place[inner]][1] = size
    return values


@pytest.mark.parametrize("seed", range(10))
def test_longest_known_words(seed):
    rng = np.random.default_rng(seed)

    def random_text(n):
        return "".join(rng.choice(list("ab c"), size=n)).strip()

    sizes = rng.integers(2, MAX_WORD_UNITS + 2, 30).tolist()
    counts = {random_text(n).replace(" ", "a"): int(rng.integers(1, 3)) for n in sizes}
    vocab = spacy.blank("zh").vocab
    vocab.lookups.add_table(KNOWN_WORDS_TABLE, table_of(counts))
    texts = [random_text(int(n)) for n in rng.integers(0, 25, size=5)]
    owns = [{}, dict.fromkeys(list(counts)[:15], 1), {}, {next(iter(counts)): 5}, {}]
    docs = [doc_of(vocab, text, own) for text, own in zip(texts, owns, strict=True)]
    values = values_of_docs(docs, ("known_begins", "known_inside", "known_ends"), vocab.lookups)
    pairs = zip(texts, owns, strict=True)
    expected = [row for text, own in pairs for row in plain(text, counts, own)]
    names = ("known_begins", "known_inside", "known_ends")
    assert np.stack([values[name] for name in names], axis=1).tolist() == expected
    assert len(set(map(tuple, expected))) > 3
    for name in ("known_begins", "known_inside", "known_ends"):
        alone = np.concatenate([token_values(doc, name) for doc in docs])
        assert alone.tolist() == values[name].tolist()


def test_another_table_is_another_answer():
    vocab = spacy.blank("zh").vocab
    extractor = FeatureExtractor(parse_templates(["known_begins[0]"]))
    keys = []
    for counts in ({}, {"ab": 1}, {"bc": 1}, {"ab": 1}):
        if vocab.lookups.has_table(KNOWN_WORDS_TABLE):
            vocab.lookups.remove_table(KNOWN_WORDS_TABLE)
        vocab.lookups.add_table(KNOWN_WORDS_TABLE, table_of(counts))
        keys.append(extractor.keys([doc_of(vocab, "abc")])[0].tolist())
    assert keys[1] == keys[3] and len(set(keys[1])) == 2
    assert keys[1] not in (keys[0], keys[2])
