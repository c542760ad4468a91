"""What parts become, against Docs of the pipeline."""

import csv
import io
import json

import pytest
import spacy
from spacy.tokens import DocBin, Span
from spacy.training.converters import conllu_to_docs

from spacy_hoseq.readers.sentences import Problem

from .helpers import TEXTS, english

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import Annotator, writing  # noqa: E402
from spacy_hoseq.batch.flat import flat  # noqa: E402
from spacy_hoseq.batch.parts import InputPart  # noqa: E402
from spacy_hoseq.batch.schema import SPAN  # noqa: E402
from spacy_hoseq.batch.work import Work  # noqa: E402
from spacy_hoseq.batch.writing.jsonl import json_lines_bytes  # noqa: E402

pytestmark = pytest.mark.usefixtures("loaded_once")
OUTPUTS = ["text", "tag", "pos", "sentences", "spans"]
IDS = [f"t {i}" for i in range(len(TEXTS))]


@pytest.fixture(scope="module")
def annotate():
    return Annotator("en", outputs=OUTPUTS)


@pytest.fixture(scope="module")
def docs():
    return list(english().pipe(TEXTS))


def done(annotate, form, texts=TEXTS, problems=()):
    ids = IDS if texts is TEXTS else [f"t{i}" for i in range(len(texts))]
    return Work(annotate, form)(InputPart(3, ids, texts, None, list(problems), 77))


def test_parquet_is_what_the_annotator_gives(annotate, docs):
    result = done(annotate, "parquet")
    table = pq.read_table(io.BytesIO(result.data))
    assert table.equals(annotate(pa.table({"id": IDS, "text": TEXTS})))
    assert table.schema.metadata[b"spacy_hoseq"] == annotate.schema.metadata[b"spacy_hoseq"]
    assert (result.number, result.rows, result.position, result.errors) == (3, len(TEXTS), 77, [])
    assert result.tokens == sum(map(len, docs))


def test_json_lines_say_what_parquet_says(annotate):
    rows = [json.loads(line) for line in done(annotate, "jsonl").data.decode().splitlines()]
    expected = annotate(pa.table({"id": IDS, "text": TEXTS})).to_pylist()
    for row, other in zip(rows, expected, strict=True):
        for span, of_other in zip(row["spans"], other["spans"], strict=True):
            assert span.pop("prob") == pytest.approx(of_other.pop("prob"), abs=1e-7)
        assert row == other and list(row) == ["id", "text", "tokens", "sentences", "spans", "error"]


def test_json_of_all_that_may_stand_in_a_column():
    kind = pa.struct([("s", pa.string()), ("n", pa.int32())])
    rows = [
        {"a": 'quo"te\n\\ é 😀', "l": [{"s": "x", "n": 1}, {"s": None, "n": None}], "f": 0.5},
        {"a": None, "l": None, "f": None},
        {"a": "", "l": [], "f": 1e-9},
    ]
    schema = pa.schema([("a", pa.string()), ("l", pa.list_(kind)), ("f", pa.float32())])
    table = pa.Table.from_pylist(rows, schema=schema)
    for part, expected in ((table, rows), (table.slice(1), rows[1:])):
        lines = [json.loads(line) for line in json_lines_bytes(part).decode().splitlines()]
        assert [{**line, "f": pytest.approx(line["f"])} if line["f"] else line for line in lines] == expected
    assert json_lines_bytes(table.slice(0, 0)) == b""


def test_docs_come_back_whole(annotate, docs):
    found = list(DocBin().from_bytes(done(annotate, "spacy").data).get_docs(spacy.blank("xx").vocab))
    assert [doc.user_data["id"] for doc in found] == IDS
    for doc, expected in zip(found, docs, strict=True):
        assert [(t.text, t.tag_, t.pos_, t.is_sent_start) for t in doc] == [
            (t.text, t.tag_, t.pos_, t.is_sent_start) for t in expected
        ]
        assert [(s.start, s.end, s.label_) for s in doc.spans["chunks"]] == [
            (s.start, s.end, s.label_) for s in expected.spans["chunks"]
        ]


def test_columns(annotate, docs):
    text = done(annotate, "conll").data.decode()
    assert text.startswith("-DOCSTART- -X- O\n\nThey PRP B-NP\ntag VBP B-VP\n")
    assert text.count("-DOCSTART-") == len(TEXTS)
    sentences = [block.splitlines() for block in text.split("\n\n") if not block.startswith("-DOCSTART-") and block]
    expected = [[t for t in sentence if not t.is_space] for doc in docs for sentence in doc.sents]
    assert [[line.split()[:2] for line in lines] for lines in sentences] == [
        [[t.text, t.tag_] for t in sentence] for sentence in filter(None, expected)
    ]
    n_chunks = sum(len(doc.spans["chunks"]) for doc in docs)
    assert text.count(" B-") == n_chunks


