"""All the terms of a batch together."""

import numpy as np
import pytest
from hypothesis import assume, given

from spacy_hoseq.decoders.exact import decode_exact
from spacy_hoseq.decoders.kbest import combine, k_best, k_best_of
from spacy_hoseq.decoders.problem.path_score import path_score

from ... import oracle
from ...strategies import cases


@given(case=cases(max_sequences=5))
def test_decode_finds_the_best_labellings(case):
    tables = [oracle.joint_table(single) for single in case.singles()]
    assume(all(table.best > -np.inf for table in tables))
    paths = decode_exact(case.potentials(), allowed=case.allowed)
    assert paths.scores == pytest.approx([table.best for table in tables])
    for table, labels in zip(tables, np.split(paths.labels, case.starts[1:]), strict=True):
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@given(case=cases(max_sequences=5))
def test_sequences_are_the_batch_cut_up(case):
    got = list(case.potentials().sequences(case.allowed))
    assert len(got) == len(case.lengths)
    for sequence, single in zip(got, case.singles(), strict=True):
        assert sequence.scores.tolist() == single.scores.tolist() and sequence.trans.tolist() == case.trans.tolist()
        assert (sequence.allowed is None) == (case.allowed is None)
        if case.allowed is not None:
            assert sequence.allowed.tolist() == single.allowed.tolist()
        fired = [] if sequence.patterns is None or sequence.patterns.fired is None else sequence.patterns.fired
        found = [
            (token, sequence.patterns.trie.string(node), weight) for token, node, weight in zip(*fired, strict=True)
        ]
        assert found == list(single.fired)


@given(case=cases(max_tokens=4, max_labels=3, forbidden=False))
def test_k_best_of_the_sequences_combined(case):
    """The way from a batch to the k best labellings of a Doc."""
    parts = [k_best(s.scores, s.trans, 4, patterns=s.patterns, allowed=s.allowed) for s in
             case.potentials().sequences(case.allowed)]  # fmt: skip
    best = sum(oracle.joint_table(single).best for single in case.singles())
    assert combine(parts, 4).scores[0] == pytest.approx(best)


@given(case=cases(max_tokens=4, max_labels=3, forbidden=False))
def test_the_single_best_is_decoded(case):
    """Also for a whole batch, with masks and patterns."""
    found = k_best_of(case.potentials(), case.allowed, 1)
    assert found.labels.shape == (1, len(case.scores)) and found.labels.dtype == np.int32
    assert found.scores == pytest.approx([sum(oracle.joint_table(single).best for single in case.singles())])
    own = path_score(case.scores, case.trans, found.labels[0], case.lengths, patterns=case.pattern_scores())
    assert own.sum() == pytest.approx(found.scores[0])
