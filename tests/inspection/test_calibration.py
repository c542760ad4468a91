"""One temperature for all weights, by command and in training, and the numbers that say whether probabilities are
right."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_hoseq.inspection import Reading, calibrate, quality, reliability
from spacy_hoseq.inspection.calibration import annotated_before, calibratable, calibrate_in_training
from spacy_hoseq.layers.weights import weights_in

from ..builders import learn
from ..components import chunker_helpers
from ..components.helpers import ADAGRAD, FREQUENT, tagger_model
from ..repository import hoseq

WORDS, TAGS = ["run", "dog", "the", "sleep"], ["V", "N", "D"]
CNN = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 8}
CNN |= {"depth": 1, "embed_size": 50, "window_size": 1, "maxout_pieces": 2}
CNN["subword_features"] = False
NETWORK = tagger_model({"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": CNN})


def examples(nlp, n, seed):
    """Words whose tags are partly at random, so that no one can be sure."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        words = rng.choice(WORDS, 6).tolist()
        likely = [TAGS[WORDS.index(word) % 3] for word in words]
        tags = [tag if rng.random() < 0.7 else str(rng.choice(TAGS)) for tag in likely]
        found.append(Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags)))
    return found


def tagger(n_updates=6, **settings):
    """A pipeline, and its training examples."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger", config={"objective": "max_margin", **settings})
    train = examples(nlp, 40, 0)
    learn(nlp, train, n_updates)
    return nlp, train


@pytest.fixture(scope="module", params=["max_margin", "perceptron", "patterns"])
def trained(request):
    patterns = request.param == "patterns"
    model = tagger_model(patterns=FREQUENT if patterns else None)
    return tagger(objective="max_margin" if patterns else request.param, model=model)[0]


@pytest.fixture(autouse=True)
def as_trained(request):
    """Each test has the weights of the training."""
    if "trained" not in request.fixturenames:
        yield
        return
    pipe = request.getfixturevalue("trained").get_pipe("hoseq_tagger")
    saved = pipe.to_bytes()
    yield
    pipe.from_bytes(saved)


def read(nlp, some):
    """The best labels, and the probabilities of gold ones."""
    pipe = nlp.get_pipe("hoseq_tagger")
    reading = Reading(pipe, [eg.predicted for eg in some])
    gold = [pipe.labels.index(token.tag_) for eg in some for token in eg.reference]
    return reading.best, reading.posterior.nodes[np.arange(len(gold)), gold]


def loss_of(nlp, some):
    return -np.log(read(nlp, some)[1]).mean()


def test_best_temperature_of_a_grid(trained):
    """Against the log loss of the saved weights, scaled by hand."""
    dev = examples(trained, 60, 1)
    pipe = trained.get_pipe("hoseq_tagger")
    saved, before, best = pipe.to_bytes(), loss_of(trained, dev), read(trained, dev)[0]
    found = calibrate(trained, dev)["hoseq_tagger"]
    loss = loss_of(trained, dev)
    assert loss < before == pytest.approx(found.before.log_loss)
    assert loss <= found.after.log_loss + 1e-3
    assert found.n_changed == int((read(trained, dev)[0] != best).sum()) <= 1
    assert found.after.ece < found.before.ece and found.after.n == found.before.n == 360
    for factor in (0.5, 0.8, 1.25, 2.0):
        pipe.from_bytes(saved)
        for shim in weights_in(pipe.model):
            for parameter in shim.parameters.values():
                parameter.scale(factor / found.temperature)
        assert loss_of(trained, dev) >= loss - 1e-4, factor


def test_figures_are_of_text_that_was_not_used(trained):
    """A temperature of each half of the examples, measured on the other half. Texts without gold labels count for
    nothing."""
    dev = examples(trained, 30, 2)
    saved, losses = trained.get_pipe("hoseq_tagger").to_bytes(), []
    for i in range(2):
        calibrate(trained, dev[i::2])
        losses.append(loss_of(trained, dev[1 - i :: 2]))
        trained.get_pipe("hoseq_tagger").from_bytes(saved)
    bare = [Example(eg.predicted.copy(), eg.predicted.copy()) for eg in dev]
    both = [eg for pair in zip(dev, bare, strict=True) for eg in pair]
    found = calibrate(trained, both)["hoseq_tagger"]
    assert found.after.log_loss == pytest.approx(np.mean(losses), rel=1e-3) and found.after.n == 180


def test_of_chunkers_and_of_those_that_others_listen_to():
    """A chunker that has learnt from a tagger's probabilities reads them as they are."""
    nlp = chunker_helpers.trained("marginals", 5, objective="max_margin")
    assert calibratable(nlp) == ["hoseq_chunker"]
    tagger = nlp.get_pipe("hoseq_tagger").to_bytes()
    before = chunker_helpers.through(nlp)[0]
    found = calibrate(nlp, chunker_helpers.examples_of(nlp))
    assert list(found) == ["hoseq_chunker"] and found["hoseq_chunker"].temperature != 1
    assert chunker_helpers.through(nlp)[0] == before
    assert nlp.get_pipe("hoseq_tagger").to_bytes() == tagger
    nlp = chunker_helpers.blank("tags", tagger={})
    assert calibratable(nlp) == ["hoseq_tagger", "hoseq_chunker"]


