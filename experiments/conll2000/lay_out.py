"""Lay out the CoNLL-2000 files for training: the last tenth of train.txt becomes the dev part.

    python lay_out.py OUTPUT [--folder FOLDER] [--environment FOLDER] [--assets ASSETS]

The files are taken from the first of these that is given: FOLDER (train.txt, and test.txt if it is there; or a folder
that has them in conll2000/), the folder named in the environment, the downloaded assets (train.txt.gz, test.txt.gz).
Without a test file the dev part stands for it.
"""

import gzip
from pathlib import Path

import typer
from wasabi import msg


def main(
    output: Path, folder: str = "", environment: str = "", assets: Path = Path("assets/conll2000")
) -> None:
    source = Path(folder or environment or assets)
    if (source / "conll2000").is_dir():
        source = source / "conll2000"
    train, test = read(source, "train.txt"), read(source, "test.txt")
    if train is None:
        msg.fail(
            f"No train.txt or train.txt.gz in {source}",
            "Run `python -m spacy project run download` in the folder of the project to download it, or name a "
            "folder that has it: `--vars.conll2000 FOLDER` after `python -m spacy project run WORKFLOW .` (or set "
            "HOSEQ_CORPORA).",
            exits=1,
        )
    sentences = train.strip().split("\n\n")
    n_dev = max(1, len(sentences) // 10)
    parts = {"train": sentences[:-n_dev], "dev": sentences[-n_dev:], "test": sentences[-n_dev:]}
    if test is None:
        msg.warn(
            f"No test.txt in {source}: the dev part, the last tenth of train.txt, is used for testing"
        )
    else:
        parts["test"] = test.strip().split("\n\n")
    output.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        (output / f"{name}.conll").write_text("\n\n".join(part) + "\n\n", encoding="utf8")
        msg.good(f"{len(part)} sentences: {output / name}.conll")


def read(folder: Path, name: str) -> str | None:
    if (folder / name).exists():
        return (folder / name).read_text(encoding="utf8")
    if (folder / f"{name}.gz").exists():
        return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode("utf8")
    return None


if __name__ == "__main__":
    typer.run(main)
