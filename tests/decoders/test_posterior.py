"""The contract of p(y | x): all that can be asked of it, against enumeration from the definition, on every path.

Whatever comes together: scores of label pairs of any size, patterns of any sign, fired patterns, configurations, masks,
forbidden transitions, ties, one label.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.chunks import grammar, tag_names
from spacy_hoseq.decoders import posterior
from spacy_hoseq.decoders.answers.pattern_posterior import PatternPosterior
from spacy_hoseq.decoders.chain import BlockedChain, ChainPosterior, forward_backward
from spacy_hoseq.decoders.chain.chain_posterior import chain_posterior
from spacy_hoseq.decoders.problem import LabelPairs, Potentials, Tuning, Weights

from .. import oracle
from ..cases import Case, zero_case
from ..strategies import SEEDS, cases
from .answers.posteriors import (
    assert_close,
    assert_enumerated,
    enumerated_arcs,
    enumerated_gradient,
    every_arc,
    has_path,
    logarithmic,
    pattern_posterior,
    random_arcs,
    random_segments,
)

NEVER = -np.inf
SIZES = [0.2, 1.0, 30.0, 400.0, 1e6]


def kept(chain):
    """Only cases in which it keeps its digits."""
    if chain is None or not getattr(chain, "keeps_digits", True):
        assume(False)
    return chain


PATHS = {
    "as it is": posterior,
    "small parts": lambda potentials: posterior(
        potentials, tuning=Tuning(arc_cells=60, sum_cells=40)
    ),
    "messages of patterns": lambda potentials: pattern_posterior(
        potentials.check(), Tuning(matrix_cells=0)
    ),
    "products of matrices": lambda potentials: pattern_posterior(
        potentials.check(), Tuning(matrix_cells=10**9)
    ),
    "exclusive states": lambda potentials: logarithmic(potentials.check()),
    "scaled": lambda potentials: kept(chain_posterior(potentials.check())),
    "in blocks": lambda potentials: kept(BlockedChain(potentials.check(), Tuning(sum_cells=4))),
}
OF_CHAINS = ("scaled", "in blocks")
every_path = pytest.mark.parametrize("path", PATHS)


@st.composite
def everything(draw, path="as it is", size=None):
    """Each feature is there or not; scores and scores of pairs are of any size, or of this one."""
    sizes = [size] if size else SIZES[: 3 if path in OF_CHAINS else None]
    settings = {"signed": draw(st.booleans()), "configurations": draw(st.sampled_from([0, 3]))}
    settings["rounded"] = draw(st.booleans())
    case = draw(cases(max_labels=3, max_tokens=5, max_sequences=2, **settings)).doubles()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    case = replace(case, scores=case.scores * draw(st.sampled_from([1.0, *sizes])))
    if path in OF_CHAINS or draw(st.booleans()):
        case = replace(case.without_patterns(), configurations=())
    if path != "in blocks" and draw(st.booleans()):
        pairs = rng.normal(0, draw(st.sampled_from(sizes)), (*case.scores.shape, case.n_labels))
        case = replace(case, edge_scores=pairs)
    if draw(st.booleans()):
        case = case.scaled(draw(st.sampled_from([1.0, min(20.0, sizes[-1]), *sizes])))
    assume(has_path(case))
    return case


def rounding(case):
    """What float64 cannot know of a logarithm, here or in the enumeration."""
    largest = np.abs(case.scores).max(initial=0)
    if case.edge_scores is not None:
        largest += np.abs(case.edge_scores).max(initial=0)
    for features in (case.patterns, case.fired, case.configurations):
        weights = [weight for *_, weight in features]
        largest += np.abs(weights).sum()
    return 1e-9 + 1e-13 * largest


def close(got, expected, case):
    scale = max(1.0, np.abs(expected).max(initial=0)) if np.size(expected) else 1.0
    assert_allclose(got, expected, rtol=0, atol=rounding(case) * scale)


def tables(case):
    return [oracle.joint_table(single) for single in case.singles()]


def entropy(p):
    return float(-sum(x * np.log(x) for x in p if x > 0))


def prefix_entropies(table):
    """h_t = H(y_1..y_t) - H(y_1..y_{t-1}), from the probabilities of all prefixes."""
    p = np.exp(table.scores - table.log_z)
    whole = [0.0]
    for t in range(table.labellings.shape[1]):
        _, which = np.unique(table.labellings[:, : t + 1], axis=0, return_inverse=True)
        whole.append(entropy(np.bincount(which.reshape(-1), p)))
    return np.diff(whole)


@every_path
@given(data=st.data())
def test_log_z_and_counts(path, data):
    case = data.draw(everything(path))
    found = PATHS[path](case.potentials())
    assert found.log_z.dtype == found.nodes.dtype == found.expected.trans.dtype == np.float64
    assert_enumerated(found, case, rounding(case))
    assert (found.expected.trans[case.trans == NEVER] == 0).all()
    if case.allowed is not None:
        assert (found.nodes[~case.allowed] == 0).all()


@every_path
@given(data=st.data(), seed=st.integers(0, 99))
def test_pairs_and_segments(path, data, seed):
    """All pairs, and some in any order, also twice; segments that may go on, or may not."""
    case, rng = data.draw(everything(path)), np.random.default_rng(seed)
    found, every = PATHS[path](case.potentials()), enumerated_arcs(case)
    for arcs in (random_arcs(case, rng), every_arc(len(case.scores), case.n_labels)):
        close(found.pairs(arcs), every[arcs], case)
        assert not found.pairs(arcs)[np.isin(arcs.tokens, case.starts)].any()
    for continues in (None, rng.random(case.trans.shape) < 0.4):
        *segments, expected = random_segments(case, rng, continues)
        close(found.segments(*segments, continues), expected, case)


@every_path
@given(data=st.data())
def test_entropies(path, data):
    case = data.draw(everything(path))
    found = PATHS[path](case.potentials())
    prefixes = [prefix_entropies(table) for table in tables(case)]
    nodes = [entropy(row) for table in tables(case) for row in table.marginals]
    loose = 100 * rounding(case)
    assert_allclose(found.entropies(), nodes, atol=loose)
    assert_allclose(found.conditional_entropies(), np.concatenate(prefixes), atol=loose)
    entropies = [part.sum() for part in prefixes]
    assert_allclose(found.sequence_entropies(), entropies, atol=loose)
    assert (found.conditional_entropies() >= 0).all()


@every_path
@given(data=st.data(), seed=st.integers(0, 99))
def test_way_back(path, data, seed):
    """The covariance of every feature with a cost of labels, and of labels and pairs; those of first tokens cost
    nothing."""
    case, rng = data.draw(everything(path)), np.random.default_rng(seed)
    arcs = random_arcs(case, rng)
    d_nodes, d_arcs = rng.normal(size=case.scores.shape), rng.normal(size=len(arcs.tokens))
    found = PATHS[path](case.potentials())
    firsts = d_arcs + 100 * np.isin(arcs.tokens, case.starts)
    for costs in ([d_nodes], [d_nodes, arcs, d_arcs], [d_nodes, arcs, firsts]):
        got, expected = found.backprop(*costs), enumerated_gradient(case, *costs)
        for name in ("scores", "trans", "fired_weights", "configuration_weights"):
            loose = 20 * rounding(case)
            assert_allclose(getattr(got, name), getattr(expected, name), atol=loose)
        if case.patterns or case.fired:
            assert_allclose(got.node_weights, expected.node_weights, atol=20 * rounding(case))
        assert (got.edge_scores is None) == (case.edge_scores is None)
        if case.edge_scores is not None:
            assert_allclose(got.edge_scores, expected.edge_scores, atol=20 * rounding(case))
    # marginals sum to 1 whatever the parameters are
    same = found.backprop(np.full(case.scores.shape, 5.0))
    assert_allclose(same.scores, 0, atol=100 * rounding(case))


@every_path
@given(data=st.data(), seed=st.integers(0, 99))
def test_way_back_is_that_of_finite_differences(path, data, seed):
    """Of a smooth function of marginals, by every score; of large scores rounding would be divided by the step."""
    case = data.draw(everything(path, size=1.0))
    trans = np.where(case.trans == NEVER, NEVER, np.clip(case.trans, -3, 3))
    patterns = tuple((*labels, float(np.clip(weight, -3, 3))) for *labels, weight in case.patterns)
    fired = tuple((*place, float(np.clip(weight, -3, 3))) for *place, weight in case.fired)
    case = replace(case, scores=np.clip(case.scores, -3, 3), trans=trans, configurations=())
    case = replace(case, patterns=patterns, fired=fired)
    of_nodes = np.random.default_rng(seed).normal(size=case.scores.shape)

    def loss(**moved):
        found = PATHS[path](replace(case, **moved).potentials())
        return float((of_nodes * np.sin(found.nodes)).sum())

    found = PATHS[path](case.potentials())
    gradient = found.backprop(of_nodes * np.cos(found.nodes))
    by_scores = oracle.central_differences(lambda moved: loss(scores=moved), case.scores)
    by_trans = oracle.central_differences(lambda moved: loss(trans=moved), case.trans)
    assert oracle.relative_error(gradient.scores, by_scores) < 1e-6
    open_ = case.trans > NEVER
    assert oracle.relative_error(gradient.trans[open_], by_trans[open_]) < 1e-6


@every_path
@given(data=st.data())
def test_batch_is_the_singles_in_any_order(path, data):
    case = data.draw(everything(path, size=1.0))
    order = data.draw(st.permutations(range(len(case.lengths))))
    got = PATHS[path](case.take(order).potentials())
    parts = [PATHS[path](case.take([i]).potentials()) for i in order]
    assert_allclose(got.log_z, [part.log_z[0] for part in parts], rtol=1e-11, atol=1e-11)
    assert_allclose(got.nodes, np.concatenate([part.nodes for part in parts]), atol=1e-10)
    assert_allclose(got.expected.trans, sum(part.expected.trans for part in parts), atol=1e-9)


@every_path
@pytest.mark.parametrize("add", [-3000.0, -700.0, 2.0, 700.0, 3000.0])
def test_constants_only_shift_log_z(path, add):
    rng = np.random.default_rng(1)
    case = Case(rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([4, 2]))
    before = PATHS[path](case.potentials())
    to_row = case.scores.copy()
    to_row[1] += add
    for changed, shift in (
        (replace(case, scores=to_row), np.array([add, 0])),
        (replace(case, trans=case.trans + add), np.array([3 * add, add])),
    ):
        after = PATHS[path](changed.potentials())
        assert after.log_z - before.log_z == pytest.approx(shift, abs=1e-9)
        assert_allclose(after.nodes, before.nodes, atol=1e-9)
        assert_allclose(after.expected.trans, before.expected.trans, atol=1e-9)


@every_path
def test_nothing_is_asked_for(path):
    nothing = np.zeros(0, int)
    none = LabelPairs(nothing, nothing, nothing)
    for case in (zero_case(), Case(np.eye(2), np.eye(2), np.array([2]))):
        found, costs = PATHS[path](case.potentials()), np.ones(case.scores.shape)
        assert found.nodes.shape == case.scores.shape and found.log_z.shape == case.lengths.shape
        assert found.entropies().shape == found.conditional_entropies().shape == (len(case.scores),)
        assert found.pairs(none).tolist() == []
        assert found.segments(nothing, nothing, nothing).tolist() == []
        assert found.segments(nothing, nothing, nothing, np.eye(2, dtype=bool)).tolist() == []
        assert_close(found.backprop(costs, none, np.zeros(0))[:2], found.backprop(costs)[:2], 0)


@every_path
def test_what_is_refused(path):
    found = PATHS[path](zero_case(3, 1).potentials())
    for first, size in ((3, 2), (2, 2), (4, 1), (9, 3), (-1, 1), (0, 0), (0, 5)):
        with pytest.raises(ValueError, match=r"\[HS027\]"):
            found.segments(np.array([first]), np.array([size]), np.zeros(size, int))
    message = r"\[HS024\] Wrong shape of d_nodes: got \(2, 3\), expected \(4, 2\)"
    with pytest.raises(ValueError, match=message):
        found.backprop(np.zeros((2, 3)))


@every_path
def test_arguments_are_not_changed(path):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((4, 2), (2, 2), (4, 2), 16)]
    for array in arrays:
        array.flags.writeable = False  # writing would raise
    scores, trans, d_nodes, d_arcs = arrays
    found = PATHS[path](Potentials(scores, Weights(trans), np.array([3, 1])))
    once = found.backprop(d_nodes, every_arc(4, 2), d_arcs)
    again = found.backprop(d_nodes, every_arc(4, 2), d_arcs)  # nor what is kept for the way back
    assert_close(again[:2], once[:2], 0)


def only_way_on(score):
    """From label 1 no transition leads to label 2, the only one that is allowed at the end: 0 or 2 come before it,
    `score` below label 1."""
    trans = np.array([[0.5, 0, 1], [0, 1, NEVER], [0.5, 0, 0]])
    scores = np.array([[0.0, 1, 2], [score, 0, score - 1], [0, 0, 0]])
    allowed = np.array([[True] * 3, [True] * 3, [False, False, True]])
    return Case(scores, trans, np.array([3]), allowed=allowed)


def among_others(place):
    """The hard one in any place of the batch, among shorter and longer ones."""
    hard, rng = only_way_on(-600.0), np.random.default_rng(0)
    lengths = np.insert([2, 5], place, 3)
    scores, allowed = rng.normal(size=(10, 3)), np.ones((10, 3), bool)
    own = slice(lengths[:place].sum(), lengths[:place].sum() + 3)
    scores[own], allowed[own] = hard.scores, hard.allowed
    return Case(scores, hard.trans, lengths, allowed=allowed)


def of_pair(trans):
    return Case(np.zeros((3, 2)), np.array(trans, float), np.array([3]))


def low_beside_unreachable(low):
    """Labels 0 and 1 are all there is, and keep their digits beside label 2, which cannot be reached."""
    trans = np.zeros((3, 3))
    trans[:, 2] = NEVER
    return Case(np.array([[0.0, 0, 0], [low, low - 1, 0]]), trans, np.array([2]))


def low_share_and_low_transition():
    """Label 0 has a share of e^-440, and the only way on is from there, by a transition of -295."""
    trans = np.array([[-295.0, -296, 0], [NEVER, NEVER, 0], [NEVER, NEVER, 0]])
    allowed = np.array([[True, True, True], [True, True, False]])
    return Case(np.array([[-440.0, 0, 0], [0, 0, 0]]), trans, np.array([2]), allowed=allowed)


def share_that_comes_back(n_steps):
    """Each label follows itself only. The share of label 1 is e^-41 less at each token, until it all comes back."""
    down, up = np.tile([20.5, -20.5], (n_steps, 1)), np.tile([-20.5, 20.5], (n_steps, 1))
    trans = np.array([[0.0, NEVER], [NEVER, 0]])
    return Case(np.concatenate([down, up, [[0, 1]]]), trans, np.array([2 * n_steps + 1]))


HARD = [
    *((ChainPosterior, share_that_comes_back(n)) for n in (2, 3, 4)),
    (ChainPosterior, of_pair([[0, 299], [0, 0]])),
    (PatternPosterior, of_pair([[0, 301], [0, 0]])),
    (ChainPosterior, of_pair([[0, NEVER], [0, 0]])),
    (ChainPosterior, of_pair([[0, NEVER], [-299, 0]])),
    (PatternPosterior, of_pair([[0, NEVER], [-301, 0]])),
    (ChainPosterior, only_way_on(-250.0)),
    *((PatternPosterior, only_way_on(score)) for score in (-300.0, -330.0, -600.0, -800.0)),
    *((PatternPosterior, among_others(place)) for place in range(3)),
    (ChainPosterior, of_pair([[0, NEVER], [0.3, NEVER]])),
    (ChainPosterior, low_beside_unreachable(-280.0)),
    *((PatternPosterior, low_beside_unreachable(low)) for low in (-500.0, -735.0, -741.0, -2000.0)),
    (PatternPosterior, low_share_and_low_transition()),
    (PatternPosterior, Case(1e12 * np.eye(2)[[0, 1, 0]], np.array([[0.0, 400], [0, 0]]), np.array([3]))),
]  # fmt: skip


@pytest.mark.parametrize("kind, case", HARD, ids=map(str, range(len(HARD))))
def test_scores_that_are_far_apart(kind, case):
    """Everything is right, and found in the way that keeps its digits."""
    found, rng = posterior(case.potentials()), np.random.default_rng(0)
    assert type(found) is kind
    assert_enumerated(found, case, 1e-9)
    arcs = every_arc(len(case.scores), case.n_labels)
    assert_close([found.pairs(arcs)], [enumerated_arcs(case).reshape(-1)])
    costs = rng.normal(size=case.scores.shape), arcs, rng.normal(size=len(arcs.tokens))
    assert_close(found.backprop(*costs)[:2], enumerated_gradient(case, *costs)[:2], 1e-8)


@pytest.mark.parametrize(
    "path", ["as it is", "messages of patterns", "in blocks", "exclusive states"]
)
@pytest.mark.parametrize("n_tokens, score", [(4, 400.0), (800, 1.0), (200, 40.0)])
def test_label_that_cannot_be_reached_and_has_high_scores(path, n_tokens, score):
    """Label 1 can only follow itself and not begin: what comes after it may not overflow."""
    if path == "in blocks" and score > 1:
        path = "as it is"  # they do not keep these digits
    scores, allowed = np.tile([0.0, score], (n_tokens, 1)), np.ones((n_tokens, 2), bool)
    allowed[0, 1] = False
    case = Case(scores, np.array([[0.0, NEVER], [0, 0]]), np.array([n_tokens]), allowed=allowed)
    got = PATHS[path](case.potentials())
    assert got.log_z == pytest.approx([0], abs=1e-12)
    assert_allclose(got.nodes, np.tile([1.0, 0], (n_tokens, 1)))
    assert_allclose(got.expected.trans, [[n_tokens - 1, 0], [0, 0]])
    zeros = np.zeros((n_tokens, 2)), np.zeros((2, 2))
    assert_close(got.backprop(np.ones((n_tokens, 2)))[:2], zeros)


@given(case=cases(forbidden=False, max_tokens=40), data=st.data())
def test_up_to_the_range_of_scaled_sums(case, data):
    """The hardest inputs: transitions at both ends of the range, emissions that just make up for two of them."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    trans = rng.choice([0.0, 1.0, 299.0], case.trans.shape)
    scores = rng.choice([0.0, -1.0, -299.0, -598.0, -610.0], case.scores.shape)
    case = replace(case.without_patterns(), trans=trans, scores=scores)
    assert np.ptp(trans) < forward_backward.MAX_RANGE
    got, expected = posterior(case.potentials()), logarithmic(case.potentials())
    assert type(got) is ChainPosterior
    assert_allclose(got.log_z, expected.log_z, rtol=1e-12, atol=1e-9)
    assert_allclose(got.nodes, expected.nodes, atol=1e-9)
    assert_allclose(got.expected.trans, expected.expected.trans, atol=1e-9 * len(case.scores))


