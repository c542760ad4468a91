"""What a tagger hands on: written to docs and read again, through files too; its way back in an update."""

import gc

import numpy as np
import pytest
from spacy.strings import get_string_id
from spacy.tokens import Doc

from spacy_hoseq.decoders.answers.label_ngrams import ProbabilityGradient
from spacy_hoseq.decoders.problem import ProbableLabels
from spacy_hoseq.layers.listener import Upstream, make_marginal_listener
from spacy_hoseq.layers.upstream import (
    UPSTREAM,
    UpstreamKey,
    read_upstream,
    upstream_labels,
    write_upstream,
)

from .. import oracle
from ..cases import Case
from .helpers import VOCAB, doc_of

LABELS = ["A", "B", "C", "<s>"]


KEY = UpstreamKey("tagger", 0.0)


def docs_of():
    """Several sentences, one token, nothing at all."""
    five = doc_of("a b c d e", sent_starts=[1, 0, 1, 0, 0])
    three = doc_of("b c d", sent_starts=[1, 0, 0])
    return [Doc(VOCAB), five, doc_of("a"), Doc(VOCAB), three, Doc(VOCAB)]


def starts_of(docs):
    """Tokens of the batch at which no pair ends."""
    flags = [token.i == 0 or bool(token.is_sent_start) for doc in docs for token in doc]
    return np.array(flags, bool)


def labels_of(docs, seed=0, threshold=0.0):
    """Any numbers that single precision holds: 0 to 4 entries a token, some of the pairs."""
    rng = np.random.default_rng(seed)
    starts = starts_of(docs)
    tokens, labels = np.nonzero(rng.random((len(starts), len(LABELS))) < 0.6)
    later = [(j, token) for j, token in enumerate(tokens.tolist()) if not starts[token]]
    pairs = [(i, j) for j, token in later for i in np.flatnonzero(tokens == token - 1).tolist()]
    pairs = [pair for pair in pairs if rng.random() < 0.7]
    earlier, later = np.array(pairs, np.intp).reshape(-1, 2).T
    sizes = len(tokens), len(pairs)
    p, q = (rng.uniform(0.1, 1, n).astype(np.float32).astype(float) for n in sizes)
    return upstream_labels(ProbableLabels(tokens, labels, p, earlier, later, q), LABELS, threshold)


def as_tables(labels, least=0.0):
    """{(token, key): p} and {(token, earlier key, key): q} that are not below `least`; both in order."""
    tokens, values, p, earlier, later, q = labels.probable
    keys = values.tolist()
    entries = dict(zip(zip(tokens.tolist(), keys, strict=True), p.tolist(), strict=True))
    assert (tokens[earlier] == tokens[later] - 1).all() and len(entries) == len(tokens)
    rows = zip(earlier, later, q.tolist(), strict=True)
    pairs = {(int(tokens[j]), keys[i], keys[j]): value for i, j, value in rows}
    return tuple([(k, v) for k, v in table.items() if v >= least] for table in (entries, pairs))


@pytest.mark.parametrize("seed", range(4))
def test_read_is_what_was_written(seed):
    docs = docs_of()
    labels = labels_of(docs, seed)
    write_upstream(docs, KEY, labels)
    found = read_upstream(docs, KEY)
    assert as_tables(found) == as_tables(labels)
    assert found.threshold == 0
    assert found.probable.probabilities.dtype == found.probable.pairs.dtype == np.float64


def test_other_batches_of_the_same_docs():
    docs = docs_of()
    labels = labels_of(docs)
    write_upstream(docs, KEY, labels)
    entries, pairs = as_tables(labels)
    found = as_tables(read_upstream([docs[4], docs[3], docs[1]], KEY))
    # token of the batch -> of the new one
    new = {**{t: t + 3 for t in range(5)}, **{t: t - 6 for t in (6, 7, 8)}}
    expected = []
    for table in (entries, pairs):
        expected.append({(new[t], *keys): p for (t, *keys), p in table if t in new})
    assert [dict(part) for part in found] == expected
    assert as_tables(read_upstream([docs[2]], KEY))[1] == []