def test_messages(trained):
    with pytest.raises(ValueError, match=r"\[HS145\] There are 1 examples"):
        calibrate(trained, examples(trained, 1, 0))
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"\[HS152\] .* this package: sentencizer"):
        calibrate(nlp, examples(nlp, 3, 0), ["sentencizer"])
    pipe = trained.get_pipe("hoseq_tagger")  # emissions of a foreign layer
    saved, layer = pipe.model.to_bytes(), pipe.model.layers[0]
    scorer = layer.attrs["scorer"]

    class Shifted(scorer):
        def scores(self, docs, *, is_train):
            flat = super().scores(docs, is_train=is_train)
            return flat._replace(scores=flat.scores + np.float32(2))

    layer.attrs["scorer"] = Shifted
    try:
        message = r'\[HS144\] The scores of the component "hoseq_tagger"'
        with pytest.raises(ValueError, match=message):
            calibrate(trained, examples(trained, 20, 3))
    finally:
        layer.attrs["scorer"] = scorer
    assert pipe.model.to_bytes() == saved


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
    found = [token.lemma_ for token in example.predicted]
    assert found == [token.text.upper() for token in example.predicted]
    (before,) = annotated_before(nlp, "test_lemmas_in_capitals", train[:1])
    assert not before.predicted.has_annotation("LEMMA")
    assert calibrate(nlp, train).keys() == {"hoseq_tagger"}


def with_dev(nlp, references, folder, frozen=()):
    DocBin(docs=references).to_disk(folder / "dev.spacy")
    config = nlp.config
    settings = {"gold_preproc": False, "max_length": 0, "limit": 0, "augmenter": None}
    path = str(folder / "dev.spacy")
    config["corpora"] = {"dev": {"@readers": "spacy.Corpus.v1", "path": path, **settings}}
    config["training"] = {**config["training"], "frozen_components": list(frozen)}
    nlp.config = config
    return nlp


def error_of(nlp):
    """On the text that the temperature is found on."""
    pipe, some = nlp.get_pipe("hoseq_tagger"), examples(nlp, 60, 1)
    nodes = Reading(pipe, [eg.predicted for eg in some]).posterior.nodes
    gold = np.array([pipe.labels.index(token.tag_) for eg in some for token in eg.reference])
    return quality(nodes, gold, read(nlp, some)[0]).ece


def raw(nlp):
    shims = weights_in(nlp.get_pipe("hoseq_tagger").model)
    return [parameter.values.copy() for shim in shims for parameter in shim.parameters.values()]


@pytest.mark.parametrize("average", ["late", False])
def test_what_is_saved_is_calibrated_and_training_goes_on_as_without(tmp_path, average):
    settings = {"update_rule": {**ADAGRAD, "average": average}}
    nlp, train = tagger(**settings)
    with_dev(nlp, [eg.reference for eg in examples(nlp, 60, 1)], tmp_path)
    pipe = nlp.get_pipe("hoseq_tagger")
    error = error_of(nlp)
    labels = read(nlp, train)[0]
    weights = raw(nlp)
    callback = calibrate_in_training()
    assert not pipe.is_calibrated and callback(nlp) is nlp and pipe.is_calibrated
    assert error_of(nlp) < error - 0.01 and read(nlp, train)[0].tolist() == labels.tolist()
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    assert saved.get_pipe("hoseq_tagger").is_calibrated
    assert error_of(saved) == pytest.approx(error_of(nlp), abs=1e-9)
    assert all(map(np.array_equal, weights, raw(nlp)))
    nlp.update(train)
    assert not pipe.is_calibrated, "what was found holds for the weights before"
    once, _ = tagger(7, **settings)
    with_dev(once, [eg.reference for eg in examples(once, 60, 1)], tmp_path)
    assert all(map(np.array_equal, raw(once), raw(nlp)))
    callback(nlp)
    calibrate_in_training()(once)
    assert error_of(nlp) == pytest.approx(error_of(once), abs=0.02)
    found = pipe.cfg["temperature"]
    assert found == pytest.approx(once.get_pipe("hoseq_tagger").cfg["temperature"], rel=0.25)


@pytest.mark.parametrize("settings, has_gold, frozen", [
    ({}, True, ["hoseq_tagger"]),
    ({}, False, []),
    ({"model": NETWORK}, True, []),
])  # fmt: skip
def test_what_stays_as_it_is(tmp_path, settings, has_gold, frozen):
    """Components that are frozen, that have no gold labels, or that have a network."""
    nlp, _ = tagger(**settings)
    pipe, dev = nlp.get_pipe("hoseq_tagger"), examples(nlp, 5, 1)
    before = pipe.to_bytes(exclude=["vocab"])
    docs = [eg.reference if has_gold else eg.predicted for eg in dev]
    calibrate_in_training()(with_dev(nlp, docs, tmp_path, frozen))
    assert pipe.to_bytes(exclude=["vocab"]) == before and not pipe.is_calibrated


