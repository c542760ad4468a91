"""Files of texts, and parts of jobs."""

import csv
import gzip
import io

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

from spacy_hoseq.batch import inputs, reading  # noqa: E402
from spacy_hoseq.batch.inputs import input_files, rows_of  # noqa: E402
from spacy_hoseq.batch.parts import SeenIds, parts_of, rows_of_part  # noqa: E402
from spacy_hoseq.batch.source import STANDARD, InputOptions, Row, Source  # noqa: E402
from spacy_hoseq.readers.sentences import Problem  # noqa: E402

PLAIN = InputOptions()


def rows(path, reading=PLAIN):
    return list(rows_of(Source(path), reading))


def texts(path, reading=PLAIN):
    return [(row.id.rpartition("/")[2], row.text) for row in rows(path, reading) if isinstance(row, Row)]


def problems(path, reading=PLAIN):
    return [(row.line, row.actual) for row in rows(path, reading) if isinstance(row, Problem)]


def test_text_files_have_a_text_in_each_line_or_are_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Zoë.\r\n\n two \nthree".encode())
    assert texts(path) == [("a.txt:1", "Zoë."), ("a.txt:3", " two "), ("a.txt:4", "three")]
    assert texts(path, InputOptions(whole=True)) == [("a.txt", "Zoë.\n\n two \nthree")]
    path.write_bytes(b"good\nb\xffd\nlast")
    assert texts(path) == [("a.txt:1", "good"), ("a.txt:3", "last")] and problems(path) == [(2, "the byte 0xFF")]
    assert not texts(path, InputOptions(whole=True)) and len(problems(path, InputOptions(whole=True))) == 1
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
        source = Source(path)
        list(rows_of(source, PLAIN))
        assert source.position == source.size == path.stat().st_size
        path.write_bytes(path.read_bytes()[:-7])
        assert len(problems(path)) == 1, "truncated"
    assert len(input_files([str(tmp_path)], None)) == 2


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    good, bad = b'{"text": "A b.", "id": 7}\n\n', b'{"body": "x"}\n{"text": 1}\n[]\n{"te\n{"text": "\xff"}\n'
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
    assert problems(path, InputOptions("body")) == [(1, "columns id, text")]
    (tmp_path / "b.tsv").write_bytes(b"n\ttext\n1\tone\n\xff\t\n2\ttwo\n")
    assert [text for _, text in texts(tmp_path / "b.tsv", InputOptions(id="n"))] == ["one", "two"]
    assert problems(tmp_path / "b.tsv") == [(3, "the byte 0xFF")]
    path.write_text('text\n"a"b\nlast\n"never ends')
    assert [text for _, text in texts(path)] == ["last"] and len(problems(path)) == 2


STRAY = b'id,text\n1,good\n2,"stray\n3,fine\n4,"quoted\ntwice"\n5,last\n'


def test_a_row_is_whole_or_a_problem(tmp_path):
    """A bad byte or NUL in a cell of several lines: nothing is cut out of the row, and nothing else is lost."""
    path = tmp_path / "a.csv"
    names = {b"\xff": "the byte 0xFF", b"\0": "the character U+0000", b"\xef\xbb\xbf": "the character U+FEFF"}
    for bad, told in names.items():
        path.write_bytes(b'id,text\n1,"a\nb' + bad + b'c\nd"\n2,"e\nf"\n3,g' + bad + b"\n4,h\n")
        assert texts(path) == [("2", "e\nf"), ("4", "h")]
        assert problems(path) == [(3, told), (7, told)]
    path.write_bytes(b'id,text\n1,"a\n2,\xff"\n')
    assert texts(path) == [] and problems(path) == [(3, "the byte 0xFF")]