def test_conllu_is_read_by_spacy(annotate, docs):
    data = done(annotate, "conllu").data.decode()
    found = list(conllu_to_docs(data, n_sents=1, no_print=True))
    expected = [[t for t in sentence if not t.is_space] for doc in docs for sentence in doc.sents]
    assert [[(t.text, t.tag_, t.pos_) for t in doc] for doc in found] == [
        [(t.text, t.tag_, t.pos_) for t in sentence] for sentence in filter(None, expected)
    ]
    morph = "Case=Nom|Number=Plur|Person=3|PronType=Prs"
    first = f"1\tThey\tthey\tPRON\tPRP\t{morph}\t_\t_\t_\t_\n"
    assert data.startswith(f"# newdoc id = t 0\n# text = They tag it at once.\n{first}")
    assert "once\tonce\tADV\tRB\t" in data and "\tSpaceAfter=No" in data and data.endswith("\n\n")


def test_heads_in_conllu():
    nlp = spacy.blank("xx")
    doc = nlp("dogs  bark")
    words = [doc[0], doc[2]]
    for token in words:
        token.head, token.dep_ = doc[2], "dep" if token.i == 0 else "ROOT"
    from spacy_hoseq.batch.writing.conllu import conllu_lines

    lines = conllu_lines("x", doc)
    assert [line.split("\t")[:1] + line.split("\t")[6:8] for line in lines if "\t" in line] == [
        ["1", "2", "dep"],
        ["2", "0", "ROOT"],
    ]


def test_docs_of_a_file_keep_their_tokens(annotate, tmp_path):
    nlp = spacy.blank("xx")
    given = [spacy.tokens.Doc(nlp.vocab, words=["They", "tag", "it", "."]), nlp.make_doc("Two words")]
    part = InputPart(0, [], [], (tmp_path / "a.spacy", DocBin(docs=given).to_bytes()), [], 0)
    table = pq.read_table(io.BytesIO(Work(annotate, "parquet")(part).data)).to_pylist()
    assert [row["id"] for row in table] == [f"{(tmp_path / 'a.spacy').as_posix()}:{i}" for i in (1, 2)]
    assert [row["text"] for row in table] == ["They tag it . ", "Two words"]
    assert [token["tag"] for token in table[0]["tokens"]] == ["PRP", "VBP", "PRP", "."]
    result = Work(annotate, "spacy")(part._replace(docs=(tmp_path / "a.spacy", b"no docs")))
    assert result.rows == 0 and result.errors[0]["id"].endswith("a.spacy:1")


def test_what_fails_is_told_and_nothing_else_lost(annotate, tmp_path):
    texts = ["one", None, "x" * 1_000_001, "two"]
    problem = Problem(tmp_path / "in.txt", 7, "a line", "another")
    for form in ("parquet", "spacy", "conll", "jsonl", "conllu"):
        result = done(annotate, form, texts, [problem])
        assert [error["id"] for error in result.errors] == [f"{(tmp_path / 'in.txt').as_posix()}:7", "t1", "t2"]
        assert result.errors[0]["error"].startswith("[HS172]") and "HS164" in result.errors[1]["error"]
        assert {error["part"] for error in result.errors} == {3} and result.rows == 4 and result.tokens == 2
    data = done(annotate, "spacy", texts).data
    assert [doc.text for doc in DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab)] == ["one", "two"]


@pytest.mark.parametrize("form", ["parquet", "jsonl", "spacy", "conll", "conllu"])
def test_bytes_do_not_depend_on_how_texts_are_cut(annotate, form):
    small = Annotator("en", outputs=OUTPUTS, characters=60, zone_tokens=20)
    assert done(small, form, TEXTS * 2).data == done(annotate, form, TEXTS * 2).data


def flat_rows(doc, name):
    """What a flat table says of a Doc, plainly."""
    sentences = {token.i: number for number, sentence in enumerate(doc.sents) for token in sentence}
    chunks = {}
    for group, key in ((doc.spans["chunks"], "chunk"), (doc.ents, "entity")):
        scores = (group if key == "chunk" else doc.spans["entities"]).attrs["scores"]
        for span, score in zip(group, scores, strict=True):
            for token in span:
                tag = f"{'B' if token.i == span.start else 'I'}-{span.label_}"
                chunks[token.i, key] = (tag, None if score is None else pytest.approx(score))
    for token in doc:
        chunk, chunk_prob = chunks.get((token.i, "chunk"), ("O", None))
        entity, entity_prob = chunks.get((token.i, "entity"), ("O", None))
        yield {
            "id": name, "sentence": sentences[token.i], "token": token.i, "start": token.idx,
            "end": token.idx + len(token), "tag": token.tag_ or None, "pos": token.pos_ or None,
            "chunk": chunk, "chunk_prob": chunk_prob, "entity": entity, "entity_prob": entity_prob,
        }  # fmt: skip


def flat_part(annotate, form, texts=TEXTS):
    part = InputPart(0, [f"t {i}" for i in range(len(texts))], texts, None, [], 0)
    return Work(annotate, form, flat=True)(part).data


