"""The format of a file by its first lines; what is no corpus is refused."""

import pytest

from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.settings import Settings

CONLLU = "# sent_id = 1\n1\tAnn\t_\tPROPN\tNNP" + "\t_" * 5 + "\n"
FILES = {
    "( (S (NP (NNP Ann)) (VP (VBD ran))))": "trees",
    "<DOC>\n<S ID=1>\n( (IP (NN a)) )": "trees",
    "(ROOT\n  (S (NP (NN a))))": "trees",
    "Ann/NNP sang/VBD\nIt/PRP rained/VBD": "tagged",
    "她_PN 睡觉_VV 。_PU": "tagged",
    "Ann|NNP|B-PER sang|VBD|O": "tagged",
    "\n\n[ Ann/NNP ]\nsang/VBD ./.\n=====\n": "tagged",
    "19980101-01-001-001/m 迈向/v 充满/v": "peoples-daily",
    "Ann B-PER\nsang O\n\n": "columns",
    "Ann\tNNP\nNew York\tNNP\n": "columns",
    "1 EU NNP I-NP I-ORG\n2 says VBZ I-VP O": "columns",
    "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n": "columns",
    "-DOCSTART- -X- -X- O\n\nlived in\tVBD\tO\tO\n": "columns",  # of `hoseq apply`
    CONLLU: "conllu",
    CONLLU.partition("\n")[2]: "conllu",
    '{"text": "Ann sang", "spans": []}': "offsets",
    '{"text": "", "answer": "reject"}\n{"text": "a", "label": [[0, 1, "X"]]}': "offsets",
    '[\n {"text": "Ann sang",\n  "label": []}]': "offsets",
    '[["Ann sang", {"entities": []}]]': "offsets",
    '{"tokens": ["Ann"], "ner_tags": [1]}': "tokens",
    "Sentence #,Word,POS,Tag\n1,Ann,NNP,O": "table",
    "word\tner\nAnn\tB-PER\n": "table",
    "#FORMAT=WebAnno TSV 3.2\n\n1-1\t0-3\tAnn\t\n": "webanno",
    '[{"id": 0, "paragraphs": []}]': "spacy-json",
}


def file_of(folder, text, name="a.txt"):
    (folder / name).write_text(text, "utf8")
    return folder / name


@pytest.mark.parametrize("text", FILES)
def test_the_first_lines_decide(tmp_path, text):
    assert recognised(file_of(tmp_path, text), Settings()) == FILES[text]


@pytest.mark.parametrize("name, expected", [("a.ann", "brat"), ("a.bmes", "characters")])
def test_endings_that_decide(tmp_path, name, expected):
    assert recognised(file_of(tmp_path, "a O\n", name), Settings()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ann sang.\nIt was late, and then it rained.\nOh.",
        '{"text": "Ann"}',
        '{"words": 5}',
        "[1, 2]",
        "word\nword\n",
        "{",
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"\[HS085\].*--format"):
        recognised(file_of(tmp_path, text), Settings())


@pytest.mark.parametrize("text, columns, seen", [
    ("1 a X\n2 b X\n\n1 c X\n", (1, 3, None), "1, 2, 3"),
    ("0 a X\n1 b X\n", (1, 2, None), "1, 2, 3"),
    ("_ X\n_ Y\n", (1, 2, None), '"_"'),
    ("a|X O\nb|Y O\nc|Z O\n", (1, 0, 2), r"a\|X"),
])  # fmt: skip
def test_words_that_are_none_are_refused(tmp_path, text, columns, seen):
    with pytest.raises(ValueError, match=rf"\[HS085\].*{seen}"):
        word, tag, entity = columns
        settings = Settings(word_column=word, tag_column=tag, entity_column=entity)
        list(read_corpus(file_of(tmp_path, text), "columns", settings))
