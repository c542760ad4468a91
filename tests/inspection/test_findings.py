"""What a model thinks of gold labels, against sums over all labellings; wrong annotation is found, told and
corrected."""

import numpy as np
import pytest
import spacy
from hypothesis import assume, given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.inspection.findings import (
    corrected,
    given_the_others,
    judge,
    judged,
    ranked,
    region_of,
)
from spacy_hoseq.inspection.selection import doubts_of
from spacy_hoseq.reporting.evaluation import evaluated
from spacy_hoseq.reporting.findings import annotation_tasks, findings_page, marked, text_of

from .. import oracle
from ..components import chunker_helpers, helpers
from ..strategies import KINDS_OF_CASES as KINDS

WRONG = [("she runs home .", "N N R ."), *helpers.CORPUS[:4], ("the <script> runs .", "D N V R")]
NUMBERS = [5, 1, 2, 3, 4, 0]  # of these in the corpus
FIRST = ("the old dog sees a cat .", "D A N V D N .", [(0, 3, "NP"), (3, 6, "NP")])
MERGED = [FIRST, *chunker_helpers.CORPUS[1:3]]


def annotated(data, case):
    """A possible labelling of a batch, and units."""
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
    is_gold = np.eye(case.n_labels, dtype=bool)[gold]
    p_given, p_other = given_the_others(case.potentials(), is_gold, first, sizes)
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


def test_units_of_a_tagger_are_its_tokens():
    """Those that are annotated; white space is no word."""
    nlp = helpers.ready("log_likelihood")
    pipe = helpers.tagger_of(nlp)
    one = judge(pipe, helpers.examples_of(nlp))
    found = [one.reading.labels[y] for y in one.gold]
    assert found == [tag for tags in helpers.gold() for tag in tags]
    assert one.first.tolist() == list(range(len(one.gold))) and set(one.sizes) == {1}
    assert one.p == pytest.approx(one.reading.posterior.nodes[one.first, one.gold])
    words = ["a", "\n", "cat", "runs", "."]
    reference = Doc(nlp.vocab, words=words, tags=["", "_SP", "N", "", "."])
    one = judge(pipe, [Example(Doc(nlp.vocab, words=words), reference)])
    assert one.first.tolist() == [1, 3] and one.reading.token_of.tolist() == [0, 2, 3, 4]
    assert one.gold.tolist() == [-1, pipe.labels.index("N"), -1, pipe.labels.index(".")]


def test_units_of_a_chunker_are_chunks_and_tokens_outside():
    nlp = chunker_helpers.ready()
    one = judge(chunker_helpers.chunker_of(nlp), chunker_helpers.examples_of(nlp)[:2])
    bounds = list(zip(one.first.tolist(), one.sizes.tolist(), strict=True))
    assert bounds == [(0, 3), (3, 1), (4, 2), (6, 1), (7, 1), (8, 1), (9, 1)]
    docs, scores = chunker_helpers.through(nlp, chunker_helpers.TEXTS[:2])
    # what is found is gold, so that their probabilities are the same
    assert docs == chunker_helpers.gold()[:2]
    assert one.p[[0, 1, 2, 4, 5]] == pytest.approx(np.concatenate(scores), abs=1e-6)


def test_every_component_is_judged_on_what_those_before_it_write():
    nlp = chunker_helpers.ready("marginals")
    of_tagger, found = judged(nlp, chunker_helpers.examples_of(nlp))
    names = [one.reading.pipe.name for one in (of_tagger, found)]
    assert names == [chunker_helpers.TAGGER, chunker_helpers.NAME]
    _, scores = chunker_helpers.through(nlp)
    starts = np.cumsum([0, *map(len, found.reading.docs)])
    place = {(f, s): p for f, s, p in zip(found.first, found.sizes, found.p, strict=True)}
    for text, start in enumerate(starts[:-1]):
        for (first, end, _), score in zip(chunker_helpers.gold()[text], scores[text], strict=True):
            assert place[start + first, end - first] == pytest.approx(score, abs=1e-5)
    with pytest.raises(ValueError, match="HS152"):
        list(judged(spacy.blank("xx"), []))


@Language.component("test_merge_first_two")
def merge_first_two(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[:2])
    return doc


def test_tokens_that_a_component_merges():
    """Behind ours they change nothing; before it, it is said that gold labels are of other tokens. Functions count."""
    nlp = helpers.ready("log_likelihood")
    examples = helpers.examples_of(nlp)
    tools = judged, evaluated, lambda nlp, some: doubts_of(nlp, [eg.predicted for eg in some])
    pipelines = [spacy.blank("xx", vocab=nlp.vocab) for _ in range(2)]
    for first, pipeline in zip((None, True), pipelines, strict=True):
        pipeline.add_pipe("hoseq_tagger", source=nlp)
        pipeline.add_pipe("test_merge_first_two", first=first)
    behind, before = pipelines
    for tool in tools:
        with pytest.raises(ValueError, match=r"\[HS108\].*before .hoseq_tagger. merges"):
            list(tool(before, examples))
    ((one, layer, *doubts), (plain, expected, *other)) = (
        [each for tool in tools for each in tool(pipeline, examples)] for pipeline in (behind, nlp)
    )
    assert one.p.tolist() == plain.p.tolist()
    assert one.reading.token_of.tolist() == plain.reading.token_of.tolist()
    assert layer["right"] == expected["right"] and layer["calibration"] == expected["calibration"]
    assert all(a.shares.tolist() == b.shares.tolist() for a, b in zip(doubts, other, strict=True))


