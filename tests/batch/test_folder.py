"""Folders of jobs: how they are begun, interrupted, gone on with, refused."""

import contextlib
import dataclasses
import errno
import hashlib
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

import pytest
import spacy
import srsly

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")

from spacy_hoseq.batch import Annotator  # noqa: E402
from spacy_hoseq.batch.engines import here  # noqa: E402
from spacy_hoseq.batch.folder import Shard  # noqa: E402
from spacy_hoseq.batch.job import SAMPLE, Job  # noqa: E402
from spacy_hoseq.batch.parts import InputPart  # noqa: E402
from spacy_hoseq.batch.source import InputOptions  # noqa: E402
from spacy_hoseq.readers.sentences import Problem  # noqa: E402

N = 23


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path_factory.mktemp("pipeline") / "model")
    return tmp_path_factory.getbasetemp() / "pipeline0" / "model"


@pytest.fixture
def job(pipeline, tmp_path):
    """Of 12 parts, with a line that cannot be read in every third."""
    lines = [json.dumps({"text": f"Text {i}. More of it."}) if i % 6 else "{" for i in range(N)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    annotator = Annotator(pipeline, outputs=["text", "sentences"])

    def make(output, size=2, form="jsonl"):
        return Job(annotator, [str(tmp_path / "in.jsonl")], output, form, InputOptions(), size)

    return make


def run(job, shard="1/1", restart=False, engine=here, tell=lambda done: None):
    with job.folder(Shard(shard), restart) as folder:
        return job.to_folder(folder, engine, tell)


def files(path):
    """Bytes of all files but locks."""
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.startswith(".lock")
    }


def stopping(after):
    def stop(done, left=[after]):  # noqa: B006 (counts)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return stop


def test_a_job_is_gone_on_with_where_it_stopped(job, tmp_path):
    whole = run(job(tmp_path / "whole"))
    assert whole["state"] == "finished" and whole["rows"] == N - 4 and whole["errors"] == 4 and whole["parts"] == 10
    for after in (1, 4, 9):
        with pytest.raises(KeyboardInterrupt):
            run(job(tmp_path / "out"), tell=stopping(after))
        assert json.loads((tmp_path / "out" / "manifest.json").read_text())["state"] == "unfinished"
        asked = []

        def engine(work, parts, asked=asked):
            return here(work, (asked.append(part.number) or part for part in parts))

        run(job(tmp_path / "out"), engine=engine)
        assert asked == list(range(after, 10)) and files(tmp_path / "out") == files(tmp_path / "whole")
        shutil.rmtree(tmp_path / "out")
    before = files(tmp_path / "whole")
    run(job(tmp_path / "whole"), engine=lambda work, parts: pytest.fail("nothing is left to do"))
    assert files(tmp_path / "whole") == before
    errors = list(srsly.read_jsonl(tmp_path / "whole" / "errors.jsonl"))
    assert [error["id"].rpartition(":")[2] for error in errors] == ["1", "7", "13", "19"]
    rows = [row for path in sorted((tmp_path / "whole" / "parts").iterdir()) for row in srsly.read_jsonl(path)]
    assert [row["text"] for row in rows] == [f"Text {i}. More of it." for i in range(N) if i % 6]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, for many runs in a short time")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.long
def test_twenty_kills(job, tmp_path):
    """At any moment of any part; the folder is in order after each, and in the end as if nothing had been."""
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
        if (tmp_path / "out" / "manifest.json").exists():
            state = json.loads((tmp_path / "out" / "manifest.json").read_text())
            names = set(files(tmp_path / "out"))
            assert {f"parts/{i:06}.jsonl" for i in range(state["parts"])} <= names
            if state["state"] == "finished":
                shutil.rmtree(tmp_path / "out")
    run(job(tmp_path / "out"))
    assert files(tmp_path / "out") == files(tmp_path / "whole")


