"""What to annotate next: measures against enumeration, the choice against trying all, the words that are asked for."""

import itertools

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.curation.selection import Doubts, doubtful_tokens, doubts_of, select
from spacy_hoseq.inspection.reading import own_components

from ..components import helpers

TEXT = "old runs see home"


def of(words, amounts, of_text=None):
    amounts = np.array(amounts, float)
    return Doubts(amounts.sum() if of_text is None else of_text, np.array(words, np.uint64), amounts, amounts)


def distribution():
    """p of all labellings of a text, best first."""
    nlp = helpers.ready("log_likelihood")
    ranked = helpers.tagger_of(nlp).top_k([helpers.doc_of(nlp, TEXT)], 10**5)[0]
    assert len(ranked) == len(helpers.LABELS) ** 4
    p = np.exp(np.array([score for _, score in ranked]))
    return nlp, [labels for labels, _ in ranked], p / p.sum()


def test_measures_are_the_enumerated_ones():
    nlp, labellings, p = distribution()
    expected = {"entropy": -(p * np.log(p)).sum(), "confidence": -np.log(p[0]), "margin": p[1] / p[0]}
    for measure, value in expected.items():
        (doubts,) = doubts_of(nlp, [helpers.doc_of(nlp, TEXT)], measure)
        assert doubts.of_text == pytest.approx(value, abs=1e-6) and doubts.of_words.sum() == pytest.approx(value)
        unsure = [1 - sum(q for q, y in zip(p, labellings, strict=True) if y[t] == labellings[0][t]) for t in range(4)]
        assert doubts.doubtful == pytest.approx(unsure, abs=1e-6)


def test_sentences_of_a_text_add_up_and_the_docs_stay_as_they_are():
    nlp = helpers.ready("log_likelihood")
    one, other = helpers.doc_of(nlp, TEXT), helpers.doc_of(nlp, "she sleeps")
    both = Doc(nlp.vocab, words=f"{TEXT} she sleeps".split(), sent_starts=[1, 0, 0, 0, 1, 0])
    first, second, together = doubts_of(nlp, [one, other, both])
    assert together.of_text == pytest.approx(first.of_text + second.of_text)
    assert not one.has_annotation("TAG")
    parts = [one.of_text for one in doubts_of(nlp, [one, other], "margin")]
    assert doubts_of(nlp, [both], "margin")[0].of_text == pytest.approx(max(parts)) and min(parts) < max(parts)


def test_unknown_measures_are_refused():
    with pytest.raises(ValueError, match="HS161.*luck"):
        doubts_of(helpers.ready(), [], "luck")


def test_components_that_find_sentences_count_only_when_named():
    nlp = helpers.blank("log_likelihood")
    nlp.add_pipe("hoseq_tagger", name="starts", config={"attribute": "sent_start"}, first=True)
    assert list(own_components(nlp)) == ["hoseq_tagger"]
    assert list(own_components(nlp, ["starts"])) == ["starts"]


def coverage(doubts, chosen):
    total = {}
    for i in chosen:
        for word, amount in zip(doubts[i].words.tolist(), doubts[i].of_words.tolist(), strict=True):
            total[word] = total.get(word, 0) + amount
    return sum(np.sqrt(amount) for amount in total.values())


@pytest.mark.parametrize("seed", range(8))
def test_each_text_has_the_largest_gain(seed):
    rng = np.random.default_rng(seed)
    doubts = [of(rng.integers(0, 6, size), rng.random(size)) for size in rng.integers(1, 6, 9).tolist()]
    chosen = select(doubts, 5)
    for i in range(1, 6):
        rest = [j for j in range(9) if j not in chosen[: i - 1]]
        best = max(coverage(doubts, [*chosen[: i - 1], j]) for j in rest)
        assert coverage(doubts, chosen[:i]) == pytest.approx(best)
    optimum = max(coverage(doubts, some) for some in itertools.combinations(range(9), 5))
    assert coverage(doubts, chosen) >= (1 - 1 / np.e) * optimum


def test_diversity_parts_texts_that_are_doubtful_for_the_same_word():
    doubts = [of([1], [1.0]), of([1], [0.9]), of([2], [0.5]), of([3], [0.2])]
    assert select(doubts, 3) == [0, 2, 3]
    assert select(doubts, 3, diverse=False) == [0, 1, 2]
    assert select(doubts, 10) == [0, 2, 3, 1]


def test_per_word_prefers_what_costs_little():
    doubts = [of([1, 2, 3, 4], [0.3, 0.3, 0.3, 0.3]), of([5], [0.8])]
    assert select(doubts, 1, diverse=False) == [0] and select(doubts, 1, diverse=False, per_word=True) == [1]


def test_doubtful_tokens():
    assert doubtful_tokens(of([1, 2, 3, 4], [0.01, 0.3, 0.02, 0.6]), 0.05).tolist() == [1, 3]
