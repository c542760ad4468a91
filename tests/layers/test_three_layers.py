"""Three layers: a chunker of names listens to a chunker, which listens to a tagger."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.learning.parameter import Parameter

from .. import oracle
from ..builders import layer, learn
from ..components.chunker_helpers import listener
from ..components.helpers import FREQUENT, sparse

CORPUS = [
    ("the old dog runs", "D A N V", [(0, 3, "NP"), (3, 4, "VP")], [(1, 3, "DOG")]),
    ("dogs run", "N V", [(0, 1, "NP"), (1, 2, "VP")], []),
    ("she runs", "N V", [(0, 1, "NP")], [(0, 1, "PER")]),
]
LAYERS = ("hoseq_tagger", "hoseq_chunker", "names")
TEMPLATES = ["upstream[0]", "upstream[-1]+upstream[0]", "upstream[0]+lower[0]"]


def model(upstream="", patterns=None, **settings):
    emissions = sparse(["bias", "lower[0]"])
    if upstream:
        upstream_layer = {"@architectures": "spacy_hoseq.MarginalLinear.v1", "templates": TEMPLATES}
        upstream_layer["upstream"] = listener(upstream=upstream, **settings)
        emissions = layer("SumEmissions", first=emissions, second=upstream_layer)
    return layer("HigherOrderTagger", emissions=emissions, patterns=patterns)


def doc_of(nlp, sentence):
    text, tags, chunks, names = sentence
    doc = Doc(nlp.vocab, text.split(), tags=tags.split())
    doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks]
    doc.spans["names"] = [Span(doc, *name) for name in names]
    return doc


def pipeline(patterns=None, threshold=0.0):
    """RETURNS a pipeline with random weights in double precision, and examples."""
    nlp = spacy.blank("xx")
    settings = {"threshold": threshold}
    nlp.add_pipe("hoseq_tagger", config={"objective": "log_likelihood", "model": model()})
    nlp.add_pipe("hoseq_chunker", config={"model": model("hoseq_tagger", patterns, **settings)})
    of_names = {"spans_key": "names", "representation": "iob2"}
    of_names["model"] = model("hoseq_chunker", **settings)
    nlp.add_pipe("hoseq_chunker", name="names", config=of_names)
    examples = [Example(nlp.make_doc(sentence[0]), doc_of(nlp, sentence)) for sentence in CORPUS]
    nlp.initialize(lambda: examples)
    rng = np.random.default_rng(0)
    for shim in shims(nlp, LAYERS):
        for parameter in list(shim.parameters.values()):
            values = 0.7 * rng.normal(size=parameter.shape)
            if parameter.name == "table":
                values[-1] = 0  # the row that stands for nothing
            signed = np.abs(values) if parameter.nonnegative else values
            shim.set(Parameter(parameter.name, signed, nonnegative=parameter.nonnegative))
    return nlp, examples


def shims(nlp, names):
    return [shim for name in names for shim in weights_in(nlp.get_pipe(name).model)]


def updated(nlp, examples):
    """RETURNS the sum of the losses, and the gradient that all weights have collected."""
    losses = {}
    for name in LAYERS:
        nlp.get_pipe(name).update(examples, losses=losses)
    gradients = []
    for shim in shims(nlp, LAYERS):
        for name, parameter in shim.parameters.items():
            gradient = np.zeros(parameter.shape)
            for rows, values in shim._pending.get(name, ()):
                np.add.at(gradient, rows, values)
            gradients.append(gradient[:-1] if name == "table" else gradient)
        shim._pending, shim._has_update = {}, False
    return sum(losses.values()), gradients


@pytest.mark.parametrize("patterns", [None, FREQUENT])
def test_the_gradient_is_that_of_all_losses(patterns):
    """Of weights of every layer, by central differences."""
    nlp, examples = pipeline(patterns)
    _, gradients = updated(nlp, examples)
    names = [(shim, name) for shim in shims(nlp, LAYERS) for name in shim.parameters]
    rng = np.random.default_rng(1)
    for (shim, name), gradient in zip(names, gradients, strict=True):
        values = shim.parameters[name].values
        cells = rng.permutation(np.argwhere(np.ones(gradient.shape)))[:12]
        differences = []
        for i in map(tuple, cells.tolist()):
            before = values[i]
            values[i] = before + 1e-5
            above, _ = updated(nlp, examples)
            values[i] = before - 1e-5
            differences.append((above - updated(nlp, examples)[0]) / 2e-5)
            values[i] = before
        error = oracle.relative_error(gradient[tuple(cells.T)], np.array(differences))
        assert error < 1e-6, (shim.name, name)


def test_a_gradient_factor_of_zero_stops_at_the_chunker():
    nlp, examples = pipeline()
    (of_chunker,) = nlp.get_pipe("hoseq_chunker").listeners
    of_chunker.grad_factor = 0.0
    losses = {}
    for name in LAYERS[:2]:
        nlp.get_pipe(name).update(examples, losses=losses)
    alone = [shim._pending for shim in shims(nlp, LAYERS[:2])]
    for shim in shims(nlp, LAYERS[:2]):
        shim._pending = {}
    for name in LAYERS:
        nlp.get_pipe(name).update(examples, losses=losses)
    for before, shim in zip(alone, shims(nlp, LAYERS[:2]), strict=True):
        assert repr(before) == repr(shim._pending)


def test_three_layers_learn_are_saved_and_read_raw_text(tmp_path):
    nlp, examples = pipeline()
    learn(nlp, examples, 30)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    texts = [text for text, *_ in CORPUS]
    rows = zip(nlp.pipe(texts), again.pipe(texts), CORPUS, strict=True)
    for doc, twin, (_, tags, chunks, names) in rows:
        assert [t.tag_ for t in doc] == tags.split()
        for key, gold in (("chunks", chunks), ("names", names)):
            assert [(s.start, s.end, s.label_) for s in doc.spans[key]] == gold
            group, other = doc.spans[key], twin.spans[key]
            assert group.attrs["scores"].tolist() == other.attrs["scores"].tolist()


def test_a_chunker_is_not_copied_into_its_listener():
    """Its grammar would be lost."""
    nlp, _ = pipeline()
    with pytest.raises(ValueError, match="HS103"):
        nlp.replace_listeners("hoseq_chunker", "names", ["model.emissions.second.upstream"])
