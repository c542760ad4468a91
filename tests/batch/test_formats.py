"""What parts become, against Docs of the pipeline, and read back."""

import csv
import hashlib
import io
import itertools
import json

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span
from spacy.training.converters import conllu_to_docs

from spacy_hoseq.readers.sentences import Problem

from .helpers import TEXTS, english

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import Annotator, annotator, pipeline  # noqa: E402
from spacy_hoseq.batch.columns import row_columns  # noqa: E402
from spacy_hoseq.batch.conllu import conll, conllu  # noqa: E402
from spacy_hoseq.batch.formats import Work, json_lines_bytes, parquet_bytes  # noqa: E402
from spacy_hoseq.batch.inputs import Part, Row  # noqa: E402
from spacy_hoseq.readers.docs import sentences_to_doc  # noqa: E402
from spacy_hoseq.readers.formats.columns import read_columns  # noqa: E402
from spacy_hoseq.readers.formats.conllu import read_conllu  # noqa: E402
from spacy_hoseq.readers.formats.rows import read_rows  # noqa: E402
from spacy_hoseq.readers.settings import Settings  # noqa: E402

pytestmark = pytest.mark.usefixtures("loaded_once")
OUTPUTS = ["text", "tag", "pos", "sentences", "spans"]
IDS = [f"t {i}" for i in range(len(TEXTS))]


@pytest.fixture(scope="module")
def annotate():
    return Annotator("en", outputs=OUTPUTS)


@pytest.fixture(scope="module")
def flat():
    return Annotator("en", outputs=OUTPUTS, flat=True)


@pytest.fixture(scope="module")
def docs():
    return list(english().pipe(TEXTS))


def done(annotate, form, texts=TEXTS, problems=()):
    ids = IDS if texts is TEXTS else [f"t{i}" for i in range(len(texts))]
    return Work(annotate, form)(Part(3, list(map(Row, ids, texts)), list(problems), 77))


def test_parquet_is_what_the_annotator_gives(annotate, docs):
    result = done(annotate, "parquet")
    table = pq.read_table(io.BytesIO(result.data))
    assert table.equals(annotate(pa.table({"id": IDS, "text": TEXTS})))
    assert table.schema.metadata[b"spacy_hoseq"] == annotate.schema.metadata[b"spacy_hoseq"]
    assert result.position == 77 and result.entry == {
        "file": "000003.parquet",
        "sha256": hashlib.sha256(result.data).hexdigest(),
        "read": Part(0, list(map(Row, IDS, TEXTS)), [], 0).digest,
        "rows": len(TEXTS),
        "tokens": sum(map(len, docs)),
        "errors": [],
    }


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
        lines = [
            line | {"f": pytest.approx(line["f"]) if line["f"] else line["f"]} for line in lines
        ]
        assert lines == expected
    assert json_lines_bytes(table.slice(0, 0)) == b""


def test_docs_come_back_whole(annotate, docs):
    data = DocBin().from_bytes(done(annotate, "spacy").data)
    found = list(data.get_docs(spacy.blank("xx").vocab))
    assert [doc.user_data["id"] for doc in found] == IDS
    for doc, expected in zip(found, docs, strict=True):
        assert [(t.text, t.tag_, t.pos_, t.is_sent_start) for t in doc] == [
            (t.text, t.tag_, t.pos_, t.is_sent_start) for t in expected
        ]
        assert [(s.start, s.end, s.label_) for s in doc.spans["chunks"]] == [
            (s.start, s.end, s.label_) for s in expected.spans["chunks"]
        ]


def test_heads_are_numbered_within_their_sentence():
    heads, deps = [1, 1, 3, 3], ["nsubj", "ROOT", "nsubj", "ROOT"]
    doc = Doc(spacy.blank("xx").vocab, words=["I", "ran", "you", "sat"], heads=heads, deps=deps)
    rows = [line.split("\t") for line in conllu(doc, "a").splitlines() if line[:1].isdigit()]
    assert [(row[0], row[6]) for row in rows] == [("1", "2"), ("2", "0")] * 2


def test_columns_of_ones_own_chunks(tmp_path):
    """Convert reads them back where it is told their columns."""
    doc = Doc(spacy.blank("xx").vocab, words=["Old", "dogs", "run"], tags=["J", "N", "V"])
    doc.spans["chunks"] = [Span(doc, 0, 2, "NX"), Span(doc, 2, 3, "VX")]
    doc.set_ents([Span(doc, 1, 2, "PER")])
    (tmp_path / "a.conll").write_text(conll(doc, "a"))
    columns = Settings(chunk_column=3, entity_column=4)
    (sentence,) = read_columns(tmp_path / "a.conll", columns)
    assert sentence.chunks == [(0, 2, "NX"), (2, 3, "VX")]
    assert sentence.entities == [(1, 2, "PER")]


