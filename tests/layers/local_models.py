"""Local classifiers by their definition: weights of (template, values) features in a dict, and random problems."""

import itertools
from functools import cache

import numpy as np
from spacy.tokens import Doc

from spacy_hoseq.layers.local_classifiers.classifiers import (
    SURE,
    LocalClassifier,
    LocalClassifiers,
    TrainingBatch,
    define_features,
    shim_of,
)
from spacy_hoseq.learning.inequality import InequalityWeights
from spacy_hoseq.learning.used_rows import UsedRows

from .helpers import VOCAB

OFFSETS = {1: (-1, 1), 2: (-2, -1, 1, 2)}
LABELS = ("A", "B", "C")
L = len(LABELS)
WORDS = ("cat", "Dog", "dog", "a", "I", "sees", "Bees")
TEMPLATES = "bias orth[-1..0] suffix2[0]+has_upper[0] label[-1] label[1] label[-2]+label[-1]"
TEMPLATES += " label[-1]+label[1] label[2] label[-2]+label[-1]+label[1]+label[2] label[-1]+orth[0]"
TEMPLATES += " orth[0]+label[1]+suffix2[-1] label[1]+orth[0] label[2]+has_upper[0]"
TEMPLATES = TEMPLATES.split()
ATTRIBUTES = {"orth": lambda word: word, "has_upper": lambda word: word != word.lower() or None}
ATTRIBUTES["suffix2"] = lambda word: word[-2:] if len(word) >= 2 else None


def plain_templates(templates, order):
    """[[(attribute, offset), ...], ...]: ranges written out, without those whose labels are too far away."""
    result = []
    for text in templates:
        parts = []
        for part in text.split("+"):
            name, _, offset = part.rstrip("]").partition("[")
            first, _, last = (offset or "0").partition("..")
            parts.append([(name, o) for o in range(int(first), int(last or first) + 1)])
        result += [list(chosen) for chosen in itertools.product(*parts)]
    return [t for t in result if all(abs(o) <= order for name, o in t if name == "label")]


def word_value(words, at, name):
    if name == "bias":
        return True
    if not 0 <= at < len(words):
        return "<s>" if at < 0 else "</s>"
    return ATTRIBUTES[name](words[at])


def feature(template, words, i, labels):
    """(template, values), or None if it does not fire. labels: by offset, those that are known."""
    values = []
    for name, o in template:
        values.append(labels.get(o) if name == "label" else word_value(words, i + o, name))
    return None if None in values else (tuple(template), tuple(values))


def random_docs(rng, n_docs=6, n_words=5):
    """Docs of several sentences, one of them empty."""
    docs = [Doc(VOCAB)]
    for length in rng.integers(1, 9, n_docs).tolist():
        starts = [i == 0 or rng.random() < 0.25 for i in range(length)]
        chosen = [WORDS[w] for w in rng.integers(0, n_words, length)]
        docs.append(Doc(VOCAB, words=chosen, sent_starts=starts))
    return docs


class Text:
    """places: (words of the sentence, gold labels there, position) of each token; gold: -1 = not known."""

    def __init__(self, docs, gold, order):
        self.docs, self.gold, self.order = docs, np.asarray(gold, np.intp), order
        self.places, tokens = [], [token for doc in docs for token in doc]
        starts = [i for i, token in enumerate(tokens) if token.i == 0 or token.is_sent_start]
        for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True):
            words = [token.text for token in tokens[start:stop]]
            labels = self.gold[start:stop].tolist()
            self.places += [(words, labels, i) for i in range(stop - start)]
        contexts = [[self._neighbour(*place, o) for o in OFFSETS[order]] for place in self.places]
        self.contexts = np.array(contexts, np.intp)

    def _neighbour(self, words, gold, i, offset):
        at = i + offset
        return L if at < 0 else L + 1 if at >= len(words) else gold[at]

    def labels_around(self, n):
        """Known gold labels by offset."""
        pairs = zip(OFFSETS[self.order], self.contexts[n].tolist(), strict=True)
        return {offset: y for offset, y in pairs if y >= 0}


