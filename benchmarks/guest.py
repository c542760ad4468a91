"""What the package costs those who do not use it: `spacy.blank("en")` in new processes, with and without it installed.

    python -m benchmarks.guest PYTHON_WITHOUT [--n 20]

PYTHON_WITHOUT: the interpreter of an environment with the same spaCy, but without this package. The interpreter that
runs this has it. Processes alternate; CPU time of the call alone, median and lowest.
"""

import statistics
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

SCRIPT = """
import time, sys, spacy
before = time.process_time()
spacy.blank("en")
print(time.process_time() - before, len([name for name in sys.modules if name.startswith("spacy_hoseq")]))
"""


def measured(python: str) -> tuple[float, int]:
    """Seconds of the call, and modules of this package that it loaded."""
    run = [python, "-c", SCRIPT]
    # without the folder that this was started in, whose package would be found
    output = subprocess.run(
        run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    seconds, modules = output.stdout.split()
    return float(seconds), int(modules)


def main(without: Annotated[str, typer.Argument(metavar="PYTHON_WITHOUT")], n: int = 20) -> None:
    runs: dict[str, list[tuple[float, int]]] = {"with": [], "without": []}
    for _ in range(n):
        runs["with"].append(measured(sys.executable))
        runs["without"].append(measured(without))
    medians = {}
    for name, found in runs.items():
        seconds = [each for each, _ in found]
        medians[name] = statistics.median(seconds)
        print(
            f"{name:8}{medians[name]:.3f} s (lowest {min(seconds):.3f}), modules of ours: {found[0][1]}"
        )
    print(f"ratio   {medians['with'] / medians['without']:.3f}")


if __name__ == "__main__":
    typer.run(main)
