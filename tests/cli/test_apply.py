"""`python -m spacy hoseq apply`: what is typed, what comes out, and how it ends."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import srsly
from spacy.tokens import DocBin
from tqdm import tqdm

from ..batch.helpers import TEXTS, english, picky_pipeline
from ..repository import hoseq

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
import pyarrow.parquet as pq  # noqa: E402

import spacy_hoseq.batch  # noqa: E402
from spacy_hoseq.batch.formats import Done  # noqa: E402
from spacy_hoseq.cli import apply  # noqa: E402

pytestmark = pytest.mark.usefixtures("loaded_once")
SLOW = """
import os, resource, signal, time
from spacy.language import Language

@Language.component("picky")
def picky(doc):
    if "die" in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when there is no memory left
    if "eat" in doc.text:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, -1))
        eaten = [bytes(1 << 24) for _ in range(1 << 10)]
    with open(os.environ["WORKERS"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.1)
    return doc
"""


def run(*arguments):
    return hoseq("apply", *arguments)


def start(*arguments, **environment):
    command = [sys.executable, "-m", "spacy", "hoseq", "apply", *map(str, arguments)]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    # a shell that starts us in the background lets us, and what we start, ignore SIGINT
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen(command, env={**os.environ, **environment}, preexec_fn=listen, **pipes)


def files(folder):
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def lines_of(folder):
    return list(srsly.read_jsonl(folder / "parts.jsonl"))


def rows_in(folder):
    """Of all parts."""
    files = sorted((folder / "parts").iterdir())
    return [row for file in files for row in srsly.read_jsonl(file)]


def texts_file(path, texts):
    srsly.write_jsonl(path, [{"id": f"t{i}", "text": text} for i, text in enumerate(texts)])
    return path


def test_parquet_is_the_default(tmp_path):
    path = texts_file(tmp_path / "in.jsonl", TEXTS)
    code, output = run("en", path, "-o", tmp_path / "out", "--part-size", 4)
    assert code == 0, output
    tokens = sum(map(len, english().pipe(TEXTS)))
    assert f"Parts 2 Texts 6 Tokens {tokens} Errors 0" in output
    names = {"parts.jsonl", "parts/000000.parquet", "parts/000001.parquet"}
    assert set(files(tmp_path / "out")) == names
    table = pq.read_table(tmp_path / "out" / "parts")
    assert table["text"].to_pylist() == TEXTS
    assert table["id"].to_pylist() == [f"t{i}" for i in range(6)]
    assert [t["tag"] for t in table["tokens"][0].as_py()] == [t.tag_ for t in english()(TEXTS[0])]
    job, *_, last = srsly.read_jsonl(tmp_path / "out" / "parts.jsonl")
    assert (last["state"], job["model"], last["rows"]) == ("finished", "en_hoseq_sm", 6)


def test_fields_excluded_components_and_ids(tmp_path):
    (tmp_path / "in.csv").write_text("n,body\n7,It works.\n")
    excluded = ("--exclude", "hoseq_chunker,hoseq_lemmatizer")
    options = ("--text-key", "body", "--id-key", "n", "--fields", "tag,word", *excluded)
    assert run("en", tmp_path / "in.csv", "-o", tmp_path / "out", "-f", "jsonl", *options)[0] == 0
    (row,) = srsly.read_jsonl(tmp_path / "out" / "parts" / "000000.jsonl")
    assert row["id"] == "7"
    assert [list(token) for token in row["tokens"]] == [["start", "end", "word", "tag"]] * 3


def test_files_that_are_one_text(tmp_path):
    (tmp_path / "in.txt").write_text("It works.\nIt does.\n")
    for option, n in ((), 2), (("--whole",), 1):
        out = tmp_path / f"out{n}"
        assert run("en", tmp_path / "in.txt", "-o", out, "-f", "spacy", *option)[0] == 0
        docs = list(DocBin().from_disk(out / "parts" / "000000.spacy").get_docs(english().vocab))
        assert len(docs) == n and all(token.tag_ for doc in docs for token in doc)


def test_what_fails_is_listed_and_the_exit_status_says_so(tmp_path):
    model = picky_pipeline(tmp_path)
    (tmp_path / "in.txt").write_text("one\nstop\ntwo\n" + "x" * 40 + "\n")
    options = ("--code", tmp_path / "code.py", "--max-length", 30)
    code, output = run(model, tmp_path / "in.txt", "-o", tmp_path / "out", *options)
    assert code == 1 and "Texts 4" in output and "2 errors" in output and "errors.jsonl" in output
    errors = list(srsly.read_jsonl(tmp_path / "out" / "errors.jsonl"))
    assert [error["id"][-8:] for error in errors] == ["in.txt:2", "in.txt:4"]
    assert "this one not" in errors[0]["error"] and "E088" in errors[1]["error"]
    assert pq.read_table(tmp_path / "out" / "parts")["error"].null_count == 2
    again, _ = run(model, tmp_path / "in.txt", "-o", tmp_path / "out", *options)
    assert again == 1, "still so when nothing is left"


def test_what_is_refused(tmp_path):
    path = texts_file(tmp_path / "in.jsonl", TEXTS[:1])
    out = tmp_path / "out"
    wrong = [(("nothing", path, "-o", out), "HS130"), (("en", tmp_path, "-o", tmp_path), "HS167")]
    wrong += [(("en", tmp_path / "none.txt", "-o", out), "HS074")]
    wrong += [(("en", path, "-o", out, "--fields", "tags"), "HS161")]
    wrong += [(("en", path, "-o", "-", "-f", "parquet"), "HS174")]
    for arguments, message in wrong:
        code, output = run(*arguments)
        assert code == 1 and message in output, (message, output)
    assert not out.exists() and path.exists()


@pytest.mark.parametrize("text", ["def\n", "1 / 0\n", "import no_such_module\n"])
def test_code_that_does_not_run(text, tmp_path):
    (tmp_path / "code.py").write_text(text, "utf8")
    path = texts_file(tmp_path / "in.jsonl", TEXTS[:1])
    code, output = run("en", path, "-o", tmp_path / "out", "--code", tmp_path / "code.py")
    assert code == 1 and "[HS172]" in output and "code.py" in output


@pytest.mark.long
def test_a_text_that_needs_more_memory_than_there_is(slow, tmp_path, monkeypatch):
    """It fails alone, in its worker, and the next ones are done."""
    monkeypatch.setenv("WORKERS", str(tmp_path / "workers"))
    texts_file(tmp_path / "in.jsonl", ["text"] * 4 + ["eat"] + ["text"] * 4)
    process = start(*slow)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1, err
    (error,) = srsly.read_jsonl(tmp_path / "out" / "errors.jsonl")
    assert error["id"] == "t4" and "MemoryError" in error["error"]
    assert lines_of(tmp_path / "out")[-1]["state"] == "finished"
    rows = rows_in(tmp_path / "out")
    assert [row["tokens"] is None for row in rows].count(False) == 8 and len(rows) == 9


def test_a_table_of_tokens(tmp_path):
    path = texts_file(tmp_path / "in.jsonl", TEXTS)
    code, output = run("en", path, "-o", tmp_path / "out", "--flat", "-f", "csv")
    assert code == 0, output
    with (tmp_path / "out" / "parts" / "000000.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [
        "id", "sentence", "token", "start", "end", "word", "tag", "pos", "lemma", "tag_prob",
        "chunk", "chunk_prob", "entity", "entity_prob",
    ]  # fmt: skip
    found = [row[5] for row in rows]
    assert found == [token.text for doc in english().pipe(TEXTS) for token in doc]
    assert run("en", path, "-o", tmp_path / "out", "-f", "csv")[0] == 0, "it is the same job"
    code, output = run("en", path, "-o", tmp_path / "out2", "--flat", "-f", "conllu")
    assert code == 1 and "HS179" in output
    code, output = run("en", path, "-o", tmp_path / "out2", "-f", "xml")
    assert code == 2 and "parquet" in output and "csv" in output
    assert not (tmp_path / "out2").exists()


@pytest.mark.long
def test_from_standard_input_to_standard_output():
    process = start("en", "-", "-o", "-", "-j", 2, "--part-size", 1)
    out, err = process.communicate(b"They tag it.\n\nb\xffd\nIt works.\n", timeout=120)
    assert process.returncode == 1 and b"HS172" in err and b"0xFF" in err
    found = {row["id"]: row["text"] for row in map(json.loads, out.splitlines())}
    assert found == {"-:1": "They tag it.", "-:4": "It works."}


@pytest.mark.parametrize("given, expected", [(-1, 7), (0, 7), (2, 2)])
def test_a_process_for_each_core(tmp_path, monkeypatch, given, expected):
    asked = []
    monkeypatch.setattr(apply.os, "cpu_count", lambda: 7)
    monkeypatch.setattr(apply, "run", lambda _, n, force: asked.append(n) or {"errors": 0})
    monkeypatch.setattr(apply, "report", lambda *_: None)
    run("en", texts_file(tmp_path / "a.txt", TEXTS), "-o", tmp_path / "out", "-j", given)
    assert asked == [expected]


@pytest.mark.long
def test_processes_write_the_same_bytes(tmp_path):
    path = texts_file(tmp_path / "in.jsonl", TEXTS * 20)
    for n in (1, 2, 4):
        code, output = run("en", path, "-o", tmp_path / f"out{n}", "-j", n, "--part-size", 9)
        assert code == 0, output
    assert files(tmp_path / "out1") == files(tmp_path / "out2") == files(tmp_path / "out4")
    assert len(files(tmp_path / "out1")) == 15


@pytest.fixture
def slow(tmp_path):
    """Texts of 3 seconds for two processes, and the arguments to annotate them."""
    model = picky_pipeline(tmp_path)
    (tmp_path / "code.py").write_text(SLOW)
    path = texts_file(tmp_path / "in.jsonl", [f"text {i}" for i in range(60)])
    options = ("-j", 2, "--part-size", 3, "--code", tmp_path / "code.py", "-f", "jsonl")
    return model, path, "-o", tmp_path / "out", *options


def workers_of(path):
    return {int(line) for line in path.read_text().splitlines()} if path.exists() else set()


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_workers_end_with_the_run_and_it_can_be_gone_on_with(slow, tmp_path, name):
    log = tmp_path / "workers"
    process = start(*slow, WORKERS=str(log))
    until = time.monotonic() + 90
    while time.monotonic() < until and not (tmp_path / "out" / "parts" / "000002.jsonl").exists():
        time.sleep(0.05)
    workers = workers_of(log) - {process.pid}
    assert len(workers) == 2 and all(map(is_running, workers)), process.poll()
    process.send_signal(getattr(signal, name))
    process.wait(20)
    until = time.monotonic() + 2
    while time.monotonic() < until and any(map(is_running, workers)):
        time.sleep(0.02)
    assert not any(map(is_running, workers))
    assert process.returncode == {"SIGTERM": -15, "SIGINT": 130, "SIGKILL": -9}[name]
    out, err = process.communicate()
    assert name != "SIGINT" or b"goes on where this one stopped" in err
    names = {path.name for path in (tmp_path / "out" / "parts").iterdir()}
    _, *parts = lines_of(tmp_path / "out")
    assert "state" not in parts[-1] and {part["file"] for part in parts[:-1]} <= names
    if name == "SIGTERM":
        again = start(*slow, WORKERS=str(log))
        assert again.wait(90) == 0
        again.communicate()
        assert [row["id"] for row in rows_in(tmp_path / "out")] == [f"t{i}" for i in range(60)]


@pytest.mark.long
def test_a_process_that_dies(slow, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKERS", str(tmp_path / "workers"))
    texts_file(tmp_path / "in.jsonl", ["text"] * 12 + ["die"] + ["text"] * 12)
    process = start(*slow)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 1 and b"HS114" in err and b"smaller parts" in err
    _, *parts = lines_of(tmp_path / "out")
    assert len(parts) <= 4 and not any("state" in part for part in parts)


def test_pyarrow_that_is_not_installed(tmp_path, monkeypatch):
    path = texts_file(tmp_path / "in.jsonl", TEXTS[:1])
    monkeypatch.setattr(spacy_hoseq, "batch", spacy_hoseq.batch)  # that of other tests comes back
    for name in list(sys.modules):
        if name.startswith(("pyarrow", "spacy_hoseq.batch")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, output = run("en", path, "-o", tmp_path / "out2")
    assert code == 1 and "HS170" in output and "spacy-hoseq[arrow]" in output


def test_progress_in_a_terminal(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Job:
        size = 100
        output = tmp_path

        def to_folder(self, n_process, force, tell):
            for position in (30, 50):
                time.sleep(0.1)
                tell(Done(b"", {"errors": []}, position))
            return {"parts": 2}

    monkeypatch.setattr(sys, "stderr", Terminal())
    at_once = {"delay": 0.01, "mininterval": 0.01}
    monkeypatch.setattr(apply, "tqdm", lambda **settings: tqdm(**{**settings, **at_once}))
    assert apply.run(Job(), 1, False) == {"parts": 2}
    assert "50%" in sys.stderr.getvalue() and "/100" in sys.stderr.getvalue()
