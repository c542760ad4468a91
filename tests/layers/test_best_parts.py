"""Labels found in groups: those of all scores, and the best of enumeration; what is left out is on no best path."""

import itertools
import pickle

import numpy as np
import pytest

from spacy_hoseq.decoders.exact import exact_labels
from spacy_hoseq.decoders.problem import Potentials, Weights
from spacy_hoseq.decoders.pruning import Limits, labels_left
from spacy_hoseq.decoders.pruning.bounds import candidate_labels
from spacy_hoseq.layers.best_parts import BestParts, Groups, groups_of
from spacy_hoseq.layers.emissions.kept_rows import KeptRows, WholeRows
from spacy_hoseq.layers.label_parts import LabelParts, Part, is_of_parts
from spacy_hoseq.layers.structured import best_labels, forget_words
from spacy_hoseq.layers.tuning import Tuning
from spacy_hoseq.layers.weights.shim import weights_of
from spacy_hoseq.learning.cell_table import CellTable
from spacy_hoseq.learning.parameter import Parameter

from .helpers import doc_of, randomize, raw
from .test_label_parts import docs_of, made

EVERY = Tuning(group_tokens=1, group_labels=1)
POS, CASES, NUMBERS = "NVAXD", "ngda", "sp"


def random_parts(rng, n_labels=30):
    """Labels of a part of speech, and some of them of a case and a number."""
    rows = []
    for pos, case, number in itertools.islice(itertools.product(POS, CASES, NUMBERS), n_labels):
        row = [Part(pos, "POS"), Part(case, "Case"), Part(pos + case, "POS Case"), Part(number, "Number")]
        rows.append([*row[: rng.integers(1, 5)], Part(pos + case + number, "whole")])
    return LabelParts.of([*rows, [Part("Z", "POS")], []])


