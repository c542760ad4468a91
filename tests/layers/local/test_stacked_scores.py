"""Kept scores of word types under local classifiers: the same numbers, bit for bit, whatever was asked before."""

import pickle
import threading

import numpy as np
import pytest

from spacy_hoseq.layers.local import stacked_scores
from spacy_hoseq.layers.local.classifiers import shim_of
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.tuning import Tuning

from ..helpers import doc_of
from .models import LABELS, TEMPLATES, L, Problem

WORDS = [f"{a}{b}" for a in "cat Dog dog a I sees Bees".split() for b in ("", "s", "ing", "x")]
N_OFFSETS = 4  # places of words that templates about one word look at


def texts(seed=0, n=30):
    rng = np.random.default_rng(seed)
    return [doc_of(" ".join(rng.choice(WORDS, rng.integers(1, 9)))) for _ in range(n)]


def trained(order=1, seed=0):
    return Problem(order, seed, [*TEMPLATES, "orth[1]", "orth[2]", "orth[-1]+orth[0]"], n_docs=20, n_words=7).train()


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
    return model.attrs["features"]._types.latest


@pytest.mark.parametrize("order", [1, 2])
def test_scores_do_not_depend_on_what_was_asked_before(order):
    docs, model = texts(), trained(order)
    for seed, part in enumerate((docs[:1], docs[20:], docs[5:9], docs, docs[::-1], docs)):
        queries = asked(model, part, seed)
        assert model.predict(part)(*queries).tobytes() == fresh(model, part, queries)
    assert len(kept(model)._features) == len({token.orth for doc in docs for token in doc}) + 2


def test_what_is_known_is_not_added_up_again(monkeypatch):
    docs, model = texts(), trained()
    queries, calls, sum_stacked = asked(model, docs), [], stacked_scores.sum_stacked
    model.predict(docs)(*queries)
    n_scores = len(kept(model)._scores)
    monkeypatch.setattr(stacked_scores, "sum_stacked", lambda *a: calls.append(a) or sum_stacked(*a))
    for again in (docs, docs):
        model.predict(again)(*queries)
    assert not calls and len(kept(model)._scores) == n_scores > 20
    model.predict([doc_of("another word")])(*(q[:1] * 0 for q in queries[:3]), queries[3][:1])
    assert calls


def test_other_weights_and_forgotten_words():
    docs, model = texts(), trained()
    queries = asked(model, docs)
    before, found = model.predict(docs), kept(model)
    assert model.predict(docs[:3]) and kept(model) is found
    was = before(*queries)
    shim = shim_of(model)
    shim.set_feature_weights([table._replace(table=2 * table.table) for table in shim.feature_weights()])
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found
    assert np.array_equal(before(*queries), was), "scores of a batch stay those of its weights"
    found = kept(model)
    scorer_of(model).forget_words()
    assert kept(model) is None
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found
    found = kept(model)
    model.attrs["features"]._extractor.forget_words()  # as when the vocabulary has another table of known tags
    assert np.array_equal(model.predict(docs)(*queries), 2 * was) and kept(model) is not found


@pytest.mark.long
@pytest.mark.parametrize("n_bytes", [0, 4 * L * 7, 4 * L * 40])
def test_bounded_memory(n_bytes):
    """Scores are forgotten when they are too many, but never those that are asked for just now."""
    docs, model = texts(), trained()
    model.attrs["features"].tuning = Tuning(score_bytes=n_bytes)
    scores = model.predict(docs)
    for seed in range(30):
        queries = asked(model, docs, seed, n=1 + seed % 5)
        assert scores(*queries).tobytes() == fresh(model, docs, queries)
        assert len(kept(model)._scores) <= n_bytes // (4 * L) + N_OFFSETS * len(queries[0])


def test_bounded_number_of_types():
    docs, model = texts(), trained()
    model.attrs["features"].tuning = Tuning(scored_types=12)
    first = model.predict(docs[:2])
    queries, stores = asked(model, docs[:2]), []
    was = first(*queries).tobytes()
    for doc in docs:
        assert model.predict([doc])(*asked(model, [doc])).tobytes() == fresh(model, [doc], asked(model, [doc]))
        stores.append(kept(model))
        assert len(stores[-1]._features) <= 12 + len(doc) + 2
    assert len(set(map(id, stores))) > 3
    assert first(*queries).tobytes() == was, "those of a batch stay"


def test_several_threads():
    docs, model = texts(n=60), trained(2)
    parts = [docs[i::4] for i in range(4)]
    queries = [asked(model, part, i, 200) for i, part in enumerate(parts)]
    expected = [fresh(model, part, some) for part, some in zip(parts, queries, strict=True)]
    found = [set() for _ in parts]

    def work(i):
        for _ in range(15):
            scores = model.predict(parts[i])
            found[i].add(scores(*queries[i]).tobytes())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{one} for one in expected]


def test_labels_only_and_pairs_only():
    """No template about one word."""
    for templates in (["label[-1]", "label[1]+orth[0]"], ["orth[-1]+orth[0]"]):
        problem = Problem(1, 0, templates, n_docs=20)
        model, docs = problem.train(), problem.text.docs
        queries = asked(model, docs)
        found = model.predict(docs)(*queries)
        assert found.shape == (80, len(LABELS)) and found.any() and found.tobytes() == fresh(model, docs, queries)
