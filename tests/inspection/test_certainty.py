"""How sure components are of labels, sentences and chunks, against all labellings."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.inspection import (
    certainties,
    explain_span,
    explanations,
    how_sure,
    span_certainties,
)

from ..builders import doc_of, learn, tagger_of
from ..components import bidirectional_helpers, helpers
from ..components.chunker_helpers import Enumerated, chunker_of, random_chunker
from .texts import entropy, entropy_of, probabilities, table_of

TEXTS = ["the old cat", "dogs run home .", "runs"]
CHUNKED = "the old dog runs"


@pytest.fixture(
    scope="module", params=["perceptron", "max_margin", "log_likelihood", "likelihood of patterns"]
)
def nlp(request):
    nlp = helpers.blank(request.param)
    helpers.train(nlp, 3, optimizer=nlp.initialize(lambda: helpers.examples_of(nlp)))
    return nlp


def test_tagger_against_all_labellings(nlp):
    """Of docs that are annotated already, too: the tagger itself would keep their tags."""
    pipe = tagger_of(nlp)
    docs = [doc_of(nlp, text) for text in TEXTS]
    set_already = [nlp(doc_of(nlp, text, tags=" ".join("A" * len(text.split())))) for text in TEXTS]
    pairs = zip(docs, certainties(pipe, docs), certainties(pipe, set_already), strict=True)
    for doc, found, again in pairs:
        table, p = table_of(pipe, doc), probabilities(table_of(pipe, doc))
        assert found.labels == [pipe.labels[y] for y in table.best_labels] == again.labels
        for t, label in enumerate(table.best_labels):
            here = table.labellings[:, t]
            assert found.probabilities[t] == pytest.approx(p[here == label].sum())
            assert found.entropies[t] == pytest.approx(entropy_of(table, [t]), abs=1e-7)
            assert found.margins[t] == pytest.approx(table.best - table.scores[here != label].max())
        ((first, end, log_probability, h, margin),) = found.sentences
        assert (first, end) == (0, len(doc)) and again.sentences == found.sentences
        assert log_probability == pytest.approx(np.log(p.max()))
        assert h == pytest.approx(entropy(p), abs=1e-7)
        assert margin == pytest.approx(-np.diff(table.k_best(2)[1])[0])


def test_chunker_against_all_labellings():
    """Tags that cannot follow each other count for nothing."""
    nlp = random_chunker("patterns", seed=3)
    doc = doc_of(nlp, CHUNKED)
    every = Enumerated(nlp, doc)
    (found,) = certainties(chunker_of(nlp), [doc])
    assert found.labels == every.tags_of(int(every.p.argmax()))
    assert found.sentences[0].entropy == pytest.approx(entropy(every.p), abs=1e-7)
    assert found.sentences[0].log_probability == pytest.approx(np.log(every.p.max()))
    assert found.sentences[0].margin == pytest.approx(-np.diff(np.sort(every.scores)[::-1][:2])[0])
    assert found.entropies == pytest.approx([entropy(row) for row in every.marginals()], abs=1e-7)


def test_margins_of_labels_that_do_not_depend_on_each_other():
    """As best labellings have them, without looking for these."""
    nlp = helpers.blank("log_likelihood", model={**helpers.tagger_model(), "label_pairs": False})
    nlp.initialize(lambda: helpers.examples_of(nlp))
    helpers.train(nlp, 2)
    tagger_of(nlp).cfg["tag_dictionary"] = {"cat": ["R"], "home": ["N", "R"]}
    tagger_of(nlp).labels_changed()
    doc = doc_of(nlp, "the cat runs home")
    (found,) = certainties(tagger_of(nlp), [doc])
    table = table_of(tagger_of(nlp), doc)
    best = enumerate(table.best_labels)
    others = [table.scores[table.labellings[:, t] != label].max() for t, label in best]
    assert found.margins == pytest.approx(table.best - np.array(others))
    assert found.margins[1] == np.inf


@pytest.mark.parametrize(
    "templates", [["lower[0]", "lower[-1]"], ["tag[0]", "tag[-1]", "lower[0]"]]
)
def test_component_that_finds_sentences(templates):
    """It is asked about a text without sentences: where its own begin, it would be sure. What others wrote is there."""
    nlp = spacy.blank("xx")
    model = helpers.tagger_model(helpers.sparse(templates))
    config = {"attribute": "sent_start", "objective": "log_likelihood", "save_marginals": True}
    config["model"] = model
    pipe = nlp.add_pipe("hoseq_tagger", config=config)
    words, tags = "a b . c d . e".split(), "D N P D N P D".split()
    starts = [True, False, False, True, False, False, True]
    gold = Doc(nlp.vocab, words=words, tags=tags, sent_starts=starts)
    learn(nlp, [Example(Doc(nlp.vocab, words=words, tags=tags), gold)], 5)
    doc = pipe(Doc(nlp.vocab, words=words, tags=tags))
    marginals = doc._.hoseq_marginals["hoseq_tagger"]["probabilities"]
    (found,) = certainties(pipe, [doc])
    assert found.probabilities == pytest.approx(marginals.max(axis=1), abs=1e-6)
    assert [token.is_sent_start for token in doc] == starts


@pytest.fixture(scope="module")
def easiest_first():
    return bidirectional_helpers.ready()


def test_decisions_of_a_bidirectional_tagger(easiest_first):
    """Probabilities are those that it keeps with `save_decisions`."""
    (name,) = easiest_first.pipe_names
    pipe = easiest_first.get_pipe(name)
    doc = doc_of(easiest_first, "the old dog sees a cat .")
    kept, pipe.cfg["save_decisions"] = pipe.cfg["save_decisions"], True
    expected = pipe(doc.copy())._.hoseq_decisions[name]
    pipe.cfg["save_decisions"] = kept
    (found,) = certainties(pipe, [doc])
    assert found.labels == expected["labels"]
    assert found.probabilities == pytest.approx(expected["probabilities"])
    (sentence,) = found.sentences
    shown = sentence.log_probability
    assert shown == pytest.approx(np.log(expected["probabilities"].astype(float)).sum())
    assert sentence.entropy == pytest.approx(found.entropies.sum())
    assert sentence.margin == found.margins.min()
    assert ((found.entropies > 0) & (found.margins > 0)).all()


def test_messages(nlp, easiest_first):
    other = spacy.blank("xx")
    with pytest.raises(ValueError, match=r'\[HS140\] The component "sentencizer" \(Sentencizer\)'):
        next(certainties(other.add_pipe("sentencizer"), [Doc(other.vocab, words=["a"])]))
    pipe = easiest_first.get_pipe(easiest_first.pipe_names[0])
    doc = Doc(easiest_first.vocab, words=["a"])
    with pytest.raises(ValueError, match=r"\[HS105\]"):
        span_certainties(pipe, [doc[:1]])
    kept, pipe.cfg["strategy"] = pipe.cfg["strategy"], "dependency_network"
    with pytest.raises(ValueError, match=r'\[HS140\] .*the strategy "dependency_network"'):
        next(certainties(pipe, [doc]))
    assert list(how_sure(easiest_first, [doc]))[0]._.hoseq_certainty == {}
    pipe.cfg["strategy"] = kept


def test_on_docs_and_tokens(nlp):
    (doc,) = how_sure(nlp, [nlp(doc_of(nlp, TEXTS[0]))])
    (expected,) = certainties(tagger_of(nlp), [doc])
    of_doc = doc._.hoseq_certainty["hoseq_tagger"]
    assert of_doc.sentences == expected.sentences
    assert of_doc.entropies.tolist() == expected.entropies.tolist()
    token = doc[1]._.hoseq_certainty["hoseq_tagger"]
    numbers = (expected.probabilities[1], expected.entropies[1], expected.margins[1])
    assert token == (doc[1].tag_, *numbers)
    loaded = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert loaded[1]._.hoseq_certainty["hoseq_tagger"] == token


@pytest.mark.parametrize("model, settings", [
    ("words", {"representation": "iob2"}),
    ("words", {"representation": "bilou"}),
    ("words", {"representation": "start_end"}),
    ("patterns", {}),
])  # fmt: skip
def test_every_span_against_all_chunkings(model, settings):
    nlp = random_chunker(model, seed=4, **settings)
    doc = doc_of(nlp, CHUNKED)
    every = Enumerated(nlp, doc)
    bounds = itertools.combinations(range(5), 2)
    spans = [Span(doc, i, j, label) for i, j in bounds for label in ("NP", "VP", "XX")]
    for span, found in zip(spans, span_certainties(chunker_of(nlp), spans), strict=True):
        i, j, label = span.start, span.end, span.label_
        expected = np.zeros(5)
        for p, chunks in zip(every.p, every.chunkings, strict=True):
            kinds = [(i, j, label) in chunks, any(chunk[:2] == (i, j) for chunk in chunks)]
            crosses = any(first < j and i < end for first, end, _ in chunks)
            meanings = [*kinds, crosses, any(chunk[0] == i for chunk in chunks)]
            meanings.append(any(chunk[1] == j for chunk in chunks))
            expected += p * np.array(meanings)
        assert found[:5] == pytest.approx(expected, abs=1e-7), (i, j, label)
        _, which = np.unique(every.labels[:, i:j], axis=0, return_inverse=True)
        p = np.bincount(which.reshape(-1), every.p)
        assert found.entropy == pytest.approx(entropy(p), abs=1e-6)


def test_spans_of_several_docs_with_white_space():
    nlp = random_chunker("words", seed=2)
    spaced = Doc(nlp.vocab, words=["the", "\n", "dog", "runs"])
    plain = Doc(nlp.vocab, words=["the", "dog", "runs"])
    plain_spans = Span(doc_of(nlp, CHUNKED), 0, 2, "NP"), Span(plain, 0, 2, "NP")
    spans = [plain_spans[0], Span(spaced, 0, 3, "NP"), plain_spans[1]]
    found = span_certainties(chunker_of(nlp), spans)
    assert found[1] == pytest.approx(found[2]) and found[0] != pytest.approx(found[1])
    message = r"\[HS141\] Token 1 is not a word of this text: .*\(4 tokens"
    with pytest.raises(ValueError, match=message):
        span_certainties(chunker_of(nlp), [Span(spaced, 0, 2, "NP")])


def test_spans_of_the_same_tokens_with_different_labels():
    nlp = random_chunker("words", seed=2)
    doc = doc_of(nlp, CHUNKED)
    spans = [Span(doc, 0, 2, "VP"), Span(doc, 0, 2, "NP"), Span(doc, 2, 3, "NP")]
    doc.spans["chunks"] = spans
    list(how_sure(nlp, [doc]))
    expected = span_certainties(chunker_of(nlp), spans)
    got = [span._.hoseq_certainty["hoseq_chunker"] for span in spans]
    assert [one.exact for one in got] == pytest.approx([one.exact for one in expected])
    assert got[0].exact != pytest.approx(got[1].exact)
    assert Span(doc, 2, 3, "VP")._.hoseq_certainty == {}, "a span that is not there"


def test_spans_across_sentences():
    """No chunk is there, and nothing is said of one that another component has written."""
    nlp = random_chunker("words", seed=2, annotate_ents=True)
    doc = Doc(nlp.vocab, words=CHUNKED.split(), sent_starts=[True, False, True, False])
    across, within = Span(doc, 1, 3, "NP"), Span(doc, 3, 4, "NP")
    message = r"\[HS106\] The span 'old dog' \(tokens 1 to 3 of 'the old dog runs"
    with pytest.raises(ValueError, match=message):
        span_certainties(chunker_of(nlp), [across])
    with pytest.raises(ValueError, match=r"\[HS106\]"):
        explain_span(chunker_of(nlp), across)
    doc.spans["chunks"] = [across, within]
    list(how_sure(nlp, [doc]))
    assert across._.hoseq_certainty == {} and list(within._.hoseq_certainty) == ["hoseq_chunker"]
    accounts = explanations(chunker_of(nlp), doc, reasons=False)
    assert [(account.first, account.end) for account in accounts] == [(3, 4)]


def test_entropy_of_a_long_span_with_patterns():
    nlp = random_chunker("patterns", seed=4)
    doc = doc_of(nlp, "the old dog runs home again and again")
    message = r"\[HS143\] The labels of 6 tokens have too many combinations .* \(531,441, at most 10,000\)"
    with pytest.raises(ValueError, match=message):
        span_certainties(chunker_of(nlp), [doc[1:7]])
    assert np.isnan(span_certainties(chunker_of(nlp), [doc[1:7]], entropy=False)[0].entropy)
    (found,) = certainties(chunker_of(nlp), [doc])
    shown = span_certainties(chunker_of(nlp), [doc[:]])[0].entropy
    assert shown == pytest.approx(found.sentences[0].entropy)
