"""Features of entities that the reranking literature has, on made-up sentences."""

import sys
from collections import Counter

import numpy as np
import pytest

from ...repository import ROOT, script

literature = script("organisations/literature")
WORDS = ["由", "江北", "大学", "《", "江北", "大学", "》"]


@pytest.mark.parametrize(
    "word, expected",
    [("江北", "H"), ("三十", "N"), ("二中", "NH"), ("２０年", "DH"), ("NBAa", "Aa"), ("《", "《"), ("3.5", "D.D")],
)
def test_shapes_are_kinds_of_characters(word, expected):
    assert literature.shape(word) == expected


def of(span, labelling, frequent=()):
    """The features of one entity of a labelling, with what stands between the name of the feature and its value."""
    elsewhere = literature.same_words(WORDS, [(first, end) for first, end, _ in labelling])
    (instance,) = (one for one in literature.instances_of(labelling, elsewhere) if one[0] == span)
    return list(literature.features(literature.forms_of(WORDS, frozenset(frequent)), instance))


def test_features_of_an_entity():
    found = of((1, 3, "ORG"), [(1, 3, "ORG")], frequent=["大学"])
    assert found[:6] == [
        "ORG WEw 江北 大学", "ORG LWw 大学", "ORG PFw 江北", "ORG SFw 大学", "ORG PFw 江北 大学", "ORG SFw 江北 大学",
    ]  # fmt: skip
    assert {"ORG WEf H H", "ORG WEg H2 大学", "ORG LWf H", "ORG LWg 大学", "ORG PFf H", "ORG SFg 大学"} <= set(found)
    assert [one for one in found if one.startswith("ORG BO")] == [
        "ORG BOww 由 江北", "ORG BOwg 由 H2", "ORG BOgw H1 江北", "ORG BOgg H1 H2"
    ]  # fmt: skip
    assert {"ORG BEww 大学 《", "ORG BEgg 大学 《1", "ORG TOwww 由 江北 大学", "ORG TEgwg H2 大学 《1"} <= set(found)
    assert found[-3:] == ["ORG LEN 2", "ORG QU False False", "ORG SAME False True"]
    assert len(found) == 3 * 2 + 3 * 2 * 2 + 2 * 4 + 2 * 8 + 3


def random_lists(seed):
    """Sentences of few words, each with labellings."""
    rng = np.random.default_rng(seed)
    sentences, lists = [], []
    for _ in range(6):
        sentences.append([WORDS[i] for i in rng.integers(0, 3, size=5)])
        labellings = [[(0, 2, "A")] if i % 2 else [] for i in range(4)]
        for labelling in labellings[1:]:
            first = int(rng.integers(2, 4))
            labelling.append((first, first + int(rng.integers(1, 3)), "AB"[rng.integers(2)]))
        lists.append(labellings)
    return sentences, lists


def written_out(sentence, labellings, frequent):
    forms = literature.forms_of(sentence, frequent)
    elsewhere = literature.same_words(sentence, {(first, end) for spans in labellings for first, end, _ in spans})
    some = [list(literature.instances_of(spans, elsewhere)) for spans in labellings]
    return [Counter(f for one in instances for f in literature.features(forms, one)) for instances in some]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("min_count", [1, 3])
def test_numbered_features_tell_labellings_apart_as_all_do(seed, min_count):
    """Every feature of enough lists, counted in words; entities that all labellings have change no difference."""
    sentences, lists = random_lists(seed)
    made = literature.Literature(sentences, lists, min_count)
    seen = Counter()
    for sentence, labellings in zip(sentences, lists, strict=True):
        counts = written_out(sentence, labellings, made.frequent)
        seen.update({feature for one in counts for feature in one})
    numbers = {literature.get_string_id(feature): feature for feature in seen if seen[feature] >= min_count}
    kept = [numbers[int(key)] for key in made._keys]
    assert set(kept) == set(numbers.values()) and made.n_weights == len(kept)
    for sentence, labellings in zip(sentences, lists, strict=True):
        counts = written_out(sentence, labellings, made.frequent)
        found = made.of(sentence, labellings)
        for one, some in zip(counts, found, strict=True):
            expected = {feature: n for feature, n in one.items() if feature in set(kept)}
            assert Counter(kept[i] for array in some for i in array) == Counter(expected)


def test_features_of_two_kinds_are_numbered_one_after_the_other(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "organisations"))
    before = set(sys.modules)
    module = script("organisations/rerank")
    for name in {"measure", "reranking", "literature"} - before:
        sys.modules.pop(name, None)
    shared = np.array([1])
    a = module.Described(3, (1.0,), [[[np.array([0, 2])]] * 2], [[[np.array([1])]], []], 1.0, 2.0)
    b = module.Described(2, (2.0, 3.0), [[[shared], [np.array([0]), shared]]], [[[]], []], 0.5, 0.25)
    both = module.together(a, b)
    assert (both.n_weights, both.penalties, both.train_seconds, both.test_seconds) == (5, (2.0, 3.0), 1.5, 2.25)
    ((first, second),) = both.train
    assert [array.tolist() for array in first] == [[0, 2], [4]]
    assert [array.tolist() for array in second] == [[0, 2], [3], [4]]
    assert first[1] is second[2], "an array of two labellings stays one"
    assert [[[array.tolist() for array in one] for one in some] for some in both.test] == [[[[1]]], []]
