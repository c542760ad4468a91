"""Multi-word tokens: cut where their words spell them, else one token whose words a table has."""

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hoseq.pipelines.treebanks.multiword import Word, add_words, words_of
from spacy_hoseq.readers.formats.conllu import read_conllu
from spacy_hoseq.readers.settings import Settings

TEXT = """1-2\tRoedd\t_\t_\t_\t_\t_\t_\t_\t_
1\tYr\tyr\tPART\tpart\t_\t2\taux\t_\t_
2\toedd\tbod\tVERB\tverb\tTense=Imp\t0\troot\t_\t_
3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\tdo\tdo\tAUX\tVB\t_\t2\taux\t_\t_
4\tn't\tnot\tPART\tRB\t_\t2\taux\t_\t_
5\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_
"""
PARTS = [["yr", "part", "PART", "", "yr"], ["oedd", "verb", "VERB", "Tense=Imp", "bod"]]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.conllu"
    file.write_text(TEXT, "utf8")
    return file


def test_cut_where_words_spell_it(path):
    [sentence] = read_conllu(path, Settings(cut=True))
    assert sentence.words == ["Roedd", "do", "n't", "."]
    assert sentence.spaces == [True, False, False, True]
    assert sentence.tags == ["part_verb", "VB", "RB", "."]
    assert sentence.multiword == [("Roedd", [["Yr", *PARTS[0][1:]], PARTS[1]])]
    [whole] = read_conllu(path, Settings())
    assert whole.words == ["Roedd", "don't", "."] and whole.tags == ["part_verb", "VB_RB", "."]


def test_words_of_tokens():
    vocab = Vocab()
    other = [["yr", "other", "PART", "", "yr"], PARTS[1]]
    add_words(vocab, [("Roedd", PARTS), ("roedd", PARTS), ("Roedd", other)])
    forms = ["Roedd", "roedd", "haul"]
    doc = Doc(vocab, words=forms, tags=["x", "x", "noun"], lemmas=["", "", "haul"])
    words = [Word(*row) for row in PARTS]
    assert words_of(doc[0]) == [words[0]._replace(text="Yr"), words[1]]
    assert words_of(doc[1]) == words
    assert words_of(doc[2]) == [Word("haul", "noun", "", "", "haul")]


def texts(vocab, form):
    return [word.text for word in words_of(Doc(vocab, words=[form])[0])]


def rows(*words):
    return [[word, word.upper(), "X", "", word] for word in words]


def test_words_of_new_tokens_by_their_parts():
    vocab = Vocab()
    seen = [("amdani", rows("am", "hi")), ("Wrthoch", rows("wrth", "chi"))]
    add_words(vocab, [*seen, ("draw", rows("tu", "draw"))], {"amdani": 1, "wrthoch": 1, "draw": 3})
    assert texts(vocab, "Amdanoch") == ["Am", "chi"]
    assert words_of(Doc(vocab, words=["wrthi"])[0])[1] == Word("hi", "HI", "X", "", "hi")
    assert texts(vocab, "amdan") == ["amdan"]
    assert texts(vocab, "draw") == ["draw"]  # most often a word
    vocab = Vocab()
    add_words(vocab, [("draw", rows("tu", "draw"))] * 2, {"draw": 3})
    assert texts(vocab, "draw") == ["tu", "draw"]  # only once a word
    vocab = Vocab()
    add_words(vocab, [("draw", rows("tu", "draw"))], {"draw": 2})
    assert texts(vocab, "draw") == ["tu", "draw"]  # as often a word as not
    vocab = Vocab()
    add_words(vocab, seen, {"amdanoch": 1})
    assert texts(vocab, "amdanoch") == ["amdanoch"]  # seen as a word


def test_parts_of_several_words():
    vocab = Vocab()
    parts = {"abcdxy": "ay", "abcdz": "bz", "efghz": "ez"}
    add_words(vocab, [(form, rows(*words)) for form, words in parts.items()])
    assert texts(vocab, "abcdw") == ["abcdw"]
    assert texts(vocab, "efghxy") == ["e", "y"]
    assert texts(vocab, "abcz") == ["abcz"]


def test_no_table():
    vocab = Vocab()
    add_words(vocab, [])
    assert [word.text for word in words_of(Doc(vocab, words=["Roedd"])[0])] == ["Roedd"]
