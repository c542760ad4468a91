"""Folders of jobs: how they are begun, interrupted, gone on with, refused."""

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import spacy
import srsly

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")

from spacy_hoseq.batch import Annotator  # noqa: E402
from spacy_hoseq.batch.inputs import InputOptions  # noqa: E402
from spacy_hoseq.batch.job import Job  # noqa: E402
from spacy_hoseq.batch.processes import in_processes  # noqa: E402

N = 11
IGNORED = lambda done: None  # noqa: E731


@pytest.fixture(scope="module")
def annotator(tmp_path_factory):
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path_factory.mktemp("pipeline") / "model")
    model = tmp_path_factory.getbasetemp() / "pipeline0" / "model"
    return Annotator(model, outputs=["text", "sentences"])


@pytest.fixture
def job(annotator, tmp_path):
    """Of 5 parts, with a line that cannot be read in every third."""
    lines = [json.dumps({"text": f"Text {i}. More of it."}) if i % 6 else "{" for i in range(N)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))

    def make(output, size=2, form="jsonl", inputs=("in.jsonl",)):
        paths = [str(tmp_path / name) for name in inputs]
        return Job(annotator, paths, output, form, InputOptions(part_size=size))

    return make


def run(job, force=False, tell=IGNORED, n_process=1):
    return job.to_folder(n_process, force, tell)


def files(path):
    """Bytes of all files."""
    paths = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in paths}


def state_of(path):
    """Whether the job is finished, as its last line says."""
    last = (path / "parts.jsonl").read_bytes().splitlines()[-1]
    return json.loads(last).get("state", "unfinished")


def number_of(done):
    return int(done.entry["file"].partition(".")[0])


def stopping(after):
    def stop(done, left=[after]):  # noqa: B006 (counts)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return stop


def stopped(job, after=3):
    with pytest.raises(KeyboardInterrupt):
        run(job, tell=stopping(after))


@pytest.mark.parametrize("n_process", [1, 2])
def test_a_job_is_gone_on_with_where_it_stopped(job, tmp_path, n_process):
    whole = run(job(tmp_path / "whole"))
    assert whole == {"parts": 5, "rows": N - 2, "tokens": whole["tokens"], "errors": 2}
    for after in (1, 4):
        stopped(job(tmp_path / "out"), after)
        assert state_of(tmp_path / "out") == "unfinished"
        told = []
        run(
            job(tmp_path / "out"),
            tell=lambda done, told=told: told.append(number_of(done)),
            n_process=n_process,
        )
        assert told == list(range(after, 5))
        assert files(tmp_path / "out") == files(tmp_path / "whole")
        shutil.rmtree(tmp_path / "out")
    before = files(tmp_path / "whole")
    run(job(tmp_path / "whole"), tell=lambda done: pytest.fail("nothing is left to do"))
    assert files(tmp_path / "whole") == before
    errors = list(srsly.read_jsonl(tmp_path / "whole" / "errors.jsonl"))
    assert [error["id"].rpartition(":")[2] for error in errors] == ["1", "7"]
    paths = sorted((tmp_path / "whole" / "parts").iterdir())
    rows = [row for path in paths for row in srsly.read_jsonl(path)]
    assert [row["text"] for row in rows] == [f"Text {i}. More of it." for i in range(N) if i % 6]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, for many runs in a short time")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.long
