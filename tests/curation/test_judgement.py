"""What a model thinks of gold labels: probabilities given the labels around, against sums over all labellings."""

import numpy as np
import pytest
import spacy
from hypothesis import assume, given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.curation.findings import given_the_others, judge, judged
from spacy_hoseq.curation.selection import doubts_of
from spacy_hoseq.reporting.evaluation import evaluated

from .. import oracle
from ..components import chunker_helpers, helpers
from ..strategies import KINDS_OF_CASES as KINDS


def annotated(data, case):
    """A possible labelling of a batch, and units: some words stay unannotated."""
    gold, first, sizes = [], [], []
    for single, start in zip(case.singles(), case.starts, strict=True):
        table = oracle.joint_table(single)
        possible = np.flatnonzero(np.isfinite(table.scores))
        assume(len(possible))
        gold.extend(table.labellings[data.draw(st.sampled_from(possible.tolist()))].tolist())
        t = 0
        while t < len(single.scores):
            size = data.draw(st.integers(1, len(single.scores) - t))
            first.append(int(start) + t)
            sizes.append(size)
            t += size
    return np.array(gold), np.array(first), np.array(sizes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_probabilities_given_the_other_gold_labels_are_the_enumerated_ones(kind, data):
    case = data.draw(KINDS[kind]).doubles()
    gold, first, sizes = annotated(data, case)
    p_given, p_other = given_the_others(case.potentials(), np.eye(case.n_labels, dtype=bool)[gold], first, sizes)
    for u, (begin, size) in enumerate(zip(first, sizes, strict=True)):
        sequence = int(np.searchsorted(np.cumsum(case.lengths), begin, side="right"))
        start, table = case.starts[sequence], oracle.joint_table(case.singles()[sequence])
        labels = gold[start : start + case.lengths[sequence]]
        within = np.isin(np.arange(len(labels)), begin - start + np.arange(size))
        around = (table.labellings[:, ~within] == labels[~within]).all(axis=1)
        p = np.where(around, np.exp(table.scores - table.best), 0)
        p /= p.sum()
        is_gold = (table.labellings == labels).all(axis=1)
        assert p_given[u] == pytest.approx(p[is_gold].sum(), abs=1e-7)
        other = p[~is_gold].max(initial=0)
        if abs(other - p_given[u]) > 1e-6:
            expected = other if other > p_given[u] else 1 - p[is_gold].sum()
            assert p_other[u] == pytest.approx(expected, abs=1e-7)


def tagger_judgement(corpus=helpers.CORPUS):
    nlp = helpers.ready("log_likelihood")
    return nlp, judge(helpers.tagger_of(nlp), helpers.examples_of(nlp, corpus))


def test_units_of_a_tagger_are_its_tokens():
    nlp, judgement = tagger_judgement()
    assert [judgement.reading.labels[y] for y in judgement.gold] == [tag for tags in helpers.gold() for tag in tags]
    assert judgement.first.tolist() == list(range(len(judgement.gold))) and set(judgement.sizes) == {1}
    assert judgement.p == pytest.approx(judgement.reading.posterior.nodes[judgement.first, judgement.gold])


def test_what_is_not_annotated_is_no_unit():
    nlp = helpers.ready("log_likelihood")
    example = Example(helpers.doc_of(nlp, "a cat runs ."), Doc(nlp.vocab, words="a cat runs .".split()))
    example.reference[1].tag_ = "N"
    judgement = judge(helpers.tagger_of(nlp), [example])
    assert judgement.first.tolist() == [1] and judgement.gold.tolist() == [
        -1,
        judgement.reading.labels.index("N"),
        -1,
        -1,
    ]


def test_units_of_a_chunker_are_chunks_and_tokens_outside():
    nlp = chunker_helpers.ready()
    judgement = judge(chunker_helpers.chunker_of(nlp), chunker_helpers.examples_of(nlp)[:2])
    bounds = list(zip(judgement.first.tolist(), judgement.sizes.tolist(), strict=True))
    assert bounds == [(0, 3), (3, 1), (4, 2), (6, 1), (7, 1), (8, 1), (9, 1)]
    docs, scores = chunker_helpers.through(nlp, chunker_helpers.TEXTS[:2])
    assert docs == chunker_helpers.gold()[:2], "what is found is gold, so that their probabilities are the same"
    chunks = [0, 1, 2, 4, 5]
    assert judgement.p[chunks] == pytest.approx(np.concatenate(scores), abs=1e-6)


def test_every_component_is_judged_on_what_those_before_it_write():
    nlp = chunker_helpers.ready("marginals")
    judgements = list(judged(nlp, chunker_helpers.examples_of(nlp)))
    assert [one.reading.pipe.name for one in judgements] == [chunker_helpers.TAGGER, chunker_helpers.NAME]
    _, scores = chunker_helpers.through(nlp)
    found = judgements[1]
    starts = np.cumsum([0, *map(len, found.reading.docs)])
    place = {(f, s): p for f, s, p in zip(found.first, found.sizes, found.p, strict=True)}
    for text, start in enumerate(starts[:-1]):
        for (first, end, _), score in zip(chunker_helpers.gold()[text], scores[text], strict=True):
            assert place[start + first, end - first] == pytest.approx(score, abs=1e-5)
    assert [one.reading.pipe.name for one in judged(nlp, chunker_helpers.examples_of(nlp), [chunker_helpers.NAME])] == [
        chunker_helpers.NAME
    ]


def test_a_pipeline_without_exact_probabilities_is_refused():
    nlp = helpers.ready()
    with pytest.raises(ValueError, match="HS152.*hoseq_tagger"):
        list(judged(nlp, [], ["tagger"]))


@Language.component("test_merge_first_two")
def merge_first_two(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[:2])
    return doc


@pytest.mark.parametrize("first", [False, True])
def test_tokens_that_a_component_merges(first):
    """Behind ours they change nothing; before it, it is said that gold labels are of other tokens. Functions count."""
    nlp = helpers.ready("log_likelihood")
    pipeline = spacy.blank("xx", vocab=nlp.vocab)
    pipeline.add_pipe("hoseq_tagger", source=nlp)
    pipeline.add_pipe("test_merge_first_two", first=first or None)
    examples = helpers.examples_of(nlp)
    if first:
        for tool in (judged, evaluated, lambda nlp, some: doubts_of(nlp, [eg.predicted for eg in some])):
            with pytest.raises(ValueError, match=r"\[HS108\].*before .hoseq_tagger. merges"):
                list(tool(pipeline, examples))
    else:
        (one,), (expected,) = judged(pipeline, examples), judged(nlp, examples)
        assert one.p.tolist() == expected.p.tolist()
        assert one.reading.token_of.tolist() == expected.reading.token_of.tolist()
        docs = [eg.predicted for eg in examples]
        pairs = zip(doubts_of(pipeline, docs), doubts_of(nlp, docs), strict=True)
        assert all(a.of_words.tolist() == b.of_words.tolist() for a, b in pairs)
        (layer,), (plain,) = evaluated(pipeline, examples), evaluated(nlp, examples)
        assert layer["right"] == plain["right"] and layer["calibration"] == plain["calibration"]


def test_white_space_is_no_word():
    nlp = helpers.ready("log_likelihood")
    reference = Doc(nlp.vocab, words=["a", "\n", "cat", "runs", "."], tags=["D", "_SP", "N", "V", "."])
    predicted = Doc(nlp.vocab, words=[token.text for token in reference])
    judgement = judge(helpers.tagger_of(nlp), [Example(predicted, reference)])
    assert [judgement.reading.labels[y] for y in judgement.gold] == ["D", "N", "V", "."]
    assert judgement.reading.token_of.tolist() == [0, 2, 3, 4]
