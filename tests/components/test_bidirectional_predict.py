"""Prediction of `hoseq_bidirectional_tagger`: constraints, sentences, batches, decisions."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders.bidirectional.decompositions import decode_decompositions
from spacy_hoseq.decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from spacy_hoseq.features.sequences import sequence_lengths

from .bidirectional_helpers import (
    NAME,
    STRATEGIES,
    local,
    of,
    ready,
    tagger_of,
    trained,
)
from .helpers import random_docs

CHAIN = [("a x", "A B"), ("b x", "B A"), ("a x x x", "A B A B"), ("b x x", "B A B"), ("x x b", "B A B"),
         ("x x x a", "B A B A")]  # fmt: skip


def with_gaps(nlp, text, tags):
    return Doc(nlp.vocab, words=text.split(), tags=[tag.replace("_", "") for tag in tags.split()])


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_preset_tags_stay_and_constrain_their_neighbours(strategy):
    nlp = trained(30, of(CHAIN), strategy=strategy, model=local(["lower[0]", "label[-1]", "label[1]"], order=1))
    hears = {"left_to_right": ["B _", "A _"], "right_to_left": ["_ A", "_ B"], "easiest_last": []}
    hears["full_bidirectional"] = ["A _", "_ A"]  # the end of the sentence can tell more than a neighbour
    for given, expected in [("B _", "B A"), ("A _", "A B"), ("_ A", "B A"), ("_ B", "A B")]:
        found = [t.tag_ for t in tagger_of(nlp)(with_gaps(nlp, "x x", given))]
        assert given in (f"{found[0]} _", f"_ {found[1]}")
        if given in hears.get(strategy, [given]):
            assert found == expected.split()




@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_are_those_of_the_decoder(strategy, order):
    nlp = ready(order, strategy)
    docs = random_docs(nlp)
    before = [doc.to_bytes() for doc in docs]
    scores, lengths = tagger_of(nlp).model.predict(docs), sequence_lengths(docs)
    if strategy.startswith("easiest"):
        expected = decode_easiest_first(scores, lengths, order, hardest=strategy == "easiest_last").labels
    else:
        expected = decode_decompositions(scores, lengths, order, strategy, prune=0.01).labels
    found = tagger_of(nlp).predict(docs)
    assert np.concatenate(found.label_ids).tolist() == expected.tolist() and set(expected.tolist()) == set(range(6))
    assert [len(labels) for labels in found.label_ids] == [len(doc) for doc in docs]
    assert [doc.to_bytes() for doc in docs] == before, "docs are not touched"


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", ["easiest_first", "easiest_last"])
def test_decisions(strategy, order):
    nlp = trained(strategy=strategy, save_decisions=True, model=local(order=order))
    docs = random_docs(nlp)
    lengths = sequence_lengths(docs)
    hardest = strategy == "easiest_last"
    path = decode_easiest_first(tagger_of(nlp).model.predict(docs), lengths, order, hardest=hardest)
    expected = decision_order(path, hardest=hardest)
    found = [doc._.hoseq_decisions[NAME] for doc in tagger_of(nlp).pipe(docs, batch_size=7)]
    order_, probabilities = (np.concatenate([each[key] for each in found]) for key in ("order", "probabilities"))
    assert order_.tolist() == expected.tolist()
    assert probabilities == pytest.approx(np.exp(path.log_probabilities), rel=1e-5)
    assert probabilities.dtype == np.float32 and 0 < probabilities.min() <= probabilities.max() <= 1
    for sentence in np.split(order_, np.cumsum(lengths)[:-1]):
        assert sorted(sentence.tolist()) == list(range(1, len(sentence) + 1))
    assert [len(each["order"]) for each in found] == [len(doc) for doc in docs]
    assert order_.tolist() != [i + 1 for length in lengths for i in range(length)]