def test_a_row_for_each_token(annotate, docs):
    table = pq.read_table(io.BytesIO(flat_part(annotate, "parquet")))
    expected = [row for name, doc in zip(IDS, docs, strict=True) for row in flat_rows(doc, name)]
    assert table.to_pylist() == expected
    assert {row["chunk"][:2] for row in expected} == {"O", "B-", "I-"}
    assert {row["sentence"] for row in expected} == {0, 1}
    lines = [json.loads(line) for line in flat_part(annotate, "jsonl").decode().splitlines()]
    assert [line["token"] for line in lines] == [row["token"] for row in expected]
    assert flat_part(annotate, "parquet", [None, ""]) and flat_part(annotate, "jsonl", [None, ""]) == b""
    assert json.loads(table.schema.metadata[b"spacy_hoseq"])["model"] == "en_hoseq_sm"


@pytest.mark.parametrize("form, delimiter", [("csv", ","), ("tsv", "\t")])
def test_tables_as_text(annotate, docs, form, delimiter):
    with_words = Annotator("en", outputs=["word", "tag", "sentences", "spans", "prob"])
    text = flat_part(with_words, form, [*TEXTS, 'a "b", c\td\ne']).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header[:7] == ["id", "sentence", "token", "start", "end", "word", "tag"] and header[7] == "tag_prob"
    words = [token.text for doc in english().pipe([*TEXTS, 'a "b", c\td\ne']) for token in doc]
    assert [row[5] for row in rows] == words
    assert all(0 < float(row[7]) <= 1 for row in rows if row[5].strip())
    assert flat_part(with_words, form, []).decode().count("\n") == 1


def test_entities_and_texts_without_sentences_in_flat_tables(tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "old ferry"}])
    nlp.to_disk(tmp_path / "model")
    data = flat_part(Annotator(tmp_path / "model"), "parquet", ["The old ferry", "", "ferry"])
    table = pq.read_table(io.BytesIO(data))
    assert table["entity"].to_pylist() == ["O", "B-X", "I-X", "O"] and set(table["chunk"].to_pylist()) == {"O"}
    assert table["sentence"].to_pylist() == [None, None, None, 0] and table["token"].to_pylist() == [0, 1, 2, 0]


def test_groups_of_each_text_are_its_own():
    kind = pa.list_(SPAN)
    spans = [
        [{"start": 0, "end": 1, "label": "A", "prob": 0.5, "group": "b"}],
        [
            {"start": 0, "end": 1, "label": "B", "prob": None, "group": "a"},
            {"start": 2, "end": 3, "label": "C", "prob": 1.0, "group": "b"},
            {"start": 2, "end": 3, "label": "E", "prob": None, "group": "ents"},
        ],
        None,
    ]
    words = [[{"start": 0, "end": 1}, {"start": 2, "end": 3}]] * 2 + [None]
    bounds = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))
    table = flat(pa.table({"tokens": pa.array(words, bounds), "spans": pa.array(spans, kind)}))
    assert table["chunk"].to_pylist() == ["B-A", "O", "B-B", "O"]
    assert table["chunk_prob"].to_pylist() == [0.5, None, None, None]
    assert table["entity"].to_pylist() == ["O", "O", "O", "B-E"]


def test_spans_that_are_entities_are_no_chunks(tmp_path):
    """A component that finds entities writes them to a group, too; a text without chunks has none."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "old ferry"}])

    @spacy.Language.component("tests_hoseq_copies")
    def copies(doc):
        doc.spans["entities"] = list(doc.ents)
        doc.spans["chunks"] = [Span(doc, 0, 1, "NP")] if doc[0].text == "The" else []
        return doc

    nlp.add_pipe("tests_hoseq_copies")
    nlp.to_disk(tmp_path / "model")
    annotate = Annotator(tmp_path / "model", outputs=["word", "spans"])
    table = flat(annotate(pa.table({"id": ["a", "b"], "text": ["The old ferry", "old ferry"]})))
    assert table["entity"].to_pylist() == ["O", "B-X", "I-X", "B-X", "I-X"]
    assert table["chunk"].to_pylist() == ["B-NP", "O", "O", "O", "O"]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_flat_bytes_do_not_depend_on_how_texts_are_cut(annotate, form):
    small = Annotator("en", outputs=OUTPUTS, characters=60, zone_tokens=20)
    assert flat_part(small, form, TEXTS * 2) == flat_part(annotate, form, TEXTS * 2)


def test_an_output_format_is_one_file(annotate, tmp_path, monkeypatch):
    """A file in the room is found by its name, and nothing else has to name it."""
    (tmp_path / "shout.py").write_text(
        "from spacy_hoseq.batch.output import OutputFormat\n"
        "FORMAT = OutputFormat(table=lambda table: b'HEY' * len(table))\n"
    )
    monkeypatch.setattr(writing, "__path__", [*writing.__path__, str(tmp_path)])
    assert "shout" in writing.output_formats()
    assert done(annotate, "shout").data == b"HEY" * len(TEXTS)