@pytest.mark.parametrize("path", OF_CHAINS)
@given(
    seed=SEEDS,
    lengths=st.lists(st.integers(1, 120), min_size=1, max_size=6),
    most=st.sampled_from([0.0, 1.0, 20.0]),
    kind=st.sampled_from(["f4", "f8", "masked", "bilou", "iob2"]),
)
def test_long_sequences(path, seed, lengths, most, kind):
    """With all scores at one of two ends, or beside the rules of chunks: as the recurrences on logarithms."""
    rng, n_tokens, lengths = np.random.default_rng(seed), sum(lengths), np.array(lengths)
    n_labels = int(rng.integers(1, 6))
    trans, allowed = rng.choice([-2.0, 0.0, 2.0], (n_labels, n_labels)), None
    if kind in ("bilou", "iob2"):
        tags = tag_names(["A", "B"], kind)
        n_labels, rules = len(tags), grammar(tags, kind)
        trans = np.where(rules.pairs, rng.normal(size=rules.pairs.shape), NEVER)
        allowed, ends = np.ones((n_tokens, n_labels), bool), np.cumsum(lengths)
        allowed[ends - lengths] = rules.first
        allowed[ends - 1] &= rules.last
    dtype = "f4" if kind == "f4" else "f8"
    scores = rng.choice([-most, 0, most], (n_tokens, n_labels)).astype(dtype)
    if kind == "masked":
        allowed = rng.random(scores.shape) < 0.6
        allowed[np.arange(n_tokens), rng.integers(0, n_labels, n_tokens)] = True
    potentials = Potentials(scores, Weights(trans), lengths, allowed=allowed)
    got, expected = PATHS[path](potentials), logarithmic(potentials)
    assert_allclose(got.log_z, expected.log_z, rtol=1e-12, atol=1e-9)
    assert_allclose(got.nodes, expected.nodes, rtol=1e-7, atol=1e-10)
    assert_allclose(got.expected.trans, expected.expected.trans, rtol=1e-7, atol=1e-8)


