"""What is right and what is wrong: counts, scores with intervals, labels, confusions, and the tokens in
their sentences, as pages show them.
"""

from collections import Counter
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

import numpy as np
from spacy.morphology import Morphology
from spacy.tokens import Doc

from ..arrays import Floats
from ..components.targets.places import target_at
from ..features.sequences import sentence_starts
from .sentence import written
from .significance import f_score, interval

MOST = 20  # pairs of labels
LARGEST = 12  # labels of a matrix
OTHERS = "others"
NAMES = {"ents": "no entity", "chunks": "no chunk"}  # where there is no span, by its group
Items = List[Tuple[int, int, str]]  # of a Doc: tokens or spans, first <= i < end, with their label
Data = Dict[str, Any]  # as report.json has it


class Share(NamedTuple):
    """value: of n. low, high: the 95 per cent interval."""

    value: float
    low: float
    high: float
    n: int


def place_of(doc: Doc, number: int, first: int, end: int, gold: str, guess: str) -> Data:
    """The tokens first <= i < end in their sentence, before, words, after: each word with the space
    that follows it. number (int): of the Doc."""
    starts = np.flatnonzero(sentence_starts(doc))
    at = int(np.searchsorted(starts, first, side="right"))
    start = int(starts[at - 1])
    stop = int(starts[at]) if at < len(starts) else len(doc)
    words = written(doc[start : max(stop, end)])
    parts = {"before": words[: first - start], "words": words[first - start : end - start]}
    labels = {"gold": gold, "guess": guess}
    return {"doc": number, "first": first, **parts, "after": words[end - start :], **labels}


def outside(place: str) -> str:
    """What is said where there is no label: of entities and chunks, other spans, tokens."""
    group = place.rpartition(".")[2]
    return NAMES.get(group, "no span" if group != place else "no label")


def items_of(doc: Doc, place: str) -> Items:
    """The labels of a Doc: tokens or spans, each with its first token and end; "" = a token without
    a label."""
    return target_at(place).items(doc)


def counts(docs: Sequence[Doc], gold: Sequence[Items], guess: Sequence[Items]) -> Floats:
    """Of each sentence (S, 3): items that are right, found, and gold. Tokens that are not annotated
    are none."""
    rows = [np.zeros((0, 3))]
    for doc, of_gold, of_guess in zip(docs, gold, guess, strict=True):
        annotated, found = _asked(of_gold, of_guess)
        number = np.cumsum(sentence_starts(doc)) - 1
        columns = [
            np.bincount(
                number[[item[0] for item in items]], minlength=number[-1] + 1 if len(doc) else 0
            )
            for items in (annotated & found, found, annotated)
        ]
        rows.append(np.stack(columns, axis=1).astype(float))
    return np.concatenate(rows)


def _asked(
    of_gold: Items, of_guess: Items
) -> "Tuple[Set[Tuple[int, int, str]], Set[Tuple[int, int, str]]]":
    """What is annotated, and what was found there: not where the annotation says nothing."""
    open_places = {item[:2] for item in of_gold if not item[2]}
    return {item for item in of_gold if item[2]}, {
        item for item in of_guess if item[:2] not in open_places
    }


def accuracy(sums: Floats) -> Floats:
    """Of (n, 3) sums of `counts`: the share of gold items that are right."""
    return np.asarray(sums[:, 0] / np.maximum(1, sums[:, 2]))


def _precision(sums: Floats) -> Floats:
    return np.asarray(sums[:, 0] / np.maximum(1, sums[:, 1]))


def scores_of(of_sentence: Floats, is_span: bool) -> Dict[str, Share]:
    n = int(of_sentence[:, 2].sum())
    functions: Dict[str, Callable[[Floats], Floats]] = {"accuracy": accuracy}
    if is_span:
        functions = {"precision": _precision, "recall": accuracy, "f": f_score}
    scores = {name: share(of_sentence, function, n) for name, function in functions.items()}
    right = (of_sentence == of_sentence[:, :1]).all(axis=1)
    whole = np.stack([right, np.ones(len(right)), np.ones(len(right))], axis=1).astype(float)
    return {**scores, "sentences": share(whole, accuracy, len(whole))}


def share(of_sentence: Floats, score: Callable[[Floats], Floats], n: int) -> Share:
    low, high = interval(of_sentence, score)
    return Share(float(score(of_sentence.sum(axis=0, keepdims=True))[0]), low, high, n)


