"""Labels made of parts: scores and gradients from the definition, decoding against enumeration of whole labels."""

import itertools

import numpy as np
import pytest

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.layers import sums
from spacy_hoseq.layers.label_parts import morphological_parts, packed_parts
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.layers.sums import LabelParts
from spacy_hoseq.layers.weights import weights_of

from .contract import LayerContract
from .helpers import define, doc_of, in_threads, index_features, randomize, raw, zeros
from .taggers import TEMPLATES

LABELS = ["Case=Gen|Number=Sing|POS=NOUN", "Case=Gen|POS=ADJ"]
LABELS += ["Case=Nom|Number=Sing|POS=NOUN", "POS=ADJ", "_"]
GOLD = [np.array(y, np.int32) for y in ([0, 1, 0, 2], [2, 3], [4, 0, 1, 3, -1])]
L = len(LABELS)


def docs_of():
    return [doc_of("x y z x"), doc_of("y z"), doc_of("x y x y z")]


def made(label_pairs=False, seed=0):
    settings = {"label_pairs": label_pairs, "parts": morphological_parts()}
    model = HigherOrderTagger(SparseLinear(TEMPLATES), **settings)
    docs = docs_of()
    index_features(model.layers[0].layers[0], [docs])
    define(model, LABELS, GOLD)
    model.initialize(X=docs, Y=zeros(docs, L))
    randomize(model, seed)
    pairs = raw(model.layers[0], "pairs")
    pairs *= have_pairs(model)
    return model


def names_in(model):
    return weights_of(model.layers[0]).extra["names"]


def have_pairs(model):
    """Which parts are of one kind, by their names: what stands before "=", the part of speech left out."""
    names = [name.split("=")[0] for name in names_in(model)]
    kinds = ["whole" if name[:6] == "whole " else name.split(" ")[-1] for name in names]
    kinds = [kind + "+" * (" " in name) for kind, name in zip(kinds, names_in(model), strict=True)]
    return np.array([[a == b for b in kinds] for a in kinds])


def parts_of(label, seen=2):
    """From the definition."""
    features = label.split("|") if label != "_" else []
    pos = [feature[4:] for feature in features if feature.startswith("POS=")]
    others = [feature for feature in features if not feature.startswith("POS=")]
    joint = [f"{p} {feature}" for p in pos for feature in others]
    return {*features, *joint, *([f"whole {label}"] if seen >= 2 else [])}


def seen(label):
    return sum(int((ids == LABELS.index(label)).sum()) for ids in GOLD)


def test_parts_of_labels():
    model = made()
    expected = [parts_of(label, seen(label)) for label in LABELS]
    names, extra = names_in(model), weights_of(model.layers[0]).extra
    first = extra["first"]
    found = [{names[p] for p in extra["parts"][a:b]} for a, b in itertools.pairwise(first)]
    assert found == expected
    assert sorted(names) == sorted(set().union(*expected)) and "whole _" not in names


def test_parts_of_tags():
    parts = morphological_parts()
    names = [[part.name for part in each] for each in parts(["NNFS1", "VB-P3"], np.array([1, 1]))]
    assert names[0] == ["TAG=NNFS1", "TAG0=N", "TAG1=N", "TAG2=F", "TAG3=S", "TAG4=1"]
    names = [[part.name for part in each] for each in parts(["NN", "VBZ"], np.array([1, 1]))]
    assert names == [["TAG=NN"], ["TAG=VBZ"]]
    (of_label,) = parts(["POS=NOUN|TAG=A1%7Ccas%3DA"], np.array([1]))
    assert [part.name for part in of_label] == ["POS=NOUN", "TAG=A1|cas=A", "TAG0=A1", "TAG1=cas=A"]
    (of_label,) = parts(LABELS[1:2], np.array([2]))
    names = ["Case=Gen", "ADJ Case=Gen", "POS=ADJ", "whole Case=Gen|POS=ADJ"]
    assert [part.name for part in of_label] == names


