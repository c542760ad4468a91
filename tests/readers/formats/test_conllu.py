"""CoNLL-U: words, multi-word tokens, annotation and spaces, against spaCy's own converter."""

import pytest
from spacy.training.converters import conllu_to_docs
from spacy.vocab import Vocab

from spacy_hoseq.readers.docs import sentences_to_doc
from spacy_hoseq.readers.formats.conllu import conllu_format, read_conllu
from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.settings import Settings

TEXT = """\
# newdoc id = a
# sent_id = 1
# text = They're asleep, zum
1-2	They're	_	_	_	_	_	_	_	_
1	They	they	PRON	PRP	Number=Plur|Person=3	3	nsubj	_	_
2	're	be	AUX	VBP	Mood=Ind|Person=2	3	cop	_	_
3	asleep	asleep	ADJ	_	Degree=Pos	0	root	3.1:x	SpaceAfter=No
3.1	sleep	sleep	VERB	VB	_	_	_	0:root	_
4	,	,	PUNCT	,	_	3	punct	_	_
5-6	zum	_	_	_	_	_	_	_	SpacesAfter=\\n
5	zu	zu	ADP	APPR	_	3	obl	_	_
6	dem	der	DET	ART	Case=Dat	5	det	_	_

1	_	_	SYM	NFP	_	0	root	_	_

"""


def read(path, text, cut=False):
    path.write_text(text, "utf8")
    return list(read_conllu(path, Settings(cut=cut)))


def test_words_as_a_tokenizer_makes_them(tmp_path):
    first, second = read(tmp_path / "a.conllu", TEXT)
    assert first.words == ["They're", "asleep", ",", "zum", "\n"]
    assert first.tags == ["PRP_VBP", "ADJ", ",", "APPR_ART", ""]
    assert first.pos == ["PRON", "ADJ", "PUNCT", "ADP", ""]
    assert first.lemmas == ["they be", "asleep", ",", "zu der", ""]
    assert first.morphs == ["Mood=Ind|Number=Plur|Person=2,3", "Degree=Pos", "", "Case=Dat", ""]
    assert first.heads == [1, 1, 1, 1, 3] and first.deps == ["nsubj", "root", "punct", "obl", ""]
    assert first.spaces == [True, False, True, False, False] and first.n_traces == 1
    assert (second.words, second.lemmas, second.heads) == (["_"], ["_"], [0])


def test_docs_are_those_of_the_converter_of_spacy(tmp_path):
    sentences = read(tmp_path / "a.conllu", TEXT.replace("SpacesAfter=\\n", "_"))
    ours = sentences_to_doc(Vocab(), sentences, "en")
    (theirs,) = conllu_to_docs(TEXT, n_sents=10, merge_subtokens=True, no_print=True)
    assert [t.text_with_ws for t in ours] == ["They're ", "asleep", ", ", "zum ", "_ "]
    for a, b in zip(ours, theirs, strict=True):
        assert (a.text_with_ws, a.tag_, str(a.morph), a.is_sent_start) == (
            b.text_with_ws, b.tag_, str(b.morph), b.is_sent_start,
        )  # fmt: skip
        assert a.lemma_ == b.lemma_ or a.text == "_"
    _, second, third, *_ = [(t.pos_, t.dep_, t.head.i) for t in ours]
    assert second == ("ADJ", "root", 1) and third == ("PUNCT", "punct", 1)
    assert [len(list(sentence)) for sentence in ours.sents] == [4, 1]


