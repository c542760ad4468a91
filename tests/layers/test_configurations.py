"""Rules with label sets and gaps, and pairs of words, in the structured head: scores computed from the texts of the
rules, gradients by finite differences, storage and limits."""

import itertools

import numpy as np
import pytest

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.objectives import OBJECTIVES
from spacy_hoseq.patterns.counted import FrequentTransitions
from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.same_word import SameWordPairs
from spacy_hoseq.patterns.sources import PatternSources

from ..decoders.answers.posteriors import posterior_of
from ..patterns.plain import all_matches, longest_matches
from .helpers import (
    VOCAB,
    Doc,
    applied_gradients,
    define,
    doc_of,
    index_features,
    randomize,
    raw,
    zeros,
)
from .taggers import GOLD, LABELS, L

TEMPLATES = ["bias", "lower[0]", "lower[-1]"]
NOT_X = {"LOWER": {"NOT_IN": ["x"]}}
# label descriptions, tied, Matcher tokens, and the same as groups of a regular expression over one-letter words
RULES = [
    (
        ["A", "*", ["A", "C"]],
        True,
        [{"LOWER": "x"}, {**NOT_X, "OP": "*"}, {"LOWER": "z"}],
        ["x", "[^x]*", "z"],
    ),
    (
        ["?l", "B", "?l"],
        False,
        [{"LOWER": "y"}, {"OP": "?", "LOWER": "z"}, {"LOWER": "x"}],
        ["y", "z?", "x"],
    ),
    ([["A", "B"], ["B", "C"]], True, [{"LOWER": "y"}, {}], ["y", "."]),
    (["?k", "*", "?k"], True, [{}, {"LOWER": "z"}, {}], [".", "z", "."]),
]
SETS = [["A"], ["B", "C"]]
DISTANCE = 3


def rules_of():
    names = ("labels", "tied", "tokens")
    return RulePatterns([{"name": "r", **dict(zip(names, rule, strict=False))} for rule in RULES])


SOURCES = {
    "rules": rules_of,
    "pairs": lambda: SameWordPairs(SETS, {"LOWER": {"IN": ["x", "y"]}}, DISTANCE),
    "all": lambda: PatternSources(
        FrequentTransitions(2, 1), SOURCES["rules"](), SOURCES["pairs"]()
    ),
}


def tagger(source, seed=0, **settings):
    model = HigherOrderTagger(SparseLinear(TEMPLATES), SOURCES[source](), **settings)
    docs = docs_of()
    index_features(model.layers[0], [docs])
    define(model, LABELS, GOLD)
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def docs_of():
    longest = doc_of("x z x y x z", sent_starts=[1, 0, 0, 0, 1, 0])
    return [doc_of("x y z x"), doc_of("y z"), Doc(VOCAB), longest]


def rule_features(first_weight):
    """(weight, groups, whether only the longest match counts, labels of each slot), written out by hand."""
    features, weight = [], first_weight
    for descriptions, tied, tokens, groups in RULES:
        variables = [d for d in dict.fromkeys(map(str, descriptions)) if d[0] == "?"]
        for n, values in enumerate(itertools.product(LABELS, repeat=len(variables))):
            value_of = dict(zip(variables, values, strict=True))
            known = [value_of.get(d, d) if isinstance(d, str) else d for d in descriptions]
            slots = [LABELS if d == "*" else [d] if isinstance(d, str) else d for d in known]
            only_longest = any("OP" in token for token in tokens)
            features.append((weight + (0 if tied else n), groups, only_longest, slots))
        weight += 1 if tied else L ** len(variables)
    return features


def earned(source, weights, text, labels):
    """Weights of all higher-order features of one sentence. labels: a name for each letter of the text."""
    total, first = 0.0, 0
    if source == "all":
        patterns = FrequentTransitions(2, 1).define(LABELS, GOLD).patterns
        windows = ["".join(labels[i : i + 3]) for i in range(len(labels) - 2)]
        names = ["".join(LABELS[y] for y in pattern) for pattern in patterns]
        total += sum(weights[i] * windows.count(name) for i, name in enumerate(names))
        first = len(patterns)
    if source in ("all", "rules"):
        features = rule_features(first)
        for weight, groups, only_longest, sets in features:
            find = longest_matches if only_longest else all_matches
            for start, end, slots in find(groups, text):
                pairs = zip(labels[start:end], slots, strict=True)
                inside = [label in sets[slot] for label, slot in pairs]
                total += weights[weight] * all(inside)
        first = features[-1][0] + 1
    if source in ("all", "pairs"):
        for a, b in itertools.combinations(range(len(text)), 2):
            is_near = text[a] in "xy" and b - a <= DISTANCE
            if is_near and text[a] == text[b] and text[a] not in text[a + 1 : b]:
                both = [labels[a] in labelset and labels[b] in labelset for labelset in SETS]
                total += sum(weights[first + i] * is_in for i, is_in in enumerate(both))
    return total


def chain_score(emissions, trans, y):
    total = sum(float(emissions[t, label]) for t, label in enumerate(y))
    return total + sum(trans[a, b] for a, b in itertools.pairwise(y))


def plain_table(model, source, text):
    """Score of every labelling of a one-letter-a-word sentence."""
    emissions = model.layers[0].predict([doc_of(" ".join(text))])[0]
    trans, weights = raw(model, "trans"), raw(model, "patterns")
    table = {}
    for y in itertools.product(range(L), repeat=len(text)):
        names = [LABELS[label] for label in y]
        table[y] = chain_score(emissions, trans, y) + earned(source, weights, text, names)
    return table


