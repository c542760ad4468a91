"""Why a label or a chunk: sums of named features against the scores, the best other labelling against enumeration."""

import json

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_hoseq.inspection import (
    Reading,
    explain,
    explain_span,
    explanations,
    how_sure,
    span_certainties,
)
from spacy_hoseq.inspection.explanation import annotated, as_data, decisions, explained
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.reporting.text import explanation_text, render

from ..builders import doc_of, packaged, spans_of, tagger_of
from ..components import bidirectional_helpers, chunker_helpers, helpers
from ..reporting.unpacked import unpacked
from ..repository import hoseq
from .texts import table_of

TEXT = "the cat runs home"
LONGER = "the old dog sees a cat ."


@pytest.fixture(scope="module", params=["max_margin", "likelihood of patterns", "all patterns"])
def nlp(request):
    nlp = helpers.blank(request.param)
    helpers.train(nlp, 4, optimizer=nlp.initialize(lambda: helpers.examples_of(nlp)))
    return nlp


@pytest.fixture(scope="module")
def both():
    """A tagger and a chunker that listens to it."""
    return chunker_helpers.trained("marginals", 8)


@pytest.fixture(scope="module")
def doc(both):
    return both(doc_of(both, LONGER))


@pytest.fixture
def only_r(nlp):
    """ "cat" can be nothing but R."""
    pipe = tagger_of(nlp)
    pipe.cfg["tag_dictionary"] = {"cat": ["R"]}
    pipe.labels_changed()
    yield pipe
    pipe.cfg["tag_dictionary"] = {}
    pipe.labels_changed()


def best_of(table, t, label):
    return table.scores[table.labellings[:, t] == label].max()


