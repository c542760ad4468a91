"""A cut is the best of all labellings that stand for words, by enumeration of the definition."""

import itertools

import numpy as np
import pytest

from spacy_hoseq.decoders.problem import PatternTrie, Potentials, Weights
from spacy_hoseq.segmentation.decoding import WordLabels
from spacy_hoseq.segmentation.units import Units

ONE = ["S-W", "B-W", "E-W", "I-W"]
LAST = "S-W B-W E-W S-LAST B-LAST E-LAST".split()  # also those of the last words of sentences
SPACED = "S-W B-W E-W B-SPACED I-SPACED E-SPACED".split()  # also words with white space in them
TWO = ["B-N", "E-N", "S-N", "S-V", "I-N", "B-V", "E-V", "I-V"]


def stands_for_words(names, after_space, after_blank, last):
    """S, or B I* E of one kind; words begin where white space stands before a unit, those of the kind SPACED where a
    blank line does. last: units of last words."""
    kind = None  # of the word that has begun
    for name, space, blank, is_last in zip(names, after_space, after_blank, last, strict=True):
        letter, of_unit = name.split("-")
        if is_last and of_unit != "LAST":
            return False
        begins = blank if kind == "SPACED" else space
        if (kind is None) != (letter in "BS"):
            return False
        if kind is not None and (begins or kind != of_unit):
            return False
        kind = of_unit if letter in "BI" else None
    return kind is None


def random_text(rng, n):
    after_space = rng.random(n) < 0.2
    after_space[:1] = True
    sentence = (rng.random(n) < 0.2) & np.append(True, np.ones(n, bool))[:n]
    sentence[:1] = True
    after_blank = after_space & (np.arange(n) % 2 == 0)
    return Units(np.arange(n), np.arange(n) + 1, after_space, after_blank, sentence)


class Model:
    def __init__(self, potentials):
        self.potentials = potentials

    def predict(self, docs):
        return self.potentials


def best_by_enumeration(labels, scores, trans, patterns, weights, after_space, after_blank, last):
    best, best_score = None, -np.inf
    for path in itertools.product(range(len(labels)), repeat=len(scores)):
        if not stands_for_words([labels[y] for y in path], after_space, after_blank, last):
            continue
        score = sum(scores[t, y] for t, y in enumerate(path))
        score += sum(trans[a, b] for a, b in itertools.pairwise(path))
        for pattern, weight in zip(patterns, weights, strict=True):
            size = len(pattern)
            runs = [path[t : t + size] for t in range(len(path) - size + 1)]
            score += weight * runs.count(pattern)
        if score > best_score:
            best, best_score = path, score
    return best


@pytest.mark.parametrize("labels, longest", [(ONE, 6), (TWO, 4), (LAST, 5), (SPACED, 5)])
@pytest.mark.parametrize("with_patterns", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_cut_is_the_best_of_all(seed, labels, longest, with_patterns):
    rng = np.random.default_rng(seed)
    n_labels = len(labels)
    n_patterns = 4 if with_patterns else 0
    patterns = sorted({tuple(rng.integers(n_labels, size=3).tolist()) for _ in range(n_patterns)})
    weights = rng.random(len(patterns)) * 2
    texts = [random_text(rng, int(n)) for n in rng.integers(0, longest + 1, size=3)]
    texts.append(random_text(rng, longest))
    lengths = [np.diff(np.flatnonzero(np.append(t.sentence, True))) for t in texts]
    scores = rng.normal(size=(sum(len(t.starts) for t in texts), n_labels))
    trans = rng.normal(size=(n_labels, n_labels))
    trie, node_weights = None, None
    if patterns:
        trie = PatternTrie(patterns, n_labels)
        node_weights = np.zeros(len(trie))
        node_weights[trie.node_of] = weights
    weights_of_all = Weights(trans, trie, node_weights)
    potentials = Potentials(scores, weights_of_all, np.concatenate(lengths).astype(np.int32))
    docs = [range(len(t.starts)) for t in texts]
    cuts = WordLabels(labels).best(Model(potentials), docs, texts)
    at = 0
    for text, words, of_text in zip(texts, cuts, lengths, strict=True):
        expected, start, by_label = [], 0, True
        last = np.append(text.after_blank[1:], True) & (labels == LAST)
        for n in of_text.tolist():
            part = slice(start, start + n)
            after_space = text.after_space[part].copy()
            after_space[0] = True
            where = slice(at + start, at + start + n)
            spaces = (after_space, text.after_blank[part])
            features = labels, scores[where], trans, patterns, weights
            path = best_by_enumeration(*features, *spaces, last[part])
            begins = [t for t, y in enumerate(path) if labels[y][0] in "BS"]
            ends = [*begins[1:], n]
            for b, e in zip(begins, ends, strict=True):
                label = by_label if labels == LAST else text.sentence[start + b]
                expected.append((start + b, start + e, label))
                by_label = labels[path[b]].endswith("LAST")
            start += n
        at += len(text.starts)
        assert list(zip(*(column.tolist() for column in words), strict=True)) == expected


def test_no_units_no_words():
    nothing = random_text(np.random.default_rng(0), 0)
    found = WordLabels(ONE).best(None, [range(0)] * 2, [nothing] * 2)
    assert [len(words.starts) for words in found] == [0, 0]
