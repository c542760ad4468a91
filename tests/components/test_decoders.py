"""The decoder of a config: which one is used, that every one learns, predicts, is saved and pickled."""

import multiprocessing
import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Token
from thinc.api import ConfigValidationError

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.patterns.longest_match import decode_any_sign
from spacy_hoseq.decoders.problem.path_score import path_score
from spacy_hoseq.layers.weights.shim import weights_of
from spacy_hoseq.learning.parameter import Parameter

from .decoding import DECODERS, EXACT, GENERAL, GREEDY, SPANS, greedy
from .helpers import (
    ALL_PATTERNS,
    CORPUS,
    FREQUENT,
    LABELS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    random_docs,
    ready,
    reloaded,
    sparse,
    tagger_model,
    tagger_of,
    train,
    trained,
)

CONFIG = """
[nlp]
lang = "xx"
pipeline = ["hoseq_tagger"]

[components]

[components.hoseq_tagger]
factory = "hoseq_tagger"

[components.hoseq_tagger.decoder]
DECODER

[components.hoseq_tagger.model]
@architectures = "spacy_hoseq.HigherOrderTagger.v1"
nonnegative = true
max_states = 500

[components.hoseq_tagger.model.emissions]
@architectures = "spacy_hoseq.SparseLinear.v1"
templates = ["bias", "lower[0]", "lower[-1]", "suffix2[0]"]

[components.hoseq_tagger.model.patterns]
@misc = "spacy_hoseq.frequent_transitions.v1"
max_order = 3
min_count = 1
"""


def from_text(decoder):
    lines = "\n".join(f'{key} = "{value}"' if key[0] == "@" else f"{key} = {value}" for key, value in decoder.items())
    config = spacy.util.Config().from_str(CONFIG.replace("DECODER", lines))
    return spacy.util.load_model_from_config(config, auto_fill=True, validate=True)


def score_of(potentials, labels):
    return path_score(potentials, labels)


@pytest.mark.long
@pytest.mark.parametrize("name", DECODERS)
def test_decoder_of_a_config(name):
    nlp = from_text(DECODERS[name])
    assert nlp.get_pipe_config("hoseq_tagger")["decoder"] == DECODERS[name]
    assert tagger_of(nlp).model.attrs["structure"].max_states == 500
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    assert predicted(nlp) != gold()
    train(nlp, 15, optimizer=optimizer)
    assert predicted(nlp) == gold()


def test_exact_unless_told_otherwise():
    assert tagger_of(blank()).decoder is decode_exact
    assert blank().get_pipe_config("hoseq_tagger")["decoder"] == DECODERS["exact"]


OBJECTIVES = ["perceptron", "max_margin", "log_likelihood"]


@pytest.mark.long
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", DECODERS)
def test_every_objective_learns_with_every_decoder(name, objective):
    nlp = blank(objective=objective, decoder=DECODERS[name], model=tagger_model(patterns=ALL_PATTERNS))
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    losses = [train(nlp, 1, optimizer=optimizer) for _ in range(13)]
    assert min(losses) >= 0 and losses[-1] < 0.6 * max(losses[:3])
    first = {"perceptron": 0, "max_margin": 28, "log_likelihood": 28 * np.log(len(LABELS))}  # 28 tokens, all equal
    assert losses[0] == pytest.approx(first[objective])
    assert predicted(nlp) == gold()
    weights = weights_of(tagger_of(nlp).model).values("patterns", is_train=False)
    assert weights.min() == 0 and weights.max() > 0


@pytest.mark.parametrize("name", EXACT)
def test_exact_decoders_agree(name):
    nlp = ready("all patterns")
    docs = random_docs(nlp, 30)
    potentials = tagger_of(nlp).model.predict(docs)
    other = blank("all patterns", decoder=DECODERS[name])
    tagger_of(other).from_bytes(tagger_of(nlp).to_bytes())
    labels = np.concatenate(tagger_of(other).predict(random_docs(other, 30)).label_ids)
    assert score_of(potentials, labels) == pytest.approx(decode_exact(potentials).scores)