def test_twenty_kills(job, tmp_path):
    """At any moment of any part; in the end as if nothing had been."""
    run(job(tmp_path / "whole"))
    chance, killed = random.Random(0), 0
    while killed < 20:
        child = os.fork()
        if not child:
            try:
                run(job(tmp_path / "out"), tell=lambda done: time.sleep(0.01))
            finally:
                os._exit(0)
        time.sleep(chance.uniform(0.002, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed += 1
        log = tmp_path / "out" / "parts.jsonl"
        if log.exists() and b'"state": "finished"' in log.read_bytes():
            shutil.rmtree(tmp_path / "out")
    run(job(tmp_path / "out"))
    assert files(tmp_path / "out") == files(tmp_path / "whole")


@pytest.mark.parametrize("room", range(7))
def test_a_full_disk_loses_nothing(job, tmp_path, monkeypatch, room):
    """Whichever write fails: of the list, two parts, the errors, and that it is finished."""
    out, left, sync = tmp_path / "out", [room], os.fsync
    run(job(tmp_path / "whole", size=6))

    def full(number):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ValueError, match="HS169.*No space left"):
        run(job(out, size=6))
    monkeypatch.undo()
    run(job(out, size=6))
    assert files(out) == files(tmp_path / "whole")


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_run_that_ends_where_a_part_gets_its_name(job, tmp_path, monkeypatch, is_renamed):
    """Before or after: its line is in the list already, so the next run knows the part."""
    run(job(tmp_path / "whole"))
    rename = Path.replace

    def ends(path, target):
        if target.name != "000002.jsonl":
            return rename(path, target)
        if is_renamed:
            rename(path, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", ends)
    with pytest.raises(KeyboardInterrupt):
        run(job(tmp_path / "out"))
    monkeypatch.undo()
    run(job(tmp_path / "out"))
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_a_line_that_is_torn(job, tmp_path):
    run(job(tmp_path / "whole"))
    stopped(job(tmp_path / "out"))
    log = tmp_path / "out" / "parts.jsonl"
    log.write_bytes(log.read_bytes() + b'{"file": "0000')
    (tmp_path / "out" / "parts" / "000003.jsonl.writing").write_bytes(b"half")
    run(job(tmp_path / "out"))
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_another_job_is_refused(job, tmp_path):
    out = tmp_path / "out"
    run(job(out))
    before = files(out)
    for other in (job(out, size=3), job(out, form="conllu")):
        with pytest.raises(ValueError, match="HS167.*holds another job"):
            run(other)
    assert files(out) == before
    run(job(out, form="conllu"), force=True)
    assert "parts/000000.conllu" in files(out) and "parts/000000.jsonl" not in files(out)


@pytest.mark.parametrize(
    "name", ["notes.txt", "parts/notes.txt", "parts/000001.txt", "parts/000009.jsonl.writing"]
)
@pytest.mark.parametrize("force", [False, True])
def test_other_files_are_refused_and_stay(job, tmp_path, name, force):
    stopped(job(tmp_path / "out"))
    (tmp_path / "out" / name).write_text("mine")
    before = files(tmp_path / "out")
    with pytest.raises(ValueError, match=r"HS167.*files that no run has written"):
        run(job(tmp_path / "out"), force=force)
    assert files(tmp_path / "out") == before


@pytest.mark.parametrize("name", ["errors.jsonl", "parts/000000.jsonl", "parts.jsonl"])
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_which_no_run_has_written(job, tmp_path, name, force):
    """It has files of these names: they stay, with --force, too."""
    (tmp_path / "out" / "parts").mkdir(parents=True)
    (tmp_path / "out" / name).write_text("mine\n")
    with pytest.raises(ValueError, match="HS167"):
        run(job(tmp_path / "out"), force=force)
    assert files(tmp_path / "out")[name] == b"mine\n"


DAMAGES = {
    "a part at equal size": ("parts/000001.jsonl", lambda data: data.replace(b"Text 3", b"Text 4"), "lost 000001"),
    "a part that is lost": ("parts/000001.jsonl", None, "lost 000001"),
    "a part that grew": ("parts/000001.jsonl", lambda data: data + b"\n", "lost 000001"),
    "errors": ("errors.jsonl", lambda data: data.replace(b"HS172", b"HS173"), "another errors"),
    "more errors": ("errors.jsonl", lambda data: data + b"{}\n", "another errors"),
    "no list of parts": ("parts.jsonl", None, "that no run has written"),
    "another line": ("parts.jsonl", lambda data: b"null\n" + data, "a line in parts.jsonl"),
    "no first line": ("parts.jsonl", lambda data: data.partition(b"\n")[2], "no run has written"),
    "a count that is text": ("parts.jsonl", lambda data: data.replace(b'"rows": 2', b'"rows": "2"'), "a line in"),
    "a number": ("parts.jsonl", lambda data: data.replace(b'"parts": 5', b'"parts": "2"'), "a line in"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("is_finished", [True, False])
def test_what_was_changed_since_is_noticed(job, tmp_path, name, is_finished):
    file, change, told = DAMAGES[name]
    if is_finished:
        run(job(tmp_path / "out"))
    else:
        stopped(job(tmp_path / "out"), 4)
    path = tmp_path / "out" / file
    if change is None:
        path.unlink()
    else:
        data = change(path.read_bytes()) if path.exists() else b""
        if not path.exists() or data == path.read_bytes():
            pytest.skip("there is no such thing in it")
        path.write_bytes(data)
    before = files(tmp_path / "out")
    with pytest.raises(ValueError, match=f"HS167.*({told})"):
        run(job(tmp_path / "out"))
    assert {name: data for name, data in files(tmp_path / "out").items() if data} == before


def test_two_runs_at_once(job, tmp_path):
    pytest.importorskip("fcntl", reason="on Windows nobody is told")
    lock = "fcntl.lockf(file, fcntl.LOCK_EX)"
    lines = "import fcntl, sys; file = open(sys.argv[1], 'ab')"
    code = f"{lines}; {lock}; print(1, flush=True); input()"
    stopped(job(tmp_path / "out"))
    command = [sys.executable, "-c", code, str(tmp_path / "out" / "parts.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        for force in (False, True):
            with pytest.raises(ValueError, match="HS168"):
                run(job(tmp_path / "out"), force=force)
        other.communicate(b"\n")
    assert run(job(tmp_path / "out"))["parts"] == 5


def test_formats_that_are_no_tables_or_no_stream(job, tmp_path, annotator):
    flat = Annotator(annotator.pipeline, flat=True)
    for form in ("spacy", "conllu"):
        with pytest.raises(ValueError, match=f"HS179.*{form}"):
            paths, folder = [str(tmp_path / "in.jsonl")], tmp_path if form == "spacy" else None
            Job(flat, paths, folder, form, InputOptions())
    for form in ("parquet", "csv", "spacy"):
        with pytest.raises(ValueError, match=f"HS174.*--format {form}"):
            job(None, form=form)


class AskedForSignals:
    """In place of work: how its process takes an interrupt."""

    annotator = SimpleNamespace(loaded=None)

    def __call__(self, part):
        return signal.getsignal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_workers_leave_an_interrupt_to_the_run():
    assert set(in_processes(AskedForSignals(), range(4), 2)) == {signal.SIG_IGN}
    assert set(in_processes(AskedForSignals(), range(4), 1)) == {signal.getsignal(signal.SIGINT)}


# What was read, and what is there


def test_another_text_from_standard_input_is_not_already_done(annotator, tmp_path, monkeypatch):
    def standard_input(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return Job(annotator, ["-"], tmp_path / "out", "jsonl", InputOptions(part_size=2))

    assert standard_input("").size == 0, "it is not known before it is read"
    run(standard_input("one\ntwo\nthree\n"))
    before = files(tmp_path / "out")
    for other in ("other\ntwo\nthree\n", "one\ntwo\n", ""):
        with pytest.raises(ValueError, match="HS178"):
            run(standard_input(other))
        assert files(tmp_path / "out") == before
    assert run(standard_input("one\ntwo\nthree\n"))["rows"] == 3
    for other in ("one\ntwo\nthree\nfour\n", "one\ntwo\nthree\n4\n5\n"):
        with pytest.raises(ValueError, match="HS178"):
            run(standard_input(other))
    assert files(tmp_path / "out") == before
    assert run(standard_input("other\n"), force=True)["rows"] == 1


def removed(out):
    """The first part, by a cleaner or by a program that moves what is done."""
    (out / "parts" / "000000.jsonl").unlink()


def cut_short(out):
    path = out / "parts" / "000000.jsonl"
    path.write_bytes(path.read_bytes()[:-1])


def removed_with_its_folder(out):
    shutil.rmtree(out)
    (out / "parts").mkdir(parents=True)


def moved(out):
    out.rename(out.with_name("moved"))
    (out / "parts").mkdir(parents=True)


def without_list(out):
    (out / "parts.jsonl").unlink()


LOSSES = [removed, cut_short, removed_with_its_folder, moved, without_list]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("n_process", [1, pytest.param(2, marks=pytest.mark.long)])
def test_parts_that_vanish_before_the_end(job, tmp_path, lose, n_process):
    """Such a run is not finished, whatever it has counted."""
    out = tmp_path / "out"

    def tell(done):
        if number_of(done) == 3:
            lose(out)

    with pytest.raises(ValueError, match=r"\[HS115\].*(000000.jsonl|parts.jsonl)"):
        run(job(out), tell=tell, n_process=n_process)
    for path in tmp_path.rglob("parts.jsonl"):
        assert state_of(path.parent) == "unfinished"


def test_inputs_that_are_no_files(job, tmp_path, monkeypatch):
    """A link to itself, one to nothing, a pipe."""
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    for name in ("loop.txt", "none.txt"):
        with pytest.raises(ValueError, match=r"\[HS074\].*neither a file nor a folder"):
            job(tmp_path / "out", inputs=[name])
    os.mkfifo(tmp_path / "pipe.jsonl")
    write, line = (tmp_path / "pipe.jsonl").write_text, '{"text": "One."}\n'
    filled = threading.Thread(target=write, args=[line * 5])
    filled.start()
    assert run(job(tmp_path / "out", inputs=["pipe.jsonl"]))["rows"] == 5
    filled.join()


def test_a_file_that_vanishes_costs_only_itself(job, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("One.\n")
    made = job(tmp_path / "out", inputs=["a.txt", "b.txt"])
    (tmp_path / "a.txt").unlink()
    counts = run(made)
    assert (counts["rows"], counts["errors"]) == (1, 1)
    (error,) = srsly.read_jsonl(tmp_path / "out" / "errors.jsonl")
    assert error["id"].endswith("a.txt") and "[HS172]" in error["error"]


CHANGES = {
    "cut in the middle of a line": lambda data: data[: len(data) * 2 // 3],
    "cut at a line": lambda data: data[: data.rindex(b"\n")],
    "appended to": lambda data: data + b'\n{"text": "more"}',
    "edited at the same size": lambda data: data.replace(b"Text 4.", b"Text x."),
    "edited at the end": lambda data: data.replace(b"Text 10.", b"Text xx."),
    "an error that is mended": lambda data: b'{"text": "mended"}' + data[1:],
    "emptied": lambda data: b"",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("n_process", [1, pytest.param(2, marks=pytest.mark.long)])
def test_input_that_changes_while_it_is_read(job, tmp_path, name, n_process):
    """A run that cannot vouch for its input says so, and is not finished."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    changed = CHANGES[name](path.read_bytes())

    def tell(done):
        if number_of(done) == 2:
            path.write_bytes(changed)

    with pytest.raises(ValueError, match="HS178"):
        run(job(out), tell=tell, n_process=n_process)
    assert state_of(out) == "unfinished"
    if name != "appended to":  # which may just have been read
        with pytest.raises(ValueError, match="HS178"):
            run(job(out))
    run(job(out), force=True)
    run(job(tmp_path / "whole"))
    assert files(out) == files(tmp_path / "whole")


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("is_finished", [False, True])
def test_input_that_changes_between_runs(job, tmp_path, name, is_finished):
    """If it is in what was read: otherwise the run goes on with what is there now."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    if is_finished:
        run(job(out))
    else:
        stopped(job(out), 4)
    path.write_bytes(CHANGES[name](path.read_bytes()))
    if is_finished or name not in ("appended to", "edited at the end", "cut at a line"):
        with pytest.raises(ValueError, match="HS178"):
            run(job(out))
        return
    run(job(out))
    run(job(tmp_path / "whole"))
    assert files(out) == files(tmp_path / "whole")


def test_a_stream_of_input_that_changes(job, tmp_path):
    stream = io.BytesIO()

    def tell(done):
        (tmp_path / "in.jsonl").write_text("{}")

    with pytest.raises(ValueError, match="HS178"):
        job(None).to_stream(stream, 1, tell)
    state = job(None).to_stream(io.BytesIO(), 1, IGNORED)
    assert (state["rows"], state["errors"]) == (0, 1) and stream.getvalue()