class Case:
    """Rows of weights, of which each token adds up some; the last row is that of no feature."""

    def __init__(self, seed, scale=1.0, trans_scale=1.0, n_tokens=40):
        rng = np.random.default_rng(seed)
        self.parts = random_parts(rng)
        self.lengths = np.array([n_tokens // 2, 1, n_tokens - n_tokens // 2 - 1])
        shape = (25, len(self.parts.names))
        self.tables = [(scale * rng.normal(size=shape) * (rng.random(shape) < 0.4)).astype(np.float32) for _ in "ab"]
        for table in self.tables:
            table[-1] = 0
        self.rows = [rng.integers(0, 25, (3, n_tokens)), np.where(rng.random((2, n_tokens)) < 0.6, 24, 3)]
        n_labels = self.parts.n_labels
        self.weights = Weights(trans_scale * rng.normal(size=(n_labels, n_labels)))

    def terms(self):
        return [KeptRows(self, self.tables[0], self.rows[0], -1), KeptRows(self, self.tables[1], self.rows[1], 24)]

    def scores(self):
        """Part by part, row by row, in single precision (N, L)."""
        n_tokens = self.rows[0].shape[1]
        of_parts = np.zeros((n_tokens, len(self.parts.names)), np.float32)
        for table, rows in zip(self.tables, self.rows, strict=True):
            for row in rows:
                of_parts += table[row]
        scores = np.zeros((n_tokens, self.parts.n_labels), np.float32)
        for y, (a, b) in enumerate(itertools.pairwise(self.parts.first)):
            for p in self.parts.parts[a:b]:
                scores[:, y] += of_parts[:, p]
        return scores

    def candidates(self, **tuning):
        return BestParts(Tuning(**tuning)).candidates(self.parts, self.terms(), self.weights.prepared(Limits))

    def labels(self):
        return exact_labels(Potentials(self.scores(), self.weights, self.lengths))


@pytest.mark.parametrize("trans_scale", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_those_of_all_scores(seed, trans_scale):
    case = Case(seed, trans_scale=trans_scale)
    candidates = case.candidates(group_cells=64, part_tokens=3)
    assert np.array_equal(labels_left(candidates, case.weights, case.lengths), case.labels())
    expected = case.scores()[candidates.tokens, candidates.labels]
    assert np.array_equal(candidates.scores, expected.astype(np.float64))  # to the last bit
    cells = candidates.tokens * case.parts.n_labels + candidates.labels
    assert (np.diff(cells) > 0).all()
    of_all = candidate_labels(case.scores(), case.weights.prepared(Limits))
    assert np.isin(cells, of_all.tokens * case.parts.n_labels + of_all.labels).all()


@pytest.mark.parametrize("seed", range(5))
def test_no_label_of_an_enumerated_best_path_is_left_out(seed):
    case = Case(seed, trans_scale=0.3, n_tokens=6)
    case.lengths = np.array([3, 3])
    scores, trans, candidates = case.scores().astype(np.float64), case.weights.trans, case.candidates()
    left = [set(candidates.labels[a:b].tolist()) for a, b in itertools.pairwise(candidates.first)]
    for start in (0, 3):
        table = (
            scores[start][:, None, None] + trans[:, :, None] + scores[start + 1][None, :, None]
            + trans[None] + scores[start + 2][None, None]
        )  # fmt: skip
        best = np.argwhere(table >= table.max() - 1e-9)
        assert all(y in left[start + t] for path in best.tolist() for t, y in enumerate(path))


def test_equal_scores():
    """Nothing is left out where nothing is better; of equal labellings the one of the lowest labels is chosen."""
    case = Case(0, scale=0.0, trans_scale=0.0)
    assert len(case.candidates().labels) == case.scores().size
    assert np.array_equal(labels_left(case.candidates(), case.weights, case.lengths), case.labels())
    assert not case.labels().any()


def test_most_groups_are_never_added_up(monkeypatch):
    case = Case(1, scale=3.0, trans_scale=0.01)
    scored, scores = [], LabelParts.scores
    monkeypatch.setattr(
        LabelParts, "scores", lambda self, rows, n: scored.append(len(rows) * self.n_labels) or scores(self, rows, n)
    )
    best, limits = BestParts(), case.weights.prepared(Limits)
    first = best.candidates(case.parts, case.terms(), limits)
    scored.clear()  # (with the bounds of rows)
    again = best.candidates(case.parts, case.terms(), limits)
    assert sum(scored) < case.scores().size / 2
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_bounds_of_rows():
    case = Case(2)
    groups = Groups(case.parts, Tuning(part_tokens=2))
    of_label = groups_of(case.parts)
    (rows,) = case.tables[:1]
    matrix = case.parts.matrix
    sums, sizes = rows @ matrix, np.abs(rows) @ matrix
    bounds = groups.bounds_of(rows, np.arange(len(rows)))
    for g, group in enumerate(groups.every):
        assert np.array_equal(group.labels, np.flatnonzero(of_label == of_label[group.labels[0]]))
        assert bounds[:, g] == pytest.approx(sums[:, group.labels].max(axis=1), abs=1e-5)
    assert (bounds[:, -1] >= sizes.max(axis=1)).all()
    assert 1 < len(groups.every) < case.parts.n_labels


def test_other_weights_have_other_bounds():
    case, other = Case(3, trans_scale=0.02), Case(4, trans_scale=0.02)
    other.parts = case.parts
    other.tables = [table[:, : len(case.parts.names)] for table in other.tables]
    best = BestParts()
    for one in (case, other, case):
        candidates = best.candidates(one.parts, one.terms(), one.weights.prepared(Limits))
        assert np.array_equal(labels_left(candidates, one.weights, one.lengths), one.labels())


def test_what_cannot_be_compared_is_left_to_others():
    case = Case(0)
    case.tables[0][3, 0] = np.nan
    assert case.candidates() is None
    alone = LabelParts.of([[Part("a", "POS")], [Part("b", "POS")]])
    assert len(Groups(alone).every) <= 2
    none = LabelParts.of([[Part("a", "")], [Part("b", "")]])
    terms = [KeptRows(none, np.zeros((1, 2), np.float32), np.zeros((1, 2), np.intp), -1)]
    assert BestParts().candidates(none, terms, Weights(np.zeros((2, 2))).prepared(Limits)) is None


def test_rows_stored_cell_by_cell_as_whole_rows():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(9, 200)).astype(np.float32) * (rng.random((9, 200)) < 0.1)
    dense[3:5] = dense[-1] = 0
    cells = np.flatnonzero(dense)
    table = CellTable.of(dense.shape, cells, dense.reshape(-1)[cells])
    rows, whole = rng.integers(0, 9, (2, 30)), WholeRows()
    for some in (rows[:, :5], rows, rows[:, ::-1]):
        term = whole.of(table, some)
        assert np.array_equal(term.table[term.rows], dense[some])
        assert ((term.rows == term.nothing) == ~dense[some].any(axis=2)).all()
    as_array = whole.of(dense, rows)
    assert as_array.table is dense and as_array.nothing == 8


@pytest.mark.parametrize("label_pairs", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_of_a_model(seed, label_pairs):
    model = made(label_pairs, seed)
    docs = [*docs_of(), doc_of("new words x"), doc_of(" x  y z")]
    for other in (model, pickle.loads(pickle.dumps(model))):
        for some in (docs[:2], docs, docs[::-1]):
            expected = exact_labels(other.predict(some))
            assert np.array_equal(best_labels(other, some, EVERY), expected)
            forget_words(other)
    randomize(model, seed + 10)
    assert np.array_equal(best_labels(model, docs, EVERY), exact_labels(model.predict(docs)))
    for tuning in (Tuning(group_tokens=1), Tuning(group_labels=1)):  # few labels, a short text
        assert best_labels(model, docs, tuning) is None


def test_of_a_model_with_forbidden_transitions():
    model = made(label_pairs=True)
    assert is_of_parts(model.layers[0]) and best_labels(model, docs_of(), EVERY) is not None
    trans = raw(model, "trans").copy()
    trans[0, 1] = -np.inf
    weights_of(model).set(Parameter("trans", trans))
    assert weights_of(model).values("trans", is_train=False)[0, 1] == -np.inf
    assert best_labels(model, docs_of(), EVERY) is None
