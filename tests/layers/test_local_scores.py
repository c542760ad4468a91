"""Scores of trained classifiers against sums over (template, values) features, in any context."""

import pickle
import threading

import numpy as np
import pytest

from spacy_hoseq.layers.local_classifiers import scores as local_scores
from spacy_hoseq.layers.local_classifiers import shim_of
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.learning.used_rows import UsedRows

from .helpers import VOCAB, Doc, doc_of
from .local_models import OFFSETS, TEMPLATES, L, Problem, Text, random_docs, trained

both_orders = pytest.mark.parametrize("order", [1, 2])


def weights_of(problem, visible):
    """Weights of a classifier of `trained`, learned by itself."""
    classifier = problem.classifier(visible, learn_rate=0.5, width=0.3)
    for _ in range(3):
        classifier.gradient(problem.batch, 0.0)
        classifier.step()
    return problem.unpacked(classifier.finish())


def new_docs(seed=9):
    docs = random_docs(np.random.default_rng(seed), 8, 7)
    return [*docs, doc_of("new words cat Dog"), Doc(VOCAB)]


def queries(rng, n_tokens, masks, order, n=60):
    """Tokens, masks and contexts (seen slots: any label or edge; others: anything)."""
    tokens, visible = rng.integers(0, n_tokens, n), rng.choice(masks, n)
    contexts = rng.integers(0, L + 2, (n, 2 * order))
    hidden = (visible[:, None] >> np.arange(2 * order) & 1) == 0
    contexts[hidden & (rng.random(contexts.shape) < 0.5)] = -1
    return tokens, visible, contexts


@both_orders
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_sums_of_weights(order, seed):
    problem, docs = trained(order), new_docs(seed)
    masks = range(1 << 2 * order)
    W = {visible: weights_of(problem, visible) for visible in masks}
    assert all(W.values())
    text = Text(docs, np.full(sum(map(len, docs)), -1), order)
    scores = problem.model.predict(docs)
    assert (scores.n_labels, scores.n_tokens) == (L, len(text.gold))
    rng = np.random.default_rng(seed)
    tokens, visible, contexts = queries(rng, scores.n_tokens, masks, order, 150)
    found = scores(tokens, visible, np.arange(150), contexts)
    expected = []
    for n, v, context in zip(tokens.tolist(), visible.tolist(), contexts.tolist(), strict=True):
        words, _, i = text.places[n]
        around = dict(zip(OFFSETS[order], context, strict=True))
        expected.append(problem.scores(W[v], words, i, around, v))
    assert found == pytest.approx(np.array(expected), abs=1e-5) and len(np.unique(found)) > 50


@both_orders
def test_scores_in_gold_contexts_are_those_of_training(order):
    """-log p(gold) from the scores = the loss that training gives, classifier by classifier."""
    problem = trained(order)
    scores, text = problem.model.predict(problem.text.docs), problem.text
    for visible in range(1 << 2 * order):
        at = np.array(problem.learnt_from(visible))
        rows = np.full(len(at), visible), np.arange(len(at)), text.contexts[at]
        found = scores(at, *rows).astype(np.float64)
        gold = found[np.arange(len(at)), text.gold[at]]
        W = weights_of(problem, visible)
        loss = problem.classifier(visible, W).gradient(problem.batch, 0.0)
        assert (np.log(np.exp(found).sum(axis=1)) - gold).sum() == pytest.approx(loss, rel=1e-5)


@both_orders
def test_one_query_with_many_contexts_is_many_queries(order):
    problem, rng = trained(order), np.random.default_rng(0)
    scores = problem.model.predict(new_docs())
    tokens, visible, _ = queries(rng, scores.n_tokens, range(1 << 2 * order), order, 20)
    owners = np.repeat(np.arange(20), rng.integers(1, 6, 20))
    contexts = rng.integers(0, L + 2, (len(owners), 2 * order))
    found = scores(tokens, visible, owners, contexts)
    singly = scores(tokens[owners], visible[owners], np.arange(len(owners)), contexts)
    assert found.shape == (len(owners), L) and np.array_equal(found, singly)
    assert len(np.unique(found, axis=0)) > 20


@both_orders
def test_scores_do_not_depend_on_what_else_is_asked(order):
    problem, rng, docs = trained(order), np.random.default_rng(1), new_docs()
    scores = problem.model.predict(docs)
    tokens, visible, contexts = queries(rng, scores.n_tokens, range(1 << 2 * order), order)
    found = scores(tokens, visible, np.arange(60), contexts)
    for part in (rng.permutation(60), rng.permutation(60)[:7], np.array([5]), np.array([3, 3, 3])):
        again = scores(tokens[part], visible[part], np.arange(len(part)), contexts[part])
        assert again.tobytes() == found[part].tobytes()
    ends = np.cumsum([len(doc) for doc in docs])
    for q in range(60):
        doc = int(np.searchsorted(ends, tokens[q], side="right"))
        alone = problem.model.predict([docs[doc]])
        at = tokens[q : q + 1] - (ends[doc] - len(docs[doc]))
        row = alone(at, visible[q : q + 1], np.array([0]), contexts[q : q + 1])
        assert row.tobytes() == found[q].tobytes()