@pytest.mark.parametrize("shard", ["1/3", "2/3", "3/3"])
def test_a_shard_that_was_stopped_goes_on_with_its_own_parts(job, tmp_path, shard):
    """What it has done is not done again, and none of the parts of others is."""
    run(job(tmp_path / "whole"), shard)
    with contextlib.suppress(InterruptedError, KeyboardInterrupt, RuntimeError):
        run(job(tmp_path / "out"), shard, tell=stopping(2))
    done = {name for name in files(tmp_path / "out") if name.startswith("parts/")}
    told = []
    assert run(job(tmp_path / "out"), shard, tell=told.append)["state"] == "finished"
    assert len(told) + len(done) == len([name for name in files(tmp_path / "out") if name.startswith("parts/")])
    assert len(done) == 2 and told
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_the_end_of_a_file_is_part_of_what_it_is_known_by(job, tmp_path):
    """A file longer than both samples, and of the same size: the first byte, or the last one, is another."""
    source, size = tmp_path / "in.jsonl", 5 * SAMPLE
    known = []
    for data in (b"a" * size, b"b" + b"a" * (size - 1), b"a" * (size - 1) + b"b", b"a" * (size - 1)):
        source.write_bytes(data)
        known.append(job(tmp_path / "out").fingerprint)
    assert len(set(known)) == 4


def test_shards_are_the_whole(job, tmp_path):
    run(job(tmp_path / "whole"))
    for shard in ("2/3", "1/3", "3/3"):
        state = run(job(tmp_path / "out"), shard)
        assert state["parts"] in (3, 4)
    parts = {name: data for name, data in files(tmp_path / "out").items() if name.startswith("parts/")}
    assert parts == {n: data for n, data in files(tmp_path / "whole").items() if n.startswith("parts/")}
    errors = b"".join(sorted(data for n, data in files(tmp_path / "out").items() if n.startswith("errors")))
    assert sorted(errors.splitlines()) == sorted((tmp_path / "whole" / "errors.jsonl").read_bytes().splitlines())
    with pytest.raises(ValueError, match="HS167.*another job"):
        run(job(tmp_path / "out"), "1/2")
    run(job(tmp_path / "out"), "2/3", restart=True)
    assert len(parts) == len([name for name in files(tmp_path / "out") if name.startswith("parts/")])
    for shard in ("0/3", "4/3", "1", "a/b", "-1/2"):
        with pytest.raises(ValueError, match="HS171"):
            Shard(shard)


def test_another_job_and_other_files_are_refused(job, tmp_path):
    out = tmp_path / "out"
    run(job(out))
    before = files(out)
    for other in (job(out, size=3), job(out, form="conllu")):
        with pytest.raises(ValueError, match="HS167.*holds another job, finished"):
            run(other)
    assert files(out) == before
    (tmp_path / "in.jsonl").write_text('{"text": "other"}\n')
    with pytest.raises(ValueError, match="HS167"):
        run(job(out))
    run(job(out, form="conllu"), restart=True)
    assert set(files(out)) == {"manifest.json", "parts.jsonl", "parts/000000.conllu"}
    (out / "parts" / "notes.txt").write_text("mine")
    for restart in (False, True):
        with pytest.raises(ValueError, match="HS167.*other files .parts/notes.txt"):
            run(job(out, form="conllu"), restart=restart)
    (out / "parts" / "notes.txt").unlink()
    (out / "parts" / "000000.conllu").unlink()
    with pytest.raises(ValueError, match="HS167.*has lost 000000.conllu"):
        run(job(out, form="conllu"))
    (out / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="HS167.*damaged"):
        run(job(out, form="conllu"))


def test_run_that_came_to_nothing_is_no_other_job(job, tmp_path):
    out = tmp_path / "out"
    with job(out, size=3).folder(Shard(), False):
        pass
    assert json.loads((out / "manifest.json").read_text())["parts"] == 0
    assert run(job(out))["state"] == "finished"
    run(job(tmp_path / "whole"))
    assert files(out) == files(tmp_path / "whole")


def test_two_runs_at_once(job, tmp_path):
    out = tmp_path / "out"
    with job(out).folder(Shard(), False):
        for restart in (False, True):
            with pytest.raises(ValueError, match=f"HS168.*process {os.getpid()} on"):
                run(job(out), restart=restart)
        with pytest.raises(ValueError, match="HS168"):
            run(job(out), "1/2")
    assert run(job(out))["state"] == "finished"


def test_a_full_disk_loses_nothing(job, tmp_path, monkeypatch):
    out, room, sync = tmp_path / "out", [5], os.fsync
    run(job(tmp_path / "whole"))

    def full(number):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    for more in (1, 2, 3, 4, 5, 6, 7):
        room[0] = more
        with pytest.raises(ValueError, match="HS169.*No space left"):
            run(job(out))
        assert not [name for name in files(out) if "writing" in name]
    monkeypatch.undo()
    run(job(out))
    assert files(out) == files(tmp_path / "whole")


