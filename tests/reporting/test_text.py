"""An annotated text as rows: all layers of a Doc, sentence by sentence, with the probabilities that are known."""

import re

import numpy as np
import pytest
import spacy
from markupsafe import escape
from spacy.tokens import Doc, Span, SpanGroup, Token

from spacy_hoseq.cli.text import text_table
from spacy_hoseq.components.extensions import write_decisions, write_marginals
from spacy_hoseq.components.targets.places import target_at
from spacy_hoseq.reporting.layers import sentences_of, stretches
from spacy_hoseq.reporting.text import notes_of, text_page

from ..components import helpers
from .unpacked import unpacked

NLP = spacy.blank("xx")


def doc_of(**layers):
    words = ["Ana", "Silva", " ", "left", "Rome"]
    return Doc(NLP.vocab, words=words, sent_starts=[True, False, False, True, False], **layers)


def plain(word):
    """Labels with their probabilities, without the others."""
    return [label[:2] for label in word.labels]


def test_labels_and_their_probabilities():
    doc = doc_of(tags=["N", "N", "_SP", "V", "N"], pos=["PROPN", "PROPN", "SPACE", "VERB", "PROPN"])
    p = np.array([0.9, 0.8, 0, 0.3, 0.6])
    write_marginals(doc, "tagger", ["N", "V"], np.stack([p, (1 - p) * (p > 0)], axis=1))
    first, second = sentences_of(doc)
    assert first.labels == ["tag", "pos"]
    assert [word.text for word in first.words] == ["Ana", "Silva"]
    tags = [plain(word)[0] for sentence in (first, second) for word in sentence.words]
    assert tags == [("N", 0.9), ("N", 0.8), ("V", 0.7), ("N", 0.6)]
    assert [plain(word)[1] for word in first.words] == [("PROPN", None)] * 2


def test_decisions_have_one_probability_a_word():
    doc = doc_of(tags=["N", "N", "_SP", "V", "N"])
    order, half = np.arange(5, dtype=np.int32), np.full(5, 0.5, np.float32)
    write_decisions(doc, "tagger", ["N", "N", "", "V", "N"], order, half)
    found = [plain(word) for sentence in sentences_of(doc) for word in sentence.words]
    assert found == [[(tag, 0.5)] for tag in "NNVN"]


def test_labels_of_features_and_of_extensions():
    Token.set_extension("mood", default="")
    try:
        pos = ["PROPN", "PROPN", "SPACE", "VERB", "PROPN"]
        doc = doc_of(pos=pos, morphs=["Case=Nom", "", "", "Tense=Past", ""])
        for token in doc:
            token._.mood = "calm"
        labels = ["Case=Nom|POS=PROPN", "POS=PROPN", "POS=VERB|Tense=Past"]
        p = np.array([[0.9, 0.1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]])
        write_marginals(doc, "morphologizer", labels, p)
        p = np.array([[0.5, 0.5]] * 2 + [[0, 0]] + [[0.75, 0.25]] * 2)
        write_marginals(doc, "moods", ["calm", "wild"], p)
        first, second = sentences_of(doc)
    finally:
        Token.remove_extension("mood")
    assert first.labels == ["pos", "features", "mood"]
    assert plain(first.words[0]) == [("PROPN", None), ("Case=Nom", 0.9), ("calm", 0.5)]
    assert plain(second.words[0]) == [("VERB", None), ("Tense=Past", 1.0), ("calm", 0.75)]


def test_lemmas_have_the_probabilities_of_their_scripts():
    doc = Doc(NLP.vocab, words=["Cats", "ran"], lemmas=["cat", "run"])
    labels = [label for _, _, label in target_at("lemma").items(doc)]
    write_marginals(doc, "lemmatizer", labels, np.array([[0.75, 0.25], [0.5, 0.5]]))
    (sentence,) = sentences_of(doc)
    assert sentence.labels == ["lemma"]
    first, second = sentence.words
    assert first.labels == [("cat", 0.75, [("Cats", 0.25)])], "the other script as a word, too"
    assert second.labels == [("run", 0.5, [("ran", 0.5)])]


def test_entities_have_the_probabilities_of_their_group():
    doc = doc_of()
    spans = [Span(doc, 0, 2, "PERSON"), Span(doc, 4, 5, "GPE")]
    doc.set_ents(spans)
    scores = {"scores": np.array([0.75, 0.5])}
    doc.spans["entities"] = SpanGroup(doc, name="entities", spans=spans, attrs=scores)
    first, second = sentences_of(doc)
    assert first.spans == second.spans == ["ents"]
    cells = [cell for word in first.words for cell in word.spans]
    assert [cell[:2] for cell in cells] == [("PERSON", 0.75)] * 2
    assert [(cell.begins, cell.ends) for cell in cells] == [(True, False), (False, True)]
    assert second.words[0].spans[0].label == "" and second.words[1].spans[0][:2] == ("GPE", 0.5)


