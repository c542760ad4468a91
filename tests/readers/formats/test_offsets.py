"""Texts with spans by offsets: every tool's JSON, brat; spans that are on no borders of words."""

import json

import pytest

from spacy_hoseq.readers.formats.offsets import read_brat, read_offsets
from spacy_hoseq.readers.sentences import Problem
from spacy_hoseq.readers.settings import Settings

TEXT = "Ann Lee lives in New York."
PERSON, PLACE = (0, 7, "PER"), (17, 25, "LOC")
OBJECTS = [{"start": a, "end": b, "label": label} for a, b, label in (PERSON, PLACE)]
LISTS = [list(PERSON), list(PLACE)]
TASK = {"data": {"text": TEXT}, "annotations": [{"result": [
    {"type": "labels", "value": {"start": a, "end": b, "labels": [label], "text": TEXT[a:b]}}
    for a, b, label in (PERSON, PLACE)]}]}  # fmt: skip
FORMS = {
    "Prodigy": {"text": TEXT, "spans": OBJECTS, "answer": "accept", "tokens": [{"text": "Ann", "id": 0}]},
    "doccano": {"id": 1, "text": TEXT, "label": LISTS},
    "doccano 2": {"text": TEXT, "labels": LISTS},
    "doccano with relations": {"text": TEXT, "relations": [], "entities": [
        {"id": i, "label": label, "start_offset": a, "end_offset": b} for i, (a, b, label) in enumerate((PERSON, PLACE))
    ]},
    "Label Studio": TASK,
    "Label Studio, smallest": {"text": TEXT, "label": [
        {"start": a, "end": b, "labels": [label]} for a, b, label in (PERSON, PLACE)
    ]},
    "spaCy": [TEXT, {"entities": LISTS}],
    "spaCy, the list alone": [TEXT, LISTS],
    "UBIAI": {"documentName": "a.txt", "document": TEXT, "relations": [], "tokens": [
        {"text": TEXT[a:b], "start": a, "end": b, "token_start": 0, "entityLabel": label}
        for a, b, label in (PERSON, PLACE)]},
    "Dataturks": {"content": TEXT, "extras": None, "annotation": [  # the end is that of the last character
        {"label": [label], "points": [{"start": a, "end": b - 1, "text": TEXT[a:b]}]}
        for a, b, label in (PERSON, PLACE)]},
    "LightTag": {"example_id": "a", "content": TEXT, "classifications": [], "annotations": [
        {"tag": label, "tag_id": "x", "start": a, "end": b, "value": TEXT[a:b]} for a, b, label in (PERSON, PLACE)]},
    "Argilla": {"text": TEXT, "tokens": TEXT.split(), "prediction": [["X", 0, 3]],
                "annotation": [[label, a, b] for a, b, label in (PERSON, PLACE)]},
    "a list in an object": {"text": TEXT, "annotations": {"entities": LISTS}},
    "lengths": {"sentence": TEXT, "entities": [
        {"offset": a, "length": b - a, "type": label} for a, b, label in (PERSON, PLACE)]},
    "another key": {"raw": TEXT, "entities": LISTS},
}  # fmt: skip


def read(folder, text, settings=None, name="a.jsonl"):
    (folder / name).write_text(text, "utf8")
    return list(read_offsets(folder / name, settings or Settings()))


def shown(sentence):
    return [(" ".join(sentence.words[first:end]), name) for first, end, name in sentence.entities]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("in_a_list", [True, False])
def test_every_tool(tmp_path, name, in_a_list):
    value = FORMS[name]
    text = json.dumps([value, value], indent=1) if in_a_list else "\n".join([json.dumps(value)] * 2)
    sentences = read(tmp_path, text)
    assert len(sentences) == 2
    for sentence in sentences:
        assert sentence.words == "Ann Lee lives in New York .".split() and sentence.is_text
        assert sentence.spaces == [True] * 5 + [False] * 2
        assert shown(sentence) == [("Ann Lee", "PER"), ("New York", "LOC")]


@pytest.mark.parametrize("span", [(1, 7), (0, 6), (-1, 3), (0, 99), (7, 7), (8, 3), (3, 4)])
def test_spans_that_are_on_no_borders_of_words(tmp_path, span):
    """They are told, not moved; what the words are is not known."""
    value = {"text": TEXT, "label": [[*span, "X"], list(PLACE)]}
    problem, sentence = read(tmp_path, json.dumps(value))
    assert isinstance(problem, Problem) and problem.line == 1
    assert "borders of words" in problem.expected
    assert shown(sentence) == [("New York", "LOC")]
    places = enumerate([(0, 3), (4, 7), (8, 13), (14, 16)])
    words = [i for i, (a, b) in places if a < span[1] and span[0] < b]
    assert [first for first, _, _ in sentence.unknown if first < 4] == words
    assert not {4, 5} & {first for first, _, _ in sentence.unknown}


TRAIN_DATA = """TRAIN_DATA = [
    ('Ann Lee lives in New York.', {'entities': [(0, 7, 'PER'), (17, 25, 'LOC')]}),
    ("Ann Lee lives in New York.", {"entities": [(0, 7, "PER"), (17, 25, "LOC")]}),
]
"""


def test_train_data_of_python(tmp_path):
    """A list with its name, or a tuple a line."""
    for text in (TRAIN_DATA, TRAIN_DATA.partition("\n")[2].rpartition("]")[0]):
        sentences = read(tmp_path, text)
        assert [shown(s) for s in sentences] == [[("Ann Lee", "PER"), ("New York", "LOC")]] * 2