def test_columns(annotate, docs):
    text = done(annotate, "conll").data.decode()
    assert text.startswith("-DOCSTART- -X- -X- O\n\nThey\tPRP\tB-NP\tO\ntag\tVBP\tB-VP\tO\n")
    assert text.count("-DOCSTART-") == len(TEXTS)
    blocks = [block for block in text.split("\n\n") if not block.startswith("-DOCSTART-") and block]
    expected = [[t for t in sentence if not t.is_space] for doc in docs for sentence in doc.sents]
    assert [[line.split("\t")[:2] for line in block.splitlines()] for block in blocks] == [
        [[t.text, t.tag_] for t in sentence] for sentence in filter(None, expected)
    ]
    spans = [span for doc in docs for span in (*doc.spans["chunks"], *doc.ents)]
    assert text.count("\tB-") == len(spans)


def test_conllu_is_read_by_spacy(annotate, docs):
    data = done(annotate, "conllu").data.decode()
    found = list(conllu_to_docs(data, n_sents=1, no_print=True))
    expected = [[t for t in sentence if not t.is_space] for doc in docs for sentence in doc.sents]
    assert [[(t.text, t.tag_, t.pos_) for t in doc] for doc in found] == [
        [(t.text, t.tag_, t.pos_) for t in sentence] for sentence in filter(None, expected)
    ]
    first = "1\tThey\tthey\tPRON\tPRP\tCase=Nom|Number=Plur|Person=3|PronType=Prs\t_\t_\t_\tChunk=B-NP\n"
    assert data.startswith(f"# newdoc id = t 0\n# text = They tag it at once.\n{first}")
    assert "SpaceAfter=No" in data and "SpacesAfter=\\n\\n" in data and data.endswith("\n\n")


@pytest.mark.parametrize("write", [conll, conllu])
def test_spans_that_begin_with_white_space_begin_with_a_word(write):
    doc = Doc(spacy.blank("xx").vocab, words=["\n", "New", "York", "is", "big"])
    doc.set_ents([Span(doc, 0, 3, "LOC")])
    columns = [line.split("\t")[-1] for line in write(doc, "x").splitlines()]
    tags = [column.partition("NER=")[2] or column for column in columns]
    tags = [tag.split("|")[0] for tag in tags if tag.startswith(("B-", "I-"))]
    assert tags == ["B-LOC", "I-LOC"]


def test_docs_of_a_file_keep_their_tokens(annotate):
    nlp = spacy.blank("xx")
    given = [Doc(nlp.vocab, words=["They", "tag", "it", "."]), nlp.make_doc("Two words")]
    texts = [*(doc.to_bytes() for doc in given), b"no Doc"]
    table = pq.read_table(io.BytesIO(done(annotate, "parquet", texts).data)).to_pylist()
    assert [row["text"] for row in table] == ["They tag it . ", "Two words", None]
    assert [token["tag"] for token in table[0]["tokens"]] == ["PRP", "VBP", "PRP", "."]
    assert [bool(row["error"]) for row in table] == [False, False, True]


def test_what_fails_is_told_and_nothing_else_lost(annotate, tmp_path):
    texts = ["one", None, "x" * 1_000_001, "two"]
    problem = Problem(tmp_path / "in.txt", 7, "a line", "another")
    for form in ("parquet", "spacy", "jsonl", "conllu"):
        result = done(annotate, form, texts, [problem])
        errors = result.entry["errors"]
        path = (tmp_path / "in.txt").as_posix()
        assert [error["id"] for error in errors] == [f"{path}:7", "t1", "t2"]
        assert errors[0]["error"].startswith("[HS172]") and "HS164" in errors[1]["error"]
        assert {error["part"] for error in errors} == {3}
        assert (result.entry["rows"], result.entry["tokens"]) == (4, 2)
    data = done(annotate, "spacy", texts).data
    docs = DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab)
    assert [doc.text for doc in docs] == ["one", "two"]


@pytest.mark.parametrize("form", ["parquet", "jsonl", "spacy", "conllu", "csv"])
def test_bytes_do_not_depend_on_how_texts_are_cut(annotate, flat, form, monkeypatch):
    one = flat if form == "csv" else annotate
    whole = done(one, form, TEXTS * 2).data
    monkeypatch.setattr(annotator, "MAX_CHARACTERS_PER_BATCH", 60)
    monkeypatch.setattr(pipeline, "TOKENS_PER_ZONE", 20)
    assert done(one, form, TEXTS * 2).data == whole


