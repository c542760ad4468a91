"""Right and wrong labels, as pages show them: counts, scores with intervals, confusions, and tokens
in their sentences."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
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

MAX_ROWS = 20  # of a list of a report: confusions, sentences, tokens
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
    for number, (gold_doc, guess_doc) in enumerate(zip(docs, guesses, strict=True)):
        gold = _by_tokens(target.items(gold_doc))
        guess = _by_tokens(target.items(guess_doc))
        for first, end in sorted({*gold, *guess}):
            at = (first, end)
            if "" in gold[at]:
                continue
            # Items of the same tokens are paired: equal ones first, then the others in order.
            labels = [(label, label) for label in sorted(gold[at] & guess[at])]
            missed = sorted(gold[at] - guess[at])
            labels += zip_longest(missed, sorted(guess[at] - gold[at]), fillvalue="")
            for ours, theirs in labels:
                pairs.append(Pair(number, first, end, ours, theirs))
    return pairs


def _by_tokens(items: Items) -> dict[tuple[int, int], set[str]]:
    """Labels by the tokens that have them."""
    labels: dict[tuple[int, int], set[str]] = defaultdict(set)
    for first, end, label in items:
        labels[first, end].add(label)
    return labels


def counts(docs: Sequence[Doc], pairs: Sequence[Pair]) -> Floats:
    """Items of each sentence (S, 3) that are right, found, and gold."""
    starts = [sentence_starts(doc) for doc in docs]
    sentence_of = np.cumsum(np.concatenate([np.zeros(0, bool), *starts])) - 1
    first_of = np.cumsum([0, *map(len, docs)])
    n = int(sentence_of[-1]) + 1 if len(sentence_of) else 0
    tokens = []
    marks = np.zeros((len(pairs), 3), bool)
    for i, pair in enumerate(pairs):
        tokens.append(first_of[pair.doc] + pair.first)
        marks[i] = (pair.gold == pair.guess, pair.guess != "", pair.gold != "")
    rows = sentence_of[np.array(tokens, np.intp)]
    return np.stack([np.bincount(rows, column, n) for column in marks.T], axis=1)


def scores_of(sentence_counts: Floats, is_span: bool) -> dict[str, Share]:
    """Scores, with what each is a share of. sentence_counts: of `counts`."""
    _, n_found, n = sentence_counts.sum(axis=0).astype(int).tolist()
    # A sentence is right if all it has is right: then its three counts are equal. Here it is one
    # item, so that its columns are (right, 1, 1).
    right = (sentence_counts == sentence_counts[:, :1]).all(axis=1)
    items = np.stack([right, np.ones(len(right)), np.ones(len(right))], axis=1)
    sentences = share(items, accuracy, len(right))
    if not is_span:
        return {"accuracy": share(sentence_counts, accuracy, n), "sentences": sentences}
    return {
        "precision": share(sentence_counts, precision, n_found),
        "recall": share(sentence_counts, accuracy, n),
        "f": share(sentence_counts, f_score, n),
        "sentences": sentences,
    }


def share(sentence_counts: Floats, score: Callable[[Floats], Floats], n: int) -> Share:
    """A score of n items and its interval."""
    low, high = interval(sentence_counts, score)
    value = float(score(sentence_counts.sum(axis=0, keepdims=True))[0])
    return {"value": value, "low": low, "high": high, "n": n}


def by_knowledge(docs: Sequence[Doc], pairs: Sequence[Pair], known: set[str]) -> dict[str, Share]:
    """Accuracy of tokens whose word is in the training corpus, and of the others."""
    by_name: dict[str, list[Pair]] = {"known words": [], "unknown words": []}
    for pair in pairs:
        is_known = docs[pair.doc][pair.first].text in known
        by_name["known words" if is_known else "unknown words"].append(pair)
    return {name: share(counts(docs, some), accuracy, len(some)) for name, some in by_name.items()}


def label_scores(pairs: Iterable[Pair]) -> list[Data]:
    """Scores of each label, the most frequent first."""
    return _scores([(pair.gold, pair.guess, pair.gold == pair.guess) for pair in pairs])


def feature_scores(pairs: Iterable[Pair]) -> list[Data]:
    """Scores of each feature in labels of morphology, the part of speech as "POS": it is right if
    it has the same value."""
    rows = []
    for pair in pairs:
        gold = Morphology.feats_to_dict(pair.gold)
        guess = Morphology.feats_to_dict(pair.guess)
        for name in {*gold, *guess}:
            # a feature that one side does not have is nothing there, as a missing span is
            is_right = gold.get(name) == guess.get(name)
            rows.append((name if name in gold else "", name if name in guess else "", is_right))
    return _scores(rows)


def _scores(rows: Sequence[tuple[str, str, bool]]) -> list[Data]:
    """Scores by label, the most frequent first. rows: what is annotated, what is predicted, and
    whether that is right."""
    n_gold: Counter[str] = Counter()
    n_found: Counter[str] = Counter()
    n_right: Counter[str] = Counter()
    for gold, guess, is_right in rows:
        n_gold[gold] += 1
        n_found[guess] += 1
        n_right[gold] += is_right
    scores = []
    for label in sorted({*n_gold, *n_found} - {""}, key=lambda name: (-n_gold[name], name)):
        # labels that are never found, or never annotated, have scores of 0
        shares = {
            "precision": n_right[label] / max(1, n_found[label]),
            "recall": n_right[label] / max(1, n_gold[label]),
            "f": 2 * n_right[label] / max(1, n_gold[label] + n_found[label]),
        }
        numbers = {"gold": n_gold[label], "found": n_found[label]}
        scores.append({"label": label, **shares, **numbers})
    return scores


def confusions_of(docs: Sequence[Doc], pairs: Iterable[Pair], none: str) -> list[Data]:
    """Items of the same tokens with different labels. A span that is missing, or too much, is
    confused with none."""
    places = defaultdict(list)
    for pair in pairs:
        if pair.gold != pair.guess:
            places[pair.gold or none, pair.guess or none].append(pair)
    ordered = sorted(places.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    rows = []
    for (gold, guess), confused in ordered[:MAX_ROWS]:
        examples = [place_of(docs, pair, none) for pair in confused[:3]]
        rows.append({"gold": gold, "guess": guess, "n": len(confused), "examples": examples})
    return rows


def confusion_matrix(pairs: Iterable[Pair], none: str) -> Data:
    """Counts of items of the same tokens, as `confusions_of` compares them. counts[i][j]: how often
    labels[i] is annotated and labels[j] predicted. The labels with the most errors, the most
    frequent first; all others, if there are any, share the last row and column."""
    cells = Counter((pair.gold or none, pair.guess or none) for pair in pairs)
    sizes: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for (gold, guess), n in cells.items():
        sizes[gold] += n
        sizes[guess] += n
        if gold != guess:
            wrong[gold] += n
            wrong[guess] += n
    worst = [label for label, _ in wrong.most_common(12)]
    labels = sorted(worst, key=lambda label: (label == none, -sizes[label], label))
    if len(sizes) > len(labels):
        labels.append("others")
    row = {label: i for i, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), int)
    for (gold, guess), n in cells.items():
        table[row.get(gold, -1), row.get(guess, -1)] += n  # -1: the others
    return {"labels": labels, "counts": table.tolist()}


def outside(place: str) -> str:
    """What it is called where nothing is annotated."""
    group = place.rpartition(".")[2]
    if group == "ents":
        return "no entity"
    if group == "chunks":
        return "no chunk"
    return "no label" if group == place else "no span"


def place_of(docs: Sequence[Doc], pair: Pair, none: str) -> Data:
    """The tokens of a pair in their sentence."""
    doc = docs[pair.doc]
    bounds = [*np.flatnonzero(sentence_starts(doc)).tolist(), len(doc)]  # of the sentences
    at = int(np.searchsorted(bounds, pair.first, side="right"))
    words = around(doc, bounds[at - 1], pair.first, pair.end, bounds[at])
    labels = {"gold": pair.gold or none, "guess": pair.guess or none}
    return {"doc": pair.doc, "first": pair.first, **words, **labels}
