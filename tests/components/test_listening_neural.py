"""Token vectors below a tagger to which a chunker listens: both losses reach them."""

import numpy as np
import pytest
import spacy
from thinc.api import fix_random_seed

from spacy_hoseq.layers.shim import weights_in

from .chunker_helpers import NAME, TAGGER, examples_of, listening_model
from .helpers import tagger_model

TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 8,
    "depth": 1,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "tok2vec"}


def pipeline(grad_factor, *, shared):
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    if shared:
        nlp.add_pipe("tok2vec", config={"model": TOK2VEC})
    emissions = {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": LISTENER if shared else TOK2VEC}
    nlp.add_pipe(TAGGER, config={"objective": "log_likelihood", "model": tagger_model(emissions)})
    nlp.add_pipe(NAME, config={"model": listening_model(grad_factor=grad_factor, threshold=0.0)})
    return nlp


def gradient(grad_factor, *, shared):
    """With respect to biases below the token vectors, at random weights above."""
    nlp = pipeline(grad_factor, shared=shared)
    nlp.initialize(lambda: examples_of(nlp))
    rng = np.random.default_rng(0)
    for name in (TAGGER, NAME):
        for shim in weights_in(nlp.get_pipe(name).model):
            for parameter in shim.parameters.values():
                parameter.values[...] = rng.normal(scale=0.3, size=parameter.values.shape)
    output = nlp.get_pipe(TAGGER).model.layers[0].get_ref("output_layer")
    output.set_param("W", rng.normal(scale=0.3, size=output.get_param("W").shape).astype(np.float32))
    nlp.update(examples_of(nlp), sgd=False)
    model = nlp.get_pipe("tok2vec" if shared else TAGGER).model
    return next(node for node in model.walk() if node.name == "maxout").get_grad("b")


def test_gradients_of_two_losses_add_up():
    """That of the tagger, and `grad_factor` times that of the chunker."""
    none, once, twice = (gradient(factor, shared=False) for factor in (0.0, 1.0, 2.0))
    assert np.abs(once - none).max() > 0.1
    assert twice - none == pytest.approx(2 * (once - none), rel=1e-2, abs=1e-3)


def test_network_that_others_share():
    """The tagger would call the way back of spaCy's Tok2Vec twice, which then adds up what it got before."""
    assert np.isfinite(gradient(0.0, shared=True)).all()
    with pytest.raises(ValueError, match=r"\[HS104\]"):
        gradient(1.0, shared=True)