SCALES = [1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e17]


def exact_marginals(case):
    """Of scores that are whole numbers: they are added up without rounding. RETURNS (N, L)."""
    rows = []
    for single in case.singles():
        labellings = oracle.all_labellings(len(single.scores), case.n_labels)
        scores = []
        for labels in labellings.tolist():
            total = sum(int(single.scores[t, y]) for t, y in enumerate(labels))
            for t, pair in enumerate(zip(labels[:-1], labels[1:], strict=True), start=1):
                total += int(single.trans[pair])
                if case.edge_scores is not None:
                    total += int(single.edge_scores[t][pair])
            for t in range(len(labels)):
                ending = [*single.patterns, *((p, w) for at, p, w in single.fired if at == t)]
                for pattern, weight in ending:
                    is_there = tuple(labels[max(0, t + 1 - len(pattern)) : t + 1]) == pattern
                    total += int(weight) * is_there
            for first, sets, weight in single.configurations:
                is_match = all(y in s for y, s in zip(labels[first:], sets, strict=False))
                total += int(weight) * is_match
            scores.append(total)
        p = np.exp([float(max(score - max(scores), -(10**6))) for score in scores])
        every = range(case.n_labels)
        rows += [[p[here == y].sum() / p.sum() for y in every] for here in labellings.T]
    return np.array(rows)


