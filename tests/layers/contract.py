"""What every layer of scores must do. One subclass for each layer, with `make` and `docs`."""

import copy
import pickle

import numpy as np
import pytest
from spacy.tokens import Doc
from thinc.api import set_dropout_rate

from spacy_hoseq.learning.adagrad import Additive

from .helpers import VOCAB, applied_gradients

STEP = 2**-7  # tables are of single precision, and scores are linear in them
COPIES = {"copy": lambda model: model.copy(), "deepcopy": copy.deepcopy}
COPIES["pickle"] = lambda model: pickle.loads(pickle.dumps(model))


def shims_of(model):
    return [shim for node in model.walk() for shim in node.shims]


def bits(scores):
    return [np.asarray(of_doc).tobytes() for of_doc in scores]


class LayerContract:
    """Of a thinc Model[List[Doc], List[Floats2d]] whose weights are in shims."""

    drops = True  # it leaves out features when `set_dropout_rate` says so

    def make(self, seed=0):
        """The layer with random weights that half precision holds."""
        raise NotImplementedError

    def docs(self):
        """Several docs of several sentences, one without tokens among them."""
        raise NotImplementedError

    def test_gradient_of_every_weight_is_that_of_finite_differences(self):
        model, docs = self.make(), self.docs()
        scores, backprop = model.begin_update(docs)
        rng = np.random.default_rng(0)
        direction = [rng.normal(size=of_doc.shape).astype(of_doc.dtype) for of_doc in scores]

        def loss():
            pairs = zip(model.begin_update(docs)[0], direction, strict=True)
            return sum(float((scores.astype(float) * d).sum()) for scores, d in pairs)

        expected = {}
        for shim in shims_of(model):
            for name, p in shim.parameters.items():
                expected[shim.name, name] = self._differences(loss, p.values)
        backprop(direction)
        found = applied_gradients(model)
        assert found.keys() == expected.keys()
        assert max(np.abs(gradient).max() for gradient in expected.values()) > 0.1
        for key, gradient in expected.items():
            # the last row is no feature
            weights = slice(None, -1) if key[1] == "table" else slice(None)
            assert found[key][weights] == pytest.approx(gradient[weights], abs=5e-3), key

    def _differences(self, loss, values):
        found = np.zeros(values.shape)
        for i in np.ndindex(values.shape):
            kept = values[i]
            values[i] = kept + STEP
            above = loss()
            values[i] = kept - STEP
            found[i] = (above - loss()) / (2 * STEP)
            values[i] = kept
        return found

    @pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
    def test_copy_is_the_same_and_its_own(self, copied):
        model, docs = self.make(), self.docs()
        again = copied(model)
        assert bits(again.predict(docs)) == bits(model.predict(docs))
        assert again.to_bytes() == model.to_bytes()
        before = model.to_bytes()
        for shim in shims_of(again):
            for parameter in shim.parameters.values():
                parameter.values[:] = 0
        assert model.to_bytes() == before

    def test_saved_and_loaded(self):
        model, docs = self.make(), self.docs()
        other = self.make(seed=1)
        assert bits(other.predict(docs)) != bits(model.predict(docs))
        other.from_bytes(model.to_bytes())
        assert bits(other.predict(docs)) == bits(model.predict(docs))
        assert other.to_bytes() == model.to_bytes()

    @pytest.mark.parametrize("docs", [[], [Doc(VOCAB)], [Doc(VOCAB), Doc(VOCAB)]])
    def test_batch_without_tokens(self, docs):
        model = self.make()
        n_labels = self.docs_scores(model)[0].shape[1]
        scores, backprop = model.begin_update(docs)
        for found in (model.predict(docs), scores):
            assert [of_doc.shape for of_doc in found] == [(0, n_labels) for _ in docs]
        backprop(scores)
        assert all((gradient == 0).all() for gradient in applied_gradients(model).values())

    def docs_scores(self, model):
        return model.predict(self.docs())

    def test_scores_do_not_depend_on_the_batch(self):
        model, docs = self.make(), self.docs()
        alone = [bits(model.predict([doc]))[0] for doc in docs]
        assert bits(model.predict(docs)) == alone
        assert bits(model.predict(docs[::-1])) == alone[::-1]
        assert bits(model.begin_update(docs)[0]) == alone

    def test_dropout(self):
        """Of features, in training alone; the same seed leaves out the same ones."""
        model, docs = self.make(), self.docs()
        scores = bits(model.predict(docs))
        set_dropout_rate(model, 0.5)
        dropped = [self._dropped(model, docs, seed) for seed in (0, 0, 1)]
        assert dropped[0] == dropped[1]
        assert (dropped[0] == scores) == (not self.drops)
        assert (dropped[0] == dropped[2]) == (not self.drops)
        assert bits(model.predict(docs)) == scores
        set_dropout_rate(model, 1.0)
        assert not self.drops or not any(of_doc.any() for of_doc in model.begin_update(docs)[0])

    def _dropped(self, model, docs, seed):
        for shim in shims_of(model):
            shim.configure(Additive(1.0, average=False), seed=seed)
        return bits(model.begin_update(docs)[0])
