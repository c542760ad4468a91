"""What a tagger hands on: written to docs and read again, through files too; its way back in an update."""

import gc

import numpy as np
import pytest
from spacy.strings import get_string_id
from spacy.tokens import Doc

from spacy_hoseq.decoders.answers.label_ngrams import ProbabilityGradient
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem.posterior import ProbableLabels, certain_labels
from spacy_hoseq.features.keys import AFTER, BEFORE, label_values
from spacy_hoseq.layers.listening.listener import (
    HANDED,
    SAVED,
    Upstream,
    UpstreamLabels,
    read_upstream,
    write_upstream,
)

from ... import oracle
from ...cases import Case
from ..helpers import VOCAB, doc_of

LABELS = ["A", "B", "C", "<s>"]


def docs_of():
    """Several sentences, one token, nothing at all."""
    return [
        Doc(VOCAB),
        doc_of("a b c d e", sent_starts=[1, 0, 1, 0, 0]),
        doc_of("a"),
        Doc(VOCAB),
        doc_of("b c d", sent_starts=[1, 0, 0]),
        Doc(VOCAB),
    ]


def starts_of(docs):
    """Tokens of the batch at which no pair ends."""
    flags = [token.i == 0 or bool(token.is_sent_start) for doc in docs for token in doc]
    return np.array(flags, bool)


def labels_of(docs, seed=0, threshold=0.0):
    """Any numbers that single precision holds: 0 to 4 entries a token, some of the pairs."""
    rng = np.random.default_rng(seed)
    starts = starts_of(docs)
    tokens, labels = np.nonzero(rng.random((len(starts), len(LABELS))) < 0.6)
    pairs = [
        (i, j)
        for j, later in enumerate(tokens.tolist())
        for i, earlier in enumerate(tokens.tolist())
        if earlier == later - 1 and not starts[later] and rng.random() < 0.7
    ]
    earlier, later = np.array(pairs, np.intp).reshape(-1, 2).T
    p, q = (rng.uniform(0.1, 1, n).astype(np.float32).astype(float) for n in (len(tokens), len(pairs)))
    return UpstreamLabels(ProbableLabels(tokens, labels, p, earlier, later, q), label_values(LABELS), threshold)


def as_tables(labels, least=0.0):
    """{(token, key): p} and {(token, earlier key, key): q} that are not below `least`; both in order."""
    tokens, ids, p, earlier, later, q = labels.probable
    keys = labels.keys[ids].tolist()
    entries = {(t, key): value for t, key, value in zip(tokens.tolist(), keys, p.tolist(), strict=True)}
    assert (tokens[earlier] == tokens[later] - 1).all() and len(entries) == len(tokens)
    pairs = {(int(tokens[j]), keys[i], keys[j]): value for i, j, value in zip(earlier, later, q.tolist(), strict=True)}
    return tuple([(k, v) for k, v in table.items() if v >= least] for table in (entries, pairs))


def test_keys_of_labels():
    """Each label, then the places before and after a sequence; one called like them is another."""
    labels = labels_of(docs_of())
    assert labels.keys.tolist() == [*(get_string_id(f"label={label}") for label in LABELS), BEFORE, AFTER]
    assert len(set(labels.keys.tolist())) == 6


@pytest.mark.parametrize("seed", range(4))
def test_read_is_what_was_written(seed):
    docs = docs_of()
    labels = labels_of(docs, seed)
    write_upstream(docs, "tagger", "marginals", labels)
    found = read_upstream(docs, "tagger", "marginals", 0.0)
    assert as_tables(found) == as_tables(labels)
    assert found.keys[-2:].tolist() == [BEFORE, AFTER] and found.threshold == 0
    assert found.probable.probabilities.dtype == found.probable.pairs.dtype == np.float64


