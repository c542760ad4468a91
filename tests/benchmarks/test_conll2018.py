"""Scores of raw text by the rules of the CoNLL 2018 shared task, worked out by hand."""

import pytest

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks.conll2018 import Token, score, sentences_of  # noqa: E402


def token(text, *words):
    """words: (form, tag); one of several, or the token itself."""
    words = words or [(text, "X")]
    return Token(text, [[form, tag, tag, "Case=Nom|Style=Arch", form] for form, tag in words])


def test_words_and_sentences():
    """Four gold words, four found, of which one is right; of two sentences against one none is."""
    gold = [[token("can"), token("not")], [token("go"), token("on")]]
    scores = score(gold, [[token("cannot"), token("go"), token("o"), token("n")]])
    assert scores["words"] == pytest.approx(200 * 1 / 8) and scores["sentences"] == 0


def test_words_of_a_multiword_token_are_aligned_by_their_forms():
    gold = [[token("zum", ("zu", "ADP"), ("dem", "DET")), token("Haus")]]
    scores = score(gold, [[token("zum", ("zu", "ADP"), ("der", "DET")), token("Haus")]])
    assert scores["words"] == pytest.approx(200 * 2 / 6) and scores["sentences"] == 100
    assert scores["UPOS"] == scores["XPOS"] == scores["lemmas"] == scores["words"]


def test_features_are_the_universal_ones():
    other = [[Token("a", [["a", "X", "X", "Case=Nom", "a"]])]]
    assert score([[token("a")]], other)["UFeats"] == 100
    wrong = [[Token("a", [["a", "X", "X", "Case=Gen|Style=Arch", "a"]])]]
    assert score([[token("a")]], wrong)["UFeats"] == 0


def test_other_text_is_refused():
    with pytest.raises(ValueError, match="texts differ"):
        score([[token("a")]], [[token("b")]])


def test_conllu_is_read():
    rows = ["1-2\tzum", "1\tzu\tzu\tADP\tAPPR\t_", "2\tdem\tder\tDET\tART\tCase=Dat"]
    rows += ["3\tHaus\tHaus\tNOUN\tNN\t_"]
    ((first, second),) = sentences_of("# text\n" + "\n".join(rows) + "\n\n")
    parts = [["zu", "APPR", "ADP", "_", "zu"], ["dem", "ART", "DET", "Case=Dat", "der"]]
    assert first == Token("zum", parts)
    assert second.words == [["Haus", "NN", "NOUN", "_", "Haus"]]
