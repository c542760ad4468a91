"""Files of texts, and parts of jobs."""

import csv
import gzip
import io
from pathlib import Path

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402
import spacy  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402

from spacy_hoseq.batch import inputs  # noqa: E402
from spacy_hoseq.batch.inputs import (  # noqa: E402
    MIN_CHARACTERS_PER_PART,
    InputOptions,
    Part,
    Row,
    input_files,
    parts_of,
    rows_in,
)
from spacy_hoseq.readers import rows as shared_rows  # noqa: E402
from spacy_hoseq.readers.account import Account  # noqa: E402
from spacy_hoseq.readers.sentences import Problem  # noqa: E402

PLAIN = InputOptions()


def rows(path, reading=PLAIN):
    return list(rows_in(path.as_posix(), path, reading))


def texts(path, reading=PLAIN):
    read = [row for row in rows(path, reading) if isinstance(row, Row)]
    return [(row.id.rpartition("/")[2], row.text) for row in read]


def problems(path, reading=PLAIN):
    return [(row.line, row.actual) for row in rows(path, reading) if isinstance(row, Problem)]


def test_text_files_have_a_text_in_each_line_or_are_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Zoë.\r\n\n two \nthree".encode())
    assert texts(path) == [("a.txt:1", "Zoë."), ("a.txt:3", " two "), ("a.txt:4", "three")]
    assert texts(path, InputOptions(whole=True)) == [("a.txt", "Zoë.\r\n\n two \nthree")]
    path.write_bytes(b" \n\n  Dogs bark. \r\n")
    assert texts(path, InputOptions(whole=True)) == [("a.txt", " \n\n  Dogs bark. ")]
    path.write_bytes(b"good\nb\xffd\nlast")
    assert texts(path) == [("a.txt:1", "good"), ("a.txt:3", "last")]
    assert problems(path) == [(2, "the byte 0xFF")]
    whole = InputOptions(whole=True)
    assert not texts(path, whole) and len(problems(path, whole)) == 1
    (tmp_path / "notes").write_text("any other file\n")
    assert texts(tmp_path / "notes") == [("notes:1", "any other file")]


def test_packed_files(tmp_path):
    data = b'{"text": "one"}\n{"text": "two"}\n' * 500
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data[:16]) + gzip.compress(data[16:]))
    with pa.CompressedOutputStream(str(tmp_path / "a.jsonl.zst"), "zstd") as file:
        file.write(data)
    for name in ("a.jsonl.gz", "a.jsonl.zst"):
        path = tmp_path / name
        assert [text for _, text in texts(path)] == ["one", "two"] * 500
        path.write_bytes(path.read_bytes()[:-7])
        assert len(problems(path)) == 1, "truncated"
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data) + bytes(512))
    assert len(texts(tmp_path / "a.jsonl.gz")) == 1000, "padded, as on a tape"
    assert len(input_files([str(tmp_path)], None, Account())) == 2


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    good = b'{"text": "A b.", "id": 7}\n\n'
    bad = b'{"body": "x"}\n{"text": 1}\n[]\n{"te\n{"text": "\xff"}\n'
    path.write_bytes(good + bad + b'{"text": ""}\n')
    assert texts(path) == [("7", "A b."), ("a.jsonl:8", "")]
    assert [line for line, _ in problems(path)] == [3, 4, 5, 6, 7]
    assert texts(path, InputOptions("body")) == [("a.jsonl:3", "x")]
    path.write_text('{"text": "\\ud800"}\n{"text": "fine", "id": "\\udc00"}\n')
    assert texts(path) == [("a.jsonl:2", "fine")] and "surrogates" in problems(path)[0][1]


def test_tables_of_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('id,text\nx,"a ""b""\nc"\ny,"d, é"\n\nz\nw,e\n'.encode())
    assert texts(path) == [("x", 'a "b"\nc'), ("y", "d, é"), ("w", "e")]
    assert [actual for _, actual in problems(path)] == ["1 cells"]
    expected = [(0, '"body" is not once among the columns id, text')]
    assert problems(path, InputOptions("body")) == expected
    (tmp_path / "b.tsv").write_bytes(b"n\ttext\n1\tone\n\xff\t\n2\ttwo\n")
    found = texts(tmp_path / "b.tsv", InputOptions(id="n"))
    assert [text for _, text in found] == ["one", "", "two"]
    assert texts(tmp_path / "b.tsv")[1] == ("b.tsv:3", "")
    path.write_text('text\n"a"b\nlast\n"never ends')
    assert [text for _, text in texts(path)] == ["last"] and len(problems(path)) == 2