def test_other_batches_of_the_same_docs():
    docs = docs_of()
    labels = labels_of(docs)
    write_upstream(docs, "tagger", "marginals", labels)
    entries, pairs = as_tables(labels)
    found = as_tables(read_upstream([docs[4], docs[3], docs[1]], "tagger", "marginals", 0.0))
    new = {**{t: t + 3 for t in range(5)}, **{t: t - 6 for t in (6, 7, 8)}}  # token of the batch -> of the new one
    expected = [{(new[t], *keys): p for (t, *keys), p in table if t in new} for table in (entries, pairs)]
    assert [dict(part) for part in found] == expected
    assert as_tables(read_upstream([docs[2]], "tagger", "marginals", 0.0))[1] == []


@pytest.mark.parametrize("docs", [[], [Doc(VOCAB)], [Doc(VOCAB), Doc(VOCAB)]])
def test_no_tokens(docs):
    write_upstream(docs, "tagger", "marginals", labels_of(docs))
    assert as_tables(read_upstream(docs, "tagger", "marginals", 0.5)) == ([], [])
    assert as_tables(read_upstream([Doc(VOCAB) for _ in docs], "never", "one_best", 0.0)) == ([], [])


def test_names_and_outputs_lie_side_by_side():
    docs = docs_of()
    kinds = [(name, output) for name in ("one", "two") for output in ("marginals", "one_best")]
    written = {kind: labels_of(docs, seed) for seed, kind in enumerate(kinds)}
    for kind, labels in written.items():
        write_upstream(docs, *kind, labels)
    for kind, labels in written.items():
        assert as_tables(read_upstream(docs, *kind, 0.0)) == as_tables(labels)
    write_upstream(docs, "one", "marginals", labels_of(docs, 7))
    assert as_tables(read_upstream(docs, "one", "marginals", 0.0)) == as_tables(labels_of(docs, 7)), "written anew"
    assert as_tables(read_upstream(docs, "two", "one_best", 0.0)) == as_tables(written["two", "one_best"])


def test_docs_stay_as_they_are():
    docs = docs_of()
    before = [doc.to_bytes() for doc in docs]
    write_upstream(docs, "tagger", "marginals", labels_of(docs))
    assert [doc.to_bytes() for doc in docs] == before and all(doc in HANDED for doc in docs)
    n_handed = len(HANDED)
    n_docs = len(docs)
    docs.clear()
    gc.collect()
    assert len(HANDED) <= n_handed - n_docs, "what is handed over goes with its Doc"


def test_docs_of_earlier_versions():
    """What was saved with a Doc when it lay there."""
    docs = docs_of()
    write_upstream(docs, "tagger", "one_best", labels_of(docs, 1))
    again = [Doc(VOCAB).from_bytes(doc.to_bytes()) for doc in docs]
    for doc, saved in zip(docs, again, strict=True):
        saved.user_data[SAVED] = HANDED[doc]
    assert as_tables(read_upstream(again, "tagger", "one_best", 0.0)) == as_tables(labels_of(docs, 1))


def test_docs_keep_nothing_of_the_batch():
    docs = docs_of()
    labels = labels_of(docs)
    before = as_tables(labels)
    write_upstream(docs, "tagger", "marginals", labels)
    labels.probable.probabilities[:] = 0
    labels.probable.pairs[:] = 0
    for doc in docs:
        handed = HANDED[doc]["tagger"]["marginals"]
        for part in (handed["entries"], handed["pairs"]):
            assert isinstance(part.base, bytes) and len(part.base) == part.nbytes
    assert as_tables(read_upstream(docs, "tagger", "marginals", 0.0)) == before


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_listener_with_a_higher_threshold(seed, threshold):
    docs = docs_of()
    labels = labels_of(docs, seed, 0.1)
    probable = labels.probable
    least = np.minimum(probable.probabilities[probable.earlier], probable.probabilities[probable.later])
    probable.pairs[:] = np.minimum(probable.pairs, least)  # a pair is never more probable than its labels
    write_upstream(docs, "tagger", "marginals", labels)
    found = read_upstream(docs, "tagger", "marginals", threshold)
    assert as_tables(found) == as_tables(labels, threshold)
    assert found.threshold == threshold


