"""Label n-grams and their probabilities: of a chain against enumeration, of any numbers against the formula; the
gradient against finite differences."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers.label_ngrams import AFTER, BEFORE, LabelLattice
from spacy_hoseq.decoders.problem import ProbableLabels, certain_labels

from ... import oracle
from ...strategies import cases
from .posteriors import distributions, forward_backward, has_path

MARGIN = 3
PLACES = [(0,), (-1,), (2,), (-1, 0), (0, 1), (-1, 1)]
PLACES += [(-1, 0, 1), (1, 2, 3), (-2, -1, 1), (-3, 0, 3)]
PLACES.append((-2, -1, 0, 1, 2))


def lattice_of(case, threshold, margin=MARGIN):
    marginals = forward_backward(case.scores, case.trans, case.lengths, allowed=case.allowed)
    return LabelLattice(marginals.probable(threshold), case.lengths, margin)


def shape_of(places):
    return tuple(place - places[0] for place in places)


def as_table(lattice, places, threshold):
    """{(token, labels at the places): q}"""
    found = lattice.ngrams(shape_of(places), threshold)
    labels = [lattice.labels[cells].tolist() for cells in found.cells]
    assert len(found.links) == len(found.cells)
    tokens = lattice.tokens_at(found.places - places[0]).tolist()
    ngrams = [ngram for ngram in zip(tokens, *labels, strict=True) if ngram[0] >= 0]
    values = [q for token, q in zip(tokens, found.values.tolist(), strict=True) if token >= 0]
    assert len(set(ngrams)) == len(ngrams), "each once"
    assert (np.diff(found.places) >= 0).all(), "in the order of places"
    return dict(zip(ngrams, values, strict=True))


def runs(offsets):
    """Neighbouring places, each run as a slice of the offsets."""
    cuts = [i for i in range(1, len(offsets)) if offsets[i] != offsets[i - 1] + 1]
    return [slice(a, b) for a, b in itertools.pairwise([0, *cuts, len(offsets)])]


def enumerated(case, offsets, threshold=0.0):
    """The product of the probabilities of all runs, each added up over labellings with places outside."""
    found = {}
    for start, labellings, p in distributions(case):
        n = labellings.shape[1]
        wide = np.full((len(labellings), n + 2 * MARGIN), BEFORE)
        wide[:, MARGIN : MARGIN + n], wide[:, MARGIN + n :] = labellings, AFTER
        for t in range(n):
            ways = []
            for run in runs(offsets):
                columns = wide[:, [MARGIN + t + offset for offset in offsets[run]]]
                strings = {}
                for string, share in zip(map(tuple, columns.tolist()), p.tolist(), strict=True):
                    strings[string] = strings.get(string, 0.0) + share
                ways.append({string: q for string, q in strings.items() if q > 0})
            for parts in itertools.product(*ways):
                q = float(np.prod([way[part] for way, part in zip(ways, parts, strict=True)]))
                assume(abs(q - threshold) > 1e-9 or not threshold)
                if q >= threshold:
                    found[(start + t, *itertools.chain(*parts))] = q
    return found


def assert_same(got, expected, tolerance=1e-9):
    assert got.keys() == expected.keys()
    assert list(got.values()) == pytest.approx([expected[ngram] for ngram in got], abs=tolerance)


def fit(case):
    case = case.doubles().without_patterns()
    assume(has_path(case))
    return case


@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.3])
@given(case=cases(max_labels=3, max_tokens=5), places=st.sampled_from(PLACES))
def test_of_a_chain(threshold, case, places):
    """Sequences may be shorter than the places reach; transitions may be forbidden."""
    case = fit(case)
    expected = enumerated(case, places, threshold)
    for made_with in {0.0, threshold}:
        assert_same(as_table(lattice_of(case, made_with), places, threshold), expected)


@given(case=cases(max_labels=3, max_tokens=4), seed=st.integers(0, 99))
def test_places_asked_for_in_any_order(case, seed):
    """What was found on the way to longer n-grams is used again, with the same threshold only."""
    case = fit(case)
    lattice = lattice_of(case, 0.0)
    for i in np.random.default_rng(seed).permutation(len(PLACES))[:4].tolist():
        for threshold in (0.1, 0.0):
            expected = enumerated(case, PLACES[i], threshold)
            assert_same(as_table(lattice, PLACES[i], threshold), expected)


@given(case=cases(max_labels=3, max_tokens=5), places=st.sampled_from(PLACES), data=st.data())
def test_around_some_of_the_tokens(case, places, data):
    """The n-grams of the whole lattice that are at these tokens."""
    lattice = lattice_of(fit(case), 0.0)
    start = data.draw(st.integers(0, len(case.scores)))
    stop = data.draw(st.integers(start, len(case.scores)))
    expected = as_table(lattice, places, 0.0)
    here = {ngram: q for ngram, q in expected.items() if start <= ngram[0] < stop}
    assert_same(as_table(lattice.between(start, stop), places, 0.0), here)


def test_no_margin():
    lengths = np.array([2, 1])
    lattice = LabelLattice(certain_labels(np.array([1, 0, 2]), lengths), lengths, 0)
    assert as_table(lattice, (0,), 0.0) == {(0, 1): 1, (1, 0): 1, (2, 2): 1}


def test_certain_labels_by_hand():
    """Sequences 1 0 and 2; of the last one nothing is known."""
    lengths = np.array([2, 1, 1])
    lattice = LabelLattice(certain_labels(np.array([1, 0, 2, -1]), lengths), lengths, 2)

    def table(*places):
        return as_table(lattice, places, 0.0)

    assert table(-1, 0) == {(0, BEFORE, 1): 1, (1, 1, 0): 1, (2, BEFORE, 2): 1}
    assert table(0, 1) == {(0, 1, 0): 1, (1, 0, AFTER): 1, (2, 2, AFTER): 1}
    assert table(-2, 2) == {(t, BEFORE, AFTER): 1 for t in range(4)}
    before = {(t, BEFORE, BEFORE): 1 for t in (0, 2, 3)}
    assert table(-2, -1) == {(1, BEFORE, 1): 1, **before}
    assert table(1, 2) == {(0, 0, AFTER): 1, **{(t, AFTER, AFTER): 1 for t in (1, 2, 3)}}


def random_probable(rng, lengths, n_labels=3):
    """Numbers that are no marginals: a pair may be more probable than its labels, entries and pairs may be missing."""
    tokens, labels = np.nonzero(rng.random((int(lengths.sum()), n_labels)) < 0.8)
    starts = set((np.cumsum(lengths) - lengths).tolist())
    later = [(j, token) for j, token in enumerate(tokens.tolist()) if token not in starts]
    pairs = [(i, j) for j, token in later for i in np.flatnonzero(tokens == token - 1).tolist()]
    pairs = [pair for pair in pairs if rng.random() < 0.8]
    earlier, later = np.array(pairs, np.intp).reshape(-1, 2).T
    p, q = rng.uniform(0.2, 1, len(tokens)), rng.uniform(0.2, 1, len(pairs))
    return ProbableLabels(tokens, labels, p, earlier, later, q)


def by_the_formula(probable, lengths, offsets, threshold):
    """Place by place; an n-gram is dropped as soon as it is below the threshold."""
    entries = list(zip(probable.tokens.tolist(), probable.labels.tolist(), strict=True))
    p = dict(zip(entries, probable.probabilities.tolist(), strict=True))
    ends = zip(probable.earlier, probable.later, strict=True)
    pairs = zip(ends, probable.pairs.tolist(), strict=True)
    pair = {(entries[i], entries[j]): q for (i, j), q in pairs}
    found = {}
    for end, n in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
        first = end - n

        def cells(place, first=first, end=end):
            if not first <= place < end:
                return {(place, BEFORE if place < first else AFTER): 1.0}
            return {entry: q for entry, q in p.items() if entry[0] == place}

        for t in range(first, end):
            partial = {(): 1.0}
            for i, offset in enumerate(offsets):
                longer = {}
                for ngram, q in partial.items():
                    for cell, own in cells(t + offset).items():
                        before = ngram[-1] if i and offset == offsets[i - 1] + 1 else None
                        factor = own
                        if before in p and cell in p:
                            factor = pair.get((before, cell), 0.0) / p[before]
                        elif before in p:
                            factor = 1.0
                        if factor and q * factor >= threshold:
                            longer[(*ngram, cell)] = q * factor
                partial = longer
            found.update({(t, *(y for _, y in ngram)): q for ngram, q in partial.items()})
    return found


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_of_any_numbers(seed, threshold):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, 4)
    probable = random_probable(rng, lengths)
    lattice = LabelLattice(probable, lengths, MARGIN)
    for places in PLACES:
        expected = by_the_formula(probable, lengths, places, threshold)
        assert_same(as_table(lattice, places, threshold), expected)


def test_prefix_below_the_threshold():
    """q = 0.3 at the first place, and 0.3 * 0.9 / 0.3 = 0.9 with the second: not found at 0.5."""
    tokens, pairs = (np.array([[0, 1], [0, 0]]), [0.3, 1.0]), (np.array([[0], [1]]), [0.9])
    columns = [column for keys, p in (tokens, pairs) for column in (*keys, np.array(p))]
    lattice = LabelLattice(ProbableLabels(*columns), np.array([2]), 1)
    assert as_table(lattice, (0, 1), 0.5) == {(1, 0, AFTER): 1.0}
    assert as_table(lattice, (0, 1), 0.3) == {(0, 0, 0): pytest.approx(0.9), (1, 0, AFTER): 1.0}


def smooth_loss(lattice, rng, threshold):
    """sum of w sin(3 q) over the n-grams at several places: the loss, and its gradient through the lattice."""
    loss, given = 0.0, []
    for places in PLACES:
        found = lattice.ngrams(shape_of(places), threshold)
        w = rng.normal(size=len(found.values)) * (lattice.tokens_at(found.places - places[0]) >= 0)
        loss += float(w @ np.sin(3 * found.values))
        given.append((found, 3 * w * np.cos(3 * found.values)))
    return loss, lambda: lattice.backprop(given)


@pytest.mark.parametrize("threshold", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_any_numbers(seed, threshold):
    rng = np.random.default_rng(seed)
    lengths = np.array([3, 1, 4])
    probable = random_probable(rng, lengths)

    def loss(**moved):
        lattice = LabelLattice(probable._replace(**moved), lengths, MARGIN)
        return smooth_loss(lattice, np.random.default_rng(9), threshold)

    found = loss()[1]()
    for name, got in (("probabilities", found.probabilities), ("pairs", found.pairs)):
        expected = oracle.central_differences(
            lambda moved, n=name: loss(**{n: moved})[0], getattr(probable, name)
        )
        assert np.abs(expected).max() > 0.5
        assert oracle.relative_error(got, expected) < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("threshold", [0.0, 0.04])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_through_marginals_of_a_chain(seed, threshold):
    """To scores and transitions, some of them forbidden."""
    rng = np.random.default_rng(seed)
    lengths = np.array([3, 1, 4, 2])
    scores, trans = rng.normal(0, 1, (10, 3)), rng.normal(0, 1, (3, 3))
    forbidden = np.zeros((3, 3), bool)
    forbidden[0, 2] = seed == 0

    def loss(scores, trans):
        marginals = forward_backward(scores, np.where(forbidden, -np.inf, trans), lengths)
        probable = marginals.probable(threshold)
        lattice = LabelLattice(probable, lengths, MARGIN)
        value, back = smooth_loss(lattice, np.random.default_rng(9), threshold)
        return value, lambda: (marginals, probable, back())

    marginals, probable, gradient = loss(scores, trans)[1]()
    d_nodes = np.zeros(scores.shape)
    d_nodes[probable.tokens, probable.labels] = gradient.probabilities
    found = marginals.backprop(d_nodes, probable.arcs, gradient.pairs)
    by_scores = oracle.central_differences(lambda moved: loss(moved, trans)[0], scores)
    by_trans = oracle.central_differences(lambda moved: loss(scores, moved)[0], trans)
    assert np.abs(by_scores).max() > 0.5
    assert oracle.relative_error(found.scores, by_scores) < 1e-6
    assert oracle.relative_error(found.trans, by_trans) < 1e-6


def test_gradients_of_nothing_and_of_no_tokens():
    nothing = np.zeros(0, int)
    lattice = LabelLattice(certain_labels(nothing, nothing), nothing, 2)
    found = lattice.ngrams((0, 1), 0.0)
    assert len(found.places) == 0
    assert [part.tolist() for part in lattice.backprop([(found, np.zeros(0))])] == [[], []]
    lattice = LabelLattice(certain_labels(np.array([0, 1]), np.array([2])), np.array([2]), 1)
    assert [part.tolist() for part in lattice.backprop([])] == [[0, 0], [0]]
