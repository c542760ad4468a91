"""Loss and gradient of local classifiers against their definition."""

import numpy as np
import pytest

from spacy_hoseq.layers.local_classifiers import log_loss

from .helpers import doc_of
from .local_models import OFFSETS, L, Problem, Text, ready

CLASSIFIERS = [(order, visible) for order in (1, 2) for visible in range(1 << 2 * order)]


def equal(one, other):
    """Bitwise."""
    return one.rows.tolist() == other.rows.tolist() and one.table.tobytes() == other.table.tobytes()


def start(problem, visible, **settings):
    """A classifier with random weights, and these."""
    W = problem.random_weights(visible)
    return problem.classifier(visible, W, **settings, sure=0), W


def test_log_loss_of_large_scores():
    loss, gradient = log_loss(np.array([[1e4, 0], [-1e4, 0]], np.float32), np.array([0, 0]))
    assert loss == pytest.approx([0, 1e4])
    assert gradient == pytest.approx(np.array([[0, 0], [-1, 1]]), abs=1e-6)


@pytest.mark.parametrize("order, visible", CLASSIFIERS)
def test_loss_is_that_of_the_definition(order, visible):
    problem = ready(order)
    classifier, W = start(problem, visible)
    assert 0 < len(problem.learnt_from(visible)) < len(problem.text.gold)
    for _ in range(2):
        expected = pytest.approx(problem.loss(W, visible), rel=1e-5)
        assert classifier.gradient(problem.batch, 0.0) == expected


def held(classifier):
    """G does not move: it is 1e12, so large that no gradient counts beside it. The learning rate is to be 1e12."""
    classifier._weights._rates[:] = 1e6
    return classifier


def applied_gradient(problem, visible, W, texts):
    """What `step` makes of the gradients of some texts: with G held constant, weights move by -1e6 times them."""
    classifier = held(problem.classifier(visible, W, learn_rate=1e12, sure=0))
    for text in texts:
        classifier.gradient(problem.batch_of(text), 0.0)
    classifier.step()
    after = problem.unpacked(classifier.finish())
    return {f: (w - after.get(f, np.zeros(L))) / 1e6 for f, w in W.items()}


@pytest.mark.parametrize("order, visible", CLASSIFIERS[::3])
def test_gradient_is_that_of_finite_differences(order, visible):
    problem = ready(order)
    W = problem.random_weights(visible)
    expected = problem.loss_and_gradient(W, visible)[1]
    rng = np.random.default_rng(visible)
    # the definition's own gradient is right
    for f in [list(W)[i] for i in rng.integers(0, len(W), 6)]:
        for y in range(L):
            step = 1e-5 * np.eye(L)[y]
            up, down = (problem.loss({**W, f: W[f] + s}, visible) for s in (step, -step))
            assert expected[f][y] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-6)
    found = applied_gradient(problem, visible, W, [problem.text])
    found, expected = ([table[f] for f in W] for table in (found, expected))
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-4, abs=1e-5)