# A row for each token


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


def test_a_row_for_each_token(flat, docs):
    table = pq.read_table(io.BytesIO(done(flat, "parquet").data))
    expected = [row for name, doc in zip(IDS, docs, strict=True) for row in flat_rows(doc, name)]
    assert table.to_pylist() == expected and table.schema.equals(flat.schema)
    assert {row["chunk"][:2] for row in expected} == {"O", "B-", "I-"}
    assert {row["sentence"] for row in expected} == {0, 1}
    lines = [json.loads(line) for line in done(flat, "jsonl").data.decode().splitlines()]
    assert [line["token"] for line in lines] == [row["token"] for row in expected]
    assert done(flat, "parquet", [None, ""]).data and done(flat, "jsonl", [None, ""]).data == b""
    assert json.loads(table.schema.metadata[b"spacy_hoseq"])["model"] == "en_hoseq_sm"


@pytest.mark.parametrize("form, delimiter", [("csv", ","), ("tsv", "\t")])
def test_tables_as_text(form, delimiter):
    with_words = Annotator("en", outputs=["word", "tag", "sentences", "spans", "prob"], flat=True)
    text = done(with_words, form, [*TEXTS, 'a "b", c\td\ne']).data.decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert header[:8] == "id sentence token start end word tag tag_prob".split()
    words = [token.text for doc in english().pipe([*TEXTS, 'a "b", c\td\ne']) for token in doc]
    assert [row[5] for row in rows] == words
    assert all(0 < float(row[7]) <= 1 for row in rows if row[5].strip())
    assert done(with_words, form, []).data.decode().count("\n") == 1


def model_of(tmp_path, add):
    nlp = spacy.blank("xx")
    add(nlp)
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def ferries(nlp):
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "old ferry"}])


def test_groups_of_spans(tmp_path):
    """A group of the entities is none of chunks; each text's chunks are its first other group."""

    @spacy.Language.component("tests_hoseq_copies")
    def copies(doc):
        doc.spans["entities"] = list(doc.ents)
        doc.spans["chunks"] = [Span(doc, 0, 1, "NP")] if doc[0].text == "The" else []
        doc.spans["others"] = [Span(doc, 0, 2, "Z")]
        return doc

    def add(nlp):
        ferries(nlp)
        nlp.add_pipe("tests_hoseq_copies")

    annotate = Annotator(model_of(tmp_path, add), outputs=["word", "spans"], flat=True)
    table = annotate(pa.table({"id": ["a", "b"], "text": ["The old ferry", "a ferry"]}))
    assert table["entity"].to_pylist() == ["O", "B-X", "I-X", "O", "O"]
    assert table["chunk"].to_pylist() == ["B-NP", "O", "O", "B-Z", "I-Z"]


# Tokens that were merged or split behind the component that found spans


def merged(nlp):
    @spacy.Language.component("tests_hoseq_chunks")
    def chunks(doc):
        doc.spans["chunks"] = [Span(doc, i, i + 1, f"C{i}") for i in range(len(doc))]
        places = [(0, 3, "W"), (3, len(doc), "V")] if len(doc) > 3 else []
        doc.spans["wide"] = [Span(doc, *place) for place in places]
        return doc

    @spacy.Language.component("tests_hoseq_splits")
    def splits(doc):
        with doc.retokenize() as retokenizer:
            for token in doc:
                if token.text == "cannot":
                    retokenizer.split(token, ["can", "not"], heads=[(token, 1), token])
        return doc

    nlp.add_pipe("tests_hoseq_chunks")
    ferries(nlp)
    nlp.add_pipe("merge_entities")
    nlp.add_pipe("tests_hoseq_splits")


def test_spans_are_found_by_their_characters(tmp_path):
    annotate = Annotator(model_of(tmp_path, merged), outputs=["word", "spans"])
    text = "The old ferry cannot swim"
    (row,) = annotate(pa.table({"id": [1], "text": [text]})).to_pylist()
    assert [token["word"] for token in row["tokens"]] == ["The", "old ferry", "can", "not", "swim"]
    keys = [(slice(span["start"], span["end"]), span) for span in row["spans"]]
    found = [(text[place], span["label"], span["group"]) for place, span in keys]
    expected = [(word, f"C{i}", "chunks") for i, word in enumerate(text.split())]
    expected += [("The old ferry", "W", "wide"), ("cannot swim", "V", "wide")]
    assert found == [*expected, ("old ferry", "X", "ents")]


