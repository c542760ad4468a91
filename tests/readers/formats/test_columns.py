"""Columns and characters: sentences, entities in every representation, lines that cannot be read."""

import gzip
from dataclasses import replace

import pytest

from spacy_hoseq.readers.formats.columns import (
    columns_of,
    read_columns,
    representation_of,
    spans_of,
)
from spacy_hoseq.readers.sentences import Problem, Sentence
from spacy_hoseq.readers.settings import Columns, Settings


def columns(word=1, tag=2, entity=0, separator="", representation="auto"):
    numbers = {"word_column": word, "tag_column": tag, "entity_column": entity}
    return Settings(**numbers, chunk_column=0, separator=separator, representation=representation)


CHARACTERS = columns(1, 0, -1)
ENTITIES = [(0, 3, "ORG"), (3, 4, "ORG"), (5, 7, "PER")]
TAGS = {  # of "abcdefg"
    "iob2": "B-ORG I-ORG I-ORG B-ORG O B-PER I-PER",
    "iob1": "I-ORG I-ORG I-ORG B-ORG O I-PER I-PER",
    "bilou": "B-ORG I-ORG L-ORG U-ORG O B-PER L-PER",
    "start_end": "B-ORG I-ORG E-ORG S-ORG O B-PER E-PER",
    "bmes": "B-ORG M-ORG E-ORG S-ORG O B-PER E-PER",
}


def read(folder, text, settings=CHARACTERS, name="a.tsv"):
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return list(read_columns(folder / name, settings))