def large_case(kind, scale, seed, tied):
    """Whole numbers about as large as `scale`; tied: with many labellings of the same score, or nearly."""
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        values = np.round(rng.normal(size=shape) * scale)
        whole = np.round(rng.choice([-1.0, 0.0, 1.0], shape)) * scale
        return whole + rng.integers(0, 2, shape) if tied else values

    case = Case(numbers(7, 3).astype("f4").astype("f8"), numbers(3, 3), np.array([4, 3]))
    w = [float(weight) for weight in numbers(4)]
    if kind == "patterns":
        patterns = (((0, 1), w[0]), ((1, 2, 0), w[1]))
        case = replace(case, patterns=patterns, fired=((2, (1, 1), w[2]),))
    if kind == "configurations":
        case = replace(case, configurations=((1, (frozenset([0, 1]), frozenset([2])), w[3]),))
    if kind == "edge scores":
        case = replace(case, edge_scores=numbers(7, 3, 3))
    return case


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["chain", "edge scores", "patterns", "configurations"])
def test_rows_of_scores_of_any_size(kind, scale):
    """They sum to 1 and are right, or are refused; and they are not refused without need."""
    known = 0
    for seed in range(20):
        case = large_case(kind, scale, seed, tied=seed % 2 == 1)
        try:
            p = posterior(case.potentials())
            probable = p.probable(0.0)
        except ValueError as error:
            assert "HS097" in str(error) and seed % 2 and scale > 1e6
            continue
        known += 1
        sums = np.bincount(probable.tokens, probable.probabilities, minlength=7)
        for rows in (p.nodes.sum(axis=1), sums):
            assert_allclose(rows, 1, atol=1e-6)
        assert_allclose(p.nodes, exact_marginals(case), atol=2e-6)
        assert_allclose(p.expected.trans.sum(), 5, atol=1e-5)
        assert_allclose(p.backprop(np.ones((7, 3))).scores, 0, atol=1e-6)
    assert known >= 10


