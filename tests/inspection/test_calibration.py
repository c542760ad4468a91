"""One temperature for all weights, and the numbers that say whether probabilities are right."""

import numpy as np
import pytest
import spacy
from spacy.cli._util import app
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import Model
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.inspection import Reading, calibrate, quality, reliability
from spacy_hoseq.inspection.calibration import annotated_before, calibratable

from ..components import chunker_helpers
from ..components.helpers import FREQUENT, tagger_model

WORDS, TAGS = ["run", "dog", "the", "sleep"], ["V", "N", "D"]


def examples(nlp, n, seed):
    """Words whose tags are partly at random, so that no one can be sure."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        words = rng.choice(WORDS, 6).tolist()
        tags = [TAGS[WORDS.index(word) % 3] if rng.random() < 0.7 else str(rng.choice(TAGS)) for word in words]
        found.append(Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags)))
    return found


@pytest.fixture(scope="module", params=["max_margin", "perceptron", "patterns"])
def trained(request):
    nlp = spacy.blank("xx")
    patterns = request.param == "patterns"
    model = tagger_model(patterns=FREQUENT if patterns else None)
    nlp.add_pipe("hoseq_tagger", config={"objective": "max_margin" if patterns else request.param, "model": model})
    train = examples(nlp, 40, 0)
    nlp.initialize(lambda: train)
    for _ in range(6):
        nlp.update(train)
    return nlp


def gold_probabilities(pipe, some):
    reading = Reading(pipe, [eg.predicted for eg in some])
    gold = [pipe.labels.index(token.tag_) for eg in some for token in eg.reference]
    return reading.posterior.nodes[np.arange(len(gold)), gold]


def test_best_temperature_of_a_grid(trained):
    """Against the log loss of the saved weights, scaled by hand."""
    dev = examples(trained, 60, 1)
    pipe = trained.get_pipe("hoseq_tagger")
    saved = pipe.to_bytes()
    before, best = -np.log(gold_probabilities(pipe, dev)).mean(), Reading(pipe, [eg.predicted for eg in dev]).best
    found = calibrate(trained, dev)["hoseq_tagger"]
    loss = -np.log(gold_probabilities(pipe, dev)).mean()
    assert loss < before == pytest.approx(found.before.log_loss) and loss <= found.after.log_loss + 1e-3
    changed = int((Reading(pipe, [eg.predicted for eg in dev]).best != best).sum())
    assert found.n_changed == changed <= 1
    assert found.after.ece < found.before.ece and found.after.n == found.before.n == 360
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = trained.get_pipe("hoseq_tagger").from_bytes(saved)
        for node in other.model.walk():
            for shim in node.shims:
                shim.scale(factor / found.temperature)
        assert -np.log(gold_probabilities(other, dev)).mean() >= loss - 1e-4, factor
    pipe.from_bytes(saved)


def test_figures_are_of_text_that_was_not_used(trained):
    """A temperature of each half of the examples, measured on the other half."""
    dev = examples(trained, 30, 2)
    pipe = trained.get_pipe("hoseq_tagger")
    saved, losses = pipe.to_bytes(), []
    for i in range(2):
        calibrate(trained, dev[i::2])
        losses.append(-np.log(gold_probabilities(pipe, dev[1 - i :: 2])).mean())
        pipe.from_bytes(saved)
    found = calibrate(trained, dev)["hoseq_tagger"]
    pipe.from_bytes(saved)
    assert found.after.log_loss == pytest.approx(np.mean(losses), rel=1e-3)


def test_every_second_text_has_no_gold_labels(trained):
    """Halves are of what has labels: the same figures as without the other texts."""
    dev = examples(trained, 30, 2)
    pipe = trained.get_pipe("hoseq_tagger")
    saved = pipe.to_bytes()
    expected = calibrate(trained, dev)["hoseq_tagger"]
    pipe.from_bytes(saved)
    bare = [Example(eg.predicted.copy(), eg.predicted.copy()) for eg in dev]
    found = calibrate(trained, [eg for pair in zip(dev, bare, strict=True) for eg in pair])["hoseq_tagger"]
    pipe.from_bytes(saved)
    assert found.after.n == expected.after.n and found.after.log_loss == pytest.approx(expected.after.log_loss)
    assert found.temperature == pytest.approx(expected.temperature)


def test_of_chunkers_and_of_those_that_others_listen_to():
    """A chunker that has learnt from a tagger's probabilities reads them as they are."""
    nlp = chunker_helpers.trained("marginals", 5, objective="max_margin")
    assert calibratable(nlp) == ["hoseq_chunker"]
    tagger = nlp.get_pipe("hoseq_tagger").to_bytes()
    before = chunker_helpers.through(nlp)[0]
    found = calibrate(nlp, chunker_helpers.examples_of(nlp))
    assert list(found) == ["hoseq_chunker"] and found["hoseq_chunker"].temperature != 1
    assert chunker_helpers.through(nlp)[0] == before and nlp.get_pipe("hoseq_tagger").to_bytes() == tagger
    assert calibratable(chunker_helpers.blank("tags", tagger={})) == ["hoseq_tagger", "hoseq_chunker"]