def signed(model, seed):
    """Weights of both signs, exact in half precision."""
    values = np.random.default_rng(seed).normal(size=raw(model, "patterns").shape)
    raw(model, "patterns")[:] = values.astype(np.float16)
    return model


TEXTS = ["xyzx", "xzyz", "yzxyx", "yxz", "x", "xxyyz", "zzz"]


@pytest.mark.long
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("source", SOURCES)
def test_potentials_are_those_of_the_rules_as_written(source, nonnegative):
    model = tagger(source, 1, nonnegative=nonnegative)
    if not nonnegative:
        signed(model, 2)
    n_spans = 0
    for text in TEXTS:
        potentials = model.predict([doc_of(" ".join(text))])
        table = plain_table(model, source, text)
        paths, found = decode_exact(potentials), posterior_of(potentials)
        best = max(table.values())
        assert paths.scores[0] == pytest.approx(best, abs=1e-5)
        assert table[tuple(paths.labels.tolist())] == pytest.approx(best, abs=1e-5)
        scores, every = np.array(list(table.values())), np.array(list(table))
        log_z = best + np.log(np.exp(scores - best).sum())
        assert found.log_z[0] == pytest.approx(log_z, abs=1e-5)
        p = np.exp(scores - log_z)
        columns = every.T
        marginals = np.array([[p[here == y].sum() for y in range(L)] for here in columns])
        assert found.nodes == pytest.approx(marginals, abs=1e-5)
        n_spans += 0 if potentials.configurations is None else len(potentials.configurations.first)
    assert n_spans > 5


def loss_of(model, objective, gold):
    potentials, backprop = model.begin_update(docs_of())
    loss = OBJECTIVES[objective](potentials, gold)
    return loss.value, lambda: backprop(loss.gradient)


@pytest.mark.parametrize("source", SOURCES)
def test_weights_of_any_sign(source):
    """Where patterns are rarer in gold than in guesses, their weights must fall below zero, unless they are bounded."""
    for nonnegative in (False, True):
        model = tagger(source, 1, nonnegative=nonnegative)
        raw(model, "patterns")[:] = 2**-10
        gold = np.eye(L, dtype=bool)[[0, 1, 2, 1, 1, 0, 0, 1, 1, 0, 0, 1]]
        for _ in range(3):
            loss_of(model, "log_likelihood", gold)[1]()
            applied_gradients(model)
        weights = raw(model, "patterns")
        assert weights_of(model).parameters["patterns"].nonnegative == nonnegative
        assert weights.min() == 0 if nonnegative else weights.min() < -1e-4
        table = plain_table(model, source, "xyzx")
        potentials, _ = model.begin_update([doc_of("x y z x")])
        assert decode_exact(potentials).scores[0] == pytest.approx(max(table.values()), abs=1e-3)


def test_weights_of_frequent_transitions_of_any_sign():
    """Without configurations: decoded by longest matches."""
    model = HigherOrderTagger(SparseLinear(TEMPLATES), FrequentTransitions(3, 1), nonnegative=False)
    index_features(model.layers[0], [docs_of()])
    define(model, LABELS, GOLD)
    signed(randomize(model.initialize(X=docs_of(), Y=zeros(docs_of(), L))), 7)
    patterns = FrequentTransitions(3, 1).define(LABELS, GOLD).patterns
    trans, weights = raw(model, "trans"), raw(model, "patterns")
    emissions = model.layers[0].predict([doc_of("x y z x y")])[0]
    scores = []
    for y in itertools.product(range(L), repeat=5):
        total = chain_score(emissions, trans, y)
        ends = [y[i : i + len(p)] == p for p in patterns for i in range(5)]
        scores.append(total + float(np.array(ends).reshape(len(patterns), 5).sum(axis=1) @ weights))
    score = decode_exact(model.predict([doc_of("x y z x y")])).scores[0]
    assert score == pytest.approx(max(scores), abs=1e-5)
    assert weights.min() < -0.5


def test_nothing_fires():
    potentials = tagger("all").predict([doc_of("a b c d")])
    assert potentials.configurations is None and potentials.weights.has_patterns
    assert tagger("pairs").predict([doc_of("a b")])[3:6] == (None, None, None)
    assert tagger("rules").predict([doc_of("x")]).configurations is None
    _, backprop = tagger("all").begin_update([])
    assert decode_exact(tagger("all").predict([Doc(VOCAB)])).labels.tolist() == []


def test_rules_with_more_tokens_than_those_of_training():
    """They cannot say what no weight was learnt for."""
    tokens = [*RULES[0][2][:2], {"LOWER": "y"}, {"LOWER": "z"}]
    longer = [(["A", "*", "*", ["A", "C"]], True, tokens), *RULES[1:]]
    names = ("labels", "tied", "tokens")
    rules = [dict(zip(names, rule, strict=False)) for rule in longer]
    source = RulePatterns([{"name": "r", **rule} for rule in rules])
    fresh, trained = HigherOrderTagger(SparseLinear(TEMPLATES), source), tagger("rules")
    fresh.from_bytes(trained.to_bytes())
    with pytest.raises(ValueError, match=r"\[HS051\].* patterns of other rules"):
        fresh.predict(docs_of())


def test_weights_of_other_rules():
    """The config's source must have as many rules as that of the training; none is as bad as another number."""
    model = tagger("pairs")
    assert model.attrs["source"].n_rules > 0
    for other in (SOURCES["rules"](), None):
        fresh = HigherOrderTagger(SparseLinear(TEMPLATES), other).from_bytes(model.to_bytes())
        with pytest.raises(ValueError, match=r"\[HS051\].*patterns of other rules"):
            scorer_of(fresh).prepare()