def test_offsets_and_words_that_differ(tmp_path):
    """Ends of the last character, characters of JavaScript, and bytes are mended by the words; other
    offsets are told, unless the words are nowhere."""
    text = "😀 Ann Lee ran."
    for start, end, words in (
        (2, 8, "Ann Lee"),
        (3, 10, "Ann Lee"),
        (5, 12, "Ann Lee"),
        (2, 9, "LEE, ANN"),
    ):
        row = {
            "text": text,
            "entities": [{"start": start, "end": end, "label": "PER", "text": words}],
        }
        (sentence,) = read(tmp_path, json.dumps(row))
        assert shown(sentence) == [("Ann Lee", "PER")]
    row["entities"][0]["text"] = "ran"
    problem, sentence = read(tmp_path, json.dumps(row))
    assert problem.is_partial and '"ran"' in problem.expected and shown(sentence) == []


def test_spans_with_no_label_or_several(tmp_path):
    """One without is dropped and counted; several are spans that overlap."""
    row = {
        "text": TEXT,
        "spans": [{"start": 0, "end": 3, "label": []}, {"start": 0, "end": 7, "label": ["A", "B"]}],
    }
    problem, sentence = read(tmp_path, json.dumps(row))
    assert "--spans-key" in problem.expected
    assert shown(sentence) == [("Ann Lee", "A")] and sentence.n_dropped == 1


def test_tasks_of_label_studio_with_other_fields(tmp_path):
    """Comments and choices on a region are no labels; an address is no text."""
    values = [{"start": 0, "end": 7, "labels": ["PER"]}, {"start": 0, "end": 7, "text": ["why?"]}]
    result = [
        {"type": kind, "value": value}
        for kind, value in zip(("labels", "textarea"), values, strict=True)
    ]
    data = {"id": "a1", "url": f"https://example.org/{'x' * 99}", "review": TEXT}
    (sentence,) = read(tmp_path, json.dumps({"data": data, "annotations": [{"result": result}]}))
    assert shown(sentence) == [("Ann Lee", "PER")] and sentence.words[0] == "Ann"


def test_what_nobody_has_seen_is_unannotated(tmp_path):
    """Predictions, and empty lists of other things."""
    spans = [{"start": 0, "end": 3, "label": "X"}]
    for more in (
        {"predictions": spans},
        {"annotation": None, "prediction": spans},
        {"meta": [], "comments": []},
    ):
        (sentence,) = read(tmp_path, json.dumps({"text": TEXT, **more}))
        assert sentence.entities is None


def test_spans_that_overlap(tmp_path):
    value = json.dumps({"text": TEXT, "label": [[0, 7, "A"], [4, 7, "B"]]})
    problem, sentence = read(tmp_path, value)
    assert "--spans-key" in problem.expected and shown(sentence) == [("Ann Lee", "A")]
    across = json.dumps({"text": TEXT, "label": [[0, 7, "A"], [4, 13, "B"]]})
    assert read(tmp_path, across)[1].unknown == [(2, 3, "")], "a word of the other is no outside"
    (sentence,) = read(tmp_path, value, Settings(spans_key="sc"))
    assert shown(sentence) == [("Ann Lee", "A"), ("Lee", "B")]


def test_spans_side_by_side(tmp_path):
    value = {"text": "Ann's dog", "label": [[0, 3, "A"], [3, 5, "B"], [6, 9, "C"]]}
    (sentence,) = read(tmp_path, json.dumps(value), Settings(lang="en"))
    assert shown(sentence) == [("Ann", "A"), ("'s", "B"), ("dog", "C")]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "5",
        '"text"',
        '{"text": 5, "label": []}',
        '{"label": []}',
        '{"text": "a", "label": [[0, 1]]}',
        '{"text": "a", "label": [[0, "1", "X"]]}',
        '{"text": "a", "label": [[0, true, "X"]]}',
        '{"text": "a", "spans": [{"start": 0}]}',
        '{"data": {}, "annotations": []}',
    ],
)
def test_lines_that_cannot_be_read(tmp_path, line):
    good = json.dumps(FORMS["doccano"])
    first, problem, last = read(tmp_path, f"{good}\n{line}\n{good}\n")
    assert isinstance(problem, Problem) and problem.line == 2
    assert shown(first) == shown(last)


def test_brat(tmp_path):
    """Line ends count as they are in the file."""
    text = "Ann Lee\r\nlives in New York."
    (tmp_path / "a.txt").write_bytes(text.encode())
    ann = "T1\tPER 0 7\tAnn Lee\nR1\tlives Arg1:T1 Arg2:T2\nT2\tLOC 18 26\tNew York\nT3\tX 0 3;5 7\tAnn\n"
    (tmp_path / "a.ann").write_text(ann)
    problem, sentence = read_brat(tmp_path / "a.ann", Settings())
    assert problem.line == 4 and shown(sentence) == [("Ann Lee", "PER"), ("New York", "LOC")]
    found = "".join(w + " " * s for w, s in zip(sentence.words, sentence.spaces, strict=True))
    assert found == text
    (tmp_path / "a.ann").write_text("T1\tLOC 18 21;22 26\tNew York\nT2\tPER 8 14\tAnn Lee\n")
    problem, sentence = read_brat(tmp_path / "a.ann", Settings())
    assert shown(sentence) == [("New York", "LOC")] and '"Ann Lee"' in problem.expected
    (tmp_path / "a.txt").unlink()
    (problem,) = read_brat(tmp_path / "a.ann", Settings())
    assert "a.txt" in problem.expected
