"""Input that `hoseq apply` cannot trust: files that change while they are read, bad rows, files and names.

    python -m tests.attacks inputs [--seed 0]

Of each job: what cannot be read is an error with a code, and all else is done; or the run stops with a code and is not
finished. Prints a row for each; fails if anything is silent, has no code, or hangs.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from .kills import last_line_of, pipeline_in, texts_of

SECONDS = 60.0
LINES = 400


def no_utf_8(folder: Path) -> None:
    data = pa.array([b"one", b"t\xffo", b"three"], pa.large_binary()).buffers()
    pq.write_table(
        pa.table({"text": pa.Array.from_buffers(pa.large_string(), 3, data)}), folder / "a.parquet"
    )


def nanoseconds(folder: Path) -> None:
    ids = pa.array([1, 2], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"id": ids, "text": pa.array(["a", "b"], pa.string_view())}), folder / "a.parquet"
    )


def id_twice(folder: Path) -> None:
    pq.write_table(
        pa.table([["x"], ["y"], ["a"]], names=["id", "id", "text"]), folder / "a.parquet"
    )


def write(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / os.fsdecode(name.encode("latin1"))).write_bytes(data) and None


# what is written beside a good file -> rows and errors that it must give
BAD: dict[str, tuple[Callable[[Path], None], int, int]] = {
    "Parquet: a string that is no UTF-8": (no_utf_8, 2, 1),
    "Parquet: ids of nanoseconds, string_view": (nanoseconds, 2, 0),
    "Parquet: two columns id": (id_twice, 0, 1),
    "Parquet: cut": (write("a.parquet", b"PAR1 and no more"), 0, 1),
    "a name that is no UTF-8": (write("a\xff.txt", b"text\n\xff\n"), 1, 1),
    "JSON: surrogates, null, numbers, nothing": (
        write("a.jsonl", b'{"text": "\\ud83d"}\n{"text": null}\n{"text": 5}\n{}\n{"text": ""}\n'), 1, 4,
    ),
    "JSON: deep": (write("a.jsonl", b'{"text": ' + b"[" * 10**5 + b'\n{"text": "a"}\n'), 1, 1),
    "CSV: a quote that does not end": (write("a.csv", b'id,text\n1,a\n2,"b\n3,c\n4,d\n'), 1, 1),
    "CSV: rows of other widths": (write("a.csv", b"id,text\n1,a\n2\n3,c,d\n"), 1, 2),
    "CSV: bytes that are none": (write("a.csv", b"id,text\n1,a\n2,\xff\n"), 1, 1),
    "text: bytes that are none, NUL": (write("a.txt", b"a\n\xff\n\0\nb\n"), 2, 2),
    "gzip: cut": (write("a.txt.gz", gzip.compress(os.urandom(999).hex().encode())[:-20]), 0, 1),
    ".spacy: nothing of it": (write("a.spacy", b"no docs"), 0, 1),
    "ids twice": (write("a.jsonl", b'{"id": 1, "text": "a"}\n' * 2), 2, 0),
}  # fmt: skip


def cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, int(path.stat().st_size * chance.uniform(0.1, 0.9)))


def edit(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    at = data.index(b"they")  # of the first part
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"THEY")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def replace(path: Path, chance: random.Random) -> None:
    path.with_suffix(".new").write_text("\n".join(texts_of(LINES, chance)) + "\n")
    path.with_suffix(".new").replace(path)


def remove(path: Path, _: random.Random) -> None:
    path.unlink()


CHANGES = {
    "cut": cut,
    "edited at the same size and time": edit,
    "replaced": replace,
    "removed": remove,
}


def command_of(folder: Path, inputs: list[Path], output: Path, n_process: int) -> list[str]:
    words = [
        sys.executable,
        "-m",
        "spacy",
        "hoseq",
        "apply",
        folder / "model",
        *inputs,
        "-o",
        output,
        "-f",
        "jsonl",
    ]
    return [
        str(word)
        for word in [*words, "--code", folder / "code.py", "--part-size", 10, "-j", n_process]
    ]


def bad_rows(folder: Path, name: str) -> str:
    """RETURNS what is wrong with how a job went, or ""."""
    make, n_rows, n_errors = BAD[name]
    inputs = folder / name.replace(":", "").replace(" ", "-")
    inputs.mkdir()
    (inputs / "good.txt").write_text("one\ntwo\n")
    make(inputs)
    output = folder / f"out-{inputs.name}"
    run = subprocess.run(
        command_of(folder, [inputs], output, 1), capture_output=True, timeout=SECONDS
    )
    if not (output / "parts.jsonl").exists():
        return f"nothing is written: {run.stderr.decode()[-200:]}"
    state = last_line_of(output)
    errors = output / "errors.jsonl"
    told = (
        [json.loads(line)["error"] for line in errors.read_text().splitlines()]
        if errors.exists()
        else []
    )
    found = (state.get("state"), state["rows"], len(told), run.returncode)
    expected = ("finished", n_rows + 2, n_errors, int(n_errors > 0))
    uncoded = [error for error in told if not error.startswith("[HS")]
    return (
        f"{found}, expected {expected}"
        if found != expected
        else f"without a code: {uncoded}"
        if uncoded
        else ""
    )


def changing(folder: Path, name: str, n_process: int, chance: random.Random) -> str:
    """RETURNS what is wrong with how a job went, or ""."""
    path = folder / "in.jsonl"
    path.write_text("\n".join(texts_of(LINES, chance)) + "\n")
    output = folder / f"out-{name.replace(' ', '-')}-{n_process}"
    command = command_of(folder, [path], output, n_process)
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + SECONDS
    wanted = chance.randint(1, 15)
    while (
        run.poll() is None
        and time.monotonic() < until
        and len(list(output.glob("parts/*"))) < wanted
    ):
        time.sleep(0.005)
    CHANGES[name](path, chance)
    told = " ".join(text.decode() for text in run.communicate(timeout=SECONDS))
    state = last_line_of(output).get("state", "unfinished")
    is_right = run.returncode == 1 and state == "unfinished" and "[HS178]" in told
    return "" if is_right else f"exit {run.returncode}, {state}: {told[-200:]}"


def attack(seed: int = 0) -> list[tuple[str, str]]:
    """What was done, and what is wrong with how it went ("": nothing)."""
    chance = random.Random(seed)
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline_in(folder)
        rows += [(case, bad_rows(folder, case)) for case in BAD]
        for case in CHANGES:
            for n_process in (1, 2):
                rows.append(
                    (
                        f"{case} while it is read, -j {n_process}",
                        changing(folder, case, n_process, chance),
                    )
                )
    return rows


def main(seed: int = typer.Option(0, help="Of moments and places")) -> None:
    rows = attack(seed)
    for case, problem in rows:
        print(f"{'FAIL' if problem else 'ok':5} {case} {problem}")
    if any(problem for _, problem in rows):
        raise SystemExit(1)
