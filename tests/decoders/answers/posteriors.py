"""What a posterior has to be: the enumerated one, and the gradient of the summed log Z."""

import numpy as np
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.answers.pattern_posterior import PatternPosterior, exclusive
from spacy_hoseq.decoders.problem import TUNING, LabelPairs, Potentials, PotentialsGradient, Weights

from ... import oracle


def posterior_of(potentials, tuning=TUNING):
    """What is answered, summed at once."""
    p = posterior(potentials, tuning=tuning)
    assert p.log_z.shape == p.lengths.shape
    return p


def pattern_posterior(potentials, tuning=TUNING):
    """By sums of features, whatever there is."""
    return PatternPosterior(potentials, tuning=tuning)


def logarithmic(potentials):
    """Sums of logarithms over longest matches."""
    p = PatternPosterior(potentials)
    p._sums = exclusive(potentials, TUNING)
    return p


def forward_backward(scores, trans, lengths, allowed=None):
    """The same of a chain as plain arrays."""
    return posterior_of(Potentials(scores, Weights(trans), lengths, allowed=allowed))


def assert_enumerated(posterior, case, tolerance=1e-9):
    """log Z and all expected counts, for a batch. log Z: relative and absolute; counts and probabilities: absolute."""
    tables = [oracle.joint_table(single) for single in case.singles()]
    log_z = [table.log_z for table in tables]
    assert_allclose(posterior.log_z, log_z, rtol=tolerance, atol=tolerance)
    marginals, got = np.concatenate([table.marginals for table in tables]), posterior.expected
    assert_allclose(posterior.nodes, marginals, atol=tolerance)
    assert_allclose(got.scores, marginals, atol=tolerance)
    assert_allclose(got.trans, sum(table.transitions for table in tables), atol=tolerance)
    if case.patterns or case.fired:
        trie = case.pattern_scores().trie
        strings = [trie.string(node) for node in range(case.n_labels, len(trie))]
        counts = [sum(table.expected_count(string) for table in tables) for string in strings]
        assert_allclose(got.node_weights, [0.0] * case.n_labels + counts, atol=tolerance)
    else:
        assert not got.node_weights.any(), "counts of nodes without patterns"
    expected = []
    for token, string, _ in case.fired:
        sequence = sequence_of(case, token)
        expected.append(tables[sequence].expected_count(string, [token - case.starts[sequence]]))
    assert_allclose(got.fired_weights, expected, atol=tolerance)
    expected = []
    for first, sets, _ in case.configurations:
        sequence = sequence_of(case, first)
        expected.append(tables[sequence].expected_match(first - case.starts[sequence], sets))
    assert_allclose(got.configuration_weights, expected, atol=tolerance)
    assert (got.edge_scores is None) == (case.edge_scores is None)
    if got.edge_scores is not None:
        assert_allclose(got.edge_scores, enumerated_arcs(case), atol=tolerance)


def sequence_of(case, token):
    return int(np.searchsorted(case.starts, token, side="right")) - 1


def distributions(case):
    """The first token, all labellings (M, T) and their probabilities (M,), for each sequence."""
    for start, single in zip(case.starts.tolist(), case.singles(), strict=True):
        labellings = oracle.all_labellings(len(single.scores), case.n_labels)
        scores = oracle.score_of(single, labellings)
        p = np.exp(scores - scores.max())
        yield start, labellings, p / p.sum()


def has_path(case):
    return all(oracle.joint_table(single).best > -np.inf for single in case.singles())


def ends_with(labellings, t, string):
    start = t - len(string) + 1
    found = np.zeros((len(labellings), 1), bool)
    if start >= 0:
        found = labellings[:, start : t + 1] == string
    return found.all(axis=1)


def random_arcs(case, rng, n=6):
    """Pairs of labels anywhere: at first tokens too, some twice."""
    sizes = len(case.scores), case.n_labels, case.n_labels
    chosen = LabelPairs(*(rng.integers(0, size, n) for size in sizes))
    return LabelPairs(*(np.append(part, part[:2]) for part in chosen))


