"""Four meanings of the probability of a chunk, against all ways to chunk a sentence."""

import numpy as np
import pytest
from spacy.tokens import Doc, Span

from spacy_hoseq.inspection import explanations, how_sure, span_certainties

from ..components import helpers
from ..components.chunker_helpers import Enumerated, chunker_of, doc_of, random_chunker
from .texts import entropy, entropy_of, table_of

TEXT = "the old dog runs"


@pytest.fixture(scope="module", params=["iob2", "bilou", "start_end"])
def nlp(request):
    return random_chunker("words", seed=2, representation=request.param)


@pytest.mark.parametrize("model", ["words", "patterns"])
def test_every_span_against_all_chunkings(nlp, model):
    nlp = nlp if model == "words" else random_chunker("patterns", seed=4)
    doc = doc_of(nlp, TEXT)
    every = Enumerated(nlp, doc)
    spans = [Span(doc, i, j, label) for i in range(4) for j in range(i + 1, 5) for label in ("NP", "VP", "XX")]
    for span, found in zip(spans, span_certainties(chunker_of(nlp), spans), strict=True):
        i, j, label = span.start, span.end, span.label_
        expected = np.zeros(5)
        for p, chunks in zip(every.p, every.chunkings, strict=True):
            expected += p * np.array(
                [
                    (i, j, label) in chunks,
                    any(chunk[:2] == (i, j) for chunk in chunks),
                    any(first < j and i < end for first, end, _ in chunks),
                    any(chunk[0] == i for chunk in chunks),
                    any(chunk[1] == j for chunk in chunks),
                ]
            )
        assert found[:5] == pytest.approx(expected, abs=1e-7), (i, j, label)
        columns = [tuple(row) for row in every.labels[:, i:j]]
        strings = sorted(set(columns))
        p = [every.p[[k for k, other in enumerate(columns) if other == string]].sum() for string in strings]
        assert found.entropy == pytest.approx(entropy(p), abs=1e-6)


def test_of_a_tagger():
    nlp = helpers.blank("log_likelihood")
    nlp.initialize(lambda: helpers.examples_of(nlp))
    doc = helpers.doc_of(nlp, "the cat runs home")
    table = table_of(helpers.tagger_of(nlp), doc)
    p = np.exp(table.scores - table.log_z)
    (found,) = span_certainties(helpers.tagger_of(nlp), [doc[1:3]])
    assert found.exact == pytest.approx(p[(table.labellings[:, 1:3] == table.best_labels[1:3]).all(axis=1)].sum())
    assert found.entropy == pytest.approx(entropy_of(table, [1, 2])) and np.isnan(found.overlap)


def test_spans_of_several_docs_with_white_space(nlp):
    spaced = Doc(nlp.vocab, words=["the", "\n", "dog", "runs"])
    plain = Doc(nlp.vocab, words=["the", "dog", "runs"])
    other = doc_of(nlp, TEXT)
    found = span_certainties(
        chunker_of(nlp), [Span(other, 0, 2, "NP"), Span(spaced, 0, 3, "NP"), Span(plain, 0, 2, "NP")]
    )
    assert found[1] == pytest.approx(found[2]) and found[0] != pytest.approx(found[1])
    with pytest.raises(ValueError, match=r"\[HS141\] Token 1 is no word of this text of 4 tokens"):
        span_certainties(chunker_of(nlp), [Span(spaced, 0, 2, "NP")])


def test_spans_across_sentences(nlp):
    """No chunk is there, and nothing is said of one that another component has written."""
    nlp = random_chunker("words", seed=2, annotate_ents=True)
    doc = Doc(nlp.vocab, words=TEXT.split(), sent_starts=[True, False, True, False])
    with pytest.raises(ValueError, match=r"\[HS106\] The span 'old dog' \(tokens 1 to 3 of 'the old dog runs"):
        span_certainties(chunker_of(nlp), [Span(doc, 1, 3, "NP")])
    with pytest.raises(ValueError, match=r"\[HS106\]"):
        chunker_of(nlp).explain_span(Span(doc, 1, 3, "NP"))
    across, within = Span(doc, 1, 3, "NP"), Span(doc, 3, 4, "NP")
    doc.spans["chunks"] = [across, within]
    (kept,) = how_sure(nlp, [doc])
    assert across._.hoseq_certainty == {} and list(within._.hoseq_certainty) == ["hoseq_chunker"]
    assert [(account.first, account.end) for account in explanations(chunker_of(nlp), doc, reasons=False)] == [(3, 4)]


def test_spans_that_were_found(nlp):
    doc = chunker_of(nlp)(doc_of(nlp, TEXT))
    (doc,) = how_sure(nlp, [doc])
    spans = list(doc.spans["chunks"])
    assert spans
    for span, score in zip(spans, doc.spans["chunks"].attrs["scores"], strict=True):
        found = span._.hoseq_certainty["hoseq_chunker"]
        assert found[:5] == pytest.approx(span_certainties(chunker_of(nlp), [span])[0][:5])
        assert found.exact == pytest.approx(float(score), rel=1e-5)
    assert doc[0:4]._.hoseq_certainty == {}


def test_entropy_of_a_long_span_with_patterns():
    nlp = random_chunker("patterns", seed=4)
    doc = doc_of(nlp, "the old dog runs home again and again")
    message = r"\[HS143\] The labels of 6 tokens have too many combinations .* \(531,441, at most 10,000\)"
    with pytest.raises(ValueError, match=message):
        span_certainties(chunker_of(nlp), [doc[1:7]])
    assert np.isnan(span_certainties(chunker_of(nlp), [doc[1:7]], entropy=False)[0].entropy)
    whole = span_certainties(chunker_of(nlp), [doc[:]])[0].entropy
    assert whole == pytest.approx(
        next(iter(how_sure(nlp, [doc])))._.hoseq_certainty["hoseq_chunker"].sentences[0].entropy
    )
