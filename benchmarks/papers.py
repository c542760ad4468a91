"""The pages of the papers, from what `python -m spacy project run papers` has measured.

    python -m benchmarks.papers

Above each table stands where it comes from. A table without measurements stays as it was.
"""

import subprocess
import sys

import srsly
import typer

from .page import ROOT, STEPS, origin


def main() -> None:
    folder = ROOT / "experiments" / "papers"
    srsly.write_json(
        folder / "metrics" / "origins.json", {name: origin(name) for name in STEPS["papers"].tables}
    )
    subprocess.run([sys.executable, "pages.py", "../../docs/papers"], cwd=folder, check=True)


if __name__ == "__main__":
    typer.run(main)