def test_network_is_scaled_with_the_rest():
    network = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 8, "depth": 1}
    network |= {"embed_size": 50, "window_size": 1, "maxout_pieces": 2, "subword_features": False}
    nlp = spacy.blank("xx")
    emissions = {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": network}
    nlp.add_pipe("hoseq_tagger", config={"model": tagger_model(emissions)})
    train = examples(nlp, 20, 0)
    optimizer = nlp.initialize(lambda: train)
    for _ in range(5):
        nlp.update(train, sgd=optimizer)
    before = Reading(nlp.get_pipe("hoseq_tagger"), [eg.predicted for eg in train]).potentials.scores
    found = calibrate(nlp, train)["hoseq_tagger"]
    after = Reading(nlp.get_pipe("hoseq_tagger"), [eg.predicted for eg in train]).potentials.scores
    assert np.abs(before).max() > 0.01 and after * found.temperature == pytest.approx(before, rel=1e-3, abs=1e-4)


def test_emissions_of_a_foreign_layer_are_refused(trained):
    pipe = trained.get_pipe("hoseq_tagger")
    saved, layer = pipe.model.to_bytes(), pipe.model.layers[0]
    scorer = layer.attrs["scorer"]

    class Shifted(scorer):
        def scores(self, docs, *, is_train):
            flat = super().scores(docs, is_train=is_train)
            return flat._replace(scores=flat.scores + np.float32(2))

    layer.attrs["scorer"] = Shifted
    try:
        with pytest.raises(ValueError, match=r'\[HS144\] The scores of the component "hoseq_tagger"'):
            calibrate(trained, examples(trained, 20, 3))
    finally:
        layer.attrs["scorer"] = scorer
    assert isinstance(pipe.model, Model) and pipe.model.to_bytes() == saved


def test_messages(trained):
    with pytest.raises(ValueError, match=r"\[HS145\] There are 1 examples"):
        calibrate(trained, examples(trained, 1, 0))
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"\[HS152\] .* asked for: sentencizer"):
        calibrate(nlp, examples(nlp, 3, 0), ["sentencizer"])


def test_functions_before_a_component_annotate():
    """A function in the pipeline has no `pipe` of its own."""

    @Language.component("test_lemmas_in_capitals")
    def capitals(doc):
        for token in doc:
            token.lemma_ = token.text.upper()
        return doc

    nlp = spacy.blank("xx")
    nlp.add_pipe("test_lemmas_in_capitals")
    nlp.add_pipe("hoseq_tagger", config={"model": tagger_model()})
    nlp.add_pipe("test_lemmas_in_capitals", name="later")
    train = examples(nlp, 10, 0)
    nlp.initialize(lambda: train)
    (example,) = annotated_before(nlp, "hoseq_tagger", train[:1])
    assert [token.lemma_ for token in example.predicted] == [token.text.upper() for token in example.predicted]
    (before,) = annotated_before(nlp, "test_lemmas_in_capitals", train[:1])
    assert not before.predicted.has_annotation("LEMMA")
    assert calibrate(nlp, train).keys() == {"hoseq_tagger"}


def test_measures_worked_out_by_hand():
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    found = quality(p, np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert found.brier == pytest.approx((0.02 + 0.72 + 0.08) / 3)
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.4, 0.8]).mean())
    assert found.ece == pytest.approx((0.1 + 0.6 + 0.2) / 3)
    assert found.area == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert [found.curve[i] for i in (15, 16, 32, 33, 49)] == [
        (0.32, 0), (0.34, 0), (0.66, 0), (0.68, pytest.approx(1 / 3)), (1.0, pytest.approx(1 / 3)),
    ]  # fmt: skip
    two = reliability([0.1, 0.2, 0.3, 0.9], [False, True, False, True], 2, equal_mass=True)
    assert two.counts.tolist() == [2, 2] and two.expected == pytest.approx([0.15, 0.6])
    assert two.error == pytest.approx((0.35 + 0.1) / 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    train = examples(nlp, 40, 0)
    nlp.initialize(lambda: train)
    nlp.update(train)
    path = tmp_path_factory.mktemp("calibrate")
    nlp.to_disk(path / "model")
    DocBin(docs=[eg.reference for eg in examples(nlp, 30, 1)]).to_disk(path / "dev.spacy")
    return path


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", "calibrate", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def test_command(folder, tmp_path):
    pictures = tmp_path / "pictures"
    code, output = run(folder / "model", folder / "dev.spacy", "-o", tmp_path / "new", "--picture", pictures)
    assert code == 0, output
    assert "hoseq_tagger: temperature 1 " in output and "labels that changed, of 180 0 " in output
    old, new = (spacy.load(path) for path in (folder / "model", tmp_path / "new"))
    dev = examples(old, 30, 1)
    losses = [-np.log(gold_probabilities(nlp.get_pipe("hoseq_tagger"), dev)).mean() for nlp in (old, new)]
    assert losses[1] < losses[0] and f"log loss, nats {losses[0]:.4f} " in output
    picture = (tmp_path / "pictures" / "hoseq_tagger.svg").read_text(encoding="utf8")
    assert "Probabilities of hoseq_tagger" in picture and picture.count("<circle") > 4
    assert picture.count('class="risk"') == 2 and "nan" not in picture
    code, output = run(folder / "model", folder / "dev.spacy", "-o", tmp_path / "new")
    assert code == 1 and "[HS113]" in output
