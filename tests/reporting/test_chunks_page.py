"""The page of chunks: every chunk with its type and its probability."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_hoseq.reporting.chunks import COLOURS, chunks_of, chunks_page

from ..components.chunker_helpers import TEXTS, doc_of, on, ready, scores_on

NLP = spacy.blank("xx")


def chunked(text, chunks, scores=None, key="chunks"):
    doc = Doc(NLP.vocab, words=text.split())
    doc.spans[key] = [Span(doc, *chunk) for chunk in chunks]
    if scores is not None:
        doc.spans[key].attrs["scores"] = np.array(scores, "f4")
    return doc


class Page(HTMLParser):
    """Tags that a page opens, the text of each figure without its marks, and the marks; refuses what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.figures, self.marks, self.title, self.styles = [], [], [], [], "", []
        self.feed(text)
        assert self.open == [] and "script" not in self.seen and "a" not in self.seen

    def handle_starttag(self, tag, attrs):
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "figure":
            self.figures.append("")
        if tag == "mark":
            self.marks.append([])
            self.styles.append(dict(attrs)["style"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.title += data
        if "mark" in self.open and data.strip():
            self.marks[-1].append(data.strip())
        if "figure" in self.open and "span" not in self.open:
            self.figures[-1] += data


def words_of(figure):
    return " ".join(figure.split())


def test_types_and_probabilities():
    doc = chunked("the old dog sees us .", [(0, 3, "NP"), (3, 4, "VP"), (4, 5, "NP")], [0.987, 1.0, 0.004])
    text = chunks_page([doc])
    page = Page(text)
    assert page.marks == [["the old dog", "NP", "0.99"], ["sees", "VP", "1.00"], ["us", "NP", "0.00"]]
    assert [words_of(figure) for figure in page.figures] == ["the old dog sees us ."]
    assert text.startswith("<!DOCTYPE html>") and page.title == "Chunks"
    colours = [re.search("background: (#[0-9a-f]+)", style)[1] for style in page.styles]
    assert colours == [COLOURS["NP"], COLOURS["VP"], COLOURS["NP"]]


def test_several_docs():
    docs = [chunked("dogs run", [(0, 1, "NP")], [0.5]), chunked("oh", []), chunked("a b", [(0, 2, "X")], [0.25])]
    page = Page(chunks_page(docs))
    assert [words_of(figure) for figure in page.figures] == ["dogs run", "oh", "a b"]
    assert page.marks == [["dogs", "NP", "0.50"], ["a b", "X", "0.25"]]
    assert Page(chunks_page(iter(docs))).marks == page.marks


def test_without_scores():
    page = Page(chunks_page([chunked("dogs run", [(0, 1, "NP"), (1, 2, "VP")])]))
    assert page.marks == [["dogs", "NP"], ["run", "VP"]]


def test_no_docs_and_no_words():
    assert Page(chunks_page([])).figures == []
    empty = Doc(NLP.vocab)
    empty.spans["chunks"] = []
    page = Page(chunks_page([empty]))
    assert page.marks == [] and [words_of(figure) for figure in page.figures] == [""]


def test_chunks_in_any_order_keep_their_probabilities():
    doc = chunked("a b c", [(2, 3, "Z"), (0, 1, "X"), (1, 2, "Y")], [0.3, 0.1, 0.2])
    assert [(e["start"], e["label"], e["kb_id"]) for e in chunks_of(doc, "chunks")["ents"]] == [
        (0, "X", "0.10"), (2, "Y", "0.20"), (4, "Z", "0.30"),
    ]  # fmt: skip
    assert Page(chunks_page([doc])).marks == [["a", "X", "0.10"], ["b", "Y", "0.20"], ["c", "Z", "0.30"]]


def test_another_key_and_title():
    doc = chunked("dogs run", [(0, 1, "NP")], [0.5], key="entities")
    page = Page(chunks_page([doc], spans_key="entities", title="<Entities & more>"))
    assert page.title == "<Entities & more>" and page.marks == [["dogs", "NP", "0.50"]]


@pytest.mark.parametrize("without", [Doc(NLP.vocab, words=["a"]), chunked("a", [(0, 1, "X")], key="other")])
def test_doc_without_chunks(without):
    with pytest.raises(KeyError, match="chunks"):
        chunks_page([without])


@pytest.mark.parametrize("word", ["<&>", "</mark>", "<script>alert(1)</script>", "&amp;", "<b>", "猫", "\"'"])
def test_words_are_escaped(word):
    doc = chunked(f"{word} runs {word}", [(0, 1, "NP"), (1, 2, "VP")], [0.5, 0.75])
    page = Page(chunks_page([doc], title=word))
    assert page.marks == [[word, "NP", "0.50"], ["runs", "VP", "0.75"]]
    assert words_of(page.figures[0]) == f"{word} runs {word}" and page.title == word


@pytest.mark.parametrize("word", ['<a href="#">x</a>', "<title>displaCy</title>", "6rem"])
def test_words_that_look_like_the_page(word):
    doc = Doc(NLP.vocab, words=[word, "y"])
    doc.spans["chunks"] = [Span(doc, 0, 1, "NP")]
    assert Page(chunks_page([doc])).marks == [[word, "NP"]]


@pytest.mark.parametrize("label", ["A&B", "<b>", "</mark>"])
def test_types_are_escaped(label):
    assert Page(chunks_page([chunked("x y", [(0, 1, label)], [0.5])])).marks == [["x", label, "0.50"]]


def test_of_a_trained_component():
    nlp = ready("words")
    docs = list(nlp.pipe(doc_of(nlp, text) for text in TEXTS))
    page = Page(chunks_page(docs))
    expected = [
        [doc[start:end].text, label, f"{score:.2f}"]
        for doc in docs
        for (start, end, label), score in zip(on(doc), scores_on(doc), strict=True)
    ]
    assert page.marks == expected and len(expected) > 5
    assert [words_of(figure) for figure in page.figures] == TEXTS
