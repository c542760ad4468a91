"""Parts of a corpus, and trainings without one of them."""

import numpy as np
import pytest
import spacy
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_hoseq.inspection import Reading, folds
from spacy_hoseq.inspection.folds import (
    calibrate_margins,
    divided,
    trained_without,
    with_labels,
    with_path,
)
from spacy_hoseq.recipes import recipe

from ..chunk_corpus import QUICK, doc_of, sentences
from ..components import helpers
from ..repository import config_of, tagged_docs


def test_the_same_texts_are_in_the_same_part():
    docs = tagged_docs([f"w{i % 6}/A x/B" for i in range(24)], Vocab())
    parts = divided(docs, 3, seed=1)
    assert sorted(np.bincount(parts)) == [8, 8, 8]
    assert all(parts[i] == parts[i % 6] for i in range(24))
    assert not np.array_equal(parts, divided(docs, 3, seed=2))
    for n in (1, 7):  # of six different texts
        with pytest.raises(ValueError, match=f"HS150.*{n}"):
            divided(docs, n, seed=0)


@pytest.mark.parametrize(
    "reader", [{"@readers": "mine.v1"}, {"@readers": "spacy.Corpus.v1", "path": "a"}]
)
def test_a_corpus_that_would_read_something_else_is_refused(reader, tmp_path):
    config = config_of("crf")
    config["corpora"]["train"] = reader
    with pytest.raises(ValueError, match=r"HS159.*corpora\.train"):
        with_path(config, "train", tmp_path)


def test_whatever_reads_the_texts_reads_those_of_the_fold(tmp_path):
    config = Config().from_str(recipe("tagger"), interpolate=False)
    lookups = {"@misc": "spacy_hoseq.known_tags.v1", "path": "${paths.train}"}
    config["initialize"]["lookups"] = lookups
    changed = with_path(config, "train", tmp_path / "t.spacy")
    changed = with_path(changed, "dev", tmp_path / "d.spacy").interpolate()
    assert changed["initialize"]["lookups"]["path"] == changed["corpora"]["train"]["path"]
    assert changed["corpora"]["train"]["path"] == str(tmp_path / "t.spacy")
    assert changed["corpora"]["dev"]["path"] == str(tmp_path / "d.spacy")
    assert config["paths"]["train"] is None


def test_components_know_labels_that_stand_in_one_place_only():
    docs = tagged_docs(["a/A b/B", "c/ODD"], spacy.blank("xx").vocab)
    config = config_of("crf")
    labels = with_labels(config, docs)["initialize"]["components"]["hoseq_tagger"]["labels"]
    assert labels == ["A", "B", "ODD"]
    config["initialize"]["components"]["hoseq_tagger"] = {"labels": ["A"]}
    expected = {"labels": ["A"]}
    assert with_labels(config, docs)["initialize"]["components"]["hoseq_tagger"] == expected


@pytest.mark.long
def test_every_text_is_judged_once_by_a_model_that_has_not_seen_it():
    vocab = spacy.blank("xx").vocab
    docs = [doc_of(vocab, text) for text in sentences()[:30]]
    docs[4][0].tag_ = "ODD"
    found = list(trained_without(config_of("crf", QUICK), docs, 2))
    assert sorted(number for fold in found for number in fold.docs) == list(range(30))
    for nlp, numbers, examples in found:
        assert [eg.reference.text for eg in examples] == [docs[i].text for i in numbers]
        assert not any(token.tag for eg in examples for token in eg.predicted)
        assert "ODD" in nlp.get_pipe("hoseq_tagger").labels
        assert nlp.evaluate(examples)["tag_acc"] > 0.9, "these sentences are easy"


def test_a_model_is_trained_on_the_other_parts_only(monkeypatch):
    """The texts of each training and those that its model judges are all texts together, and none is in both."""
    trainings = []

    def trained(config, docs, others, *, seed):
        trainings.append({doc.text for doc in docs})
        return spacy.blank("xx"), [doc.text for doc in others]

    monkeypatch.setattr(folds, "trained", trained)
    monkeypatch.setattr(folds, "calibrate_margins", lambda nlp, examples: None)
    docs = tagged_docs([f"w{i}/A x/B" for i in range(12)], spacy.blank("xx").vocab)
    judged = [set(fold.examples) for fold in folds.trained_without(config_of("crf"), docs, 3)]
    assert len(judged) == 3 and all(len(texts) == 4 for texts in judged)
    for seen, held_out in zip(trainings, judged, strict=True):
        assert not seen & held_out and len(seen | held_out) == 12


@pytest.mark.parametrize("objective", ["max_margin", "perceptron", "log_likelihood"])
def test_probabilities_of_margins_are_calibrated(objective):
    """Labels stay; right ones become probable. Those of a likelihood are left alone."""
    nlp = helpers.trained(objective, n_updates=8)
    examples = helpers.examples_of(nlp)
    found = []
    for _ in range(2):
        reading = Reading(nlp.get_pipe("hoseq_tagger"), [eg.predicted for eg in examples])
        found.append((reading.best.tolist(), reading.posterior.nodes.max(axis=1).mean()))
        calibrate_margins(nlp, examples)
    (labels, before), (labels_after, after) = found
    assert labels == labels_after
    assert after == before if objective == "log_likelihood" else after > max(0.9, before)
    calibrate_margins(nlp, examples[:1])  # too few to learn from