def test_parts_of_no_kind_have_no_pairs():
    """Their gradient is 0 whatever labels are beside one another."""
    of_labels = [
        [part if part.kind == "POS" else part._replace(kind="") for part in of_label]
        for of_label in morphological_parts()(LABELS, np.full(L, 2))
    ]
    parts = LabelParts(packed_parts(of_labels))
    gradient = parts.pairs_back(np.ones((L, L)))
    earlier, later = np.divmod(gradient.cells, len(parts.names))
    kind_of = {part.name: part.kind for of_label in of_labels for part in of_label}
    every = itertools.product(kind_of, repeat=2)
    assert kind_of["Case=Gen"] == "" and kind_of["POS=NOUN"] != ""
    assert {(parts.names[q], parts.names[p]) for q, p in zip(earlier, later, strict=True)} == {
        (q, p) for q, p in every if kind_of[q] == kind_of[p] != ""
    }


def plain_scores(model, docs):
    """Emissions (N, L) and transitions (L, L), from the definition."""
    names = names_in(model)
    inner = np.concatenate(model.layers[0].layers[0].predict(docs)).astype(np.float64)
    ids = [[names.index(part) for part in parts_of(label, seen(label))] for label in LABELS]
    emissions = np.stack([inner[:, of_label].sum(axis=1) for of_label in ids], axis=1)
    trans, pairs = raw(model, "trans").copy(), raw(model.layers[0], "pairs")
    for a, b in itertools.product(range(L), repeat=2):
        trans[a, b] += sum(pairs[q, p] for q in ids[a] for p in ids[b])
    return emissions, trans


@pytest.mark.parametrize("label_pairs", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_best_labels_are_the_enumerated_best_whole_labels(seed, label_pairs):
    model = made(label_pairs, seed)
    for doc in (*docs_of(), doc_of("new words x")):
        emissions, trans = plain_scores(model, [doc])
        potentials = model.predict([doc])
        assert potentials.scores == pytest.approx(emissions, abs=1e-5)
        assert potentials.trans == pytest.approx(trans)
        table = {}
        for y in itertools.product(range(L), repeat=len(doc)):
            table[y] = sum(emissions[t, k] for t, k in enumerate(y))
            table[y] += sum(trans[a, b] for a, b in itertools.pairwise(y))
        paths = decode_exact(potentials)
        assert paths.scores[0] == pytest.approx(max(table.values()), abs=1e-4)
        assert table[tuple(paths.labels.tolist())] == pytest.approx(max(table.values()), abs=1e-4)


def test_scores_do_not_depend_on_the_batch():
    model, docs = made(), docs_of()
    together = model.predict(docs)
    alone = [model.predict([doc]).scores for doc in docs]
    assert np.array_equal(together.scores, np.concatenate(alone))
    # with all that decoders have made of them
    assert model.predict(docs).weights is together.weights
    for answers, scores in zip(in_threads(model.layers[0], docs), alone, strict=True):
        assert all(np.array_equal(answer, scores) for answer in answers)


@pytest.mark.parametrize("n_tokens", [1, 2, 1000])
def test_blocks_of_tokens(monkeypatch, n_tokens):
    monkeypatch.setattr(sums, "PART_BLOCK_TOKENS", n_tokens)
    rng = np.random.default_rng(0)
    rows = morphological_parts()(LABELS, np.full(L, 2))
    parts = LabelParts(packed_parts([*rows, []]))  # a label without parts
    of_parts = rng.normal(size=(7, len(parts.names)))
    names = [[part.name for part in of_label] for of_label in [*rows, []]]
    columns = [of_parts[:, [*map(parts.names.index, own)]].sum(axis=1) for own in names]
    expected = np.stack(columns, axis=1)
    assert parts.scores(of_parts) == pytest.approx(expected)
    d_scores = rng.normal(size=(7, L + 1)) * (rng.random((7, 1)) < 0.5)
    direction = rng.normal(size=of_parts.shape)
    expected = (d_scores * parts.scores(direction)).sum()
    assert (parts.back(d_scores) * direction).sum() == pytest.approx(expected)


class TestLabelParts(LayerContract):
    def docs(self):
        return [*docs_of(), doc_of("")]

    def make(self, seed=0):
        return made(seed=seed).layers[0]
