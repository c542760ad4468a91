"""Joint training: the gradient that two components collect in the lower one's weights is that of both losses.

Once by finite differences of the components' own losses, once with both layers written out as enumerations.
"""

from functools import cache

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.layers.listener import Upstream
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.learning.parameter import Parameter

from .. import oracle
from ..builders import layer
from ..components.helpers import FREQUENT, sparse

# words, tags and chunks of sentences, by doc
CORPUS = [
    [
        ("the old dog runs", "D A N V", [(0, 3, "NP"), (3, 4, "VP")]),
        ("dogs run", "N V", [(0, 1, "NP"), (1, 2, "VP")]),
    ],
    [],
    [("she", "N", [(0, 1, "NP")])],
    [
        ("run", "V", [(0, 1, "VP")]),
        ("the dog", "D N", [(0, 2, "NP")]),
        ("she runs the old run", "N V D A N", [(2, 5, "NP")]),
    ],
]
TEMPLATES = "upstream[-1..1] upstream[-1]+upstream[0] upstream[-1]+upstream[0]+upstream[1]"
TEMPLATES = f"{TEMPLATES} upstream[0]+lower[0] upstream[-1]+upstream[1]".split()
CASES = {
    "chain": {},
    "patterns below": {"below": FREQUENT},
    "patterns above": {"above": FREQUENT, "representation": "iob2"},
    "patterns in both": {"below": FREQUENT, "above": FREQUENT},
    "threshold": {"threshold": 0.05, "representation": "iob2"},
    "threshold, patterns below": {"threshold": 0.05, "below": FREQUENT},
    "margin above": {"objective": "max_margin"},
    "margin above, threshold, patterns in both": {
        "objective": "max_margin",
        "threshold": 0.05,
        "below": FREQUENT,
        "above": FREQUENT,
        "representation": "iob2",
    },
}


def doc_of(nlp, sentences, *, annotated):
    words = [word for text, _, _ in sentences for word in text.split()]
    starts = [i == 0 for text, _, _ in sentences for i in range(len(text.split()))]
    if not annotated or not words:
        return Doc(nlp.vocab, words=words, sent_starts=starts)
    tags = [tag for _, line, _ in sentences for tag in line.split()]
    doc, shift = Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts), 0
    doc.spans["chunks"] = []
    for text, _, chunks in sentences:
        spans = [Span(doc, shift + a, shift + b, label) for a, b, label in chunks]
        doc.spans["chunks"].extend(spans)
        shift += len(text.split())
    return doc