def greedy_trap(decoder):
    """The best label of the first word leads nowhere, but a greedy decoder takes it."""
    nlp = blank(decoder=decoder, model=tagger_model(sparse(["lower[0]"])))
    nlp.initialize(lambda: examples_of(nlp, [("a b", "X Y")]))
    model = tagger_of(nlp).model
    weights_of(model).set(Parameter("trans", np.array([[0.0, 0.0], [0.0, 9.0]])))
    table = weights_of(model.layers[0]).parameters["table"]
    values = np.zeros_like(table.values)
    values[:-1, 0] = 1
    weights_of(model.layers[0]).set(Parameter("table", values))
    return nlp


@pytest.mark.parametrize("decoder, labels", [(GREEDY, ["X", "X"]), (DECODERS["exact"], ["Y", "Y"])])
def test_decoder_is_used_for_prediction(decoder, labels):
    nlp = greedy_trap(decoder)
    assert [token.tag_ for token in tagger_of(nlp)(doc_of(nlp, "a b"))] == labels


def test_decoder_is_used_in_learning():
    """With the greedy decoder the guess is worse than the best one, and so is the loss."""
    losses = []
    for decoder in (GREEDY, DECODERS["exact"]):
        nlp = greedy_trap(decoder)
        losses.append(tagger_of(nlp).update(examples_of(nlp, [("a b", "X X")]))["hoseq_tagger"])
    assert losses == [0, 9], "max-margin: 9 + 2 wrong labels - 2, where that guess is seen"