class Problem:
    """A random training text, a model whose features are defined by it, and the definition of everything.

    row_of: (template, values) -> number, as the rows of the training text show it. groups: of each number.
    """

    def __init__(
        self, order=2, seed=0, templates=TEMPLATES, n_docs=8, n_words=5, unknown=0.15, **settings
    ):
        rng = np.random.default_rng(seed)
        docs = random_docs(rng, n_docs, n_words)
        gold = rng.integers(0, L, sum(map(len, docs)))
        gold[rng.random(len(gold)) < unknown] = -1
        self.order, self.text = order, Text(docs, gold, order)
        self.templates = plain_templates(templates, order)
        self.make_model = lambda **other: LocalClassifiers(
            templates, order, **{**settings, **other}
        )
        self.model = self.make_model()
        self.n_tokens = int((gold >= 0).sum())
        define_features(self.model, LABELS, [[(docs, self.text.contexts)]], self.n_tokens)
        self.shim, self.features = shim_of(self.model), self.model.attrs["features"]
        self.keys = self.shim.known["keys"]
        self.groups = np.repeat(np.arange(len(self.keys)), [len(keys) for keys in self.keys])
        self.batch = self.batch_of(self.text)
        self.row_of = self.rows_by_feature() if settings.get("min_count", 1) == 1 else {}

    def batch_of(self, text):
        rows = self.features.training_rows(text.docs, text.contexts, self.shim.known)
        known = [sum(1 << s for s, y in enumerate(row) if y >= 0) for row in text.contexts.tolist()]
        return TrainingBatch(rows, text.gold, np.array(known, np.intp))

    def rows_by_feature(self):
        found = {}
        plain = [t for t in self.templates if all(name != "label" for name, _ in t)]
        ordered = [*plain, *(t for t in self.templates if t not in plain)]
        for k, (template, rows) in enumerate(zip(ordered, self.batch.rows, strict=True)):
            for n, (words, _, i) in enumerate(self.text.places):
                name = feature(template, words, i, self.text.labels_around(n))
                assert (name is None) == (rows[n] == len(self.groups)), (template, n)
                if name is not None:
                    assert found.setdefault(name, rows[n]) == rows[n], name
                    assert self.groups[rows[n]] == max(0, k - len(plain) + 1)
        assert sorted(found.values()) == list(range(len(self.groups)))
        return {name: int(row) for name, row in found.items()}

    def sees(self, visible):
        return {o for slot, o in enumerate(OFFSETS[self.order]) if visible >> slot & 1}

    def own(self, visible):
        """The features of a classifier: of templates about words, and of those whose neighbours it sees."""
        seen = [0, *(k - self.features.n_plain + 1 for k in self.features.seen_by[visible])]
        return np.flatnonzero(np.isin(self.groups, seen))

    def classifier(
        self, visible, W=None, *, learn_rate=0.1, width=0.0, seed=0, n_tokens=None, sure=SURE
    ):
        settings = {"learn_rate": learn_rate, "width": width, "n_tokens": n_tokens or self.n_tokens}
        weights = InequalityWeights(len(self.groups) + 1, L, **settings)
        start = self.packed(W or {})
        weights.resume(start.rows, start.values)
        rng = np.random.default_rng([seed, visible])
        return LocalClassifier(visible, self.features.seen_by[visible], weights, rng, sure)

    def packed(self, W):
        values = np.zeros((len(self.groups), L), np.float32)
        for name, w in W.items():
            values[self.row_of[name]] = w
        return UsedRows.of(values)

    def unpacked(self, used):
        """Weights by feature."""
        names = {row: name for name, row in self.row_of.items()}
        pairs = zip(used.rows.tolist(), used.values, strict=True)
        return {names[row]: values.astype(np.float64) for row, values in pairs}

    def of(self, visible):
        return [name for name, row in self.row_of.items() if row in set(self.own(visible).tolist())]

    def random_weights(self, visible, seed=0):
        rng = np.random.default_rng([seed, visible])
        names = self.of(visible)
        return {f: rng.normal(size=L).astype(np.float16).astype(np.float64) for f in names}

    def active(self, words, i, labels, visible):
        """The features of a classifier at a token."""
        seen = {o: y for o, y in labels.items() if o in self.sees(visible)}
        found = [feature(t, words, i, seen) for t in self.templates]
        return [f for f in found if f is not None]

    def scores(self, W, words, i, labels, visible):
        return sum((W[f] for f in self.active(words, i, labels, visible) if f in W), np.zeros(L))

    def learnt_from(self, visible, text=None):
        """Tokens whose gold label is known, and those that the classifier sees."""
        text = text or self.text
        needed = self.sees(visible)
        known = np.flatnonzero(text.gold >= 0).tolist()
        return [n for n in known if needed <= set(text.labels_around(n))]

    def loss(self, W, visible, text=None):
        return self.loss_and_gradient(W, visible, text)[0]

    def loss_and_gradient(self, W, visible, text=None):
        """-log p(gold), and for each feature its expected less its observed counts."""
        text = text or self.text
        loss, gradient = 0.0, {f: np.zeros(L) for f in self.of(visible)}
        for n in self.learnt_from(visible, text):
            words, _, i = text.places[n]
            labels = text.labels_around(n)
            s = self.scores(W, words, i, labels, visible)
            p = np.exp(s - s.max())
            p /= p.sum()
            loss -= float(np.log(p[text.gold[n]]))
            for f in gradient.keys() & self.active(words, i, labels, visible):
                gradient[f] += p - np.eye(L)[text.gold[n]]
        return loss, gradient

    def train(self, n_updates=3, drop=0.0, **settings):
        """The model, trained through its shim."""
        self.shim.configure(**{"learn_rate": 0.5, "width": 0.3, "seed": 0, **settings})
        for _ in range(n_updates):
            self.shim.gradient(self.batch, drop)
            self.model.finish_update(None)
        return self.model


@cache
def ready(order=2):
    """A problem shared by tests that do not train its model."""
    return Problem(order)


@cache
def trained(order=2):
    """A problem whose model is trained, for tests that do not change it."""
    problem = Problem(order)
    problem.train()
    return problem


def all_scores(model, docs, order, seed=0):
    """Scores of all classifiers at all tokens, in one random context each."""
    n_tokens, masks = sum(map(len, docs)), shim_of(model).masks
    tokens, visible = np.repeat(np.arange(n_tokens), len(masks)), np.tile(masks, n_tokens)
    contexts = np.random.default_rng(seed).integers(0, L + 2, (len(tokens), 2 * order))
    return model.predict(docs)(tokens, visible, np.arange(len(tokens)), contexts)