@pytest.mark.long
def test_labels_that_are_not_seen_change_nothing():
    problem, rng, seen = trained(2), np.random.default_rng(2), np.arange(4)
    scores = problem.model.predict(new_docs())
    changed = np.zeros((16, 4), bool)
    for visible in range(16):
        for slot in range(4):
            context = rng.integers(0, L + 2, 4)
            rows = [[y if s == slot else context[s] for s in seen] for y in range(L + 2)]
            contexts = np.array(rows)
            for n in range(scores.n_tokens):
                found = scores(np.array([n]), np.array([visible]), np.zeros(L + 2, int), contexts)
                changed[visible, slot] |= (found != found[0]).any()
    assert (changed <= (np.arange(16)[:, None] >> seen & 1 == 1)).all() and changed.sum() > 20


def test_no_queries_and_no_tokens():
    nothing = np.zeros(0, np.intp)
    for docs in (new_docs(), [Doc(VOCAB)]):
        scores = trained(2).model.predict(docs)
        assert scores.n_tokens == sum(map(len, docs))
        assert scores(nothing, nothing, nothing, np.zeros((0, 4), np.intp)).shape == (0, L)


WORDS = [f"{a}{b}" for a in "cat Dog dog a I sees Bees".split() for b in ("", "s", "ing", "x")]


def texts(seed=0, n=30):
    rng = np.random.default_rng(seed)
    return [doc_of(" ".join(rng.choice(WORDS, rng.integers(1, 9)))) for _ in range(n)]


def wordy(order=1, seed=0):
    templates = [*TEMPLATES, "orth[1]", "orth[2]", "orth[-1]+orth[0]"]
    return Problem(order, seed, templates, n_docs=20, n_words=7).train()


def asked(model, docs, seed=0, n=80):
    """Random queries, as the arguments of the scores."""
    rng, order = np.random.default_rng(seed), model.attrs["order"]
    n_tokens = sum(map(len, docs))
    tokens, visible = rng.integers(0, n_tokens, n), rng.integers(0, 4**order, n)
    return tokens, visible, np.arange(n), rng.integers(0, L + 2, (n, 2 * order))


def fresh(model, docs, queries):
    """By a copy that has seen nothing."""
    return pickle.loads(pickle.dumps(model)).predict(docs)(*queries).tobytes()


def kept(model):
    return model.attrs["features"].type_scores.latest


@pytest.mark.parametrize("order", [1, 2])
def test_scores_do_not_depend_on_what_was_asked_before(order):
    docs, model = texts(), wordy(order)
    for seed, part in enumerate((docs[:1], docs[20:], docs[5:9], docs, docs[::-1], docs)):
        queries = asked(model, part, seed)
        assert model.predict(part)(*queries).tobytes() == fresh(model, part, queries)


def test_other_weights_and_forgotten_words():
    docs, model = texts(), wordy()
    queries = asked(model, docs)
    before = model.predict(docs)
    was = before(*queries)
    found = kept(model)
    assert model.predict(docs[:3]) and kept(model) is found
    shim = shim_of(model)
    tables = [UsedRows(old.shape, old.rows, 2 * old.table) for old in shim.feature_weights()]
    shim.set_feature_weights(tables)
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found
    assert np.array_equal(before(*queries), was), "scores of a batch stay those of its weights"
    found = kept(model)
    scorer_of(model).forget_words()
    assert kept(model) is None
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found
    found = kept(model)
    # as when the vocabulary has another table of known tags
    model.attrs["features"].extractor.forget_words()
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found


@pytest.mark.long
@pytest.mark.parametrize("n_bytes", [0, 4 * L * 7, 4 * L * 40])
def test_bounded_memory(monkeypatch, n_bytes):
    """Scores are forgotten as soon as they are too many."""
    docs, model = texts(), wordy()
    monkeypatch.setattr(local_scores, "LOCAL_SCORE_BYTES", n_bytes)
    scores = model.predict(docs)
    for seed in range(30):
        queries = asked(model, docs, seed, n=1 + seed % 5)
        assert scores(*queries).tobytes() == fresh(model, docs, queries)
        assert 4 * L * len(kept(model) or ()) <= n_bytes


def test_several_threads():
    docs, model = texts(n=60), wordy(2)
    parts = [docs[i::4] for i in range(4)]
    queries = [asked(model, part, i, 200) for i, part in enumerate(parts)]
    expected = [fresh(model, part, some) for part, some in zip(parts, queries, strict=True)]
    found = [set() for _ in parts]

    def work(i):
        for _ in range(15):
            found[i].add(model.predict(parts[i])(*queries[i]).tobytes())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{one} for one in expected]