@pytest.mark.parametrize("t", range(4))
def test_sum_of_reasons_is_the_difference(nlp, t):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    table = table_of(pipe, doc)
    label = int(table.best_labels[t])
    others = [y for y in range(len(pipe.labels)) if y != label]
    found = explain(pipe, doc, t)
    runner_up = max(others, key=lambda y: best_of(table, t, y))
    assert (found.label, found.against) == (pipe.labels[label], pipe.labels[runner_up])
    for other in others:
        found = explain(pipe, doc, t, pipe.labels[other])
        expected = table.best - best_of(table, t, other)
        assert found.difference == pytest.approx(expected, abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(expected, abs=1e-4)
        p = table.marginals[t]
        assert (found.p, found.p_against) == pytest.approx((p[label], p[other]))
        index = pipe.labels.index
        rows = [list(map(index, names)) for names in (found.labels, found.others)]
        scores = [table.scores[(table.labellings == row).all(axis=1)][0] for row in rows]
        assert scores == pytest.approx([table.best, table.best - expected], abs=1e-5)
        assert rows[1][t] == other
        for term in found.terms:
            names, otherwise, _ = term.name.partition(" (otherwise)")
            if term.kind == "transition":
                first, second = (found.others if otherwise else found.labels)[term.token - 1 :][:2]
                assert names == f"{second} after {first}", term


def test_names_of_features(nlp):
    """Each template with what stands at its place; the weights are those of the table."""
    reading = Reading(tagger_of(nlp), [doc_of(nlp, TEXT)])
    found = [f for word in range(4) for f in reading.features(word)]
    names = {f.name for f in found if f.word == 1}
    assert names <= {"lower[0] = cat", "lower[-1] = the", "suffix2[0] = at", "bias"}
    names = {f.name for f in found if f.word == 0 and f.name.startswith("lower[-1]")}
    assert names <= {"lower[-1] = <s>"}
    assert {f.looks_at for f in found if f.name == "lower[-1] = the"} == {(0,)}
    totals = np.array([sum(f.weights for f in found if f.word == t) for t in range(4)])
    assert totals == pytest.approx(reading.potentials.scores, abs=1e-5)


def test_terms_that_do_not_add_up(nlp):
    pipe, doc = tagger_of(nlp), doc_of(nlp, TEXT)
    layer = pipe.model.layers[0]
    shim = layer.shims[0]
    table = layer.attrs["type_scores"].used(shim.extra, shim.used_rows("table")).table
    kept = table.copy()
    found = explanations(pipe, doc, [1])
    table.flags.writeable = True
    table *= 2  # after the Doc was read
    try:
        with pytest.raises(ValueError, match=r"\[HS147\] Two labellings differ by"):
            next(found)
    finally:
        table[...] = kept
        table.flags.writeable = False


@pytest.mark.parametrize("against, said", [
    (None, '"R" here. Known: another label'),  # the only label
    ("N", '"N" here. Known: another label'),  # one that cannot stand there
    ("XX", '"XX" here. Known: ., A, D, N, R, V'),
])  # fmt: skip
def test_nothing_to_compare_with(nlp, only_r, against, said):
    doc = doc_of(nlp, TEXT)
    with pytest.raises(ValueError, match=r"\[HS161\]") as raised:
        explain(only_r, doc, 1, against)
    assert said in str(raised.value)
    (found,) = explanations(only_r, doc, [1])
    assert not found.against and found.alternatives == [("R", pytest.approx(1.0))]
    assert json.dumps(as_data(found, doc))
    assert "no other label is permitted" in explanation_text(found, doc)
    with pytest.raises(ValueError, match=r"\[HS141\] Token 4 is not a word"):
        explain(only_r, doc, 4)


@pytest.fixture(scope="module", params=["words", "patterns", "marginals"])
def chunks(request):
    """A chunker, and a Doc as it is given it."""
    nlp = chunker_helpers.random_chunker(request.param, seed=5, scale=0.5)
    for _, component in nlp.pipeline:
        for shim in weights_in(component.model):
            if "table" in shim.parameters:
                shim.parameters["table"].values[-1] = 0  # no feature has no weight
    doc = doc_of(nlp, TEXT)
    for name, component in nlp.pipeline:
        doc = component(doc) if name != chunker_helpers.NAME else doc
    yield chunker_helpers.chunker_of(nlp), doc
    assert nlp.pipe_names, "the tagger that it listens to is there as long as the chunker is asked"


def test_chunk_and_what_comes_next(chunks):
    """Of chunkers that listen, the features are labels with their probabilities."""
    pipe, doc = chunks
    reading = Reading(pipe, [doc])
    features = [f for word in range(4) for f in reading.features(word)]
    totals = np.array([sum([f.weights for f in features if f.word == t]) for t in range(4)])
    assert totals == pytest.approx(reading.potentials.scores, abs=1e-4)
    names = " ".join(f.name for f in features)
    assert ("upstream[0] = " in names) == doc.has_annotation("TAG") and "= label " not in names
    table = table_of(pipe, doc)
    every = chunker_helpers.all_chunkings(4)
    tags = [chunker_helpers.tags_by_hand(c, 4, "bilou") for c in every]
    rows = np.array([[pipe.tags.index(tag) for tag in row] for row in tags])
    scores = np.array([table.scores[(table.labellings == row).all(axis=1)][0] for row in rows])
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    best = every[int(scores.argmax())]
    for chunk in {chunk for chunks in every for chunk in chunks if chunk[1] - chunk[0] < 4}:
        has = np.array([chunk in chunks for chunks in every])
        found = explain_span(pipe, Span(doc, *chunk))
        with_it, without = scores[has].max(), scores[~has].max()
        expected = with_it - (without if chunk in best else scores.max())
        assert found.difference == pytest.approx(expected, abs=1e-4), chunk
        assert sum(term.value for term in found.terms) == pytest.approx(expected, abs=1e-3)
        assert (found.p, found.p_against) == pytest.approx((p[has].sum(), p[~has].sum()), abs=1e-6)


def test_chunk_against_another_label(chunks):
    pipe, doc = chunks
    one, two = (Span(doc, 0, 2, label) for label in ("NP", "VP"))
    a, b = explain_span(pipe, one, "VP"), explain_span(pipe, two, "NP")
    assert a.difference == pytest.approx(-b.difference) and a.labels == b.others
    assert (a.p, a.p_against) == (b.p_against, b.p)
    none = explain_span(pipe, one, "O")
    table = table_of(pipe, doc)
    outside = (table.labellings[:, :2] == pipe.tags.index("O")).all(axis=1)
    assert none.others[:2] == ["O", "O"]
    found = none.p_against
    assert found == pytest.approx(np.exp(table.scores[outside] - table.log_z).sum(), abs=1e-6)
    with pytest.raises(ValueError, match=r"\[HS140\] .*hoseq_tagger"):
        explain_span(spacy.blank("xx").add_pipe("hoseq_tagger"), one)
    for wrong, known in (("XX", "NP, VP"), ("NP", "another label")):
        with pytest.raises(ValueError, match=rf'\[HS161\] .*"{wrong}" here\. Known: {known}'):
            explain_span(pipe, one, wrong)


@pytest.mark.parametrize("of_chunks", [False, True])
def test_decisions_of_a_bidirectional_tagger(of_chunks):
    """Local probabilities, given what was decided before; without a feature, by the classifier itself. Of chunks it
    decides on tags."""
    nlp = bidirectional_helpers.chunker("iob1") if of_chunks else bidirectional_helpers.ready()
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    doc = doc_of(nlp, LONGER)
    kept, pipe.cfg["save_decisions"] = pipe.cfg["save_decisions"], True
    expected = pipe(doc.copy())._.hoseq_decisions[pipe.name]
    pipe.cfg["save_decisions"] = kept
    names = set()
    for t, found in enumerate(explanations(pipe, doc)):
        assert found == explain(pipe, doc, t)
        assert f"(turn {found.turn})" in explanation_text(found, doc)
        assert found.turn == expected["order"][t] and found.label == expected["labels"][t]
        assert found.p == pytest.approx(expected["probabilities"][t], abs=1e-6)
        log_odds = np.log(found.p / found.p_against)
        assert found.difference == pytest.approx(log_odds, abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(log_odds, abs=1e-4)
        names |= {term.name for term in found.terms}
        pairs = enumerate(zip(found.labels, found.others, strict=True))
        differs = [i for i, (label, other) in pairs if label != other]
        assert differs == [t] and (found.labels[t], found.others[t]) == (found.label, found.against)
    assert any("is labelled" in name for name in names) and 'is "dog"' in names
    (doc,) = how_sure(nlp, [pipe(doc)])
    labels = [token._.hoseq_certainty[pipe.name].label for token in doc]
    assert labels == [expected["labels"][token.i] for token in doc]
    assert all(span._.hoseq_certainty == {} for group in doc.spans.values() for span in group)


def test_all_words_and_chunks_of_a_text(both, doc):
    tagger, chunker = both.get_pipe("hoseq_tagger"), both.get_pipe("hoseq_chunker")
    words, chunks = list(explanations(tagger, doc)), list(explanations(chunker, doc))
    spans = list(doc.spans["chunks"])
    assert [(one.first, one.label) for one in words] == [(token.i, token.tag_) for token in doc]
    assert [(a.first, a.end, a.label) for a in chunks] == spans_of(spans) and spans
    assert words == [explain(tagger, doc, t.i) for t in doc]
    assert chunks == [explain_span(chunker, span) for span in spans]
    assert explain(chunker, doc, 1).label == "I-NP"
    for account, sure in zip(chunks, span_certainties(chunker, spans), strict=True):
        p = dict(account.alternatives)
        assert account.p == pytest.approx(sure.exact) == p[account.label]
        assert sum(p.values()) == pytest.approx(1, abs=0.01)
    for one in words:
        names, p = zip(*one.alternatives, strict=True)
        assert one.label in names and list(p) == sorted(p, reverse=True) and sum(p) <= 1 + 1e-6
    improbable = explain_span(chunker, Span(doc, 1, 6, "VP"))
    assert dict(improbable.alternatives)["VP"] == improbable.p < 0.001 and improbable.difference < 0
    assert list(explanations(tagger, doc, [2])) == [words[2]]
    assert list(explanations(chunker, doc, [1])) == chunks[:1]
    (bare,) = explanations(tagger, doc, [2], reasons=False)
    assert bare[:8] == words[2][:8] and not bare.against and not bare.terms
    # with a span of another component, of a label that the chunker does not know
    other = doc.copy()
    period = Span(other, len(other) - 1, len(other), "PERIOD")
    other.spans["chunks"] = [*other.spans["chunks"], period]
    assert list(explanations(chunker, other)) == chunks


def test_components(both):
    assert explained(both) == ["hoseq_tagger", "hoseq_chunker"]
    assert explained(both, ["hoseq_chunker"]) == ["hoseq_chunker"]
    other = spacy.blank("xx")
    other.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"\[HS152\] .* this package: any. The pipeline has: none"):
        explained(other)


@Language.component("test_merge_two")
def merge_two(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[:2])
    return doc


def test_tokens_that_were_merged_since(both):
    """Decisions are about the tokens that a component has seen; those of the text are found by their characters."""
    merging = spacy.blank("xx", vocab=both.vocab)
    for name in both.pipe_names:
        merging.add_pipe(name, source=both)
    merging.add_pipe("test_merge_two")
    doc = merging.make_doc("the old cat runs")
    doc, seen = annotated(merging, doc, ["hoseq_tagger", "hoseq_chunker"])
    assert [token.text for token in doc] == ["the old", "cat", "runs"]
    plain = both("the old cat runs")
    for name, given in seen.items():
        assert [token.text for token in given] == ["the", "old", "cat", "runs"]
        shown = list(explanations(both.get_pipe(name), given))
        assert shown == list(explanations(both.get_pipe(name), plain))
    of_tagger = {"hoseq_tagger": seen["hoseq_tagger"]}
    texts = [one.text for _, one in decisions(merging, doc, of_tagger, [0, 2])]
    assert texts == ["the", "old", "runs"]
    for token in (-1, 3):
        with pytest.raises(ValueError, match=r"\[HS141\]"):
            list(decisions(merging, doc, seen, [token]))


def test_said_in_words(both, doc):
    """What is printed adds up; columns of long names stand below each other."""
    account = explain(both.get_pipe("hoseq_tagger"), doc, 2)
    first, *rest = account.terms
    terms = [first._replace(name="lower[-1] = the + lower[0] = dog + lower[1] = sees"), *rest]
    text = explanation_text(account._replace(terms=terms), doc)
    lines = text.splitlines()
    assert lines[0] == "hoseq_tagger, 2: dog" and f"ahead by {account.difference:.3f}" in text
    header = next(line for line in lines if line.split() == ["value", "what", "at"])
    rows = [line for line in lines if line.split()[0][0] in "+-" and line.split()[0][1].isdigit()]
    assert sum(float(row.split()[0]) for row in rows) == pytest.approx(account.difference, abs=0.02)
    at = header.rindex("at")
    shown = [line for line in rows if line.split()[1] in ("feature", "transition")]
    assert len(shown) > 2 and {line[at - 3 : at] for line in shown} == {"   "}
    assert {line[at:] for line in shown} <= {token.text for token in doc}
    assert lines == [line.rstrip() for line in lines]


def test_words_stay_words_on_the_page(both):
    words = ["</script><script>alert(1)</script>", "<b>", "&amp;", "\n", "cat"]
    page = render(both(Doc(both.vocab, words=words)), both, title="<Text>").html
    assert page.count("<script") == 2 and "<b>" not in page
    assert "&lt;b&gt;" in page and "&amp;amp;" in page and "<title>&lt;Text&gt;</title>" in page
    assert unpacked(page)[0]["reasons"][0]["text"] == "</script><script>alert(1)</script>"
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.fixture(scope="module")
def model(both, tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "model"
    both.to_disk(path)
    return path


@pytest.mark.parametrize("arguments, expected, said", [
    ([LONGER, "--token", 2, "--component", "hoseq_tagger"], 0, "hoseq_tagger, 2: dog "),
    ([LONGER, "-t", 1, "--against", "V"], 0, "hoseq_tagger, 1: old "),
    ([LONGER, "-t", 1, "--against", "VP"], 0, "hoseq_chunker, 0-2: the old dog "),
    ([LONGER, "-t", 99], 1, "[HS141] Token 99 is not a word of this text"),
    ([LONGER, "-t", -1], 1, "[HS141]"),
    ([LONGER, "-t", 1, "--against", "XYZ"], 1, '[HS161] There is nothing named "XYZ"'),
    ([LONGER, "-t", 6, "--component", "hoseq_chunker"], 1, "[HS159] There is no chunk in what hoseq_chunker found"),
    ([LONGER, "--component", "tagger"], 1, "this package: tagger. The pipeline has: hoseq_tagger, hoseq_chunker."),
    ([""], 1, "[HS159] There is no word in the text"),
    ([" \n "], 1, "[HS159]"),
])  # fmt: skip
def test_command(arguments, expected, said, model):
    code, output = hoseq("explain", model, *arguments)
    assert code == expected and said in output, output


def test_command_of_several_tokens(model):
    """Without a token, the least sure one of each component."""
    code, output = hoseq("explain", model, LONGER)
    assert code == 0 and output.count("ahead by") == 2
    _, output = hoseq("explain", model, LONGER, "--json", "-t", 1, "-t", 2)
    found = [json.loads(line) for line in output.replace("} {", "}\n{").splitlines()]
    expected = [("hoseq_tagger", 1), ("hoseq_tagger", 2), ("hoseq_chunker", 0)]
    assert [(a["component"], a["first"]) for a in found] == expected
    assert found[0]["terms"][0]["kind"] in ("feature", "transition")


def test_a_lemma_in_place_of_its_label():
    nlp = packaged("en")
    doc = nlp("They saw her duck.")
    pipe = nlp.get_pipe("hoseq_lemmatizer")
    found = explain(pipe, doc, 1, "saw")
    assert found.label == "lower saw>see" and found.words[found.against] == "saw (in lower case)"
    with pytest.raises(ValueError, match=r'"sawww" here\. Known: .*1,061 more') as raised:
        explain(pipe, doc, 1, "sawww")
    assert str(raised.value).count(">") == 10