@pytest.mark.parametrize("docs", [[], [Doc(VOCAB)], [Doc(VOCAB), Doc(VOCAB)]])
def test_no_tokens(docs):
    write_upstream(docs, KEY, labels_of(docs))
    assert as_tables(read_upstream(docs, KEY)) == ([], [])
    empty = read_upstream([Doc(VOCAB) for _ in docs], UpstreamKey("never", 0.0))
    assert as_tables(empty) == ([], [])


def test_docs_stay_as_they_are():
    docs = docs_of()
    before = [doc.to_bytes() for doc in docs]
    write_upstream(docs, KEY, labels_of(docs))
    assert [doc.to_bytes() for doc in docs] == before and all(doc in UPSTREAM for doc in docs)
    n_before = len(UPSTREAM)
    n_docs = len(docs)
    docs.clear()
    gc.collect()
    assert len(UPSTREAM) <= n_before - n_docs, "labels go with their Doc"


def test_docs_keep_nothing_of_the_batch():
    docs = docs_of()
    labels = labels_of(docs)
    before = as_tables(labels)
    write_upstream(docs, KEY, labels)
    labels.probable.probabilities[:] = 0
    labels.probable.pairs[:] = 0
    for doc in docs:
        for part in UPSTREAM[doc][KEY].probable:
            assert part.base is None
    assert as_tables(read_upstream(docs, KEY)) == before


@pytest.mark.parametrize("name", ["tagger", "other"])
def test_doc_without_labels(name):
    docs = docs_of()
    write_upstream(docs[:4], KEY, labels_of(docs[:4]))
    listener = make_marginal_listener(name, threshold=0.0)
    message = rf"\[HS100\] The Doc '[abcde ]+' has no labels .*\"{name}\""
    with pytest.raises(ValueError, match=message):
        listener.predict(docs)


def update_of(received):
    """An update of a tagger that keeps what comes back."""
    rng = np.random.default_rng(3)
    case = Case(rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), np.array([3, 1]))
    docs = [doc_of("a b c"), doc_of("d")]
    return case, Upstream(docs, case.potentials(), ["A", "B", "C"], received.append)


@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_labels_of_an_update(threshold):
    case, upstream = update_of([])
    found, _ = upstream.listen(threshold, 0.0)
    tables = [oracle.joint_table(single) for single in case.singles()]
    marginals = np.concatenate([table.marginals for table in tables])
    keys = [get_string_id(f"label={label}") for label in "ABC"]
    expected = {(t, keys[y]): p for (t, y), p in np.ndenumerate(marginals) if p >= threshold}
    got = dict(as_tables(found)[0])
    assert got.keys() == expected.keys()
    assert list(got.values()) == pytest.approx([expected[entry] for entry in got])
    assert found.threshold == threshold


@pytest.mark.parametrize("factor", [0.5, 1.0])
@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_way_back_is_that_of_finite_differences(threshold, factor):
    received = []
    case, upstream = update_of(received)
    labels, backprop = upstream.listen(threshold, factor)
    probable = labels.probable
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=len(probable.tokens)), rng.normal(size=len(probable.pairs))

    def loss(scores=case.scores, trans=case.trans):
        moved = Case(scores, trans, case.lengths)
        upstream = Upstream([], moved.potentials(), ["A", "B", "C"], received.append)
        probable = upstream.listen(threshold, factor)[0].probable
        return factor * float(w @ probable.probabilities**2 + v @ np.sin(probable.pairs))

    backprop(ProbabilityGradient(2 * w * probable.probabilities, v * np.cos(probable.pairs)))
    (gradient,) = received
    by_scores = oracle.central_differences(lambda moved: loss(scores=moved), case.scores)
    by_trans = oracle.central_differences(lambda moved: loss(trans=moved), case.trans)
    assert oracle.relative_error(gradient.scores, by_scores) < 1e-6
    assert oracle.relative_error(gradient.trans, by_trans) < 1e-6
