"""Right and wrong labels: counts, scores with intervals, labels, confusions, and the tokens in
their sentences, as pages show them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from spacy.morphology import Morphology
from spacy.tokens import Doc

from ..arrays import Floats
from ..components.targets.places import target_at
from ..components.targets.target import Items
from ..features.sequences import sentence_starts
from .sentence import around
from .significance import accuracy, f_score, interval, precision

MOST = 20  # pairs of labels
LARGEST = 12  # labels of a matrix
OTHERS = "others"
NAMES = {"ents": "no entity", "chunks": "no chunk"}  # where there is no span, by its group
Data = dict[str, Any]  # as report.json has it
Share = dict[str, float]  # value: of n; low, high: its 95 per cent interval


class Pair(NamedTuple):
    """Gold and guessed label at the tokens first <= i < end of a Doc; "" =
    nothing."""

    doc: int
    first: int
    end: int
    gold: str
    guess: str


def pairs_of(docs: Sequence[Doc], guesses: Sequence[Doc], place: str) -> list[Pair]:
    """Gold and predicted items of all Docs, in order. Tokens that are not annotated are none."""
    target = target_at(place)
    pairs = []
    for number, both in enumerate(zip(docs, guesses, strict=True)):
        gold, guess = (_by_tokens(target.items(doc)) for doc in both)
        for at in sorted({*gold, *guess}):
            if "" in gold[at]:
                continue
            wrong = zip_longest(sorted(gold[at] - guess[at]), sorted(guess[at] - gold[at]))
            labels = [*((x, x) for x in sorted(gold[at] & guess[at])), *wrong]
            pairs += [Pair(number, *at, ours or "", theirs or "") for ours, theirs in labels]
    return pairs


def _by_tokens(items: Items) -> dict[tuple[int, int], set[str]]:
    labels: dict[tuple[int, int], set[str]] = defaultdict(set)
    for first, end, label in items:
        labels[first, end].add(label)
    return labels


def counts(docs: Sequence[Doc], pairs: Sequence[Pair]) -> Floats:
    """Items of each sentence (S, 3) that are right, found, and gold."""
    starts = [sentence_starts(doc) for doc in docs]
    sentence = np.cumsum(np.concatenate([np.zeros(0, bool), *starts])) - 1
    shift = np.cumsum([0, *map(len, docs)])
    rows = [sentence[shift[pair.doc] + pair.first] for pair in pairs]
    marks = [(pair.gold == pair.guess, pair.guess != "", pair.gold != "") for pair in pairs]
    n = int(sentence[-1]) + 1 if len(sentence) else 0
    columns = np.array(marks, float).reshape(-1, 3).T
    sums = [np.bincount(np.array(rows, np.intp), column, n) for column in columns]
    return np.stack(sums, axis=1)


def scores_of(of_sentence: Floats, is_span: bool) -> dict[str, Share]:
    """Scores, each of what it is a share of: precision of what was found."""
    _, n_found, n = of_sentence.sum(axis=0).astype(int).tolist()
    right = (of_sentence == of_sentence[:, :1]).all(axis=1)[:, None] * [1.0, 0.0, 0.0]
    sentences = share(right + [0.0, 1.0, 1.0], accuracy, len(right))
    if not is_span:
        return {"accuracy": share(of_sentence, accuracy, n), "sentences": sentences}
    return {
        "precision": share(of_sentence, precision, n_found),
        "recall": share(of_sentence, accuracy, n),
        "f": share(of_sentence, f_score, n),
        "sentences": sentences,
    }


def share(of_sentence: Floats, score: Any, n: int) -> Share:
    low, high = interval(of_sentence, score)
    value = float(score(of_sentence.sum(axis=0, keepdims=True))[0])
    return {"value": value, "low": low, "high": high, "n": n}


def by_knowledge(docs: Sequence[Doc], pairs: Sequence[Pair], known: set[str]) -> dict[str, Share]:
    """Accuracy of tokens whose word training has seen, and of the others."""
    shares = {}
    for name, is_known in (("known words", True), ("unknown words", False)):
        some = [p for p in pairs if (docs[p.doc][p.first].text in known) == is_known]
        shares[name] = share(counts(docs, some), accuracy, len(some))
    return shares


def label_scores(pairs: Iterable[Pair]) -> list[Data]:
    """Scores of each label, the most frequent first."""
    return _scores([(pair.gold, pair.guess, pair.gold == pair.guess) for pair in pairs])


def feature_scores(pairs: Iterable[Pair]) -> list[Data]:
    """Scores of each feature in labels of morphology, the part of speech as "POS": it is right if
    it has the same value."""
    rows = []
    for pair in pairs:
        gold, guess = map(Morphology.feats_to_dict, (pair.gold, pair.guess))
        for name in {*gold, *guess}:
            ours, theirs = (name * (name in values) for values in (gold, guess))
            rows.append((ours, theirs, gold.get(name) == guess.get(name)))
    return _scores(rows)


def _scores(rows: Sequence[tuple[str, str, bool]]) -> list[Data]:
    """Scores of what is annotated, what is predicted, and whether that is right."""
    n_gold = Counter(gold for gold, _, _ in rows)
    n_found = Counter(guess for _, guess, _ in rows)
    n_right = Counter(gold for gold, _, is_right in rows if is_right)
    scores = []
    for label in sorted({*n_gold, *n_found} - {""}, key=lambda name: (-n_gold[name], name)):
        gold, found, right = (n[label] for n in (n_gold, n_found, n_right))
        shares = {"precision": right / max(1, found), "recall": right / max(1, gold)}
        f = 2 * right / max(1, gold + found)
        scores.append({"label": label, **shares, "f": f, "gold": gold, "found": found})
    return scores


def confusions_of(docs: Sequence[Doc], pairs: Iterable[Pair], none: str) -> list[Data]:
    """Items of the same tokens with another label; a span that is missing, or too much, is confused
    with none."""
    places = defaultdict(list)
    for pair in pairs:
        if pair.gold != pair.guess:
            places[pair.gold or none, pair.guess or none].append(pair)
    ordered = sorted(places.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    rows = []
    for (gold, guess), some in ordered[:MOST]:
        examples = [place_of(docs, pair, none) for pair in some[:3]]
        rows.append({"gold": gold, "guess": guess, "n": len(some), "examples": examples})
    return rows


def confusion_matrix(pairs: Iterable[Pair], none: str) -> Data:
    """Counts of items of the same tokens, as `confusions_of` compares them. counts[i][j]: how often
    labels[i] is annotated and labels[j] predicted. The labels with the most errors, the most
    frequent first; all others are one, if there are."""
    cells = Counter((pair.gold or none, pair.guess or none) for pair in pairs)
    sizes = Counter(label for cell in cells.elements() for label in cell)
    wrong = Counter(label for a, b in cells.elements() if a != b for label in (a, b))
    worst = dict(wrong.most_common(LARGEST))
    labels = sorted(worst, key=lambda label: (label == none, -sizes[label], label))
    labels += [OTHERS] * (len(sizes) > len(labels))
    row = {label: i for i, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), int)
    for (gold, guess), n in cells.items():
        table[row.get(gold, -1), row.get(guess, -1)] += n
    return {"labels": labels, "counts": table.tolist()}


def outside(place: str) -> str:
    """Name of no label: of entities and chunks, other spans, tokens."""
    group = place.rpartition(".")[2]
    return NAMES.get(group, "no span" if group != place else "no label")


def place_of(docs: Sequence[Doc], pair: Pair, none: str) -> Data:
    """The tokens of a pair in their sentence."""
    doc = docs[pair.doc]
    bounds = [*np.flatnonzero(sentence_starts(doc)).tolist(), len(doc)]
    at = int(np.searchsorted(bounds, pair.first, side="right"))
    words = around(doc, bounds[at - 1], pair.first, pair.end, bounds[at])
    labels = {"gold": pair.gold or none, "guess": pair.guess or none}
    return {"doc": pair.doc, "first": pair.first, **words, **labels}