def test_a_stray_quote_does_not_swallow_what_follows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(STRAY)
    assert texts(path) == [("1", "good"), ("3", "fine"), ("4", "quoted\ntwice"), ("5", "last")]
    assert [line for line, _ in problems(path)] == [3]
    path.write_bytes(b'id,text\n1,"stray\n' + b"2,good\n" * 5000)
    assert len(texts(path)) == 5000 and [line for line, _ in problems(path)] == [2]
    long = "\n".join(map(str, range(900)))
    path.write_text(f'id,text\n1,"{long}"\n')
    assert texts(path) == [("1", long)]
    assert problems(path, InputOptions(quoted_lines=900)) == []
    assert len(problems(path, InputOptions(quoted_lines=899))) > 0
    path.write_bytes(gzip.compress(STRAY)[:-9])
    assert [line for line, _ in problems(path)] != []


@given(st.lists(st.text('ab,"\n\t é', max_size=6), max_size=6), st.sampled_from([".csv", ".tsv"]))
def test_tables_that_are_well_formed_come_back(tmp_path_factory, cells, ending):
    path = tmp_path_factory.mktemp("tables") / f"a{ending}"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="," if ending == ".csv" else "\t", lineterminator="\n")
        writer.writerows([["id", "text"], *([str(i), cell] for i, cell in enumerate(cells))])
    assert texts(path) == [(str(i), cell) for i, cell in enumerate(cells)]


