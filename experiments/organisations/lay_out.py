"""Lay out a Chinese corpus with organisation names as plain text: CORPUS_train.txt and CORPUS_dev.txt.

    python lay_out.py OUTPUT --corpus pfr [--folder FOLDER] [--environment FOLDER]

FOLDER has zh_pfr, zh_ner_msra and zh_ner_resume, with files plain or gzipped. `experiments/papers`
downloads the resumes.
"""

import gzip
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

FILES = {
    "pfr_train": "zh_pfr/train.tsv",
    "pfr_dev": "zh_pfr/dev.tsv",
    "msra_train": "zh_ner_msra/train.tsv",
    "msra_dev": "zh_ner_msra/dev.tsv",
    "resume_train": "zh_ner_resume/train.char.bmes",
    "resume_dev": "zh_ner_resume/dev.char.bmes",
}


def main(
    output: Path, corpus: Annotated[str, typer.Option()], folder: str = "", environment: str = ""
) -> None:
    source = Path(folder or environment)
    output.mkdir(parents=True, exist_ok=True)
    for name in (f"{corpus}_train", f"{corpus}_dev"):
        file = FILES[name]
        plain, packed = source / file, source / f"{file}.gz"
        if not plain.is_file() and not packed.is_file():
            msg.fail(
                f"No {file} or {file}.gz in {source}",
                "Name the folder: `python -m spacy project run org_names experiments/organisations "
                "--vars.organisations FOLDER` (or set HOSEQ_CORPORA).",
                exits=1,
            )
        data = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
        (output / f"{name}.txt").write_bytes(data)
        msg.good(f"{output / name}.txt")


if __name__ == "__main__":
    typer.run(main)