@pytest.mark.long
@pytest.mark.parametrize("patterns", [None, ALL_PATTERNS, SPANS], ids=["chain", "patterns", "spans"])
def test_most_probable_label_of_every_token(patterns):
    settings = {"objective": "log_likelihood", "save_marginals": True, "model": tagger_model(patterns=patterns)}
    nlp = trained(decoder=DECODERS["max_marginal"], n_updates=2, **settings)
    docs = random_docs(nlp, 40)
    reading = tagger_of(nlp).predict(docs)
    for labels, marginals in zip(reading.label_ids, reading.marginals(), strict=True):
        assert labels.tolist() == marginals.argmax(axis=1).tolist()
    plain = trained(n_updates=2, **settings)
    best = tagger_of(plain).predict(docs)
    assert not all(np.array_equal(a, b) for a, b in zip(reading.label_ids, best.label_ids, strict=True)), "other"
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(reading.marginals(), best.marginals(), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", DECODERS)
def test_labels_that_are_set_stay(name):
    nlp = trained("all patterns", decoder=DECODERS[name])
    doc = doc_of(nlp, "the old dog sees a cat .")
    assert tagger_of(nlp).predict([doc]).label_ids[0][3] == LABELS.index("V")
    doc[3].tag_ = "N"
    assert tagger_of(nlp).predict([doc]).label_ids[0][3] == LABELS.index("N"), "its neighbours are chosen to fit"
    tagger_of(nlp)(doc)
    assert doc[3].tag_ == "N" and all(token.tag_ in LABELS for token in doc)
    labels = tagger_of(nlp).predict([doc_of(nlp, "the old dog"), doc_of(nlp, ""), doc_of(nlp, "cat")]).label_ids
    assert [len(part) for part in labels] == [3, 0, 1]


@pytest.mark.parametrize("name", sorted(set(DECODERS) - set(GENERAL)))
def test_decoders_that_know_no_configurations(name):
    nlp = blank(decoder=DECODERS[name], model=tagger_model(patterns=SPANS))
    nlp.initialize(lambda: examples_of(nlp))
    assert len(tagger_of(nlp).predict([doc_of(nlp, "dogs run .")]).label_ids[0]) == 3, "no rule has fired"
    with pytest.raises(ValueError, match=r"\[HS039\] The decoder \w+ cannot use general config.*exact_decoder\.v1"):
        tagger_of(nlp).predict([doc_of(nlp, "the old dog .")])
    with pytest.raises(ValueError, match="HS039"):
        train(nlp, 1)


def assert_same_decoder(tagger, name):
    decoder = tagger.decoder
    assert (decoder is decode_exact) == (name == "exact")
    assert (decoder is decode_any_sign) == (name == "any_sign")
    assert (getattr(decoder, "__name__", "") == name) == (name == "max_marginal")


@pytest.mark.long
@pytest.mark.parametrize("name", DECODERS)
def test_decoder_is_kept(name, tmp_path):
    nlp = trained("all patterns", 4, decoder=DECODERS[name])
    expected = [labels.tolist() for labels in tagger_of(nlp).predict(random_docs(nlp)).label_ids]
    nlp.to_disk(tmp_path)
    restored = pickle.loads(pickle.dumps(tagger_of(nlp)))
    for tagger in (tagger_of(nlp), tagger_of(spacy.load(tmp_path)), tagger_of(reloaded(nlp)), restored):
        assert_same_decoder(tagger, name)
        docs = [spacy.tokens.Doc(tagger.vocab).from_bytes(doc.to_bytes()) for doc in random_docs(nlp)]
        assert [labels.tolist() for labels in tagger.predict(docs).label_ids] == expected


def test_decoder_can_be_changed_in_loading(tmp_path):
    ready().to_disk(tmp_path)
    changed = spacy.load(tmp_path, config={"components.hoseq_tagger.decoder": GREEDY})
    assert tagger_of(changed).decoder is greedy
    assert predicted(changed) == gold()


@pytest.mark.long
def test_every_decoder_in_another_process():
    """One pipeline with a tagger for each decoder, under spawn."""
    nlp = spacy.blank("xx")
    for name, decoder in DECODERS.items():
        settings = {"model": tagger_model(patterns=FREQUENT), "decoder": decoder, "attribute": f"_.by_{name}"}
        nlp.add_pipe("hoseq_tagger", f"by_{name}", config=settings)
    try:
        pairs = [(eg, eg.reference) for eg in examples_of(nlp)]
        for _, reference in pairs:
            for token in reference:
                for name in DECODERS:
                    token._.set(f"by_{name}", token.tag_)
        examples = [eg for eg, _ in pairs]
        optimizer = nlp.initialize(lambda: examples)
        for _ in range(10):
            nlp.update(examples, sgd=optimizer, losses={})
        texts = [text for text, _ in CORPUS]
        before = multiprocessing.get_start_method(allow_none=True)
        multiprocessing.set_start_method("spawn", force=True)
        try:
            docs = list(nlp.pipe(texts, n_process=2, batch_size=3))
        finally:
            multiprocessing.set_start_method(before, force=True)
        for name in DECODERS:
            assert [[token._.get(f"by_{name}") for token in doc] for doc in docs] == gold(), name
    finally:
        for name in DECODERS:
            Token.remove_extension(f"by_{name}")


@pytest.mark.parametrize(
    "decoder, error, message",
    [
        ({**DECODERS["exact"], "width": 3}, ConfigValidationError, "width"),
        ({"@misc": "spacy_hoseq.unknown_decoder.v1"}, Exception, "E893.*spacy_hoseq.unknown_decoder.v1"),
    ],
)
def test_settings_that_cannot_be(decoder, error, message):
    with pytest.raises(error, match=message):
        blank(decoder=decoder)


@pytest.mark.parametrize("decoder", [3, "beam", None, 0.5, ["beam"]])
def test_what_is_no_decoder(decoder):
    with pytest.raises(ConfigValidationError, match="hoseq_tagger -> decoder"):
        blank(decoder=decoder)


@pytest.mark.parametrize("decoder", [{"@misc": "spacy_hoseq.adagrad.v1"}, FREQUENT])
def test_what_a_function_returns_is_no_decoder(decoder):
    with pytest.raises(ValueError, match=r"\[HS067\] The setting `decoder` is <.*>, which is no Decoder"):
        blank(decoder=decoder)


def test_what_a_function_returns_is_no_update_rule():
    with pytest.raises(ValueError, match=r"\[HS067\] The setting `update_rule` is <.*>, which is no UpdateRule"):
        blank(update_rule=FREQUENT)