def test_labellings_that_cannot_be_told_apart():
    """1e17 and 1e17 + 1 are the same number: what is gained on the way cannot be known."""
    trans = np.array([[1e17, 0.0], [0.0, 1e17]])
    case = Case(np.array([[0.0, 1e17], [1e17, 0], [3, 0]]), trans, np.array([3]))
    with pytest.raises(ValueError, match=r"\[HS097\].*labellings are closer"):
        assert posterior(case.potentials()).log_z


@pytest.mark.parametrize("n_steps", [9, 17, 18, 25])
def test_shares_that_get_too_small(n_steps):
    """As `share_that_comes_back`, longer than can be enumerated: both labels are all the way or not at all."""
    found = posterior(share_that_comes_back(n_steps).potentials())
    assert type(found) is PatternPosterior
    p = np.array([1, np.e]) / (1 + np.e)
    assert_allclose(found.nodes, np.tile(p, (2 * n_steps + 1, 1)), rtol=1e-9)


def test_nested_patterns_with_negative_weights():
    """A token loses up to e^14, and the patterns of the next multiply what that has lost. There is one labelling."""
    n_tokens = 8
    patterns = (((0, 0), -4.7), ((0, 0, 0), -4.3), ((0, 0, 0, 0), -5.1))
    case = Case(np.zeros((n_tokens, 1)), np.zeros((1, 1)), np.array([n_tokens]), patterns)
    found = posterior(case.potentials())
    assert_enumerated(found, case, 1e-9)
    p = found.segments(np.array([0]), np.array([n_tokens]), np.zeros(n_tokens, int))
    assert p == pytest.approx([1.0], abs=1e-9)
    assert found.backprop(np.ones((n_tokens, 1))).trans == pytest.approx(np.zeros((1, 1)), abs=1e-8)


