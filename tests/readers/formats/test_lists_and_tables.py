"""Lists of tokens (JSON, Parquet), tables with a header, TSV 3 of WebAnno, JSON of spaCy."""

import json

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import docs_to_json

from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.formats.spacy_json import read_spacy_json
from spacy_hoseq.readers.formats.tables import read_table
from spacy_hoseq.readers.formats.tokens import read_tokens
from spacy_hoseq.readers.formats.webanno import read_webanno
from spacy_hoseq.readers.sentences import Problem, Sentence
from spacy_hoseq.readers.settings import Settings

PERSON = Sentence(["Ann", "sang"], None, None, [(0, 1, "PER")])


def file_of(folder, text, name="a"):
    (folder / name).write_text(text, encoding="utf8", newline="")
    return folder / name


@pytest.mark.parametrize("in_a_list", [True, False])
def test_tokens(tmp_path, in_a_list):
    tags = {"pos_tags": ["NNP", "VBD"], "chunk_tags": ["B-NP", "O"]}
    rows = [{"tokens": PERSON.words, "ner_tags": ["B-PER", "O"], **tags}]
    rows.append({"id": 3, "words": PERSON.words, "labels": ["B-PER", "O"]})
    text = json.dumps(rows) if in_a_list else "\n".join(map(json.dumps, rows))
    whole = Sentence(PERSON.words, ["NNP", "VBD"], [(0, 1, "NP")], PERSON.entities)
    assert list(read_tokens(file_of(tmp_path, text), Settings())) == [whole, PERSON]


def test_numbered_tags(tmp_path):
    row = {"tokens": PERSON.words, "ner_tags": [1, 0], "pos_tags": [5, 6]}
    path = file_of(tmp_path, json.dumps(row))
    assert list(read_tokens(path, Settings(labels=["O", "B-PER"]))) == [PERSON]
    with pytest.raises(ValueError, match=r"\[HS085\].*--labels"):
        list(read_tokens(path, Settings()))
    (problem,) = read_tokens(path, Settings(labels=["O"]))
    assert isinstance(problem, Problem)


@pytest.mark.parametrize("named", [True, False])
def test_parquet(tmp_path, named):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feature = {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
    features = {"ner_tags": feature, "id": {"dtype": "string", "_type": "Value"}}
    tags = [1, 0] if named else ["B-PER", "O"]
    table = pyarrow.table({"id": ["1"], "tokens": [PERSON.words], "ner_tags": [tags]})
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "a.parquet")
    assert list(read_tokens(tmp_path / "a.parquet", Settings())) == [PERSON]
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    assert [type(item) for item in read_tokens(tmp_path / "b.parquet", Settings())] == [Problem]


