"""What every decoder that returns the best labellings of a batch must do. One subclass per decoder, with `decode`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.problem import TUNING, Paths, Tuning

from . import oracle
from .cases import Case, zero_case
from .strategies import cases


class DecoderContract:
    takes_patterns = True
    takes_negative = False  # weights of patterns may have any sign
    takes_batches = True  # False: `decode` calls it sequence by sequence

    def decode(self, case: Case, tuning: Tuning = TUNING) -> Paths:
        raise AssertionError("the subclass for one decoder says how it is called")

    def fit(self, case: Case) -> Case:
        """The case, without what this decoder does not take; feasible ones only."""
        case = case if self.takes_patterns else case.without_patterns()
        case = _every_other_negative(case) if self.takes_negative else case
        assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
        return case

    @given(case=cases())
    def test_best_labelling_is_the_enumerated_one(self, case):
        case = self.fit(case)
        paths = self.decode(case)
        assert paths.labels.dtype == np.int32 and paths.scores.dtype == np.float64
        for i, single in enumerate(case.singles()):
            table = oracle.joint_table(single)
            labels = paths.labels[case.starts[i] : case.starts[i] + case.lengths[i]]
            assert paths.scores[i] == pytest.approx(table.best)
            assert oracle.score_of_one(single, labels) == pytest.approx(table.best)
            if table.is_unique:
                assert labels.tolist() == table.best_labels.tolist()

    @given(case=cases(rounded=True))
    def test_best_score_is_the_enumerated_one_with_ties(self, case):
        case = self.fit(case)
        paths = self.decode(case)
        for i, single in enumerate(case.singles()):
            labels = paths.labels[case.starts[i] : case.starts[i] + case.lengths[i]]
            assert paths.scores[i] == oracle.joint_table(single).best
            assert paths.scores[i] == oracle.score_of_one(single, labels)

    @given(case=cases(max_sequences=6, rounded=True), data=st.data())
    def test_batch_is_the_singles_in_any_order(self, case, data):
        case = self.fit(case)
        order = data.draw(st.permutations(range(len(case.lengths))))
        paths = self.decode(case.take(order))
        parts = [self.decode(case.take([i])) for i in order]
        assert paths.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
        assert paths.scores.tolist() == [part.scores[0] for part in parts]

    @given(case=cases(max_sequences=6), cells=st.sampled_from([0, 1, 4, 20, 60, 200]))
    def test_blocks_change_nothing(self, case, cells):
        case = self.fit(case)
        whole = self.decode(case)
        in_blocks = self.decode(case, Tuning(history_cells=cells))
        assert in_blocks.labels.tolist() == whole.labels.tolist()
        assert in_blocks.scores.tolist() == whole.scores.tolist()

    @given(case=cases(), add=st.sampled_from([-900.0, -3.0, 2.5, 700.0]), data=st.data())
    def test_constant_added_to_a_row(self, case, add, data):
        case = self.fit(case.doubles())
        token = data.draw(st.integers(0, len(case.scores) - 1))
        added = np.zeros((len(case.scores), 1))
        added[token] = add
        before, after = self.decode(case), self.decode(replace(case, scores=case.scores + added))
        sequence = np.searchsorted(case.starts, token, side="right") - 1
        assert after.labels.tolist() == before.labels.tolist()
        change = add * (np.arange(len(case.lengths)) == sequence)
        assert after.scores - before.scores == pytest.approx(change)

    @given(case=cases(), add=st.sampled_from([-900.0, 3.0, 700.0]))
    def test_constant_added_to_all_transitions(self, case, add):
        case = self.fit(case.doubles())
        before, after = self.decode(case), self.decode(replace(case, trans=case.trans + add))
        assert after.labels.tolist() == before.labels.tolist()
        assert after.scores == pytest.approx(before.scores + add * (case.lengths - 1))

    @given(case=cases(), data=st.data())
    def test_relabelling_commutes(self, case, data):
        case = self.fit(case)
        new = np.array(data.draw(st.permutations(range(case.n_labels))))
        before, after = self.decode(case), self.decode(case.relabelled(new))
        assert after.labels.tolist() == new[before.labels].tolist()
        assert after.scores == pytest.approx(before.scores)

    def test_arguments_are_not_changed(self):
        rng = np.random.default_rng(0)
        arrays = rng.normal(size=(9, 3)), rng.normal(size=(3, 3)), rng.random((9, 3)) < 0.8
        arrays[2][:, 0] = True
        case = Case(arrays[0], arrays[1], np.array([4, 5]), allowed=arrays[2])
        if self.takes_patterns:
            case = replace(case, patterns=(((0, 1), 1.0),), fired=((3, (1, 1, 0), 2.0),))
        for array in arrays:
            array.flags.writeable = False  # writing would raise
        assert self.decode(case).scores.shape == (2,)
        assert self.decode(case).scores.tolist() == self.decode(case).scores.tolist()

    def test_empty_batch(self):
        paths = self.decode(Case(np.zeros((0, 3)), np.zeros((3, 3)), np.zeros(0, np.int64)))
        assert paths.labels.tolist() == [] and paths.scores.tolist() == []

    def test_one_label_has_one_labelling(self):
        case = Case(np.arange(5.0)[:, None], np.array([[0.5]]), np.array([2, 1, 2]))
        paths = self.decode(case)
        assert paths.labels.tolist() == [0] * 5
        assert paths.scores.tolist() == [0 + 1 + 0.5, 2, 3 + 4 + 0.5]

    def test_labels_worked_out_by_hand(self):
        scores = np.array([[1.0, 0.0], [0.0, 2.0], [1.5, 0.0]])
        trans = np.array([[0.0, -3.0], [1.0, 0.0]])  # from 0 to 1 costs 3, from 1 to 0 earns 1
        paths = self.decode(Case(scores, trans, np.array([3])))
        assert paths.labels.tolist() == [1, 1, 0]  # 0 + 2 + 1.5 + 0 + 1
        assert paths.scores.tolist() == [4.5]

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_scores_not_finite(self, bad):
        scores = np.zeros((3, 2))
        scores[1, 1] = bad
        message = r"\[HS020\] 1 of 6 numbers .* first at token 1, label 1"
        with pytest.raises(ValueError, match=message):
            self.decode(Case(scores, np.zeros((2, 2)), np.array([3])))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_transitions_not_usable(self, bad):
        message = r"\[HS020\] 1 of 4 numbers are NaN or infinite: transitions"
        with pytest.raises(ValueError, match=message):
            self.decode(Case(np.zeros((3, 2)), np.array([[0, bad], [0, 0]]), np.array([3])))

    def test_no_label_allowed_at_a_token(self):
        allowed = np.array([[True, False], [False, False], [True, True]])
        message = r"\[HS022\] No label is allowed at token 1\. Allow at least one"
        with pytest.raises(ValueError, match=message):
            self.decode(Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), allowed=allowed))

    @pytest.mark.parametrize("open_tokens", [[], [3], [0, 5], [0, 3, 5]])
    def test_no_permitted_labelling(self, open_tokens):
        """In the second of three sequences every labelling would use the transition 0 -> 1."""
        allowed = np.eye(2, dtype=bool)[[0, 0, 0, 1, 1, 0]]
        allowed[open_tokens] = True
        trans = np.array([[0, -np.inf], [0, 0]])
        case = Case(np.zeros((6, 2)), trans, np.array([2, 3, 1]), allowed=allowed)
        sequence = 1 if self.takes_batches else 0
        message = rf"\[HS023\] Sequence {sequence} has no permitted label sequence: every one uses a forbidden"
        with pytest.raises(ValueError, match=message):
            self.decode(case)

    def test_no_permitted_labelling_though_every_token_has_a_choice(self):
        """Labels 0, 1 at the first token lead to 2 only, labels 4, 5 at the third come from 3 only."""
        allowed = np.kron(np.eye(3), [[1, 1]])
        allowed = np.array([*allowed, [1] * 6], bool)
        trans = np.full((6, 6), -np.inf)
        trans[:2, 2] = trans[3, 4:] = 0
        case = Case(np.zeros((4, 6)), trans, np.array([3, 1]), allowed=allowed)
        message = r"\[HS023\] Sequence 0 has no permitted label sequence"
        with pytest.raises(ValueError, match=message):
            self.decode(case)

    def test_wrong_shapes(self):
        case = Case(np.zeros((3, 2)), np.zeros((2, 3)), np.array([3]))
        message = r"\[HS024\] Wrong shape of trans: got \(2, 3\), expected \(2, 2\)"
        with pytest.raises(ValueError, match=message):
            self.decode(case)
        case = zero_case(3, allowed=np.ones((3, 1), bool))
        message = r"\[HS024\] Wrong shape of allowed: got \(3, 1\), expected \(3, 2\)"
        with pytest.raises(ValueError, match=message):
            self.decode(case)

    @pytest.mark.parametrize("lengths", [[], [2], [2, 2], [3, 0], [4, -1]])
    def test_lengths_do_not_add_up(self, lengths):
        message = r"\[HS027\] Wrong lengths: \[.*add up to 3"
        with pytest.raises(ValueError, match=message):
            self.decode(Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array(lengths, np.int64)))


def _every_other_negative(case: Case) -> Case:
    signs = [(-1.0) ** i for i in range(len(case.patterns) + len(case.fired))]
    signed = zip(case.patterns, signs, strict=False)
    patterns = tuple((pattern, sign * weight) for (pattern, weight), sign in signed)
    signed = zip(case.fired, signs, strict=False)
    fired = tuple((*entry, -sign * weight) for (*entry, weight), sign in signed)
    return replace(case, patterns=patterns, fired=fired)