@pytest.mark.parametrize("n_bad, value", [(1, np.nan), (2, np.inf), (1, NEVER)])
def test_pairs_of_the_text_that_are_refused(n_bad, value):
    case = Case(np.zeros((4, 3)), np.zeros((3, 3)), np.array([4]), edge_scores=np.zeros((4, 3, 3)))
    case.edge_scores.reshape(-1)[7 : 7 + n_bad] = value
    with pytest.raises(ValueError, match=rf"\[HS020\].*{n_bad} of 36"):
        posterior(case.potentials())
    for shape in ((4, 3), (3, 3, 3), (4, 9), (4, 3, 2)):
        message = r"\[HS024\] Wrong shape of edge_scores: got .*expected \(4, 3, 3\)"
        with pytest.raises(ValueError, match=message):
            posterior(replace(case, edge_scores=np.zeros(shape)).potentials())


@pytest.mark.long
@pytest.mark.parametrize("change", [-0.5, 400.0])
def test_very_long_sequences(change):
    """Two labels with the same emissions: log Z = log 2 + (N - 1) log(1 + e^change), and every arc is independent."""
    n_tokens = 100_000 if change < 0 else 10_000
    trans = np.array([[0.0, change], [change, 0.0]])
    got = posterior(Case(np.zeros((n_tokens, 2)), trans, np.array([n_tokens])).potentials())
    log_z = np.log(2) + (n_tokens - 1) * np.logaddexp(0, change)
    assert got.log_z == pytest.approx([log_z], rel=1e-10)
    assert_allclose(got.nodes, 0.5, atol=1e-6)
    p_same = 0.5 / (1 + np.exp(change))
    expected = (n_tokens - 1) * np.array([[p_same, 0.5 - p_same], [0.5 - p_same, p_same]])
    assert_allclose(got.expected.trans, expected, rtol=1e-5, atol=1e-100)