def test_gradients_of_several_batches_add_up():
    problem, visible = ready(2), 6
    rng, docs = np.random.default_rng(1), ready(2).text.docs
    parts = docs[:4], docs[4:5], docs[2:]
    texts = [Text(part, rng.integers(0, L, sum(map(len, part))), 2) for part in parts]
    W = problem.random_weights(visible)
    expected = [problem.loss_and_gradient(W, visible, text)[1] for text in texts]
    found = applied_gradient(problem, visible, W, texts)
    for f in W:
        total = sum(gradient[f] for gradient in expected)
        assert found[f] == pytest.approx(total, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("sure", [0.3, 0.9])
def test_expected_gradient_of_easy_tokens_is_that_of_all(sure):
    """4000 tokens with e = 1 - p(gold) = 0.12: about 4000 e / sure of them are learnt from, sure / e times each."""
    problem = Problem(1, templates=["bias"], unknown=0)
    W = {f: np.array([2.0, 0.0, -2.0]) for f in problem.row_of}
    (w,) = W.values()
    p = np.exp(w) / np.exp(w).sum()
    batch = problem.batch_of(Text([doc_of("cat " * 4000)], np.zeros(4000), 1))
    classifier = held(problem.classifier(0, W, learn_rate=1e12, sure=sure))
    assert classifier.gradient(batch, 0.0) == pytest.approx(-4000 * np.log(p[0]), rel=1e-5)
    classifier.step()
    (after,) = problem.unpacked(classifier.finish()).values()
    times = (w - after) / 1e6 / (p - [1, 0, 0])
    n_tokens = times * (1 - p[0]) / sure
    assert n_tokens == pytest.approx(np.round(n_tokens), abs=0.1), "of so many tokens"
    assert not np.allclose(times, 4000, rtol=1e-4)
    assert times == pytest.approx(np.full(L, 4000), rel=0.1)


def test_hard_tokens_are_all_learnt_from_once():
    problem = ready(2)
    W = problem.random_weights(3)
    one, other = (problem.classifier(3, W, sure=sure) for sure in (1e-4, 0))
    for classifier in (one, other):
        classifier.gradient(problem.batch, 0.0)
        classifier.step()
    assert equal(one.finish(), other.finish())


def test_all_tokens_learnt_from_pay_their_share():
    """Of a classifier without features that fire, only the penalty is left: w = 8 -> 8 - share * width."""
    problem = Problem(1, unknown=0.3, templates=["label[-1]+has_upper[0]", "orth[0]"], n_words=2)
    (f, *_), text = problem.row_of, Text([doc_of("new words only")] * 2, [0, -1, 1, 2, 2, 2], 1)
    for visible, n_tokens in ((0, 5), (1, 4), (2, 4), (3, 3)):
        start = {f: np.full(L, 8.0)}
        classifier = problem.classifier(visible, start, width=2.0, n_tokens=10, learn_rate=1)
        for _ in range(2):
            classifier.gradient(problem.batch_of(text), 0.0)
        classifier.step()
        weight = problem.unpacked(classifier.finish())[f]
        assert weight == pytest.approx(np.full(L, 8 - 2 * n_tokens / 10 * 2.0), abs=0.01)


def trained_on(problem, text, visible, n_updates=3):
    classifier, _ = start(problem, visible, width=0.1)
    losses = []
    for _ in range(n_updates):
        losses.append(classifier.gradient(problem.batch_of(text), 0.0))
        classifier.step()
    return losses, classifier.finish()


@pytest.mark.parametrize("order, visible", CLASSIFIERS)
def test_classifiers_see_the_neighbours_of_their_mask_only(order, visible):
    """Other gold labels in slots that are not seen change nothing, in slots that are seen everything."""
    problem, rng = ready(order), np.random.default_rng(0)
    text = problem.text
    expected = trained_on(problem, text, visible)
    for slot in range(len(OFFSETS[order])):
        other = Text(text.docs, text.gold, order)
        inside = (other.contexts[:, slot] < L).nonzero()[0]
        other.contexts[inside, slot] = rng.integers(-1, L, len(inside))
        losses, weights = trained_on(problem, other, visible)
        assert (losses == expected[0] and equal(weights, expected[1])) == (not visible >> slot & 1)


def test_nothing_to_learn_from():
    problem = ready(1)
    classifier, _ = start(problem, 3, width=1.0)
    before = classifier.finish()
    for gold in ([-1, -1, -1], [0, -1, 0]):
        batch = problem.batch_of(Text([doc_of("cat Dog dog")], gold, 1))
        assert classifier.gradient(batch, 0.5) == 0
        classifier.step()
    assert equal(classifier.finish(), before)


def biased(n=4000):
    """A problem of one feature, that fires at n tokens. RETURNS problem, classifier, its weight, the batch."""
    problem = Problem(1, templates=["bias"], unknown=0)
    W = {f: np.array([2.0, 0.0, -1.0]) for f in problem.row_of}
    (f,), batch = W, problem.batch_of(Text([doc_of("cat " * n)], np.zeros(n), 1))
    return problem, held(problem.classifier(0, W, learn_rate=1e12, sure=0)), W[f], batch


@pytest.mark.parametrize("drop", [0.1, 0.25, 0.5])
def test_dropout_leaves_out_features_and_scales_the_rest(drop):
    problem, classifier, w, batch = biased()
    p = np.exp(w / (1 - drop)) / np.exp(w / (1 - drop)).sum()
    loss = classifier.gradient(batch, drop)
    dropped = (loss + 4000 * np.log(p[0])) / (np.log(L) + np.log(p[0]))  # each costs log L
    assert dropped == pytest.approx(round(dropped), abs=0.02)
    assert dropped / 4000 == pytest.approx(drop, abs=0.03)
    classifier.step()
    (after,) = problem.unpacked(classifier.finish()).values()
    expected = (4000 - dropped) * (p - [1, 0, 0]) / (1 - drop)
    assert (w - after) / 1e6 == pytest.approx(expected, rel=1e-3)


def test_dropout_is_drawn_anew_each_time_and_by_the_seed():
    problem = ready(2)
    losses = {}
    for seed in (0, 0, 1):
        for visible in (0, 5):
            classifier, _ = start(problem, visible, seed=seed)
            found = [classifier.gradient(problem.batch, 0.5) for _ in range(3)]
            assert losses.setdefault((seed, visible), found) == found and len(set(found)) == 3
    assert losses[0, 0] != losses[1, 0]
    problem, one, _, batch = biased()
    other = problem.classifier(3, {f: np.array([2.0, 0, -1]) for f in problem.row_of})
    assert one.gradient(batch, 0.5) != other.gradient(batch, 0.5)


@pytest.mark.long
@pytest.mark.parametrize("visible, width", [(0, 0.5), (3, 1.0), (3, 2.0)])
def test_converged_classifier_satisfies_the_inequality_constraints(visible, width):
    problem = Problem(1, 5, n_docs=12, n_words=4)
    n = len(problem.learnt_from(visible))
    classifier = problem.classifier(visible, learn_rate=0.3, width=width, n_tokens=n)
    for _ in range(3000):
        classifier.gradient(problem.batch, 0.0)
        classifier.step()
    W = problem.unpacked(classifier.finish())
    # observed less expected count
    excess = {f: -g for f, g in problem.loss_and_gradient(W, visible)[1].items()}
    assert max(np.abs(e).max() for e in excess.values()) <= width + 0.01
    assert 0 < len(W) < len(excess)
    for f, w in W.items():
        assert excess[f][w != 0] == pytest.approx(width * np.sign(w[w != 0]), abs=0.01), f


def test_training_goes_on_after_finish():
    problem = ready(2)
    one, other = (problem.classifier(5, learn_rate=0.5, width=0.2) for _ in range(2))
    for _ in range(4):
        for classifier in (one, other):
            classifier.gradient(problem.batch, 0.3)
            classifier.step()
        one.finish()
    assert one.finish().dense() == pytest.approx(other.finish().dense(), abs=2e-3)