def test_a_folder_that_cannot_be_written(job, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="HS169"):
        run(job(tmp_path / "file"))
    with pytest.raises(ValueError, match="HS169"):
        run(job(Path("/proc/nothing/here")))


@pytest.mark.parametrize("form", ["spacy", "conll", "conllu"])
def test_formats_that_are_no_tables(job, tmp_path, form):
    with pytest.raises(ValueError, match=f"HS179.*{form}"):
        dataclasses.replace(job(tmp_path / "out", form=form), flat=True)


def test_formats_that_are_no_stream(job):
    with pytest.raises(ValueError, match="HS174.*--format parquet"):
        job(None, form="parquet")


# What was read, and what is there


@pytest.fixture
def standard_input(monkeypatch, job):
    """A job over standard input, which has this text."""

    def make(output, text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return Job(job(None).annotator, ["-"], output, "jsonl", InputOptions(), 2)

    return make


def test_another_text_from_standard_input_is_not_already_done(standard_input, tmp_path):
    out = tmp_path / "out"
    run(standard_input(out, "one\ntwo\nthree\n"))
    before = files(out)
    for other in ("other\ntwo\nthree\n", "one\ntwo\n", "one\ntwo\nthree\nfour\n", "one\ntwo\nthree\n4\n5\n", ""):
        with pytest.raises(ValueError, match="HS178"):
            run(standard_input(out, other))
        assert files(out) == before
    assert run(standard_input(out, "one\ntwo\nthree\n"))["state"] == "finished"
    assert files(out) == before
    assert run(standard_input(out, "other\n"), restart=True)["rows"] == 1


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("shard", ["1/1", "2/3"])
def test_an_input_edited_in_the_middle_is_noticed(job, tmp_path, is_killed, shard):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": f"Text {i:07}. {'x' * 500}"}) + "\n" for i in range(3000)))
    tell = stopping(2) if is_killed else (lambda done: None)
    with contextlib.suppress(KeyboardInterrupt):
        run(job(tmp_path / "out", size=300), shard, tell=tell)
    before = files(tmp_path / "out")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"0000333", b"0000444"))
    with pytest.raises(ValueError, match="HS178.*part 1 was read from another text"):
        run(job(tmp_path / "out", size=300), shard)
    assert files(tmp_path / "out") == before
    path.write_bytes(data)
    assert run(job(tmp_path / "out", size=300), shard)["state"] == "finished"


def test_digests_tell_where_texts_end():
    def digest(ids, texts, problems=(), docs=None):
        return InputPart(0, ids, texts, docs, list(problems), 0).digest

    problem = Problem(Path("a"), 1, "x", "y")
    digests = {
        digest(["a", "b"], ["c", "d"]), digest(["a", "b"], ["cb", "d"]), digest(["a", "b"], ["c", None]),
        digest(["a"], ["c"]), digest(["a", "b"], ["c", ""]), digest(["ab"], ["c"]), digest([], []),
        digest(["a"], ["c"], [problem]), digest([], [], docs=(Path("a"), b"x")), digest([], [], docs=(Path("a"), b"y")),
    }  # fmt: skip
    assert len(digests) == 10


def test_a_restart_beside_a_running_shard_is_refused(job, tmp_path):
    out = tmp_path / "out"
    run(job(out), "3/3")
    with job(out).folder(Shard("1/3"), False) as running:
        before = files(out)
        for shard in ("1/1", "2/3", "3/3"):
            with pytest.raises(ValueError, match=f"HS168.*process {os.getpid()} on"):
                run(job(out), shard, restart=True)
        with pytest.raises(ValueError, match="HS168"):
            run(job(out), "1/1")
        with pytest.raises(ValueError, match="HS168"):
            run(job(out), "1/3")
        with pytest.raises(ValueError, match="HS167.*another job"):
            run(job(out), "2/4")
        with pytest.raises(ValueError, match="HS167.*another job"):
            run(job(out, size=3), "2/3")
        assert files(out) == before
        assert run(job(out), "2/3")["state"] == "finished"
        assert running.state["parts"] == 0
    with job(out).folder(Shard("2/3"), True):  # once it has begun, others may
        assert run(job(out), "1/3")["state"] == "finished"
    run(job(out), "2/3")
    run(job(tmp_path / "whole"))
    parts = {name: data for name, data in files(tmp_path / "whole").items() if name.startswith("parts/")}
    assert parts.items() <= files(out).items()