def test_a_row_is_whole_or_a_problem(tmp_path):
    """A bad byte in a cell of several lines: nothing is cut out of the row, and nothing else is lost."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\n1,"a\nb\xffc\nd"\n2,"e\nf"\n3,g\xff\n4,h\n')
    assert texts(path) == [("2", "e\nf"), ("4", "h")]
    assert [line for line, _ in problems(path)] == [2, 7]


def test_cells_are_what_csv_gives(tmp_path):
    """A lone carriage return, and both together, within quotes: offsets are those of this text."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\n1,"a\rb"\r\n2,"c\r\nd"\r\n3,e\r\n')
    with path.open(newline="") as file:
        expected = [(row["id"], row["text"]) for row in csv.DictReader(file)]
    assert texts(path) == expected == [("1", "a\rb"), ("2", "c\r\nd"), ("3", "e")]


@pytest.mark.parametrize("name", ["IN.TXT.GZ", "in.Txt.gz"])
def test_endings_in_capitals(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"a text\n"))
    assert texts(tmp_path / name) == [(f"{name}:1", "a text")]


@pytest.mark.parametrize("end, n", [(b"", 0), (b'5,"quoted\ntwice"\n6,last\n', 1)])
def test_a_quote_that_does_not_end(tmp_path, monkeypatch, end, n):
    """It is an error that says which lines are lost, and costs no more than a cell may be long."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\n1,good\n2,"stray\n3,fine\n' + end)
    assert [text for _, text in texts(path)] == ["good", *["last"] * n]
    line, actual = problems(path)[0]
    assert line == 3 and f"(lines 3 to {4 + n})" in actual
    monkeypatch.setattr(shared_rows, "MAX_CELL_CHARACTERS", 1000)
    before = csv.field_size_limit(1000)
    monkeypatch.setattr(csv, "field_size_limit", lambda *_: 1000)
    path.write_bytes(b'id,text\n1,"stray\n' + b"2,good\n" * 5000)
    assert len(texts(path)) > 4500 and [line for line, _ in problems(path)] == [2]
    monkeypatch.undo()
    csv.field_size_limit(before)


@given(st.lists(st.text('ab,"\r\n\t é', max_size=6), max_size=6), st.sampled_from([".csv", ".tsv"]))
def test_tables_that_are_well_formed_come_back(tmp_path_factory, cells, ending):
    path = tmp_path_factory.mktemp("tables") / f"a{ending}"
    with path.open("w", newline="") as file:
        delimiter = "," if ending == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows([["id", "text"], *([str(i), cell] for i, cell in enumerate(cells))])
    assert texts(path) == [(str(i), cell) for i, cell in enumerate(cells)]


def test_ids_arrive_as_they_were(tmp_path):
    written = ["12345678901234567890123456789", "1.5", '["a", 1, [2.5]]']
    written += ['{"k": null}', "true", '"x y"']
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "t", "id": {value}}}\n' for value in written))
    assert [name for name, _ in texts(path)] == [*written[:-1], "x y"] and not problems(path)
    path.write_text('{"text": 5}\n{"text": ' + "[" * 100_000 + "\n" + '{"text": "t", "id": null}\n')
    assert [line for line, _ in problems(path)] == [1, 2] and texts(path) == [("a.jsonl:3", "t")]
    table = pa.table({"id": [["a", "b"], None], "text": ["t", "t"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == [("['a', 'b']", "t"), ("a.parquet:2", "t")]
    big = pa.array([2**63 - 1, -(2**63)])
    pq.write_table(pa.table({"id": big, "text": ["t", "t"]}), tmp_path / "b.parquet")
    assert [name for name, _ in texts(tmp_path / "b.parquet")] == [str(2**63 - 1), str(-(2**63))]


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"id": [5, 6, None], "text": ["a", None, "c"], "more": [0, 0, 0]}
    pq.write_table(pa.table(columns), path)
    assert texts(path) == [("5", "a"), ("6", None), ("a.parquet:3", "c")]
    expected = [(0, '"body" is not once among the columns id, text, more')]
    assert problems(path, InputOptions("body")) == expected
    assert problems(path, InputOptions("more")) == [(0, 'the column "more" has the type int64')]
    column = pa.array(["a", "a"]).dictionary_encode()
    pq.write_table(pa.table({"text": column}), tmp_path / "b.parquet")
    assert texts(tmp_path / "b.parquet") == [("b.parquet:1", "a"), ("b.parquet:2", "a")]
    for size in (0, 30, path.stat().st_size - 3):
        path.write_bytes(path.read_bytes()[:size])
        assert len(problems(path)) == 1 and not texts(path)


STRINGS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_string_of_parquet_that_is_no_utf_8(tmp_path, kind):
    data = pa.array([b"one", b"t\xffo", None, b"three"], pa.binary()).cast(pa.large_binary())
    bad = pa.Array.from_buffers(pa.large_string(), 4, data.buffers()).cast(kind, safe=False)
    pq.write_table(pa.table({"id": ["a", "b", "c", "d"], "text": bad}), tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == [("a", "one"), ("c", None), ("d", "three")]
    assert [line for line, _ in problems(tmp_path / "a.parquet")] == [2]


def test_columns_of_any_type(tmp_path):
    path = tmp_path / "a.parquet"
    for kind in STRINGS:
        columns = {"id": pa.array([1], pa.timestamp("ns")), "text": pa.array(["a"], kind)}
        pq.write_table(pa.table(columns), path)
        assert texts(path) == [("1970-01-01 00:00:00.000000001", "a")]
    pq.write_table(pa.table([["x"], ["y"], ["a"]], names=["id", "id", "text"]), path)
    assert not texts(path) and [line for line, _ in problems(path)] == [0]


def test_a_name_that_is_no_utf_8(tmp_path):
    """It is shown as bytes, in ids and messages."""
    try:
        (tmp_path / "b\udcff.txt").write_text("text")
    except OSError:
        pytest.skip("this disk has no such names")
    (tmp_path / "b\udcff.csv").write_text("body")
    (part,) = parts_of(input_files([str(tmp_path)], None, Account()), PLAIN, Account())
    assert [row.id.rpartition("/")[2] for row in part.rows] == ["b\\xff.txt:1"]
    assert [problem.path.name for problem in part.problems] == ["b\\xff.csv"]


def test_docs_and_treebanks(tmp_path):
    nlp = spacy.blank("xx")
    given = [Doc(nlp.vocab, words=["They", "tag"], tags=["P", "V"]), nlp("two words")]
    DocBin(docs=given).to_disk(tmp_path / "a.spacy")
    read = [Doc(nlp.vocab).from_bytes(row.text) for row in rows(tmp_path / "a.spacy")]
    expected = [[("They", "P"), ("tag", "V")], [("two", ""), ("words", "")]]
    assert [[(t.text, t.tag_) for t in doc] for doc in read] == expected
    (tmp_path / "b.spacy").write_bytes(b"no docs")
    assert len(problems(tmp_path / "b.spacy")) == 1
    line = "1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_\n\n"
    (tmp_path / "c.conllu").write_text(line * 2)
    read = [Doc(nlp.vocab).from_bytes(row.text) for row in rows(tmp_path / "c.conllu")]
    found = [[(token.text, token.lemma_) for token in doc] for doc in read]
    assert found == [[("Dogs", "dog"), (".", ".")]] * 2


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.txt.gz"])
@pytest.mark.parametrize("whole", [False, True])
def test_lines_that_do_not_end(tmp_path, monkeypatch, name, whole):
    """They are not read to their end, and what stood before them is kept."""
    for module in ("readers.files", "batch.inputs"):
        monkeypatch.setattr(f"spacy_hoseq.{module}.MAX_LINE_BYTES", 1000)
    first = {"a.jsonl": b'{"text": "one"}\n', "a.csv": b"text\none\n"}.get(name, b"one\n")
    data = first + b"a" * 5000 + b"\ntwo\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    reading = InputOptions(whole=whole)
    is_text = whole and ".txt" in name
    assert [text for _, text in texts(tmp_path / name, reading)] == ([] if is_text else ["one"])
    ((_, problem),) = problems(tmp_path / name, reading)
    assert "1,000" in problem


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n\ntwo\n")))
    assert [row[:2] for row in rows(Path("-"))] == [("-:1", "one"), ("-:3", "two")]


def test_files_folders_and_globs_in_order(tmp_path):
    made = "b10.txt b9.txt .hidden.txt deep/a.jsonl.gz x.pdf".split()
    for name in (*(f"in/{name}" for name in made), "out/parts/0.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    def names(*inputs, output=None):
        found = input_files([str(tmp_path / name) for name in inputs], output, Account())
        return [path.relative_to(tmp_path).as_posix() for path in found.values()]

    assert names("in") == ["in/b9.txt", "in/b10.txt", "in/deep/a.jsonl.gz"]
    assert names("in/*.txt", "in/b9.txt", "in/x.pdf") == ["in/b10.txt", "in/b9.txt", "in/x.pdf"]
    assert names("in/**/*.gz") == ["in/deep/a.jsonl.gz"]
    assert input_files(["-"], None, Account()) == {"-": Path("-")}
    assert names(".", output=tmp_path / "out") == ["in/b9.txt", "in/b10.txt", "in/deep/a.jsonl.gz"]
    for inside in ("out", "out/parts/0.jsonl", "out/parts"):
        with pytest.raises(ValueError, match="HS167"):
            names(inside, output=tmp_path / "out")
    for nothing in ("none", "none*", "in/*.doc"):
        with pytest.raises(ValueError, match="HS074"):
            names(nothing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="HS074.*has no such file"):
        names("empty")


def test_parts_end_where_the_input_says(tmp_path, monkeypatch):
    lines, last = tmp_path / "a.jsonl", tmp_path / "c.txt"
    rows = [{"text": text} for text in ("one", "two", "x" * 30, "y" * 9, "z" * 9)]
    srsly.write_jsonl(lines, [*rows, {}])
    last.write_text("one\ntwo\n")
    monkeypatch.setattr(inputs, "MIN_CHARACTERS_PER_PART", 120)
    files = {path.name: path for path in (lines, last)}
    parts = list(parts_of(files, InputOptions(part_size=2), Account()))
    expected = [["one", "two"], ["x" * 30], ["y" * 9, "z" * 9], ["one", "two"]]
    assert [texts_in(part) for part in parts] == expected
    assert [(part.number, len(part.problems)) for part in parts] == [(0, 0), (1, 0), (2, 1), (3, 0)]
    total = sum(path.stat().st_size for path in (lines, last))
    positions = [part.position for part in parts]
    assert positions[-1] == total and positions == sorted(positions)
    # a job without texts is a job
    assert [texts_in(part) for part in parts_of({}, PLAIN, Account())] == [[]]


def texts_in(part):
    return [row.text for row in part.rows]


def test_the_first_parts_are_small(tmp_path):
    """So that there is soon one for each process; and none is a large share of the whole."""
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{i:0100}\n" for i in range(10_000)))

    def sizes(most):
        options = InputOptions(part_size=most)
        return [len(part.rows) for part in parts_of({"a": path}, options, Account())]

    found = sizes(1000)
    assert found[:20] == [MIN_CHARACTERS_PER_PART // 150] * 20
    assert max(found) < 320 and sum(found) == 10_000
    assert sizes(100) == [100] * 100


def test_positions_are_of_all_files(tmp_path):
    """How many bytes were read, so that a bar never goes back."""
    files = {}
    for name, n in (("a", 30), ("b", 2), ("c", 7)):
        files[name] = tmp_path / name
        files[name].write_text(f"{name}\n" * n)
    parts = list(parts_of(files, InputOptions(part_size=1), Account()))
    positions = [part.position for part in parts]
    assert positions == sorted(positions) and positions[-1] == 2 * 39
    assert (
        min(
            position
            for position, part in zip(positions, parts, strict=True)
            if texts_in(part) == ["b"]
        )
        > 60
    )


def test_digests_tell_where_texts_end():
    def digest(ids, texts, problems=()):
        return Part(0, list(map(Row, ids, texts)), list(problems), 0).digest

    problem = Problem(Path("-"), 1, "x", "y")
    digests = {
        digest(["a", "b"], ["c", "d"]), digest(["a", "b"], ["cb", "d"]), digest(["a", "b"], ["c", None]),
        digest(["a"], ["c"]), digest(["a", "b"], ["c", ""]), digest(["ab"], ["c"]), digest([], []),
        digest(["a"], ["c"], [problem]), digest(["a"], [b"c"]),
    }  # fmt: skip
    assert len(digests) == 9
