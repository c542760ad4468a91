"""What a server waits for: loading, the first text, and memory, of pipelines each in a new process.

    python -m benchmarks.serving [en] [zh] [af] [cy] [MODEL ...] [--turns 5] [--page docs/measurements/performance.md]
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

import typer

from .machine import environment
from .page import show, write_table

HEADER = ("Pipeline", "load", "first text", "next text", "peak memory")
WORKER = """
import json, sys, time
from benchmarks.machine import peak_bytes
start = time.perf_counter()
import spacy_hoseq
nlp = spacy_hoseq.load(sys.argv[1])
loaded = time.perf_counter()
nlp("A first text loads what is loaded late.")
first = time.perf_counter()
nlp("The next one is short, too.")
after = time.perf_counter()
times = {"load": loaded - start, "first": first - loaded, "next": after - first}
print(json.dumps({**times, "memory": peak_bytes()}))
"""


def main(pipelines: Optional[List[str]] = None, turns: int = 5, page: Optional[Path] = None) -> None:
    rows = [row_of(name, turns) for name in pipelines or ["en", "zh", "af", "cy"]]
    show(HEADER, rows)
    if page is not None:
        write_table(page, "serving", HEADER, rows)


def row_of(pipeline: str, turns: int) -> List[str]:
    """Medians of new processes."""
    measured = [measure(pipeline) for _ in range(turns)]
    of = {key: statistics.median(each[key] for each in measured) for key in measured[0]}
    times = [f"{of['load']:.1f} s", f"{1000 * of['first']:.0f} ms", f"{1000 * of['next']:.0f} ms"]
    return [f"`{pipeline}`", *times, f"{of['memory'] / 2**20:.0f} MiB"]


def measure(pipeline: str) -> Dict[str, float]:
    """Seconds, and bytes at the peak, of one process."""
    command = [sys.executable, "-c", WORKER, pipeline]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    result: Dict[str, float] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    typer.run(main)