@pytest.mark.parametrize(
    "line, number, expected",
    [
        ("1	a	_	X", 1, "10 columns"),
        ("2	a" + "	_" * 8, 1, "the id 1"),
        ("1		_	X" + "	_" * 6, 1, "a form"),
        ("2-3	ab" + "	_" * 8, 1, "a range that begins with 1"),
        ("1-2	ab" + "	_" * 8 + "\n1	a" + "	_" * 8, 2, "2 words, got 1"),
        ("1	a\0" + "	_" * 8, 1, "text in utf-8"),
    ],
)
def test_a_sentence_that_cannot_be_read_is_a_problem_and_the_next_is_read(
    tmp_path, line, number, expected
):
    good = "1	fine	fine	ADJ	JJ	_	0	root	_	_\n"
    problem, sentence = read(tmp_path / "a.conllu", f"{line}\n\n{good}\n")
    assert isinstance(problem, Problem) and problem.line == number and expected in problem.expected
    assert sentence.words == ["fine"]


@pytest.mark.parametrize(
    "columns, dropped, morph, pos, has_heads",
    [
        ("X	_	_	root	root", 0, "", "X", False),
        ("NOMEN	_	_	0	root", 1, "", "", True),
        ("X	_	Plural|Case=Nom	0	root", 1, "Case=Nom", "X", True),
        ("X	_	A=B|C=D=E	0	root", 1, "A=B", "X", True),
        ("X	_	A=C|A=B	0	root", 0, "A=B,C", "X", True),
        ("X	_	_	7	root", 0, "", "X", False),
    ],
)
def test_what_cannot_be_represented_is_dropped_and_counted(
    tmp_path, columns, dropped, morph, pos, has_heads
):
    """The sentence stays; a range of one word says nothing."""
    line = f"1	a	_	{columns}	_	_\n"
    good = "1	b	_	NOUN	_	_	0	root	_	_\n\n" * 20
    first, *_ = read(tmp_path / "a.conllu", f"1-1	a{'	_' * 8}\n{line}\n{good}")
    assert (first.words, first.tags) == (["a"], [columns.split("	")[0]])
    assert (first.n_dropped, first.morphs, first.pos) == (dropped, [morph], [pos])
    assert (first.heads is not None) == has_heads


NAMES = ["B-PER", "O", "B-LOC", "I-LOC"]


def rows_of(form):
    """A sentence of four words, a row of this form for each."""
    rows = zip(WORDS, TAGS, LEMMAS, HEADS, RELATIONS, NAMES, strict=True)
    names = ("word", "tag", "lemma", "head", "relation", "name")
    text = ""
    for i, row in enumerate(rows, 1):
        fields = dict(zip(names, row, strict=True))
        text += form.format(id=i, type=row[-1][2:] or "O", **fields).replace(" ", "\t") + "\n"
    return text + "\n"