def test_spans_that_overlap_stand_in_rows_of_their_own():
    doc = Doc(NLP.vocab, words=["a", "b", "c"])
    spans = [Span(doc, 0, 2, "X"), Span(doc, 1, 3, "Y"), Span(doc, 2, 3, "Z")]
    doc.spans["sc"] = SpanGroup(doc, name="sc", spans=spans)
    (sentence,) = sentences_of(doc)
    assert sentence.spans == ["sc", "sc"]
    cells = [[cell.label for cell in word.spans] for word in sentence.words]
    assert cells == [["X", ""], ["X", "Y"], ["Z", "Y"]]
    rows = [" ".join(line.split()) for line in text_table(sentence).splitlines() if line]
    assert rows[1:] == ["a X", "b | Y", "c Z |"]


def test_a_page_says_that_probabilities_are_not_calibrated():
    """HW009, beside each number, and not of a pipeline that is."""
    rough, good = helpers.ready("max_margin"), helpers.ready("log_likelihood")
    assert notes_of(good) == {}
    ((layer, note),) = notes_of(rough).items()
    assert layer == "tag" and "[HW009]" in note and "hoseq calibrate" in note
    doc = rough("the old dog")
    write_marginals(doc, "hoseq_tagger", list(helpers.LABELS), np.full((3, 6), 1 / 6))
    page = text_page([doc], rough)
    assert page.count(f"* {escape(note)}") == 1 and 'marked = ["tag"]' in page
    expected = [["tag", token.tag_, 1 / 6] for token in doc]
    assert [facts[0][:3] for facts in unpacked(page)[0]["facts"].values()] == expected
    assert "HW009" not in text_page([doc], good)


@pytest.mark.parametrize("how", ["merged", "split", "as many as before"])
def test_spans_are_found_by_their_characters(how):
    """Tokens that were merged or split since move no span to other words."""
    doc = Doc(NLP.vocab, words=["New", "York", "saw", " ", "the", "olddog"], tags=["N"] * 6)
    bounds = [(0, 2, "NP"), (2, 3, "VP"), (4, 6, "NP")]
    spans = [Span(doc, *each) for each in bounds]
    scores = [0.9, 0.8, 0.7]
    doc.spans["chunks"] = SpanGroup(doc, name="chunks", spans=spans, attrs={"scores": scores})
    expected = [(s.text, s.label_, p) for s, p in zip(spans, scores, strict=True)]
    with doc.retokenize() as retokenizer:
        if how != "split":
            retokenizer.merge(doc[0:2])
        if how != "merged":
            retokenizer.split(doc[5], ["old", "dog"], heads=[(doc[5], 0), (doc[5], 0)])
    found = stretches(doc.spans["chunks"])
    assert [(doc[first:end].text, label, p) for first, end, label, p in found] == expected
    assert target_at("spans.chunks").items(doc) == [one[:3] for one in found]
    (sentence,) = sentences_of(doc)
    first = [word.spans[0] for word in sentence.words]
    assert [span.label for span in first if span.begins] == ["NP", "VP", "NP"]


@pytest.mark.parametrize(
    "signs",
    [
        "I| |\U0001f469\u200d\U0001f4bb| |at",
        "\U0001f1e9\U0001f1ea|\U0001f1eb\U0001f1ee",
        "\U0001f44d\U0001f3fd|!| |\u2764\ufe0f",
        "\U0001f3f4\U000e0067\U000e0062\U000e007f| |ok",
    ],
)
def test_emoji_and_flags_are_whole(signs):
    """However the tokenizer has cut them."""
    (sentence,) = sentences_of(spacy.blank("en")(signs.replace("|", "")))
    assert [word.text for word in sentence.words] == signs.replace("| |", "|").split("|")


def test_what_would_hide_or_turn_text_is_seen():
    (sentence,) = sentences_of(spacy.blank("en")("a\u202eb\U000e0041"))
    assert [word.text for word in sentence.words] == ["a\u2423b\u2423"]


def test_a_sign_of_several_tokens_has_what_begins_and_ends_there():
    doc = Doc(NLP.vocab, words=["\U0001f1e9", "\U0001f1ea", "a"], spaces=[False, True, False])
    doc.spans["sc"] = [Span(doc, 0, 2, "X"), Span(doc, 2, 3, "Y")]
    (sentence,) = sentences_of(doc)
    assert [(word.token, cell.label, cell.begins, cell.ends) for word in sentence.words for cell in word.spans] == [
        (0, "X", True, True), (2, "Y", True, True),
    ]  # fmt: skip


def test_lines_end_between_words():
    words, spaces = ["昨天", "，", "我们", "ok", ".", "no"], [False] * 4 + [True, False]
    _, *parts = text_page([Doc(NLP.vocab, words=words, spaces=spaces)]).split('class="group"')
    groups = [re.findall(r"<span>(.*?)</span>", part) for part in parts]
    assert groups == [["昨天", "，"], ["我们"], ["ok", "."], ["no"]]
