"""Wrong annotation is found, told and corrected."""

import pytest

from spacy_hoseq.curation.findings import corrected, judge, ranked, region_of, variants_in
from spacy_hoseq.reporting.findings import annotation_tasks, findings_page, marked, text_of

from ..components import chunker_helpers, helpers

WRONG = [("she runs home .", "N N R ."), *helpers.CORPUS[:4], ("the <script> runs .", "D N V R")]
MERGED = [("the old dog sees a cat .", "D A N V D N .", [(0, 3, "NP"), (3, 6, "NP")]), *chunker_helpers.CORPUS[1:3]]


def of_tagger(k=2, n=10):
    nlp = helpers.ready("log_likelihood")
    examples = helpers.examples_of(nlp, WRONG)
    part = judge(helpers.tagger_of(nlp), examples)._replace(docs=[5, 1, 2, 3, 4, 0])
    docs = [examples[i].reference for i in (5, 1, 2, 3, 4, 0)]
    return docs, ranked([part], n=n, k=k)


def of_chunker():
    nlp = chunker_helpers.ready()
    examples = chunker_helpers.examples_of(nlp, MERGED)
    part = judge(chunker_helpers.chunker_of(nlp), examples)._replace(docs=[0, 1, 2])
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
    assert len(first.alternatives) == 2
    nlp = helpers.ready("log_likelihood")
    (scored,) = helpers.tagger_of(nlp).top_k([helpers.doc_of(nlp, docs[5].text)], 5000)
    scores = {tuple(labels): score for labels, score in scored}
    assert first.gap == pytest.approx(scored[0].score - scores[tuple("N N R .".split())]) and first.gap > 1
    assert len(of_tagger(n=1)[1]) == 1


def test_alternatives_of_one_label_are_its_distribution_given_the_others():
    _, (first, *_) = of_tagger(k=100)
    assert len(first.alternatives) == len(helpers.LABELS) - 1
    assert first.gold.p + sum(other.p for other in first.alternatives) == pytest.approx(1)


def test_one_disagreement_about_chunks_is_one_finding():
    docs, findings = of_chunker()
    assert [(one.doc, one.first, one.end) for one in findings] == [(0, 3, 6)]
    (one,) = findings
    assert one.gold.spans == [(3, 6, "NP")]
    assert one.alternatives[0].spans == [(3, 4, "VP"), (4, 6, "NP")]
    assert text_of(docs[0], one.alternatives[0].spans) == "[sees] VP [a cat] NP"
    assert len({tuple(other.spans) for other in one.alternatives}) == len(one.alternatives) == 3


def test_regions_reach_to_both_sides():
    """The model has one chunk where two are annotated: whichever of them is doubtful, both are its region."""
    nlp = chunker_helpers.ready()
    parted = [("the old dog sees a cat .", "D A N V D N .", [(0, 1, "NP"), (1, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")])]
    judgement = judge(chunker_helpers.chunker_of(nlp), chunker_helpers.examples_of(nlp, parted))
    assert [region_of(judgement, unit) for unit in range(5)] == [(0, 3), (0, 3), (3, 4), (4, 6), (6, 7)]


@pytest.mark.parametrize("findings_of", [of_tagger, of_chunker])
def test_what_is_accepted_becomes_annotation(findings_of):
    docs, findings = findings_of()
    tasks = list(annotation_tasks(docs, findings))
    assert corrected(docs, tasks) == 0, "nothing was accepted yet"
    for task in tasks:
        task["accept"] = ["1"]
    tasks[0]["answer"] = "accept"
    assert corrected(docs, tasks) == len(findings)
    if findings_of is of_tagger:
        assert [t.tag_ for t in docs[5]] == "N V R .".split() and docs[0][3].tag_ == "."
    else:
        assert chunker_helpers.on(docs[0]) == chunker_helpers.gold()[0]


def test_answers_that_are_none():
    docs, findings = of_tagger()
    (task, *_) = annotation_tasks(docs, findings)
    before = [t.tag_ for doc in docs for t in doc]
    for answer in ({"accept": ["0"]}, {"accept": []}, {"accept": ["1"], "answer": "reject"}):
        assert corrected(docs, [{**task, **answer}]) == 0
    assert [t.tag_ for doc in docs for t in doc] == before
    with pytest.raises(ValueError, match="HS172.*line 2"):
        corrected(docs[::-1], [task, {**task, "accept": ["1"]}])


def test_tasks_have_characters_and_tokens_of_the_sentence():
    docs, findings = of_chunker()
    (task,) = annotation_tasks(docs, findings)
    span = task["spans"][0]
    assert task["text"][span["start"] : span["end"]] == "sees a cat"
    assert (span["token_start"], span["token_end"]) == (3, 5)
    assert [task["text"][t["start"] : t["end"]] for t in task["tokens"]] == [t["text"] for t in task["tokens"]]
    assert [option["id"] for option in task["options"]] == ["0", "1", "2", "3"]


def test_docs_are_marked():
    docs, findings = of_tagger()
    marks = [
        (i, span.start, span.label_) for i, doc in enumerate(marked(docs, findings)) for span in doc.spans["findings"]
    ]
    assert marks == [(0, 3, "."), (5, 1, "V")]


def test_words_on_the_page_stay_words():
    docs, findings = of_tagger()
    page = findings_page(docs, findings, title="<b>")
    assert "&lt;script&gt;" in page and page.count("<script>") == 1 and "<title>&lt;b&gt;</title>" in page
    assert page.count('aria-expanded="false"') == 2 and "//" not in page.replace("<!--", "")


def test_words_in_the_same_context_with_several_labels():
    nlp = helpers.ready("log_likelihood")
    corpus = [("a cat runs .", "D N V ."), ("a cat runs .", "D N N ."), ("a cat sleep .", "D N V .")]
    one = judge(helpers.tagger_of(nlp), helpers.examples_of(nlp, corpus))
    several = [labels for labels in variants_in([one]).values() if len(labels) > 1]
    assert several == [{"V": 1, "N": 1}]
    (found,) = ranked([one], n=1, k=1)
    assert (found.doc, found.first, found.variants) == (1, 2, {"V": 1, "N": 1})
