"""Patterns written out at their places, against naive search."""

from baselines.instances import make_instances
from hypothesis import given

from ...decoders.answers.posteriors import sequence_of
from ...strategies import cases


def written_out(case):
    """(last token, string, weight) of all places, what fires at one place added up, without those that are worth 0."""
    total = {}
    for i, (start, length) in enumerate(zip(case.starts.tolist(), case.lengths.tolist(), strict=True)):
        for token in range(start, start + length):
            earned = list(case.patterns)
            earned += [(pattern, weight) for at, pattern, weight in case.fired if at == token]
            for pattern, weight in earned:
                if sequence_of(case, token) == i and token - len(pattern) + 1 >= start:
                    total[token, pattern] = total.get((token, pattern), 0.0) + weight
    return {key: weight for key, weight in total.items() if abs(weight) > 1e-12}


@given(case=cases(signed=True, rounded=True))
def test_instances_are_all_places_of_all_patterns(case):
    scores = case.pattern_scores()
    got = make_instances(case.potentials())
    strings = [scores.trie.string(node) for node in got.nodes]
    keys = list(zip(got.last.tolist(), strings, strict=True))
    assert dict(zip(keys, got.weights.tolist(), strict=True)) == written_out(case)
    assert keys == sorted(keys, key=lambda key: (key[0], len(key[1]))) and len(set(keys)) == len(keys)
    assert got.sizes.tolist() == [len(string) for string in strings]
    pairs = [(last - len(string) + 1 + i, y) for last, string in keys for i, y in enumerate(string)]
    assert list(zip(got.tokens.tolist(), got.labels.tolist(), strict=True)) == pairs
    assert got.starts.tolist() == [sum(map(len, strings[:i])) for i in range(len(strings))]