@pytest.mark.parametrize("fitted", [True, pytest.param(False, marks=pytest.mark.long)])
def test_threshold_of_entities_is_written_to_the_config(tmp_path, fitted, caplog):
    """Names are names in 40 of 100 texts: one at 0.5 or above would find none of them."""
    nlp = spacy.blank("xx")
    settings = {"spans_key": "names", "annotate_ents": True, "span_threshold": 0.6}
    settings["objective"] = "log_likelihood"
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": ["bias", "orth[0]"]}
    nlp.add_pipe("hoseq_chunker", config={**settings, "model": tagger_model(emissions)})
    references = [nlp.make_doc(f"so is Page {i}") for i in range(100)]
    for i, doc in enumerate(references):
        doc.set_ents([Span(doc, 2, 3, "PER")] if i % 5 < 2 else [], default="outside")
    train = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    learn(nlp, train, 100)
    caplog.set_level("INFO", "spacy")
    calibrate_in_training(span_thresholds=fitted)(with_dev(nlp, references, tmp_path))
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    threshold = saved.config["components"]["hoseq_chunker"]["span_threshold"]
    assert threshold == saved.get_pipe("hoseq_chunker").cfg["span_threshold"]
    assert threshold < 0.4 if fitted else threshold == 0.6
    assert (f"hoseq_chunker: span_threshold = {threshold}" in caplog.messages) == fitted
    assert len(saved("so is Page 7").ents) == int(fitted)


def test_command(tmp_path):
    nlp, _ = tagger(1)
    nlp.to_disk(tmp_path / "model")
    dev = examples(nlp, 30, 1)
    DocBin(docs=[eg.reference for eg in dev]).to_disk(tmp_path / "dev.spacy")
    paths = [tmp_path / "model", tmp_path / "dev.spacy", "-o", tmp_path / "new"]
    paths += ["--picture", tmp_path / "pictures"]
    for code, said in (0, "labels that changed, of 180 0 "), (1, "[HS113]"):
        found, output = hoseq("calibrate", *paths)
        assert found == code and said in output, output
        assert code or f"log loss, nats {loss_of(nlp, dev):.4f} " in output
    assert loss_of(spacy.load(tmp_path / "new"), dev) < loss_of(nlp, dev)
    picture = (tmp_path / "pictures" / "hoseq_tagger.svg").read_text("utf8")
    assert "Probabilities of hoseq_tagger" in picture and picture.count("<circle") > 4
    assert picture.count('class="risk"') == 2 and "nan" not in picture


@pytest.mark.parametrize("n_bins", [1, 2, 15])
@pytest.mark.parametrize("n", [0, 500])
def test_reliability_is_that_of_a_plain_loop(n, n_bins):
    rng = np.random.default_rng(n)
    edges = [0.0, 1.0, 1.0 + 1e-12, 0.0666, 0.0667, 1e-300]
    p = np.concatenate([rng.beta(5, 1, n), edges if n else []])
    right = rng.random(len(p)) < p**2
    found = reliability(p, right, n_bins)
    bins = [[] for _ in range(n_bins)]
    for each in zip(p, right, strict=True):
        bins[min(n_bins - 1, int(each[0] * n_bins))].append(each)
    means = [np.mean(each, axis=0) if each else np.zeros(2) for each in bins]
    assert found.counts.tolist() == list(map(len, bins))
    assert np.stack([found.expected, found.observed], axis=1) == pytest.approx(np.array(means))
    off = sum(len(each) * abs(np.subtract(*mean)) for each, mean in zip(bins, means, strict=True))
    assert found.error == pytest.approx(off / max(1, len(p)))


def test_measures_worked_out_by_hand():
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    found = quality(p, np.array([0, 1, 1]), np.array([0, 0, 1]))
    assert found.brier == pytest.approx((0.02 + 0.72 + 0.08) / 3)
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.4, 0.8]).mean())
    assert found.ece == pytest.approx((0.1 + 0.6 + 0.2) / 3)
    assert found.area == pytest.approx((0 + 0 + 1 / 3) / 3)
    third = pytest.approx(1 / 3)
    expected = [(0.32, 0), (0.34, 0), (0.66, 0), (0.68, third), (1.0, third)]
    assert [found.curve[i] for i in (15, 16, 32, 33, 49)] == expected
    two = reliability([0.1, 0.2, 0.3, 0.9], [False, True, False, True], 2, equal_mass=True)
    assert two.counts.tolist() == [2, 2] and two.expected == pytest.approx([0.15, 0.6])
    assert two.error == pytest.approx((0.35 + 0.1) / 2)
