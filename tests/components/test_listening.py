"""`hoseq_chunker` listens to `hoseq_tagger`: what it hears, when it fails, what the tagger learns from it."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from spacy import ty

from spacy_hoseq.layers.listener import MarginalListener
from spacy_hoseq.layers.weights import weights_of

from ..builders import doc_of, tagger_of
from ..cases import Case
from ..oracle import joint_table
from .chunker_helpers import (
    CORPUS,
    KINDS,
    NAME,
    TAGGER,
    TEXTS,
    Enumerated,
    blank,
    chunker_of,
    examples_of,
    gold,
    listening_model,
    on,
    random_chunker,
    scores_on,
    through,
    trained,
    with_random_weights,
)
from .helpers import FREQUENT, tagger_model


def weights_in_bytes(nlp, name=TAGGER):
    return nlp.get_pipe(name).model.to_bytes()


NGRAMS = ["upstream[0]", "upstream[-1]+upstream[0]"]
NGRAMS += ["upstream[-1]+upstream[0]+upstream[1]", "upstream[1]+lower[0]"]
TWO_TAGS = [("ab cd ef", "N V N", [(0, 2, "NP")]), ("cd ef", "V N", [(0, 1, "VP")])]
TWO_TAGS += [("ef", "D", [])]


def listening_at_random(seed=0, tagger=None, threshold=0.0, **settings):
    settings |= {"templates": NGRAMS, "threshold": threshold}
    model = listening_model(words=["bias", "lower[0]"], **settings)
    tagger = {"average": False, **(tagger or {})}
    examples = partial(examples_of, corpus=TWO_TAGS)
    return random_chunker(model, seed, examples=examples, tagger=tagger)


def emissions(nlp, doc):
    return chunker_of(nlp).model.predict([doc]).scores.astype(float)


@pytest.mark.long
@pytest.mark.parametrize("text", ["ab cd ef", "ab", "cd cd ef ab"])
def test_scores_are_expectations_over_the_tags(text):
    """Sum over all tag sequences of their probability, times the scores beside these tags."""
    nlp = listening_at_random()
    tagger, doc = tagger_of(nlp), doc_of(nlp, text)
    potentials = tagger.model.predict([doc])
    table = joint_table(Case(potentials.scores, potentials.trans, potentials.lengths))
    expected = 0
    for labels, score in zip(table.labellings, table.scores, strict=True):
        beside = tagger(doc_of(nlp, text, tags=" ".join(tagger.labels[y] for y in labels)))
        expected += np.exp(score - table.log_z) * emissions(nlp, beside)
    assert emissions(nlp, tagger(doc)) == pytest.approx(expected, abs=1e-5)
    found = Enumerated(nlp, tagger(doc_of(nlp, text)))
    chunker_of(nlp)(doc)
    assert on(doc) == found.best()[0][0]
    assert scores_on(doc) == pytest.approx([found.probability(c) for c in on(doc)], abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("threshold", [0.0, 0.2])
@pytest.mark.parametrize("patterns", [None, FREQUENT])
def test_an_update_hears_what_a_prediction_reads(threshold, patterns):
    tagger = {"model": tagger_model(patterns=patterns)}
    nlp = listening_at_random(threshold=threshold, tagger=tagger)
    examples = examples_of(nlp, [*TWO_TAGS, ("", "", [])])
    docs = [eg.predicted for eg in examples]
    tagger_of(nlp).update(examples)
    heard, _ = chunker_of(nlp).model.begin_update(docs)
    read = chunker_of(nlp).model.predict(list(tagger_of(nlp).pipe([doc.copy() for doc in docs])))
    assert heard.scores == pytest.approx(read.scores, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_frozen_tagger(kind):
    nlp = trained(kind, 15)
    before = weights_in_bytes(nlp), weights_in_bytes(nlp, NAME)
    with pytest.raises(ValueError, match=r"\[HS100\].*annotating_components"):
        nlp.update(examples_of(nlp), exclude=[TAGGER])
    for _ in range(2):
        losses = nlp.update(examples_of(nlp), exclude=[TAGGER], annotates=[TAGGER], losses={})
    assert losses.keys() == {NAME} and weights_in_bytes(nlp) == before[0]
    assert weights_in_bytes(nlp, NAME) != before[1] and through(nlp)[0] == gold()


@pytest.mark.long
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("copies", [1, 250])
def test_features_from_gold_tags(least, copies):
    """One for each string of tags that all examples have together, at least so many times; also if there are more
    examples than are looked at together."""
    model = listening_model(words=["bias"], templates=["upstream[0]", "upstream[-1]+upstream[0]"])
    second = {**model["emissions"]["second"], "min_count": least * copies}
    nlp = blank(tagger_model({**model["emissions"], "second": second}), tagger={})
    nlp.initialize(lambda: examples_of(nlp, CORPUS * copies))
    seen = Counter()
    for _, tags, _ in CORPUS:
        tags = ["start", *tags.split()]
        seen.update(tags[1:])
        seen.update(zip(tags, tags[1:], strict=False))
    shim = weights_of(chunker_of(nlp).model.layers[0].layers[1])
    assert len(shim.extra["keys"]) == sum(count >= least for count in seen.values())


def test_a_batch_is_heard_once():
    nlp = trained("joint", 2)
    examples = examples_of(nlp)
    tagger_of(nlp).update(examples)
    assert chunker_of(nlp).update(examples)[NAME] > 0
    with pytest.raises(ValueError, match="HS100"):
        chunker_of(nlp).update(examples)
    tagger_of(nlp).update(examples)
    with pytest.raises(ValueError, match="HS100"):
        chunker_of(nlp).update(examples_of(nlp))  # others


def test_tag_dictionary_of_the_tagger():
    """Prediction: a word with one possible tag has it for certain, and that is what is heard."""
    nlp = blank("joint", tagger={"average": False}, average=False)
    nlp.config["initialize"]["components"][TAGGER] = {"tag_dictionary": {"dogs": ["V"]}}
    nlp.initialize(lambda: examples_of(nlp))
    with_random_weights(nlp)
    free, given = (tagger_of(nlp)(doc_of(nlp, "dogs run", tags=tags)) for tags in (None, "V N"))
    run = tagger_of(nlp)(doc_of(nlp, "dogs run"))[1].tag_
    same = tagger_of(nlp)(doc_of(nlp, "dogs run", tags=f"V {run}"))
    assert free[0].tag_ == "V" and given[1].tag_ == "N" and same[1].tag_ == run
    (listener,) = tagger_of(nlp).listeners
    probable = listener.predict([free]).probable
    assert probable.probabilities[probable.tokens == 0] == pytest.approx([1.0])


def test_tag_dictionary_is_heard_in_training():
    """The same probabilities as in use: those of labels that the dictionary permits."""
    nlp = blank(listening_model(threshold=0.0), tagger={"average": False}, average=False)
    known = {"dogs": ["V"], "run": ["V", "N"]}
    nlp.config["initialize"]["components"][TAGGER] = {"tag_dictionary": known}
    nlp.initialize(lambda: examples_of(nlp))
    with_random_weights(nlp)
    tagger_of(nlp).update(examples_of(nlp)[1:2])  # "dogs run .": weights stay
    (layer,) = tagger_of(nlp).listeners
    trained_on, _ = layer.received.listen(0.0, 1.0)
    in_use = layer.predict([tagger_of(nlp)(doc_of(nlp, TEXTS[1]))])
    assert trained_on.probable.labels.tolist() == in_use.probable.labels.tolist()
    expected = pytest.approx(in_use.probable.probabilities, abs=1e-6)
    assert trained_on.probable.probabilities == expected
    assert trained_on.probable.pairs == pytest.approx(in_use.probable.pairs, abs=1e-6)


def test_protocol():
    nlp = blank("joint")
    tagger = tagger_of(nlp)
    assert isinstance(tagger, ty.ListenedToComponent) and tagger.listening_components == [NAME]
    (layer,) = tagger.listeners
    assert isinstance(layer, MarginalListener) and tagger.listener_map == {NAME: [layer]}
    tagger.add_listener(layer, NAME)
    assert tagger.listeners == [layer], "known already"
    other = MarginalListener(TAGGER, 1.0, 0.0)
    assert not tagger.remove_listener(other, NAME) and not tagger.remove_listener(layer, "other")
    tagger.add_listener(other, "other")
    assert tagger.listening_components == [NAME, "other"] and tagger.listeners == [layer, other]
    assert tagger.remove_listener(layer, NAME) and tagger.listening_components == ["other"]
    tagger.find_listeners(chunker_of(nlp))
    assert tagger.listener_map == {"other": [other], NAME: [layer]}
    stranger = blank(listening_model(upstream="another"), name=NAME, tagger={})
    assert tagger_of(stranger).listeners == []
    with pytest.raises(ValueError, match=r"\[HS102\].*another"):
        stranger.initialize(lambda: examples_of(stranger))