class Pipeline:
    """Both components with random weights in double precision, and one batch."""

    def __init__(
        self,
        below=None,
        above=None,
        threshold=0.0,
        objective="log_likelihood",
        representation="bilou",
        templates=TEMPLATES,
        words=("bias", "lower[0]", "lower[-1]"),
        seed=0,
    ):
        nlp = spacy.blank("xx")
        head = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1"}
        model = {**head, "emissions": sparse(list(words)), "patterns": below}
        nlp.add_pipe("hoseq_tagger", config={"objective": "log_likelihood", "model": model})
        listener = {"@architectures": "spacy_hoseq.MarginalListener.v1", "threshold": threshold}
        marginal = layer("MarginalLinear", templates=templates, upstream=listener)
        both = layer("SumEmissions", first=sparse(["lower[0]"]), second=marginal)
        config = {"objective": objective, "representation": representation}
        model = {**head, "emissions": both, "patterns": above}
        nlp.add_pipe("hoseq_chunker", config={**config, "model": model})
        docs = [[doc_of(nlp, doc, annotated=known) for known in (False, True)] for doc in CORPUS]
        self.examples = [Example(*pair) for pair in docs]
        nlp.initialize(lambda: self.examples)
        self.tagger, self.chunker = nlp.get_pipe("hoseq_tagger"), nlp.get_pipe("hoseq_chunker")
        (self.listener,) = self.tagger.listeners
        self.randomize(seed)

    def randomize(self, seed):
        rng = np.random.default_rng(seed)
        for component, scale in ((self.tagger, 0.8), (self.chunker, 0.7)):
            for shim in weights_in(component.model):
                for parameter in list(shim.parameters.values()):
                    values = scale * rng.normal(size=parameter.shape)
                    if parameter.name == "table":
                        values[-1] = 0
                    signed = np.abs(values) if parameter.nonnegative else values
                    shim.set(Parameter(parameter.name, signed, nonnegative=parameter.nonnegative))

    def weights(self):
        """Of the lower component: arrays by layer and name, without the row of the table that stands for nothing."""
        return {
            (shim.name, name): parameter.values[:-1] if name == "table" else parameter.values
            for shim in weights_in(self.tagger.model)
            for name, parameter in shim.parameters.items()
        }

    def update(self):
        """RETURNS the two losses, and the gradient collected in the lower weights."""
        losses = {}
        self.tagger.update(self.examples, losses=losses)
        self.chunker.update(self.examples, losses=losses)
        found = {name: np.zeros(values.shape) for name, values in self.weights().items()}
        for component in (self.tagger, self.chunker):
            for shim in weights_in(component.model):
                for name, parts in shim._pending.items() if component is self.tagger else ():
                    for rows, gradient in parts:
                        np.add.at(found[shim.name, name], rows, gradient)
                shim._pending, shim._has_update = {}, False
        return np.array([losses["hoseq_tagger"], losses["hoseq_chunker"]]), found

    def differences(self):
        """Central differences of both losses, for every lower weight: {name: (2, *shape)}."""
        found = {}
        for name, values in self.weights().items():
            found[name] = np.zeros((2, *values.shape))
            for i in np.ndindex(values.shape):
                kept = values[i]
                values[i] = kept + 1e-5
                above = self.update()[0]
                values[i] = kept - 1e-5
                found[name][(slice(None), *i)] = (above - self.update()[0]) / 2e-5
                values[i] = kept
        return found

    def probabilities(self):
        """Values of all n-grams without a threshold, and all that they are made of."""
        potentials, _ = self.tagger.model.begin_update([eg.predicted for eg in self.examples])
        node = next(node for node in self.chunker.model.walk() if node.name == "marginal_linear")
        docs, features = [eg.predicted for eg in self.examples], node.attrs["features"]
        labels, _ = Upstream(docs, potentials, self.tagger.labels, id).listen(0.0, 0.0)
        values = [ngrams.values for ngrams in features.ngrams(features.batch(docs, labels))]
        return np.concatenate([labels.probable.probabilities, labels.probable.pairs, *values])


@cache
def ready(name):
    """A pipeline with no probability within 0.001 of its threshold, and the differences of its losses."""
    pipeline = Pipeline(**CASES[name])
    threshold = CASES[name].get("threshold")
    if threshold:
        distances = []
        for seed in range(3000):
            pipeline.randomize(seed)
            distances.append(np.abs(pipeline.probabilities() - threshold).min())
            if distances[-1] > 1e-3:
                break
        assert distances[-1] > 1e-3, max(distances)
        assert 0.05 < (pipeline.probabilities() < threshold).mean() < 0.95
    return pipeline, pipeline.differences()


@pytest.mark.long
@pytest.mark.parametrize("factor", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("name", CASES)
def test_gradient_of_every_lower_weight_is_that_of_both_losses(name, factor):
    """grad_factor takes a share of the upper loss only."""
    pipeline, differences = ready(name)
    pipeline.listener.grad_factor = factor
    losses, found = pipeline.update()
    assert (losses > 0.1).all()
    assert found.keys() == differences.keys() and len(found) == 2 + ("below" in CASES[name])
    for key, gradient in found.items():
        of_tagger, of_chunker = differences[key]
        assert np.abs(of_chunker).max() > 0.01, "the upper loss depends on it"
        assert oracle.relative_error(gradient, of_tagger + factor * of_chunker) < 1e-6, key


def test_marginals_are_of_the_weights_that_the_update_was_made_with():
    """`nlp.update` with an optimizer finishes the tagger's update before the chunker's one."""
    found = []
    for finished in (False, True):
        pipeline = Pipeline()
        pipeline.tagger.update(pipeline.examples)
        if finished:
            pipeline.tagger.finish_update(lambda key, weights, gradient: (weights, gradient))
        found.append(pipeline.chunker.update(pipeline.examples)["hoseq_chunker"])
    assert found[0] == pytest.approx(found[1], rel=1e-9)