WORDS, TAGS = ["Ann", "saw", "New", "York"], ["NNP", "VBD", "NNP", "NNP"]
LEMMAS = "Ann see New York".split()
HEADS, RELATIONS = [2, 0, 4, 2], ["nsubj", "root", "nn", "obj"]
UD = "{id} {word} {lemma} NOUN {tag} _ {head} {relation} _"
FAMILY = {
    "CoNLL-U": UD + " Entity={name}",
    "CoNLL-U, plain names": UD + " {name}",
    "CoNLL-U, names apart": UD + " _ {name}",
    "CoNLL-U, 12 columns": UD + " Tag={name} see.01 A0",
    "CoNLL-X": "{id} {word} {lemma} N {tag} _ {head} {relation} _ _",
    "CoNLL-2008": "{id} {word} {lemma} {tag} {tag} {word} {lemma} {tag} {head} {relation} _ A0",
    "CoNLL-2009": "{id} {word} {lemma} {lemma} {tag} {tag} _ _ {head} {head} {relation} {relation} _ _",
    "columns of CoreNLP": "{id} {word} {lemma} {tag} {type} {head} {relation}",
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_by_number_and_content_of_columns(tmp_path, name):
    text = rows_of(FAMILY[name]) * 3
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert recognised(path, Settings()) == "conllu"
    assert conllu_format().details(path, Settings()) == name.partition(",")[0]
    for sentence in read_conllu(path, Settings()):
        assert (sentence.words, sentence.tags, sentence.lemmas) == (WORDS, TAGS, LEMMAS)
        assert (sentence.heads, sentence.deps) == ([1, 1, 3, 1], RELATIONS)
        if "names" in name or "12" in name or name in ("CoNLL-U", "columns of CoreNLP"):
            assert sentence.entities == [(0, 1, "PER"), (2, 4, "LOC")]


@pytest.mark.parametrize("cells, entities, unread", [
    (("NER=B", "NER=I", "NER=O"), [(0, 2, "ENTITY")], ()),
    (("NE=(PER*", "NE=*)", "NE=*"), [(0, 2, "PER")], ()),
    (("Entity=(1-person", "Entity=1)", "_"), None, ("Entity= in column 10 has labels",)),
    (("Other=B-PER", "Other=O", "_"), None, ("Other= in column 10 has labels",)),
])  # fmt: skip
def test_labels_in_column_10_are_read_or_told(tmp_path, cells, entities, unread):
    text = "".join(f"{i}\tw\t_\tX\t_\t_\t0\troot\t_\t{cell}\n" for i, cell in enumerate(cells, 1))
    (sentence,) = read(tmp_path / "a.conllu", text)
    assert (sentence.entities, sentence.unread) == (entities, unread)


def test_columns_that_the_file_names(tmp_path):
    text = "# global.columns = ID FORM UPOS NER:IOB\n" + rows_of("{id} {word} NOUN {name}")
    path = tmp_path / "a.conllup"
    path.write_text(text)
    assert recognised(path, Settings()) == "conllu"
    (sentence,) = read_conllu(path, Settings())
    assert (sentence.words, sentence.pos) == (WORDS, ["NOUN"] * 4)
    assert sentence.entities == [(0, 1, "PER"), (2, 4, "LOC")]


def test_a_multi_word_token_has_no_annotation_that_its_words_lack(tmp_path):
    lines = ["1-2	zum" + "	_" * 8, "1	zu" + "	_" * 8, "2	dem" + "	_" * 8]
    (sentence,) = read(tmp_path / "a.conllu", "\n".join(lines))
    assert (sentence.tags, sentence.lemmas, sentence.morphs) == ([""], [""], [""])


def test_spaces_around_fields_are_not_read(tmp_path):
    line = "1\ta \t a\tX \tN \tA=B \t0 \tr \t_\tSpaceAfter=No \n \n"
    (sentence,) = read(tmp_path / "a.conllu", line)
    assert sentence[:2] == (["a"], ["N"]) and sentence.spaces == [False]
    assert (sentence.pos, sentence.morphs) == (["X"], ["A=B"])
    assert (sentence.lemmas, sentence.deps) == (["a"], ["r"])


def test_white_space_and_spans_in_column_10(tmp_path):
    rows = ["Ann\t_\tPROPN\tNNP\t_\t2\tnsubj\t_\tSpacesBefore=\\s\\s|NER=B-PER|SpacesAfter=\\s\\n",
            "sang\t_\tVERB\tVBD\t_\t0\troot\t_\tChunk=B-VP|SpacesAfter=\\n\\p"]  # fmt: skip
    text = "".join(f"{i}\t{row}\n" for i, row in enumerate(rows, 1))
    (sentence,) = read(tmp_path / "a.conllu", text)
    doc = sentences_to_doc(Vocab(), [sentence], "en")
    assert doc.text == "  Ann \nsang\n|" and sentence.heads == [0, 3, 1, 3, 3]
    spans = [(span.text, span.label_) for span in (*doc.ents, *doc.spans["chunks"])]
    assert spans == [("Ann", "PER"), ("sang", "VP")]
    (cut,) = read(tmp_path / "a.conllu", text, cut=True)
    assert cut.words == ["Ann", "sang"] and cut.entities == [(0, 1, "PER")]


def test_a_treebank_without_words_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r'\[HS085\].*all its words are "_"'):
        (tmp_path / "a.conllu").write_text(("1	_" + "	_" * 8 + "\n\n") * 3)
        list(read_corpus(tmp_path / "a.conllu", "conllu", Settings()))