def test_pairs_alone_may_be_below_the_threshold():
    docs = [doc_of("a b")]
    probable = ProbableLabels(
        *np.array([[0, 1], [0, 0]]), np.array([0.75, 0.75]), np.array([0]), np.array([1]), np.array([0.5])
    )
    write_upstream(docs, "tagger", "marginals", UpstreamLabels(probable, label_values(["A"]), 0.0))
    found = read_upstream(docs, "tagger", "marginals", 0.6).probable
    assert found.probabilities.tolist() == [0.75, 0.75] and found.pairs.tolist() == []


def test_doc_without_labels():
    docs = docs_of()
    write_upstream(docs[:4], "tagger", "marginals", labels_of(docs[:4]))
    for batch, name, output in (
        (docs, "tagger", "marginals"),
        (docs[:4], "other", "marginals"),
        (docs[:4], "tagger", "one_best"),
    ):
        with pytest.raises(ValueError, match=rf"\[HS100\] The Doc '[abcde ]+' has no labels .*\"{name}\" \({output}\)"):
            read_upstream(batch, name, output, 0.0)
    with pytest.raises(ValueError, match=r"\[HS100\] The Doc 'b c d '"):
        read_upstream(docs, "tagger", "marginals", 0.0)


def update_of(received):
    """An update of a tagger that keeps what comes back."""
    rng = np.random.default_rng(3)
    case = Case(rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), np.array([3, 1]))
    docs = [doc_of("a b c"), doc_of("d")]
    return case, Upstream(docs, case.potentials(), ["A", "B", "C"], decode_exact, received.append)


@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_labels_of_an_update(threshold):
    case, upstream = update_of([])
    found = upstream.labels("marginals", threshold)
    marginals = np.concatenate([oracle.joint_table(single).marginals for single in case.singles()])
    keys = [get_string_id(f"label={label}") for label in "ABC"]
    expected = {(t, keys[y]): p for (t, y), p in np.ndenumerate(marginals) if p >= threshold}
    got = dict(as_tables(found)[0])
    assert got.keys() == expected.keys()
    assert list(got.values()) == pytest.approx([expected[entry] for entry in got])
    assert found.threshold == threshold and found.keys.tolist() == [*keys, BEFORE, AFTER]
    best = upstream.labels("one_best", threshold)
    labels = np.concatenate([oracle.joint_table(single).best_labels for single in case.singles()])
    assert best.threshold == 0 and best.probable.labels.tolist() == labels.tolist()
    expected = certain_labels(labels, case.lengths)
    assert all(np.array_equal(*pair) for pair in zip(best.probable, expected, strict=True))


@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_way_back_is_that_of_finite_differences(threshold):
    received = []
    case, upstream = update_of(received)
    labels = upstream.labels("marginals", threshold)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=len(labels.probable.tokens)), rng.normal(size=len(labels.probable.pairs))

    def loss(scores=case.scores, trans=case.trans):
        moved = Case(scores, trans, case.lengths)
        upstream = Upstream([], moved.potentials(), ["A", "B", "C"], decode_exact, received.append)
        probable = upstream.labels("marginals", threshold).probable
        return float(w @ probable.probabilities**2 + v @ np.sin(probable.pairs))

    probable = labels.probable
    upstream.backprop(labels, ProbabilityGradient(2 * w * probable.probabilities, v * np.cos(probable.pairs)))
    (gradient,) = received
    by_scores = oracle.central_differences(lambda moved: loss(scores=moved), case.scores)
    by_trans = oracle.central_differences(lambda moved: loss(trans=moved), case.trans)
    assert oracle.relative_error(gradient.scores, by_scores) < 1e-6
    assert oracle.relative_error(gradient.trans, by_trans) < 1e-6
