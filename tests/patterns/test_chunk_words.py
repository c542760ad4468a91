"""Chunks by their words, against a search through all spans."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.chunk_words import ChunkWords

VOCAB = spacy.blank("xx").vocab
TAGS = ["O", "U-ORG", "B-ORG", "I-ORG", "L-ORG", "U-LOC", "B-LOC", "I-LOC", "L-LOC"]
WORDS = {"begins": [["a"], ["ab", "bb"]], "ends": [["d", "cd"], ["e"]]}
WORDS |= {"before": [["a"], ["f", "ef"]], "after": [["f"]]}
NAMES = [(where, i) for where, some in WORDS.items() for i in range(len(some))]
CLASSES = [{"name": f"{where} {i}", "where": where} for where, i in NAMES]
for (where, i), each in zip(NAMES, CLASSES, strict=True):
    each |= {"words": WORDS[where][i], "note": "for the reader"}
TESTS = ["ends", "size", "begins+ends", "before+size", "inner+ends", "ends+after"]


def source():
    return ChunkWords("ORG", CLASSES, TESTS, 4)


def listed(where, text, at_end):
    """Class, from 1, and length of the longest listed word that the text begins or ends with; 0, 0."""
    fits = text.endswith if at_end else text.startswith
    classes = enumerate(WORDS[where], start=1)
    found = [(len(word), i) for i, some in classes for word in some if fits(word)]
    return max(found)[::-1] if found else (0, 0)


def plain(words, max_size):
    """For every span that ends with a listed word: its last token, its size, what is seen of it."""
    found = {}
    for first in range(len(words)):
        for end in range(first + 1, min(len(words), first + max_size) + 1):
            text = "".join(words[first:end])
            kind, size = listed("ends", "".join(words[:end]), True)
            if not kind or size > len(text):
                continue
            long = [n for n in range(1, end + 1) if len("".join(words[end - n : end])) >= size]
            shortest = long[0]
            ends = range(first + 1, end - shortest + 1)
            inside = [listed("ends", "".join(words[:i]), True)[0] for i in ends]
            earlier = [number for number in inside if number]
            seen = {"ends": kind, "size": end - first - 1}
            seen["begins"] = 3
            if shortest != end - first:
                seen["begins"] = listed("begins", "".join(words[first:]), False)[0]
            seen["before"] = listed("before", "".join(words[:first]), True)[0]
            seen["after"] = listed("after", "".join(words[end:]), False)[0]
            seen["inner"] = 0 if not earlier else 1 + (earlier[-1] != kind)
            found[end - 1, end - first] = seen
    return found


N_VALUES = {"begins": 4, "ends": 3, "before": 3, "after": 2, "inner": 3, "size": 4}


def weights_of(seen):
    """Which weights these are: the combinations of each test in order, the last place changing fastest."""
    result, first = [], 0
    for test in TESTS:
        number = 0
        for place in test.split("+"):
            number = number * N_VALUES[place] + seen[place]
        result.append(first + number)
        first += int(np.prod([N_VALUES[place] for place in test.split("+")]))
    return result


def random_doc(rng, n):
    words = ["".join(rng.choice(list("abcdef"), size=rng.integers(1, 4))) for _ in range(n)]
    return Doc(VOCAB, words=words, sent_starts=[i == 0 or rng.random() < 0.1 for i in range(n)])


def fired_patterns(made, docs):
    """(last token, labels, weight) of everything that fires, sorted."""
    features = made.define(TAGS, [np.zeros(9, np.int32)])
    fired = made.fire(docs)
    which, matches = features.expand(fired)
    pairs = zip(fired.tokens[matches].tolist(), which.tolist(), strict=True)
    return sorted((token, features.patterns[f], int(features.weight_of[f])) for token, f in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_what_fires_is_that_of_a_search(seed):
    rng = np.random.default_rng(seed)
    docs = [random_doc(rng, n) for n in (12, 0, 1, 30)]
    expected, shift = [], 0
    for doc in docs:
        for sentence in doc.sents if len(doc) else ():
            for (last, size), seen in plain([token.text for token in sentence], 4).items():
                chunk = [(y, 1) for y in (0, 1, 4, 5, 8)]
                if size > 1:
                    chunk = [(2, *[3] * (size - 2), 4)]
                end = shift + sentence.start + last
                pairs = itertools.product(chunk, weights_of(seen))
                expected += [(end, pattern, weight) for pattern, weight in pairs]
        shift += len(doc)
    assert fired_patterns(source(), docs) == sorted(expected) and len(expected) > 100


def test_definitions():
    features = source().define(TAGS, [np.zeros(3, np.int32)])
    assert {len(pattern) for pattern in features.patterns} == {2, 3}
    assert features.n_weights == source().n_rules // 4 == 3 + 4 + 12 + 12 + 9 + 6
    start_end = [tag.replace("U-", "S-").replace("L-", "E-") for tag in TAGS]
    assert source().define(start_end, []).patterns == source().define(TAGS, []).patterns


CLASS = {"name": "x", "where": "ends", "words": ["a"]}


@pytest.mark.parametrize("settings, message", [
    ({"tests": []}, "joined by"),
    ({"tests": ["begin"]}, "joined by"),
    ({"tests": ["ends+ends"]}, "joined by"),
    ({"max_size": 1}, "at least 2"),
    ({"classes": [CLASS | {"where": "inside"}]}, "a class has"),
    ({"classes": [{"name": "x", "words": ["a"]}]}, "a class has"),
    ({"classes": [CLASS | {"words": []}]}, "a class has"),
    ({"classes": [CLASS | {"words": [""]}]}, "a class has"),
    ({"classes": [*CLASSES, CLASS | {"words": ["cd"]}]}, "two classes"),
    ({"label": "PER"}, "bilou"),
])  # fmt: skip
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=rf"HS034.*{message}"):
        settings = {"label": "ORG", "classes": CLASSES, "tests": TESTS, **settings}
        ChunkWords(**settings).define(TAGS, [])


def test_tags_that_do_not_tell_where_a_chunk_ends():
    with pytest.raises(ValueError, match="HS034.*bilou"):
        source().define(["O", "B-ORG", "I-ORG"], [])