def test_runs_that_begin_wait_for_each_other(job, tmp_path):
    """Eight at once, of four jobs: one job gets the folder, and all of its shards end well."""
    results = []

    def begin(size, shard):
        try:
            results.append((size, run(job(tmp_path / "out", size=size), shard)["state"]))
        except ValueError as error:
            assert "HS167" in str(error) or "HS168" in str(error)

    threads = [threading.Thread(target=begin, args=(size, shard)) for size in (2, 3, 4, 5) for shard in ("1/2", "2/2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and len(set(results)) == 1
    run(job(tmp_path / "whole", size=results[0][0]))
    parts = {name: data for name, data in files(tmp_path / "whole").items() if name.startswith("parts/")}
    assert parts.items() == {name: data for name, data in files(tmp_path / "out").items() if "s/" in name}.items()


def test_a_lock_of_a_dead_process_is_no_lock(job, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in (".lock", ".lock-1-of-2", ".lock-gate"):
        (out / name).write_text(f"process {os.getpid()} on elsewhere")
    assert run(job(out), "1/2")["state"] == "finished"
    code = f"import fcntl, signal; file = open({str(out / '.lock')!r}, 'a'); fcntl.flock(file, fcntl.LOCK_EX)"
    command = [sys.executable, "-c", f"{code}; print(1, flush=True); signal.pause()"]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    holder.stdout.readline()
    with pytest.raises(ValueError, match="HS168"):
        run(job(out), "2/2")
    holder.kill()
    holder.communicate()
    assert run(job(out), "2/2")["state"] == "finished"


def test_a_folder_without_locks(job, tmp_path, monkeypatch):
    """Of a network disk that has none: no other run is blamed for it."""
    import fcntl

    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(ValueError, match="HS169.*No locks available"):
        run(job(tmp_path / "out"))


OF_WHOLE = ["errors.jsonl", "parts.jsonl"]
OF_SHARD = ["errors-1-of-2.jsonl", "parts-1-of-2.jsonl"]
PARTS = ["parts/000000.jsonl", "parts/000007.parquet"]


@pytest.mark.parametrize(
    "shard, name", [("1/1", name) for name in OF_WHOLE + PARTS] + [("1/2", name) for name in OF_SHARD + PARTS]
)
def test_files_that_no_job_wrote_stay(job, tmp_path, name, shard):
    (tmp_path / "out" / "parts").mkdir(parents=True)
    (tmp_path / "out" / name).write_text("mine")
    with pytest.raises(ValueError, match="HS167.*did not write"):
        run(job(tmp_path / "out"), shard)
    assert files(tmp_path / "out") == {name: b"mine"}
    assert run(job(tmp_path / "out"), shard, restart=True)["state"] == "finished"


@pytest.mark.parametrize("shard, k", [("1/1", 4), ("2/3", 7)])
def test_files_of_others_among_those_of_the_job_stay(job, tmp_path, shard, k):
    """k: number of the part that comes next."""
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(job(out), shard, tell=stopping(4 if k == 4 else 2))
    before = files(out)
    ending = Shard(shard).ending
    for name, text in (
        (f"parts/{k:06}.jsonl", "mine"),  # where the next part goes
        (f"parts/{k + 3:06}.jsonl", "mine"),
        (f"parts/{k:06}.parquet", "mine"),
        (f"errors{ending}.jsonl", "mine"),
        (f"parts{ending}.jsonl", '{"part": 99, "file": "x"}\n'),
    ):
        path = out / name
        old = path.read_bytes() if path.exists() else b""
        path.write_bytes(old + text.encode())
        with pytest.raises(ValueError, match="HS167.*did not write"):
            run(job(out), shard)
        assert path.read_bytes() == old + text.encode()
        path.write_bytes(old) if old else path.unlink()
    for name in (f"errors{ending}.jsonl", f"parts{ending}.jsonl"):
        old = (out / name).read_bytes()
        (out / name).write_bytes(b"X" + old[1:])
        with pytest.raises(ValueError, match="HS167.*another"):
            run(job(out), shard)
        (out / name).unlink()
        with pytest.raises(ValueError, match="HS167.*lost"):
            run(job(out), shard)
        (out / name).write_bytes(old)
    assert files(out) == before and run(job(out), shard)["state"] == "finished"


def test_a_file_that_appears_while_the_job_runs_stays(job, tmp_path):
    out = tmp_path / "out"

    def tell(done):
        (out / "parts" / "000003.jsonl").write_text("mine")

    with pytest.raises(ValueError, match="HS167.*did not write.*000003"):
        run(job(out), tell=tell)
    assert (out / "parts" / "000003.jsonl").read_text() == "mine"


@pytest.mark.parametrize("shard", ["1/1", "2/3"])
def test_a_part_that_was_truncated_is_noticed(job, tmp_path, shard):
    run(job(tmp_path / "out"), shard)
    path = tmp_path / "out" / "parts" / "000001.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(ValueError, match=f"HS167.*damaged 000001.jsonl: {len(data) - 1:,} bytes"):
        run(job(tmp_path / "out"), shard)
    path.write_bytes(data)
    assert run(job(tmp_path / "out"), shard)["state"] == "finished"


@pytest.mark.parametrize("shard", ["1/1", "2/3"])
def test_interrupted_between_any_two_steps(job, tmp_path, monkeypatch, shard):
    """Each write to the disk once fails; what the run leaves behind then is taken up, and the bytes are the same."""
    run(job(tmp_path / "whole", size=7), shard)
    steps = 0
    fsync = os.fsync
    replace = Path.replace

    def count():
        nonlocal steps
        steps -= 1
        if not steps:
            raise KeyboardInterrupt

    def counted_replace(path, name):
        count()
        replace(path, name)
        count()

    monkeypatch.setattr(os, "fsync", lambda file: (count(), fsync(file)))
    monkeypatch.setattr(Path, "replace", counted_replace)
    is_interrupted = True
    after = 0
    while is_interrupted:
        after += 1
        is_interrupted = False
        for again in (0, -1, 1):
            steps = after if not again else max(1, 3 + again)
            try:
                run(job(tmp_path / "out", size=7), shard)
            except KeyboardInterrupt:
                is_interrupted = is_interrupted or not again
        steps = 0
        run(job(tmp_path / "out", size=7), shard)
        assert files(tmp_path / "out") == files(tmp_path / "whole")
        shutil.rmtree(tmp_path / "out")
    assert after > 10


def test_a_reader_can_tell_which_parts_belong_to_the_job(job, tmp_path):
    run(job(tmp_path / "out"))
    entries = list(srsly.read_jsonl(tmp_path / "out" / "parts.jsonl"))
    assert [entry["part"] for entry in entries] == list(range(10)) and sum(e["rows"] for e in entries) == N - 4
    for entry in entries:
        data = (tmp_path / "out" / entry["file"]).read_bytes()
        assert entry["bytes"] == len(data) and entry["sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("state", ["finished", "unfinished"])
def test_a_folder_of_an_earlier_version(job, tmp_path, state):
    out = tmp_path / "out"
    (out / "parts").mkdir(parents=True)
    (out / "parts" / "000000.jsonl").write_text("{}\n")
    srsly.write_json(out / "manifest.json", {"format": 1, "job": "x", "state": state, "shard": "1/1", "parts": 1})
    for shard in ("1/1", "1/2"):
        with pytest.raises(ValueError, match="HS177.*format 1"):
            run(job(out), shard)
    assert run(job(out), restart=True)["state"] == "finished"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, for many runs in a short time")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shards_are_killed_and_gone_on_with(job, tmp_path):
    run(job(tmp_path / "whole"))
    chance = random.Random(1)
    for shard in ("2/3", "1/3", "3/3"):
        for _ in range(4):
            child = os.fork()
            if not child:
                try:
                    run(job(tmp_path / "out"), shard, tell=lambda done: time.sleep(0.01))
                finally:
                    os._exit(0)
            time.sleep(chance.uniform(0.002, 0.03))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert run(job(tmp_path / "out"), shard)["state"] == "finished"
    parts = {name: data for name, data in files(tmp_path / "out").items() if name.startswith("parts/")}
    assert parts == {n: data for n, data in files(tmp_path / "whole").items() if n.startswith("parts/")}
