"""The place where labels of an earlier tagger come in: sent once in training, else read beside the docs."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_hoseq.decoders.answers.label_ngrams import ProbabilityGradient
from spacy_hoseq.layers.listener import Upstream, make_marginal_listener, replace_listener
from spacy_hoseq.layers.marginal_linear import MarginalLinear
from spacy_hoseq.layers.upstream import write_upstream

from ..cases import Case
from .helpers import VOCAB, Doc, applied_gradients, doc_of
from .taggers import LABELS, docs_of, tagger
from .test_upstream import as_tables


def update_of(docs=None, seed=0):
    """An update, and what has come back into its tagger."""
    docs = [doc_of("a b c"), Doc(VOCAB), doc_of("d")] if docs is None else docs
    rng = np.random.default_rng(seed)
    lengths = np.array([len(doc) for doc in docs if len(doc)])
    case = Case(rng.normal(size=(int(lengths.sum()), 3)), rng.normal(size=(3, 3)), lengths)
    received = []
    return Upstream(docs, case.potentials(), LABELS, received.append), received


def gradient_of(labels, seed=5):
    rng, probable = np.random.default_rng(seed), labels.probable
    sizes = len(probable.tokens), len(probable.pairs)
    return ProbabilityGradient(*(rng.normal(size=size) for size in sizes))


@pytest.mark.parametrize("threshold", [-0.01, 1.0, float("nan")])
def test_impossible_threshold(threshold):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong threshold"):
        make_marginal_listener(threshold=threshold)


@pytest.mark.parametrize("grad_factor", [-1, -1e-9, float("inf"), float("nan")])
def test_impossible_factor(grad_factor):
    message = r"\[HS027\] Wrong grad_factor: .* Expected 0 or a positive number"
    with pytest.raises(ValueError, match=message):
        make_marginal_listener(grad_factor=grad_factor)


@pytest.mark.parametrize("threshold", [0.0, 0.2])
def test_labels_sent(threshold):
    """In training, with the way back; once."""
    listener = make_marginal_listener(threshold=threshold)
    upstream, received = update_of()
    listener.received = upstream
    labels, backprop = listener(list(upstream.docs), True)
    expected, expected_back = upstream.listen(threshold, 1.0)
    assert as_tables(labels) == as_tables(expected) and labels.threshold == threshold
    backprop(gradient_of(labels))
    expected_back(gradient_of(labels))
    assert len(received) == 2
    assert all(np.array_equal(*pair) for pair in zip(*received, strict=True))
    assert received[0].scores.any()
    with pytest.raises(ValueError, match=r"\[HS100\]"):
        listener(list(upstream.docs), True)


def test_take_is_once_and_for_the_same_docs():
    listener = make_marginal_listener()
    upstream, _ = update_of()
    docs = list(upstream.docs)
    assert listener.take(docs) is None
    listener.received = upstream
    assert listener.take(docs) is upstream and listener.take(docs) is None
    for others in (docs[:2], [*docs, doc_of("e")], [docs[0], docs[1], doc_of("d")], docs[::-1], []):
        listener.received = upstream
        assert listener.take(others) is None
        assert listener.take(docs) is None, "an update of other docs means that this one is over"


@pytest.mark.parametrize("is_train", [False, True])
def test_other_docs_are_read(is_train):
    """At prediction always; in training where the tagger has annotated, but had no update of its own."""
    listener = make_marginal_listener(threshold=0.3)
    (upstream, received), (other, _) = update_of(), update_of(seed=1)
    labels, _ = upstream.listen(0.3, 0.0)
    write_upstream(upstream.docs, listener.key, labels)
    listener.received = other if is_train else upstream
    found, backprop = listener(list(upstream.docs), is_train)
    assert as_tables(found) == as_tables(labels) and found.threshold == 0.3
    backprop(gradient_of(found))
    assert received == []


def test_prediction_leaves_the_update_alone():
    """An evaluation between the tagger's update and the listener's."""
    listener = make_marginal_listener()
    upstream, _ = update_of()
    write_upstream(upstream.docs, listener.key, upstream.listen(0.01, 0.0)[0])
    listener.received = upstream
    listener.predict(list(upstream.docs))
    assert listener.take(list(upstream.docs)) is upstream


class Component:
    name, labels, limits_words, has_own_tables = "x", tuple(LABELS), False, False


def test_tagger_of_its_own():
    """The same labels as those of a listener, in training and at prediction, with the same way back."""
    listener = make_marginal_listener("x", 0.5, 0.1)
    docs, one, two = docs_of(), tagger("all"), tagger("all")
    own = replace_listener(one, listener, Component())
    assert own.layers == [one]
    potentials, backprop = two.begin_update(docs)
    listener.received = Upstream(docs, potentials, LABELS, backprop)
    expected, expected_back = listener(docs, True)
    found, found_back = own(docs, True)
    assert as_tables(found) == as_tables(expected) == as_tables(own.predict(docs))
    assert found.threshold == expected.threshold
    given = gradient_of(found)
    found_back(given), expected_back(given)
    mine, others = applied_gradients(one), applied_gradients(two)
    for name, gradient in mine.items():
        assert np.array_equal(gradient, others[name]) and gradient.any()


def test_tagger_where_a_listener_was():
    """The config of a pipeline whose listeners were replaced names the tagger's model there."""
    own = MarginalLinear(tagger("all"), ["upstream[0]"]).layers[0]
    assert own.name == "own_labels" and own.layers[0].name == "higher_order_tagger"
    listener = make_marginal_listener()
    assert MarginalLinear(listener, ["upstream[0]"]).layers[0] is listener


def test_copy_listens_too():
    """As where `nlp.replace_listeners` copies a tagger that itself listens to another one."""
    upstream, _ = update_of()
    copied = make_marginal_listener("x").copy()
    write_upstream(upstream.docs, copied.key, upstream.listen(*copied.key[1:], 0.0)[0])
    # three labels of each word
    assert len(copied.predict(list(upstream.docs)).probable.tokens) == 12


def test_pickling_leaves_out_the_batch():
    """A component that was excluded from the update still holds it."""
    listener, docs, lower = make_marginal_listener("x"), docs_of(), tagger("all")
    potentials, backprop = lower.begin_update(docs)
    listener.received = Upstream(docs, potentials, LABELS, backprop)
    restored = pickle.loads(pickle.dumps(listener))
    assert restored.upstream_name == "x" and restored.take(docs) is None


def test_name_of_the_config_goes_before_one_saved_for_another():
    listener = make_marginal_listener("x")
    listener.attrs["renamed"] = ["x", "y"]
    data = listener.to_bytes()
    again = make_marginal_listener("x").from_bytes(data)
    assert listener.upstream_name == again.upstream_name == "y"
    assert make_marginal_listener("z").from_bytes(data).upstream_name == "z"


class Sender:
    """A tagger that does not know who listens, and whose labels do not show on Docs."""

    name, listeners = "x", ()

    def __init__(self):
        self.target = SimpleNamespace(is_set=lambda doc: False)

    def resend(self, docs, listener):
        upstream, _ = update_of(docs)
        write_upstream(docs, listener.key, upstream.listen(0.01, 0.0)[0])


def test_sender_that_has_forgotten_the_listener_sends_again():
    listener, sender, docs = make_marginal_listener("x"), Sender(), [doc_of("a b c")]
    listener.link(sender, "reader")
    assert len(listener.predict(docs).probable.tokens) == 9
    sender.listeners = [listener]
    with pytest.raises(ValueError, match="HS100"):
        listener.predict([doc_of("d")])
