"""Names of organisations by patterns and by reranking, with some seeds: the workflow org_names of another project, once
for each.

    python organisations.py ../organisations [--seeds 0,1,2]
"""

import subprocess
import sys
from pathlib import Path

import typer
from wasabi import msg


def main(project: Path, seeds: str = "0,1,2") -> None:
    for seed in map(int, seeds.split(",")):
        command = ["-m", "spacy", "project", "run", "org_names", str(project), "--vars.seed", str(seed)]
        done = subprocess.run([sys.executable, *command])
        if done.returncode:
            msg.fail(f"Seed {seed} failed", exits=done.returncode)


if __name__ == "__main__":
    typer.run(main)
