"""Folders of jobs: how they are begun, interrupted, gone on with, refused."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
import spacy
import srsly

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")

from spacy_hoseq.batch import Annotator  # noqa: E402
from spacy_hoseq.batch import folder as folders  # noqa: E402
from spacy_hoseq.batch.engines import here  # noqa: E402
from spacy_hoseq.batch.folder import Shard  # noqa: E402
from spacy_hoseq.batch.inputs import Reading  # noqa: E402
from spacy_hoseq.batch.job import Job  # noqa: E402

N = 23


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    nlp = spacy.blank("en")
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
        return Job(annotator, [str(tmp_path / "in.jsonl")], output, form, Reading(), size)

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
    assert set(files(out)) == {"manifest.json", "parts/000000.conllu"}
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
        with pytest.raises(ValueError, match="HS167"):  # another lock, but another job, too
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

    monkeypatch.setattr(folders.os, "fsync", full)
    for more in (1, 2, 3, 4, 5):
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


def test_formats_that_are_no_stream(job):
    with pytest.raises(ValueError, match="HS174.*--format parquet"):
        job(None, form="parquet")
