"""With a decoder that does not take the best labelling, tools speak of the labels that the pipeline sets."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders import best_labels
from spacy_hoseq.inspection import certainties, explain, how_sure
from spacy_hoseq.inspection.accounts import accounts
from spacy_hoseq.inspection.features import features_at
from spacy_hoseq.inspection.reading import Reading

from ..components.decoding import DECODERS
from ..components.helpers import tagger_of, trained
from .texts import table_of

WORDS = "the old cat runs home dogs sees a . cold".split()


@pytest.fixture(scope="module")
def nlp():
    return trained(decoder=DECODERS["max_marginal"], n_updates=2, objective="log_likelihood")


@pytest.fixture(scope="module")
def doc(nlp):
    """Whose most probable labels are not the best labelling."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        doc = Doc(nlp.vocab, words=[WORDS[i] for i in rng.integers(0, len(WORDS), 5)])
        reading = Reading(tagger_of(nlp), [doc])
        if (reading.best != best_labels(reading.potentials)).any():
            return nlp(doc)
    raise AssertionError("all alike")


def test_certainties_are_those_of_the_labels_that_are_set(nlp, doc):
    table = table_of(tagger_of(nlp), doc)
    (found,) = certainties(tagger_of(nlp), [doc])
    assert found.labels == [token.tag_ for token in doc]
    ids = table.marginals.argmax(axis=1)
    assert ids.tolist() != list(table.best_labels)
    score = table.scores[(table.labellings == ids).all(axis=1)][0]
    for t, label in enumerate(ids):
        here = table.labellings[:, t] == label
        assert found.probabilities[t] == pytest.approx(table.marginals[t, label])
        assert found.margins[t] == pytest.approx(table.scores[here].max() - table.scores[~here].max(), abs=1e-5)
    (sentence,) = found.sentences
    assert sentence.log_probability == pytest.approx(score - table.log_z, abs=1e-5)
    assert sentence.margin == pytest.approx(score - table.best, abs=1e-5) and sentence.margin < 0
    (kept,) = how_sure(nlp, [doc])
    assert [token._.hoseq_certainty["hoseq_tagger"].label for token in kept] == [token.tag_ for token in doc]


def test_explanations_are_of_the_labels_that_are_set(nlp, doc):
    pipe = tagger_of(nlp)
    table = table_of(pipe, doc)
    for t, token in enumerate(doc):
        found = explain(pipe, doc, t)
        order = np.argsort(-table.marginals[t]).tolist()
        assert (found.label, found.against) == (token.tag_, pipe.labels[order[1]]), "and the next most probable one"
        assert found.log_odds >= 0
        best = [table.scores[table.labellings[:, t] == y].max() for y in order[:2]]
        assert found.difference == pytest.approx(best[0] - best[1], abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(found.difference, abs=1e-4)
        assert (found.labels[t], found.others[t]) == (found.label, found.against)
        features = [f for f in features_at(pipe.model.layers[0], Reading(pipe, [doc]), [t]) if f.name in found.fewest]
        left = np.log(table.marginals[t]) - sum((f.weights for f in features), np.zeros(len(pipe.labels)))
        ids = [pipe.labels.index(name) for name in (found.instead or found.label, found.label)]
        assert left[ids[0]] > left[ids[1]] or not found.fewest, "then the other one is more probable"
        for turn in found.turns:
            there = table.labellings[:, turn.token] == pipe.labels.index(turn.label)
            sums = [np.exp(table.scores[there & (table.labellings[:, t] == y)]).sum() for y in range(len(pipe.labels))]
            assert pipe.labels[int(np.argmax(sums))] == turn.instead != found.label
    assert [each.label for each in accounts(pipe, doc)] == [token.tag_ for token in doc]
