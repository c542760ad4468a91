"""Everything about a text: what pages and the command say."""

import json

import pytest
import spacy
from spacy.cli._util import app
from spacy.language import Language
from spacy.tokens import Doc, Span
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.inspection import explain, explanations, span_certainties
from spacy_hoseq.inspection.explanation import annotated, as_data, decisions, explained
from spacy_hoseq.reporting.text import explanation_text, render

from ..components import bidirectional_helpers, chunker_helpers
from ..components.helpers import doc_of
from ..reporting.unpacked import unpacked

TEXT = "the old dog sees a cat ."


@Language.component("test_merge_two")
def merge_two(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[:2])
    return doc


@pytest.fixture(scope="module")
def nlp():
    return chunker_helpers.trained("marginals", 8)


@pytest.fixture(scope="module")
def doc(nlp):
    return nlp(doc_of(nlp, TEXT))


def test_of_words(nlp, doc):
    pipe = nlp.get_pipe("hoseq_tagger")
    found = list(explanations(pipe, doc))
    assert [(one.first, one.label) for one in found] == [(i, token.tag_) for i, token in enumerate(doc)]
    for one in found:
        assert one == explain(pipe, doc, one.first)
        names, p = zip(*one.alternatives, strict=True)
        assert one.label in names and list(p) == sorted(p, reverse=True) and sum(p) <= 1 + 1e-6
    assert list(explanations(pipe, doc, [2])) == [found[2]]
    with pytest.raises(ValueError, match=r"\[HS141\]"):
        list(explanations(pipe, doc, [9]))


def test_of_chunks(nlp, doc):
    pipe = nlp.get_pipe("hoseq_chunker")
    found = list(explanations(pipe, doc))
    spans = list(doc.spans["chunks"])
    assert [(a.first, a.end, a.label) for a in found] == [(s.start, s.end, s.label_) for s in spans] and spans
    for account, sure in zip(found, span_certainties(pipe, spans), strict=True):
        p = dict(account.alternatives)
        assert account.p == pytest.approx(sure.exact) == p[account.label]
        assert sum(p.values()) == pytest.approx(1, abs=0.01)
    assert [a.first for a in explanations(pipe, doc, [1])] == [0]


def test_of_chunks_that_others_have_written(nlp, doc):
    """A group can have spans of other components: of a label that the chunker does not know, it says nothing."""
    pipe = nlp.get_pipe("hoseq_chunker")
    expected = explanations(pipe, doc)
    other = doc.copy()
    other.spans["chunks"] = [*other.spans["chunks"], Span(other, len(other) - 1, len(other), "PERIOD")]
    assert [a.label for a in explanations(pipe, other)] == [a.label for a in expected]


def test_of_decisions():
    nlp = bidirectional_helpers.ready()
    doc = nlp(doc_of(nlp, TEXT))
    found = list(explanations(nlp.get_pipe(nlp.pipe_names[0]), doc))
    assert sorted(a.turn for a in found) == list(range(1, 8)) and [a.label for a in found] == [t.tag_ for t in doc]
    assert "(turn " in explanation_text(found[0], doc)


def test_only_one_label_is_permitted(nlp, doc):
    pipe = nlp.get_pipe("hoseq_tagger")
    pipe.cfg["tag_dictionary"] = {"the": ["D"]}
    pipe._labels_changed()
    try:
        found = next(explanations(pipe, doc))
    finally:
        pipe.cfg["tag_dictionary"] = {}
        pipe._labels_changed()
    assert not found.against and found.alternatives == [("D", pytest.approx(1.0))]
    assert "no other label is permitted" in explanation_text(found, doc)
    assert json.dumps(as_data(found, doc))


def test_components(nlp):
    assert explained(nlp) == ["hoseq_tagger", "hoseq_chunker"]
    assert explained(nlp, ["hoseq_chunker"]) == ["hoseq_chunker"]
    other = spacy.blank("xx")
    other.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"\[HS152\] .* is asked for: any. It has: none"):
        explained(other)


def test_text_says_what_adds_up(nlp, doc):
    account = explain(nlp.get_pipe("hoseq_tagger"), doc, 2)
    text = explanation_text(account, doc)
    assert text.startswith("hoseq_tagger, 2: dog\n") and f"ahead by {account.difference:.3f}" in text
    rows = [line.split()[0] for line in text.splitlines() if line.startswith("    ") and line.split()[0][0] in "+-"]
    rows = [float(value) for value in rows if value not in ("-", "+") and not value.startswith("---")]
    assert sum(rows) == pytest.approx(account.difference, abs=0.02)