SPELLINGS = {
    "objects": [{"start": 0, "end": 3, "label": "PER"}], "JSON": '[[0, 3, "PER"]]', "Python": "[(0, 3, 'PER')]",
    "label string": "B-PER O",
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_parquet_of_texts(tmp_path, name):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist([{"text": "Ann sang", "entities": SPELLINGS[name]}] * 3)
    parquet.write_table(table, tmp_path / "a.parquet")
    format = recognised(tmp_path / "a.parquet", Settings())
    sentences = list(read_corpus(tmp_path / "a.parquet", format, Settings()))
    assert [(s.words, s.entities) for s in sentences] == [PERSON[0::3][:2]] * 3


def test_numbers_in_tables(tmp_path):
    text = "tokens,ner_tags\n\"['Ann', 'sang']\",\"[1, 0]\"\n['Ann' 'sang'],[1 0]\n"
    path = file_of(tmp_path, text, "a.csv")
    assert list(read_table(path, Settings(labels=["O", "B-PER"]))) == [PERSON] * 2
    problem, _ = read_table(path, Settings())
    assert "--labels" in problem.expected


@pytest.mark.parametrize(
    "row", ['{"tokens": ["a"]}', '{"tokens": ["a"], "ner_tags": []}', '{"tokens": ["a"], "ner_tags": ["X"]}', "[]", "5",
            '{"tokens": [""], "ner_tags": ["O"]}', '{"tokens": [1], "ner_tags": ["O"]}']
)  # fmt: skip
def test_rows_that_cannot_be_read(tmp_path, row):
    good = '{"tokens": ["Ann", "sang"], "ner_tags": ["B-PER", "O"]}'
    first, problem, last = read_tokens(file_of(tmp_path, f"{good}\n{row}\n{good}"), Settings())
    assert (first, last) == (PERSON, PERSON) and isinstance(problem, Problem) and problem.line == 2


KAGGLE = (
    'Sentence #,Word,POS,Tag\nSentence: 1,Ann,NNP,B-PER\n,"1,000",CD,O\nSentence: 2,"""",``,O\n'
)


def test_tables(tmp_path):
    first, second = read_table(file_of(tmp_path, KAGGLE), Settings())
    assert first == Sentence(["Ann", "1,000"], ["NNP", "CD"], None, [(0, 1, "PER")])
    assert second == Sentence(['"'], ["``"], None, [])
    text = "sentence_id\ttoken\tner\n7\tAnn\tB-PER\n7\tsang\tO\n8\tAnn\tB-PER\n8\tsang\tO\n"
    assert list(read_table(file_of(tmp_path, text), Settings())) == [PERSON] * 2
    text = "word;label\nAnn;B-PER\nsang;O\n\nAnn;B-PER\nsang;O\n"
    assert list(read_table(file_of(tmp_path, text), Settings())) == [PERSON] * 2
    text = "what,w,x\n1,Ann,B-PER\n2,sang,O\n"
    given = Settings(word_column=2, entity_column=3)
    assert list(read_table(file_of(tmp_path, text), given)) == [PERSON]
    (problem,) = read_table(tmp_path / "a", Settings())
    assert "header" in problem.expected
    text = "word,pos,ner\nAnn,,B-PER\nsang,VBD,O\n"
    (sentence,) = read_table(file_of(tmp_path, text), Settings())
    assert sentence == Sentence(PERSON.words, ["", "VBD"], None, PERSON.entities), "without a tag"


def test_a_row_that_cannot_be_read_costs_its_sentence(tmp_path):
    text = "sentence_id,word,ner\n1,a,O\n1,b,X\n2,c\n3,d,O\n"
    first, second, third = read_table(file_of(tmp_path, text), Settings())
    assert isinstance(first, Problem) and isinstance(second, Problem) and third.words == ["d"]
    assert (first.line, second.line) == (3, 4)


WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|coarseValue|PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value
#T_RL=de.tudarmstadt.ukp.dkpro.core.api.syntax.type.dependency.Dependency|DependencyType|flavor|BT_POS


#Text=Ann Lee sang.
1-1\t0-3\tAnn\tPROPN\tNNP\t*[1]\tPER[1]\tnsubj\t_\t1-3\t
1-2\t4-7\tLee\tPROPN\tNNP\t*[1]\tPER[1]\tflat\t_\t1-1\t
1-3\t8-12\tsang\tVERB\tVBD\t_\t_\troot\t_\t1-3\t
1-4\t12-13\t.\tPUNCT\t.\t_\t_\tpunct\t_\t1-3\t

#Text=U\\_S
2-1\t14-17\tU\\_S\tPROPN\tNNP\t*\tLOC\t_\t_\t_\t
"""


def test_webanno(tmp_path):
    first, second = read_webanno(file_of(tmp_path, WEBANNO), Settings())
    assert first.words == ["Ann", "Lee", "sang", "."] and first.tags == ["NNP", "NNP", "VBD", "."]
    assert first.entities == [(0, 2, "PER")] and first.spaces == [True, True, False, True]
    assert (second.words, second.entities) == (["U_S"], [(0, 1, "LOC")])
    beside = WEBANNO.replace("VBD\t_\t_", "VBD\t*\tORG")
    first, _ = read_webanno(file_of(tmp_path, beside), Settings())
    assert first.entities == [(0, 2, "PER"), (2, 3, "ORG")], "one may begin where another ends"


def test_rows_of_webanno_that_cannot_be_read(tmp_path):
    text = WEBANNO.replace("\tflat\t_\t1-1\t", "\t", 1)
    problem, second = read_webanno(file_of(tmp_path, text), Settings())
    assert isinstance(problem, Problem) and second.words == ["U_S"]


STACKED = WEBANNO.replace("*[1]\tPER[1]\tnsubj", "*[1]|*[2]\tPER[1]|X[2]\tnsubj", 1)


def test_annotations_of_webanno_that_a_doc_cannot_have(tmp_path):
    """They are dropped and counted; the sentence stays. Spans may overlap elsewhere."""
    part = WEBANNO.replace("1-2\t4-7", "1-1.1\t0-2\tAn\t_\t_\t*\tX\t_\t_\t_\t\n1-2\t4-7", 1)
    for text in (part, STACKED, WEBANNO.replace("VBD\t_\t_", "VBD\t*\t*")):
        first, _ = read_webanno(file_of(tmp_path, text), Settings())
        assert (first.entities, first.n_dropped) == ([(0, 2, "PER")], 1)
        assert first.words == ["Ann", "Lee", "sang", "."]
    first, _ = read_webanno(file_of(tmp_path, STACKED), Settings(spans_key="sc"))
    assert (first.entities, first.n_dropped) == ([(0, 2, "PER"), (0, 1, "X")], 0)


def test_layers_of_webanno_with_slots_or_without_features(tmp_path):
    """Links to other spans ("1-2;1-3") are no labels."""
    head = "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Event|"
    slots = f"{head}category|ROLE_custom.Event:args_custom.Link|custom.Arg\n\n"
    slots += "1-1\t0-3\tAnn\t_\t_\t_\n1-2\t4-7\tran\tmotion\tagent;to\t1-1;1-3\n1-3\t8-12\thome\t_\t_\t_\n"
    bare = f"{head}\n\n1-1\t0-3\tAnn\t_\n1-2\t4-7\tran\t*\n1-3\t8-12\thome\t_\n"
    for text, label in ((slots, "motion"), (bare, "Event")):
        (sentence,) = read_webanno(file_of(tmp_path, text), Settings())
        assert sentence.entities == [(1, 2, label)] and sentence.words == ["Ann", "ran", "home"]


TEXT_TABLES = {
    "python tuples": ("text,entities\n", "Ann sang,\"[(0, 3, 'PER')]\"\n"),
    "json": ("id\ttext\tlabel\n", '1\tAnn sang\t"[{""start"": 0, ""end"": 4, ""labels"": [""PER""]}]"\n'),
    "tags": ("text,labels\n", "Ann sang,B-PER O\n"),
    "lists": ("Sentence #,Sentence,POS,Tag\n", "\"Sentence: 1\",Ann sang,\"['NNP', 'VBD']\",\"['B-PER', 'O']\"\n"),
    "objects of Python": ("text,entities\n", "Ann sang,\"{'entities': [(0, 3, 'PER')]}\"\n"),
    "lists of numpy": ("tokens,ner_tags\n", "['Ann' 'sang'],['B-PER' 'O']\n"),
    "strings": ("tokens\ttags\n", "Ann sang\tB-PER O\n"),
    "lists of words": ("tokens;ner_tags\n", "['Ann', 'sang'];['B-PER', 'O']\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXT_TABLES)
def test_tables_with_a_text_a_row(tmp_path, name):
    header, row = TEXT_TABLES[name]
    path = file_of(tmp_path, header + row * 3, "a.csv")
    assert recognised(path, Settings()) == "table"
    sentences = list(read_table(path, Settings()))
    assert [(s.words, s.entities) for s in sentences] == [PERSON[0::3][:2]] * 3


def test_json_of_spacy(tmp_path):
    doc = Doc(spacy.blank("en").vocab, words=["Ann", "sang", "It", "rained"], tags=["NNP", "VBD", "PRP", "VBD"],
              ents=["B-PER", "O", "O", "O"], sent_starts=[True, False, True, False])  # fmt: skip
    path = file_of(tmp_path, json.dumps([docs_to_json([doc])]))
    first, second = read_spacy_json(path, Settings())
    assert first.words == ["Ann", "sang"] and first.tags == ["NNP", "VBD"]
    assert first.entities == [(0, 1, "PER")]
    assert second.words == ["It", "rained"]
    (problem,) = read_spacy_json(file_of(tmp_path, '[{"paragraphs": 5}]'), Settings())
    assert isinstance(problem, Problem)