def of_tagger(k=2, n=10):
    """A corpus with wrong tags, and what is found in it."""
    nlp = helpers.ready("log_likelihood")
    examples = helpers.examples_of(nlp, WRONG)
    part = judge(helpers.tagger_of(nlp), examples)._replace(docs=NUMBERS)
    return [examples[i].reference for i in NUMBERS], ranked([part], n=n, k=k)


def of_chunker():
    nlp = chunker_helpers.ready()
    examples = chunker_helpers.examples_of(nlp, MERGED)
    part = judge(chunker_helpers.chunker_of(nlp), examples)
    return [eg.reference for eg in examples], ranked([part], n=10, k=3)


def test_wrong_labels_are_found_the_most_doubtful_first():
    docs, findings = of_tagger()
    assert sorted((one.doc, one.first, one.end) for one in findings) == [(0, 3, 4), (5, 1, 2)]
    doubts = [one.doubt for one in findings]
    assert doubts == sorted(doubts, reverse=True) and min(doubts) > 0
    first = next(one for one in findings if one.doc == 5)
    assert (first.component, first.attribute, first.sentence) == ("hoseq_tagger", "tag", (0, 4))
    assert first.gold.spans == [(1, 2, "N")] and first.gold.p == pytest.approx(first.p_given)
    assert first.alternatives[0].spans == [(1, 2, "V")] and first.alternatives[0].p > 0.5
    assert len(first.alternatives) == 2 and len(of_tagger(n=1)[1]) == 1
    nlp = helpers.ready("log_likelihood")
    (scored,) = helpers.tagger_of(nlp).top_k([helpers.doc_of(nlp, docs[5].text)], 5000)
    scores = {tuple(labels): score for labels, score in scored}
    assert first.gap == pytest.approx(scored[0].score - scores[tuple("N N R .".split())])
    assert first.gap > 1
    # all alternatives of one label are its distribution given the others
    (first, *_) = of_tagger(k=100)[1]
    assert len(first.alternatives) == len(helpers.LABELS) - 1
    assert first.gold.p + sum(other.p for other in first.alternatives) == pytest.approx(1)


def test_one_disagreement_about_chunks_is_one_finding():
    docs, findings = of_chunker()
    (one,) = findings
    assert (one.doc, one.first, one.end) == (0, 3, 6) and one.gold.spans == [(3, 6, "NP")]
    assert one.alternatives[0].spans == [(3, 4, "VP"), (4, 6, "NP")]
    assert text_of(docs[0], one.alternatives[0].spans) == "[sees] VP [a cat] NP"
    assert len({tuple(other.spans) for other in one.alternatives}) == len(one.alternatives) == 3
    (task,) = annotation_tasks(docs, findings)
    span = task["spans"][0]
    assert task["text"][span["start"] : span["end"]] == "sees a cat"
    assert (span["token_start"], span["token_end"]) == (3, 5)
    expected = [t["text"] for t in task["tokens"]]
    assert [task["text"][t["start"] : t["end"]] for t in task["tokens"]] == expected
    assert [option["id"] for option in task["options"]] == ["0", "1", "2", "3"]


def test_regions_reach_to_both_sides():
    """The model has one chunk where two are annotated: whichever of them is doubtful, both are its region."""
    nlp = chunker_helpers.ready()
    chunks = [(0, 1, "NP"), (1, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")]
    parted = [("the old dog sees a cat .", "D A N V D N .", chunks)]
    judgement = judge(chunker_helpers.chunker_of(nlp), chunker_helpers.examples_of(nlp, parted))
    regions = [region_of(judgement, unit) for unit in range(5)]
    assert regions == [(0, 3), (0, 3), (3, 4), (4, 6), (6, 7)]


@pytest.mark.parametrize("findings_of", [of_tagger, of_chunker])
def test_what_is_accepted_becomes_annotation(findings_of):
    docs, findings = findings_of()
    tasks = list(annotation_tasks(docs, findings))
    for answer in ({}, {"accept": []}, {"accept": ["0"]}, {"accept": ["1"], "answer": "reject"}):
        assert corrected(docs, [{**task, **answer} for task in tasks]) == 0
    tasks = [{**task, "accept": ["1"], "answer": "accept"} for task in tasks]
    assert corrected(docs, tasks) == len(findings)
    if findings_of is of_tagger:
        assert [t.tag_ for t in docs[5]] == "N V R .".split() and docs[0][3].tag_ == "."
        with pytest.raises(ValueError, match="HS172.*line 2"):
            corrected(docs[::-1], [{**tasks[0], "accept": []}, tasks[0]])
    else:
        assert chunker_helpers.on(docs[0]) == chunker_helpers.gold()[0]


def test_docs_are_marked_and_words_on_the_page_stay_words():
    docs, findings = of_tagger()
    page = findings_page(docs, findings, title="<b>")
    assert "&lt;script&gt;" in page and "<title>&lt;b&gt;</title>" in page
    assert page.count('aria-expanded="false"') == 2 and "//" not in page.replace("<!--", "")
    spans = [doc.spans["findings"] for doc in marked(docs, findings)]
    marks = [[(span.start, span.label_) for span in group] for group in spans]
    assert marks == [[(3, ".")], [], [], [], [], [(1, "V")]]