@pytest.mark.parametrize("between", ["\t", " ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_two_columns(tmp_path, between, end, name):
    text = "\n\nIt{}PRP\nrains{}VBZ\n\n\n \t\nyes{}UH\n".format(*[between] * 3).replace("\n", end)
    expected = [Sentence(["It", "rains"], ["PRP", "VBZ"]), Sentence(["yes"], ["UH"])]
    assert read(tmp_path, text, columns(), name) == expected
    assert read(tmp_path, text.rstrip(), columns(), name) == expected, "no line end"


def test_chosen_columns(tmp_path):
    text = "0 B-X Ann NNP\n1 I-X Lee NNP\n2 O sang VBD\n"
    words, tags, entities = ["Ann", "Lee", "sang"], ["NNP", "NNP", "VBD"], [(0, 2, "X")]
    assert read(tmp_path, text, columns(3, 4, 2)) == [Sentence(words, tags, None, entities)]
    assert read(tmp_path, text, columns(3, -1, 0)) == [Sentence(words, tags)]
    assert read(tmp_path, text, columns(3, 0, 2)) == [Sentence(words, None, None, entities)]
    assert read(tmp_path, "a,b|N\n", columns(separator="|")) == [Sentence(["a,b"], ["N"])]


COMMENTS = {  # of Universal NER, GermEval, MultiCoNER, a file of two columns
    "1\tAnn\tB-PER\t-\ta\n2\tsang\tO\t-\ta\n": ["# newdoc", "# sent_id = 1", "# text = Ann sang"],
    "1\tAnn\tB-PER\tO\n2\tsang\tO\tO\n": ["#\thttp://example.org/a [2010-04-12]"],
    "_ Ann B-PER _\n_ sang O _\n": ["# id 5239d808\tdomain=en"],
    "_ Ann B-PER\n_ sang O\n": ["# sent_id = 1", "# newdoc id = a"],
}


@pytest.mark.parametrize("rows", COMMENTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments(tmp_path, rows, end):
    text = "".join(f"{line}\n" for line in COMMENTS[rows]) + rows
    expected = [Sentence(["Ann", "sang"], None, None, [(0, 1, "PER")])] * 2
    for settings in (columns(2, 0, 3), Settings(tag_column=0)):
        found = read(tmp_path, f"{text}\n{text}\n# global = 1\n".replace("\n", end), settings)
        assert found == expected


@pytest.mark.parametrize(
    "mark", ["-DOCSTART- -X- -X- O\n\n", "-DOCSTART-\t-X-\tO\n\n", "-DOCSTART- O\n"]
)
def test_marks_of_documents_are_no_words(tmp_path, mark):
    """Of CoNLL-2003, and of what `hoseq apply` writes; within a sentence it is a word."""
    text = "Ann\tNNP\tB-PER\nsang\tVBD\tO\n"
    sentence = Sentence(["Ann", "sang"], ["NNP", "VBD"], None, [(0, 1, "PER")])
    assert read(tmp_path, f"{mark}{text}\n{mark}{text}", columns(1, 2, 3)) == [sentence] * 2
    (inside,) = read(tmp_path, f"{text}-DOCSTART-\tX\tO\n", columns(1, 2, 3))
    assert inside.words == ["Ann", "sang", "-DOCSTART-"] and inside.tags == ["NNP", "VBD", "X"]
    assert inside.entities == sentence.entities


def test_spaces_around_fields_are_not_read(tmp_path):
    """As editors and spreadsheets leave them: "N " is no tag of its own, and "B-X " no other type than "I-X"."""
    for between in ("\t", " \t ", "|", " | "):
        text = "Ann|N|B-X \nLee |N |I-X\n \nnaps|V|O \n".replace("|", between)
        first, second = read(tmp_path, text, columns(1, 2, 3, between.strip(" \t")))
        assert first == Sentence(["Ann", "Lee"], ["N", "N"], None, [(0, 2, "X")])
        assert second == Sentence(["naps"], ["V"], None, [])


@pytest.mark.parametrize("name", TAGS)
@pytest.mark.parametrize("auto", [True, False])
def test_every_representation(tmp_path, name, auto):
    text = "".join(f"{c} {tag}\n" for c, tag in zip("abcdefg", TAGS[name].split(), strict=True))
    known = "start_end" if name == "bmes" else name
    settings = replace(CHARACTERS, representation="auto" if auto else known)
    mended = 2 if auto and name == "iob1" else 0  # the letters of iob1 are those of iob2
    found = read(tmp_path, text, settings)
    assert found == [Sentence(list("abcdefg"), None, None, ENTITIES, 0, mended)]


@pytest.mark.parametrize(
    "tags, representation, entities, n_mended",
    [
        ("O I-A I-A O", "iob2", [(1, 3, "A")], 1),
        ("B-A I-B I-B", "iob2", [(0, 1, "A"), (1, 3, "B")], 1),
        ("I-A O B-A", "iob2", [(0, 1, "A"), (2, 3, "A")], 1),
        ("B-A O", "start_end", [(0, 1, "A")], 1),
        ("M-A M-A E-A S-A", "start_end", [(0, 3, "A"), (3, 4, "A")], 1),
        ("B-A M-A B-A E-A", "start_end", [(0, 2, "A"), (2, 4, "A")], 1),
        ("S-A E-A", "start_end", [(0, 1, "A"), (1, 2, "A")], 1),
        ("B-A L-A U-A", "bilou", [(0, 2, "A"), (2, 3, "A")], 0),
        ("", "iob2", [], 0),
    ],
)
def test_tags_that_are_not_well_formed(tags, representation, entities, n_mended):
    assert spans_of(tags.split(), representation) == (entities, n_mended)


def test_representation_is_told_by_all_sentences_of_a_file(tmp_path):
    """B-X alone is well-formed in iob2, but not in a file with S."""
    first, second = read(tmp_path, "a B-X\n\nb S-X\n")
    assert (first.entities, first.n_mended, second.n_mended) == ([(0, 1, "X")], 1, 0)
    assert representation_of(["O", "B-A", "I-A"]) == "iob2" and representation_of([]) == "iob2"
    assert representation_of(["O", "M-A"]) == representation_of(["E-A"]) == "start_end"
    assert representation_of(["O", "U-A"]) == representation_of(["L-A"]) == "bilou"


WRONG_TAG = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
WRONG = [(f"b {tag}", f'"{tag}"', WRONG_TAG) for tag in ("B-", "X-A")]
WRONG += [
    ("b", '"b"', "2 columns, got 1"),
    ("b\t", '"b\t"', "column -1 not to be empty"),
    ("\tO", '"O"', "2 columns, got 1"),
]


@pytest.mark.parametrize("row, found, expected", WRONG)
def test_a_sentence_with_a_line_that_cannot_be_read(tmp_path, row, found, expected):
    first, problem, last = read(tmp_path, f"a O\n\nx O\n{row}\ny\nz O\n\nc O\n")
    assert problem == Problem(tmp_path / "a.tsv", 4, found, expected)
    assert (first.words, last.words) == (["a"], ["c"])


def test_bad_bytes_lose_their_sentence_only(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"a O\n\n\xff O\nb O\n\nc O")
    first, problem, last = read_columns(tmp_path / "a.tsv", CHARACTERS)
    assert problem == Problem(tmp_path / "a.tsv", 3, "the byte 0xFF", "text in utf-8")
    assert (first.words, last.words) == (["a"], ["c"])


def test_columns_that_cannot_be():
    for numbers in ((0,), (1, 1), (1, 2, 2), (-2,), (-1, -1)):
        with pytest.raises(ValueError, match=r"\[HS027\]"):
            columns(*numbers)
    with pytest.raises(ValueError, match=r"\[HS161\].*\"bmes\""):
        columns(1, 0, 2, "", "bmes")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("EU NNP B-NP B-ORG\nsays VBZ B-VP O", (1, 2, 3, 4)),  # CoNLL-2003
        ("in IN B-PP\nthe DT B-NP", (1, 2, 3, 0)),  # CoNLL-2000
        ("Ann B-PER\nsang O", (1, 0, 0, 2)),
        ("Ann NNP\nsang VBD", (1, 2, 0, 0)),
        ("1 EU NNP I-NP I-ORG\n2 says VBZ I-VP O", (2, 3, 4, 5)),  # NeuroNLP2
        ("1 Ann B-PER O\n2 sang O O", (2, 0, 0, 3)),  # GermEval
        ("Ann -X- _ B-PER\nsang -X- _ O", (1, 0, 0, 4)),  # Label Studio
        ("d1 0 Ann NNP B-PER\nd1 1 sang VBD O\nd1 2 it PRP O\nd1 3 . . O", (3, 4, 0, 5)),
        ("Ann O\nsang O", (1, 0, 0, 2)),
    ],
)
def test_columns_are_found_by_what_stands_in_them(text, expected):
    assert columns_of([[line.split() for line in text.splitlines()]], Columns())[0] == expected


def test_columns_that_are_given_stay(tmp_path):
    rows = [["EU", "NNP", "B-NP", "B-ORG"], ["says", "VBZ", "B-VP", "O"]]
    assert columns_of([rows], Columns(entity=3))[0] == (1, 2, 0, 3)
    assert columns_of([rows], Columns(tag=0, chunk=0))[0] == (1, 0, 0, 4)
    (sentence,) = read(tmp_path, "EU NNP B-NP B-ORG\nsays VBZ B-VP O\n", Settings())
    assert (sentence.words, sentence.tags) == (["EU", "says"], ["NNP", "VBZ"])
    assert sentence.chunks == [(0, 1, "NP"), (1, 2, "VP")] and sentence.entities == [(0, 1, "ORG")]


def test_rows_of_unequal_width(tmp_path):
    """Fields at the end that are empty are none."""
    text = "1\tAnn\tO\n2\tsang\tO\t\t\n\n1\tAnn\tO\n2\tNew\tYork\tO\n"
    first, problem = read(tmp_path, text, columns(2, 0, 3))
    assert first.words == ["Ann", "sang"]
    assert problem == Problem(tmp_path / "a.tsv", 5, '"2\tNew\tYork\tO"', "3 columns, got 4")


CONLL_2012 = """#begin document (a/b); part 000
a/b 0 0 Ann NNP (TOP(S(NP* - - - S1 (PERSON* (ARG0* (1
a/b 0 1 Lee NNP *) - - - S1 *) *) 1)
a/b 0 2 saw VBD (VP* see 01 1 S1 * (V*) -
a/b 0 3 York NNP (NP*))) - - - S1 (GPE) (ARG1*) -

a/b 0 0 It PRP (TOP(S(NP*) - - - S1 * -
a/b 0 1 rained VBD (VP*))) rain 01 1 S1 * -
a/b 0 2 there RB (ADVP*) - - - S1 * -
a/b 0 3 . . *)) - - - S1 * -

#end document
"""
NOTATIONS = {
    "CoNLL-2012": (CONLL_2012, [(0, 2, "PERSON"), (3, 4, "GPE")]),
    "types": ("Ann\tPER\nLee\tPER\nsaw\tO\nYork\tLOC\nand\tO\nus\tO\n\n", [(0, 2, "PER"), (3, 4, "LOC")]),
    "underscores": ("Ann\tB_PER\nLee\tI_PER\nsaw\tO\nYork\tB_LOC\n\n", [(0, 2, "PER"), (3, 4, "LOC")]),
    "lower case": ("Ann b-per\nLee i-per\nsaw o\nYork b-loc\n\n", [(0, 2, "per"), (3, 4, "loc")]),
    "letter behind": ("Ann PER-B\nLee PER-I\nsaw O\nYork LOC-B\n\n", [(0, 2, "PER"), (3, 4, "LOC")]),
    "German": ("Ann NE I-NC I-PER\nLee NE I-NC I-PER\nsaw VVFIN I-VC O\nYork NE B-NC I-LOC\n\n",
               [(0, 2, "PER"), (3, 4, "LOC")]),
    "bare": ("Ann NNP B\nLee NNP I\nsaw VBD O\nYork NNP B\n\n", [(0, 2, "ENTITY"), (3, 4, "ENTITY")]),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTATIONS)
def test_notations_of_entities(tmp_path, name):
    """Brackets, with more columns where a sentence has more predicates; types or letters alone."""
    text, entities = NOTATIONS[name]
    first, *_ = found = read(tmp_path, text, Settings())
    assert first.words[:4] == ["Ann", "Lee", "saw", "York"] and first.entities == entities
    assert all(isinstance(sentence, Sentence) for sentence in found)
    if name == "CoNLL-2012":
        assert first.tags == ["NNP", "NNP", "VBD", "NNP"] and found[1].entities == []