def test_ids_arrive_as_they_were(tmp_path):
    written = ["12345678901234567890123456789", "1.10", "1e400", '["a", 1, [2.50]]', '{"k": null}', "true", '"x y"']
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "t", "id": {value}}}\n' for value in written))
    assert [name for name, _ in texts(path)] == [*written[:-1], "x y"] and not problems(path)
    path.write_text('{"text": 5}\n{"text": ' + "[" * 100_000 + "\n" + '{"text": "t", "id": null}\n')
    assert [line for line, _ in problems(path)] == [1, 2] and texts(path) == [("a.jsonl:3", "t")]
    table = pa.table({"id": [["a", "b"], None], "text": ["t", "t"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == [('["a", "b"]', "t"), ("a.parquet:2", "t")]
    big = pa.array([2**63 - 1, -(2**63)])
    pq.write_table(pa.table({"id": big, "text": ["t", "t"]}), tmp_path / "b.parquet")
    assert [name for name, _ in texts(tmp_path / "b.parquet")] == [str(2**63 - 1), str(-(2**63))]


def test_an_input_format_is_one_file(tmp_path, monkeypatch):
    """A file in the room is found by its name, and nothing else has to name it."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "shouted.py").write_text(
        "from spacy_hoseq.batch.source import InputFormat\n"
        "def read(source, reading):\n"
        "    for line in source.lines():\n"
        "        yield source.row(line.number, line.text.upper(), None)\n"
        "FORMAT = InputFormat(['.shout'], read)\n"
    )
    monkeypatch.setattr(reading, "__path__", [*reading.__path__, str(room)])
    formats = reading.input_formats()
    assert set(formats) - set(inputs.FORMATS) == {".shout"}
    monkeypatch.setattr(inputs, "FORMATS", formats)
    (tmp_path / "a.shout.gz").write_bytes(gzip.compress(b"hey\n"))
    assert texts(tmp_path / "a.shout.gz") == [("a.shout.gz:1", "HEY")]


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [5, 6, None], "text": ["a", None, "c"], "more": [0, 0, 0]}), path)
    assert texts(path) == [("5", "a"), ("6", None), ("a.parquet:3", "c")]
    assert problems(path, InputOptions("body")) == [(1, "columns id, text, more")]
    assert problems(path, InputOptions("more")) == [(1, "a column of int64")]
    pq.write_table(pa.table({"text": pa.array(["a", "a"]).dictionary_encode()}), tmp_path / "b.parquet")
    assert texts(tmp_path / "b.parquet") == [("b.parquet:1", "a"), ("b.parquet:2", "a")]
    for size in (0, 30, path.stat().st_size - 3):
        path.write_bytes(path.read_bytes()[:size])
        assert len(problems(path)) == 1 and not texts(path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n\ntwo\n")))
    assert [(row.id, row.text) for row in rows(STANDARD)] == [("-:1", "one"), ("-:3", "two")]


def test_files_folders_and_globs_in_order(tmp_path):
    for name in ("in/b10.txt", "in/b9.txt", "in/.hidden.txt", "in/deep/a.jsonl.gz", "in/x.pdf", "out/parts/0.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    def names(*inputs, output=None):
        found = input_files([str(tmp_path / name) for name in inputs], output)
        return [path.relative_to(tmp_path).as_posix() for path in found]

    assert names("in") == ["in/b9.txt", "in/b10.txt", "in/deep/a.jsonl.gz"]
    assert names("in/*.txt", "in/b9.txt", "in/x.pdf") == ["in/b10.txt", "in/b9.txt", "in/x.pdf"]
    assert names("in/**/*.gz") == ["in/deep/a.jsonl.gz"] and input_files(["-"], None) == [STANDARD]
    assert names(".", output=tmp_path / "out") == ["in/b9.txt", "in/b10.txt", "in/deep/a.jsonl.gz"]
    for inside in ("out", "out/parts/0.jsonl", "out/parts"):
        with pytest.raises(ValueError, match="HS166"):
            names(inside, output=tmp_path / "out")
    for nothing in ("none", "none*", "in/*.doc"):
        with pytest.raises(ValueError, match="HS165"):
            names(nothing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="HS165.*no file ends with"):
        names("empty")


def test_parts_end_where_the_input_says(tmp_path):
    lines, docs, last = tmp_path / "a.jsonl", tmp_path / "b.spacy", tmp_path / "c.txt"
    srsly.write_jsonl(lines, [{"text": text} for text in ("one", "two", "x" * 30, "y" * 9, "z" * 9)] + [{}])
    docs.write_bytes(b"docs")
    last.write_text("one\ntwo\n")
    parts = list(parts_of([lines, docs, last], PLAIN, 2, characters=20))
    assert [part.texts for part in parts] == [["one", "two"], ["x" * 30], ["y" * 9, "z" * 9], [], ["one", "two"]]
    assert [part.docs for part in parts] == [None, None, None, (docs, b"docs"), None]
    assert [(part.number, len(part.problems)) for part in parts] == [(0, 0), (1, 0), (2, 1), (3, 0), (4, 0)]
    total = sum(path.stat().st_size for path in (lines, docs, last))
    assert parts[-1].position == total and [p.position for p in parts] == sorted(p.position for p in parts)
    assert [part.texts for part in parts_of([], PLAIN, 2)] == [[]], "a job without texts is a job"


def test_the_first_parts_are_small(tmp_path):
    """So that two thousand texts are work for several processes, however many there are."""
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{i}\n" for i in range(10_000)))
    sizes = [len(part.texts) for part in parts_of([path], PLAIN, 1000)]
    assert sizes == [250] * 8 + [500] * 8 + [1000] * 4
    assert [len(part.texts) for part in parts_of([path], PLAIN, 100)] == [100] * 100
    assert rows_of_part(10**6) > 10**6


def test_ids_that_were_there_before(tmp_path):
    seen = SeenIds()
    assert seen.repeated(["a", "b", "a"]) == [2] and seen.repeated(["c", "b"]) == [1] and seen.repeated([]) == []
    for i in range(100):
        assert seen.repeated([f"x{i}"]) == []
    assert seen.repeated(["x99", "x0", "x50", "new"]) == [0, 1, 2] and len(seen._arrays) < 10
    path = tmp_path / "a.jsonl"
    srsly.write_jsonl(path, [{"text": "t", "id": name} for name in ("p", "q", "p", "q")] + [{"text": "t"}] * 2)
    first, second, _ = parts_of([path], PLAIN, 2)
    assert not first.problems and [problem.actual[:7] for problem in second.problems] == ["[HS173]"] * 2
    assert second.ids == ["p", "q"], "nothing is lost"
