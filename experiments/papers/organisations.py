"""Names of organisations by patterns and by reranking, with some seeds: steps of another project.

python organisations.py ../organisations [--corpora resume,pfr,msra] [--seeds 0,1,2] [--folder FOLDER]
"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg


def main(
    project: Path,
    corpora: str = "resume,pfr,msra",
    seeds: str = "0,1,2",
    folder: Annotated[Path, typer.Option(help="with zh_ner_resume and others")] = Path(
        "corpus/sources"
    ),
) -> None:
    for seed in map(int, seeds.split(",")):
        for step in [
            step for corpus in corpora.split(",") for step in (f"{corpus}-files", corpus)
        ] + ["report"]:
            settings = ["--vars.seed", str(seed), "--vars.organisations", str(folder.resolve())]
            done = subprocess.run(
                [sys.executable, "-m", "spacy", "project", "run", step, str(project), *settings]
            )
            if done.returncode:
                msg.fail(f"Seed {seed}, {step} failed", exits=done.returncode)


if __name__ == "__main__":
    typer.run(main)
