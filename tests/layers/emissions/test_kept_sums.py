"""Kept sums of templates that see few values: those of all templates, whatever was seen before."""

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.layers.emissions.kept_sums import KeptSums, groups_of
from spacy_hoseq.layers.emissions.sparse_linear import SparseLinear
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.tuning import Tuning
from spacy_hoseq.layers.weights.shim import add_rows, weights_of
from spacy_hoseq.learning.cell_table import CellTable
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.learning.used_weights import UsedCells

from ..helpers import doc_of, index_features, zeros

OF_WORD = ["tag[0]+lower[0]", "tag[0]", "tag[0]+suffix2[0]"]
OF_TAGS = ["tag[-1]+tag[0]", "tag[-1]+tag[0]+tag[1]", "tag[1]"]
OTHERS = [
    "tag[0]+lower[1]", "lower[-1]+lower[0]+tag[0]", "tag[-2]+tag[-1]+tag[0]+tag[1]", "tag[2]", "lower[0]+lower[1]",
]
TEMPLATES = ["bias", "lower[0]", *OF_WORD, *OF_TAGS, *OTHERS]
L = 40


def texts(seed=0, n=40):
    rng = np.random.default_rng(seed)
    docs = [doc_of(" ".join(rng.choice("the cat Dog a b 12".split(), rng.integers(1, 9)))) for _ in range(n)]
    for doc in docs:
        for token, tag in zip(doc, rng.choice(["N", "V", "D", ""], len(doc)), strict=True):
            token.tag_ = str(tag)
    return docs


def layer(docs, seed=1):
    model = SparseLinear(TEMPLATES)
    index_features(model, [docs])
    model.initialize(X=docs, Y=zeros(docs, L))
    return with_cells(model, seed)


def with_cells(model, seed):
    """Random weights, of which some are zero."""
    shim = weights_of(model)
    rng = np.random.default_rng(seed)
    shape = shim.parameters["table"].shape
    values = rng.normal(size=shape).astype(np.float16).astype(np.float32) * (rng.random(shape) < 0.2)
    values[-1] = 0  # the row of "no feature"
    cells = np.flatnonzero(values)
    shim.set(Parameter("table", UsedCells(shape, cells, values.reshape(-1)[cells])))
    return model


def by_all_templates(model, docs):
    scorer = scorer_of(model)
    index, table = scorer._used()
    assert isinstance(table, CellTable)
    return add_rows(table, index.lookup(scorer.features.extractor.keys(docs)))


def test_groups_are_of_one_word_or_few_values():
    extractor = FeatureExtractor(parse_templates(TEMPLATES))
    names = [[str(extractor.templates[k]) for k in group.templates] for group in groups_of(extractor)]
    assert sorted(map(sorted, names)) == sorted(map(sorted, (OF_WORD, OF_TAGS)))
    kept = KeptSums(extractor)
    assert {str(extractor.templates[k]) for k in kept.others} == set(OTHERS)


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_all_templates(seed):
    docs = texts(seed)
    model = layer(docs, seed)
    for part in (docs[:1], docs[30:], docs, docs[::-1], texts(seed + 10)):
        scores = np.concatenate(model.predict(part))
        assert np.allclose(scores, by_all_templates(model, part), rtol=0, atol=1e-5)
    again = np.concatenate(model.predict(docs[:5]))
    scorer_of(model).forget_words()
    assert np.array_equal(again, np.concatenate(model.predict(docs[:5]))), "kept or made anew"


def test_other_weights_have_other_sums():
    docs = texts()
    model = layer(docs)
    model.predict(docs)
    with_cells(model, 7)
    assert np.allclose(np.concatenate(model.predict(docs)), by_all_templates(model, docs), rtol=0, atol=1e-5)


def test_more_combinations_than_there_is_room_for():
    docs = texts()
    model = layer(docs)
    expected = np.concatenate(model.predict(docs))
    features = model.attrs["features"]
    features.kept_sums = KeptSums(features.extractor, Tuning(score_bytes=4 * L))
    for _ in range(3):
        assert np.array_equal(np.concatenate(model.predict(docs)), expected)


def test_tags_that_change_are_read_again():
    docs = texts()
    model = layer(docs)
    model.predict(docs)
    changed = [Doc(doc.vocab, words=[t.text for t in doc], tags=["V"] * len(doc)) for doc in docs]
    assert np.allclose(np.concatenate(model.predict(changed)), by_all_templates(model, changed), rtol=0, atol=1e-5)
