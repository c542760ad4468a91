"""What a posterior has to be: the enumerated one, and the gradient of the summed log Z."""

import numpy as np

from .. import oracle


def assert_enumerated(got, case, tolerance=1e-9):
    """All fields, for a batch. log Z: relative and absolute; counts and probabilities: absolute."""
    tables = [oracle.joint_table(single) for single in case.singles()]
    log_z = [table.log_z for table in tables]
    np.testing.assert_allclose(got.log_z, log_z, rtol=tolerance, atol=tolerance)
    marginals = np.concatenate([table.marginals for table in tables])
    np.testing.assert_allclose(got.marginals, marginals, atol=tolerance)
    np.testing.assert_allclose(got.transitions, sum(table.transitions for table in tables), atol=tolerance)
    if case.patterns or case.fired:
        trie = case.pattern_scores().trie
        strings = [trie.string(node) for node in range(case.n_labels, len(trie))]
        counts = [sum(table.expected_count(string) for table in tables) for string in strings]
        np.testing.assert_allclose(got.node_counts, [0.0] * case.n_labels + counts, atol=tolerance)
    else:
        assert not got.node_counts.any(), "counts of nodes without patterns"
    expected = []
    for token, string, _ in case.fired:
        sequence = sequence_of(case, token)
        expected.append(tables[sequence].expected_count(string, [token - case.starts[sequence]]))
    np.testing.assert_allclose(got.fired_counts, expected, atol=tolerance)
    expected = []
    for first, sets, _ in case.configurations:
        sequence = sequence_of(case, first)
        expected.append(tables[sequence].expected_match(first - case.starts[sequence], sets))
    np.testing.assert_allclose(got.configuration_counts, expected, atol=tolerance)


def sequence_of(case, token):
    return int(np.searchsorted(case.starts, token, side="right")) - 1


def assert_finite_differences(posterior_of, potentials):
    """`posterior_of(potentials)` holds the derivatives of the summed log Z by every field of the potentials."""
    scores, trans, _, patterns, configurations = potentials
    got = posterior_of(potentials)

    def assert_derivative(mine, given, changed):
        numeric = oracle.central_differences(lambda moved: posterior_of(changed(moved)).log_z.sum(), given)
        assert oracle.relative_error(mine, numeric) < 1e-6, (mine, numeric)

    assert_derivative(got.marginals, scores, lambda moved: potentials._replace(scores=moved))
    assert_derivative(got.transitions, trans, lambda moved: potentials._replace(trans=moved))
    if patterns is not None:
        n_labels, fired = patterns.trie.n_labels, patterns.fired

        def with_nodes(deep):
            weights = np.concatenate([patterns.weights[:n_labels], deep])
            return potentials._replace(patterns=patterns._replace(weights=weights))

        assert_derivative(got.node_counts[n_labels:], patterns.weights[n_labels:], with_nodes)
        if fired is not None:
            assert_derivative(
                got.fired_counts,
                fired.weights,
                lambda moved: potentials._replace(patterns=patterns._replace(fired=fired._replace(weights=moved))),
            )
    if configurations is not None:
        assert_derivative(
            got.configuration_counts,
            configurations.weights,
            lambda moved: potentials._replace(configurations=configurations._replace(weights=moved)),
        )