def by_knowledge(
    docs: Sequence[Doc], gold: Sequence[Items], guess: Sequence[Items], known: Set[str]
) -> Dict[str, Share]:
    """Accuracy of tokens whose word training has seen, and of the others."""
    shares = {}
    for name, is_known in (("known words", True), ("unknown words", False)):
        some = [
            [
                item if (doc[item[0]].text in known) == is_known else (*item[:2], "")
                for item in items
            ]
            for doc, items in zip(docs, gold, strict=True)
        ]
        of_sentence = counts(docs, some, guess)
        shares[name] = share(of_sentence, accuracy, int(of_sentence[:, 2].sum()))
    return shares


def label_scores(gold: Sequence[Items], guess: Sequence[Items]) -> List[Data]:
    """Of each label, the most frequent first."""
    annotated, predicted = zip(*map(_asked, gold, guess), strict=True) if gold else ((), ())
    n_gold = Counter(item[2] for items in annotated for item in items)
    n_found = Counter(item[2] for items in predicted for item in items)
    n_right = Counter(item[2] for a, b in zip(annotated, predicted, strict=True) for item in a & b)
    return [
        _score(label, n_right[label], n_found[label], n_gold[label])
        for label in sorted({*n_gold, *n_found} - {""}, key=lambda name: (-n_gold[name], name))
    ]


def _score(label: str, n_right: int, n_found: int, n_gold: int) -> Data:
    shares = {
        "precision": n_right / max(1, n_found),
        "recall": n_right / max(1, n_gold),
        "f": 2 * n_right / max(1, n_gold + n_found),
    }
    return {"label": label, **shares, "gold": n_gold, "found": n_found}


def feature_scores(gold: Sequence[Items], guess: Sequence[Items]) -> List[Data]:
    """Of each feature in labels of morphology, the part of speech as "POS": it is right if it has
    the same value."""
    parts = [[_features_of(items) for items in side] for side in (gold, guess)]
    values = label_scores(*parts)
    totals: Dict[str, Floats] = {}
    for row in values:
        numbers = np.array([row["recall"] * row["gold"], row["found"], row["gold"]])
        name = row["label"].partition("=")[0]
        totals[name] = totals.get(name, np.zeros(3)) + numbers
    return [_score(name, *np.round(of).astype(int).tolist()) for name, of in totals.items()]


def _features_of(items: Items) -> Items:
    """Each feature as an item of its own, "Case=Gen"."""
    return [
        (first, end, f"{name}={value}")
        for first, end, label in items
        for name, value in Morphology.feats_to_dict(label).items()
    ]


def confusions_of(
    docs: Sequence[Doc], gold: Sequence[Items], guess: Sequence[Items], none: str
) -> List[Data]:
    """Items of the same tokens with another label; a span that is missing, or too much, is confused
    with none."""
    places: Dict[Tuple[str, str], List[Tuple[int, int, int]]] = {}
    for *where, ours, theirs in _pairs(gold, guess, none):
        if ours != theirs:
            places.setdefault((ours, theirs), []).append((where[0], where[1], where[2]))
    ordered = sorted(places.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    rows = []
    for (ours, theirs), found in ordered[:MOST]:
        shown = [place_of(docs[i], i, a, b, ours, theirs) for i, a, b in found[:3]]
        rows.append({"gold": ours, "guess": theirs, "n": len(found), "examples": shown})
    return rows


def confusion_matrix(gold: Sequence[Items], guess: Sequence[Items], none: str) -> Data:
    """Of items of the same tokens, as `confusions_of` compares them. counts[i][j]: how often
    labels[i] is annotated and labels[j] predicted. The labels with the most errors, the most
    frequent first; all others are one, if there are."""
    pairs = Counter((ours, theirs) for *_, ours, theirs in _pairs(gold, guess, none))
    errors: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for pair, n in pairs.items():
        for label in pair:
            sizes[label] += n
            errors[label] += n * (pair[0] != pair[1])
    worst = [label for label, n in errors.most_common(LARGEST) if n]
    labels = sorted(worst, key=lambda label: (label == none, -sizes[label], label))
    if len(sizes) > len(labels):
        labels.append(OTHERS)
    row = {label: i for i, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    for (ours, theirs), n in pairs.items():
        counts[row.get(ours, -1)][row.get(theirs, -1)] += n
    return {"labels": labels, "counts": counts}


def _pairs(
    gold: Sequence[Items], guess: Sequence[Items], none: str
) -> Iterator[Tuple[int, int, int, str, str]]:
    """The Doc, first token and end of each item that is annotated or predicted, and both labels."""
    for number, (of_gold, of_guess) in enumerate(zip(gold, guess, strict=True)):
        labels, others = ({item[:2]: item[2] for item in items} for items in (of_gold, of_guess))
        for at in sorted({*labels, *others}):
            annotated = labels.get(at, none)
            if annotated:
                yield number, *at, annotated, others.get(at) or none