def algorithm_2(scores, trans, d_nodes, d_arcs, *, printed):
    """Azuma & Matsumoto (2011), Algorithm 2, for one sequence: node -1 is the source, node (t, y) follows (t - 1, a).

    printed (bool): line by line; else with three changes: alpha' and beta' begin with 0 (lines 1 and 7), the arc's own
    h' in line 14, and E[H'] E[F] taken off the result.
    """
    n_tokens, n_labels = scores.shape
    nodes = [(t, y) for t in range(n_tokens) for y in range(n_labels)]
    before = {(t, y): [(t - 1, a) for a in range(n_labels)] if t else [-1] for t, y in nodes}
    arcs = [(u, v) for v in nodes for u in before[v]]
    phi = {(u, v): np.exp(scores[v] + (trans[u[1], v[1]] if u != -1 else 0)) for u, v in arcs}
    h = {(u, v): d_nodes[v] + (d_arcs[v[0], u[1], v[1]] if u != -1 else 0) for u, v in arcs}
    start = 1.0 if printed else 0.0
    alpha, alpha_h, beta, beta_h = {-1: 1.0}, {-1: start}, {}, {}
    for v in nodes:
        alpha[v] = sum(phi[x, v] * alpha[x] for x in before[v])
        alpha_h[v] = sum(phi[x, v] * (h[x, v] * alpha[x] + alpha_h[x]) for x in before[v])
    for y in range(n_labels):
        beta[n_tokens - 1, y], beta_h[n_tokens - 1, y] = 1.0, start
    for u in [node for node in nodes[::-1] if node[0] < n_tokens - 1]:
        after = [(u[0] + 1, b) for b in range(n_labels)]
        beta[u] = sum(phi[u, x] * beta[x] for x in after)
        beta_h[u] = sum(phi[u, x] * (h[u, x] * beta[x] + beta_h[x]) for x in after)
    z = sum(alpha[n_tokens - 1, y] for y in range(n_labels))
    q_scores, q_trans = np.zeros(scores.shape), np.zeros(trans.shape)
    expected_h = sum(phi[u, v] * alpha[u] * beta[v] * h[u, v] for u, v in arcs) / z
    for u, v in arcs:
        p = phi[u, v] * (alpha[u] * beta_h[v] + alpha_h[u] * beta[v]) / z
        if not printed:
            p += phi[u, v] * alpha[u] * beta[v] * (h[u, v] - expected_h) / z
        q_scores[v] += p
        if u != -1:
            q_trans[u[1], v[1]] += p
    return q_scores, q_trans


@pytest.mark.parametrize("n_tokens", [1, 2, 5])
def test_algorithm_2_of_the_paper_needs_three_changes(n_tokens):
    rng = np.random.default_rng(n_tokens)
    scores, d_nodes = rng.normal(size=(2, n_tokens, 3))
    trans = rng.normal(size=(3, 3))
    d_arcs = rng.normal(size=(n_tokens, 3, 3))
    found = posterior(Potentials(scores, Weights(trans), np.array([n_tokens])))
    gradient = found.backprop(d_nodes, every_arc(n_tokens, 3), d_arcs.reshape(-1))
    settings = scores, trans, d_nodes, d_arcs
    changed, printed = (algorithm_2(*settings, printed=p) for p in (False, True))
    assert gradient.scores == pytest.approx(changed[0])
    assert gradient.trans == pytest.approx(changed[1])
    assert np.abs(gradient.scores - printed[0]).max() > 0.5