def test_columns_of_long_names_stand_below_each_other(nlp, doc):
    account = explain(nlp.get_pipe("hoseq_tagger"), doc, 2)
    first, *rest = account.terms
    terms = [first._replace(name="lower[-1] = the + lower[0] = dog + lower[1] = sees"), *rest]
    text = explanation_text(account._replace(terms=terms), doc)
    lines = text.splitlines()
    header = next(line for line in lines if line.split() == ["value", "what", "at"])
    rows = [line for line in lines if line.split()[0][0] in "+-" and line.split()[1] in ("feature", "transition")]
    at = header.rindex("at")
    assert len(rows) > 2 and {line[at - 3 : at] for line in rows} == {"   "}
    assert {line[at:] for line in rows} <= {token.text for token in doc}
    assert lines == [line.rstrip() for line in lines]


def test_words_stay_words_on_the_page(nlp):
    doc = nlp(Doc(nlp.vocab, words=["</script><script>alert(1)</script>", "<b>", "&amp;", "\n", "cat"]))
    page = render(doc, nlp, title="<Text>").html
    assert page.count("<script") == 2 and "<b>" not in page
    assert "&lt;b&gt;" in page and "&amp;amp;" in page and "<title>&lt;Text&gt;</title>" in page
    assert unpacked(page)[0]["reasons"][0]["text"] == "</script><script>alert(1)</script>"
    assert "http" not in page.replace("http://www.w3.org", "")


def test_tokens_that_were_merged_since(nlp):
    """Decisions are about the tokens that a component has seen; those of the text are found by their characters."""
    merging = spacy.blank("xx", vocab=nlp.vocab)
    for name in nlp.pipe_names:
        merging.add_pipe(name, source=nlp)
    merging.add_pipe("test_merge_two")
    doc, seen = annotated(merging, merging.make_doc("the old cat runs"), ["hoseq_tagger", "hoseq_chunker"])
    assert [token.text for token in doc] == ["the old", "cat", "runs"]
    plain = nlp("the old cat runs")
    for name, given in seen.items():
        assert [token.text for token in given] == ["the", "old", "cat", "runs"]
        assert list(explanations(nlp.get_pipe(name), given)) == list(explanations(nlp.get_pipe(name), plain))
    found = [one for _, one in decisions(merging, doc, {"hoseq_tagger": seen["hoseq_tagger"]}, [0, 2])]
    assert [one.text for one in found] == ["the", "old", "runs"]
    for token in (-1, 3):
        with pytest.raises(ValueError, match=r"\[HS141\]"):
            list(decisions(merging, doc, seen, [token]))


@pytest.fixture(scope="module")
def folder(nlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("explain")
    nlp.to_disk(path / "model")
    return path


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", "explain", *map(str, arguments)])
    return result.exit_code, result.output


def test_command(folder):
    code, output = run(folder / "model", TEXT, "--token", 2, "--component", "hoseq_tagger")
    assert code == 0 and output.startswith("hoseq_tagger, 2: dog\n"), output
    code, output = run(folder / "model", TEXT)
    assert code == 0 and output.count("ahead by") == 2
    code, output = run(folder / "model", TEXT, "--json", "-t", 1, "-t", 2)
    found = [json.loads(line) for line in output.splitlines()]
    expected = [("hoseq_tagger", 1), ("hoseq_tagger", 2), ("hoseq_chunker", 0)]
    assert [(a["component"], a["first"]) for a in found] == expected
    assert found[0]["terms"][0]["kind"] in ("feature", "transition")
    code, output = run(folder / "model", TEXT, "-o", folder / "page.html")
    assert code == 0 and "sees" in (folder / "page.html").read_text(encoding="utf8")
    assert run(folder / "model", TEXT, "-o", folder / "new" / "page.html")[0] == 0
    code, output = run(folder / "model", TEXT, "-t", 1, "--against", "V")
    assert code == 0 and "hoseq_tagger, 1: old\n" in output and ", not V: " in output and "hoseq_chunker" not in output
    code, output = run(folder / "model", TEXT, "-t", 1, "--against", "VP")
    assert code == 0 and output.startswith("hoseq_chunker, 0-2: the old dog\n"), output


@pytest.mark.parametrize("arguments, said", [
    ([TEXT, "-t", 99], "[HS141] Token 99 is no word of this text of 7 tokens"),
    ([TEXT, "-t", -1], "[HS141]"),
    ([TEXT, "-t", 1, "--against", "XYZ"], '[HS161] There is nothing named "XYZ"'),
    ([TEXT, "-t", 6, "--component", "hoseq_chunker"], "[HS159] There is no chunk in what hoseq_chunker found"),
    ([TEXT, "--component", "tagger"], "asked for: tagger. It has: hoseq_tagger, hoseq_chunker."),
    ([""], "[HS159] There is no word in the text"),
    ([" \n "], "[HS159]"),
])  # fmt: skip
def test_command_says_what_is_wrong(arguments, said, folder):
    code, output = run(folder / "model", *arguments)
    assert code == 1 and said in " ".join(output.split()), output