def every_arc(n_tokens, n_labels):
    """All pairs of labels at all tokens, in the order of an array (N, L, L)."""
    tokens, earlier, later = np.indices((n_tokens, n_labels, n_labels)).reshape(3, -1)
    return LabelPairs(tokens, earlier, later)


def enumerated_arcs(case):
    """p(y_{t-1} = a, y_t = b | x) of all pairs. RETURNS (N, L, L), 0 at first tokens."""
    found = np.zeros((len(case.scores), case.n_labels, case.n_labels))
    for start, labellings, p in distributions(case):
        for t in range(1, labellings.shape[1]):
            np.add.at(found[start + t], (labellings[:, t - 1], labellings[:, t]), p)
    return found


def random_segments(case, rng, continues, n=3):
    """Segments of each sequence: of one token, of all tokens, others. RETURNS first, sizes, labels, and the summed
    probability of the labellings that have the labels there, and no pair across which the segment goes on."""
    first, sizes, labels, expected = [], [], [], []
    for start, labellings, p in distributions(case):
        length = labellings.shape[1]
        some = np.sort(rng.integers(0, length + 1, (n, 2))).tolist()
        for i, j in [(0, length), (0, 1), (length - 1, length), *some]:
            if i == j:
                continue
            string = rng.integers(0, case.n_labels, j - i)
            found = (labellings[:, i:j] == string).all(axis=1)
            if continues is not None and j < length:
                found &= ~continues[labellings[:, j - 1], labellings[:, j]]
            expected.append(p[found].sum())
            first, sizes, labels = [*first, start + i], [*sizes, j - i], [*labels, *string]
    return *(np.array(values, np.int64) for values in (first, sizes, labels)), np.array(expected)


def enumerated_gradient(case, d_nodes, arcs=None, d_arcs=None):
    """Cov(f, c) of all features f, with c the cost of a labelling: d_nodes (N, L) of its labels and d_arcs (A,) of its
    pairs. RETURNS (PotentialsGradient)."""
    n_labels, trie = case.n_labels, case.pattern_scores().trie
    scores, trans = np.zeros(case.scores.shape), np.zeros(case.trans.shape)
    nodes, fired = np.zeros(len(trie)), np.zeros(len(case.fired))
    spans = np.zeros(len(case.configurations))
    edges = np.zeros((*case.scores.shape, n_labels))
    for start, labellings, p in distributions(case):
        length = labellings.shape[1]
        cost = sum(d_nodes[start + t, here] for t, here in enumerate(labellings.T))
        for token, a, b, value in [] if arcs is None else zip(*arcs, d_arcs, strict=True):
            if start < token < start + length:
                cost = cost + value * ends_with(labellings, token - start, (a, b))
        share = p * (cost - p @ cost)
        for t, here in enumerate(labellings.T):
            scores[start + t] = np.bincount(here, weights=share, minlength=n_labels)
            if t:
                np.add.at(edges[start + t], (labellings[:, t - 1], here), share)
            for node in range(n_labels, len(trie)):
                nodes[node] += share @ ends_with(labellings, t, trie.string(node))
            for j, (token, string, _) in enumerate(case.fired):
                if token == start + t:
                    fired[j] = share @ ends_with(labellings, t, string)
        trans = trans + edges[start : start + length].sum(axis=0)
        for j, (first, sets, _) in enumerate(case.configurations):
            if start <= first < start + length:
                spans[j] = share @ oracle.lies_in(labellings, first - start, sets)
    return PotentialsGradient(scores, trans, nodes, fired, spans, edges)


def assert_close(found, expected, tolerance=1e-9):
    """Part by part, relative to the largest value where that is above 1."""
    for got, wanted in zip(found, expected, strict=True):
        largest = max(1, np.abs(wanted).max(initial=0))
        assert_allclose(got, wanted, rtol=0, atol=tolerance * largest)