@pytest.mark.parametrize("form", ["conllu", "spacy", "csv"])
def test_spans_at_no_words_are_an_error_of_their_own(tmp_path, form):
    annotate = Annotator(model_of(tmp_path, merged), outputs=["word", "spans"], flat=form == "csv")
    result = done(annotate, form, ["It cannot swim", "The old ferry sinks", "Old it is"])
    (error,) = result.entry["errors"]
    assert error["id"] == "t1"
    assert "[HS171]" in error["error"] and "'old' of chunks" in error["error"]
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(result.data.decode(), newline="")))
        assert [row["word"] for row in rows] == "It can not swim Old it is".split()
        assert [row["chunk"] for row in rows] == "B-C0 B-C1 I-C1 B-C2 B-C0 B-C1 B-C2".split()


# Out and in

VOCAB = spacy.blank("xx").vocab
CHARACTERS = st.characters(exclude_categories=["Cs"])
NASTY = st.sampled_from([*" \t\n\r_-#|=\\\u00a0\ufeff\0BOé😀"])
STRINGS = st.text(st.one_of(CHARACTERS, NASTY), min_size=1, max_size=4)


@st.composite
def any_docs(draw):
    """Docs of any words, spaces, tags, lemmas, sentences, chunks and entities."""
    words = draw(st.lists(STRINGS, min_size=1, max_size=6))
    n = len(words)
    spaces = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    labels = st.one_of(st.just(""), STRINGS)
    tags = [draw(labels) for _ in words]
    lemmas = [draw(labels) for _ in words]
    starts = [True, *(draw(st.booleans()) for _ in words[1:])]
    doc = Doc(VOCAB, words=words, spaces=spaces, tags=tags, lemmas=lemmas, sent_starts=starts)
    bounds = [0, *sorted(draw(st.sets(st.integers(1, n), max_size=3))), n]
    sentence = [sum(starts[: i + 1]) for i in range(n)]
    for key in ("chunks", "ents"):
        pairs = [pair for pair in itertools.pairwise(bounds) if pair[0] < pair[1]]
        whole = [(a, b) for a, b in pairs if sentence[a] == sentence[b - 1]]
        spans = [Span(doc, a, b, draw(STRINGS)) for a, b in whole if draw(st.booleans())]
        if key == "chunks":
            doc.spans["chunks"] = spans
        else:
            doc.set_ents(spans, default="outside")
    return doc


def content(doc):
    """What stands on the words of a Doc."""
    words = [token for token in doc if not token.is_space]
    spans = []
    for group in (doc.spans["chunks"] if "chunks" in doc.spans else [], doc.ents):
        texts = [([t.text for t in span if not t.is_space], span.label_) for span in group]
        spans.append([(text, label) for text, label in texts if text])
    return [(t.text, t.tag_) for t in words], spans


@given(any_docs())
@pytest.mark.parametrize("form", ["conll", "conllu"])
def test_docs_of_any_characters_come_back(tmp_path_factory, form, doc):
    """Or they are refused."""
    write, read = {"conll": (conll, read_columns), "conllu": (conllu, read_conllu)}[form]
    try:
        text = write(doc, "name")
    except ValueError as error:
        assert str(error).startswith(("[HS171]", "[HS177]"))
        return
    path = tmp_path_factory.mktemp("docs") / f"a.{form}"
    path.write_text(text, encoding="utf8", newline="")
    columns = dict(word_column=1, tag_column=2, chunk_column=3, entity_column=4)
    sentences = list(read(path, Settings(**columns)))
    if not text.strip() or not any(not token.is_space for token in doc):
        return
    found = sentences_to_doc(VOCAB, sentences, "")
    words, spans = content(doc)
    if form == "conll":
        words = [(word, tag or "_") for word, tag in words]
    else:
        assert found.text == doc.text
        lemmas = [token.lemma_ for token in found if not token.is_space]
        tokens = [token for token in doc if not token.is_space]
        assert lemmas == [token.lemma_ or "_" * (token.text == "_") for token in tokens]
    assert content(found) == (words, spans)


@given(any_docs())
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_rows_of_any_characters_come_back(tmp_path_factory, form, doc):
    """Text, words, tags and spans, as `hoseq convert` reads them."""
    try:
        columns = row_columns([doc], ["word", "tag", "sentences", "spans"])
    except ValueError as error:
        assert str(error).startswith("[HS171]")
        return
    table = pa.table({"text": [doc.text], **columns})
    path = tmp_path_factory.mktemp("rows") / f"a.{form}"
    path.write_bytes(json_lines_bytes(table) if form == "jsonl" else parquet_bytes(table))
    if not len(doc):
        return
    found = sentences_to_doc(VOCAB, list(read_rows(path, Settings())), "")
    assert found.text == doc.text and content(found) == content(doc)
