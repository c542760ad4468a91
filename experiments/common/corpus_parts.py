"""Lay out a corpus that is divided already: *train.SUFFIX, *dev.SUFFIX and *test.SUFFIX, plain or gzipped.

    python experiments/common/corpus_parts.py OUTPUT SUFFIX VARIABLE BELOW
        [--folder FOLDER] [--environment FOLDER] [--assets ASSETS]

The files are taken from the first of these that is given: FOLDER (the project's variable of this name), the folder
BELOW in the one named in the environment, the downloaded assets. Without a test file the dev part stands for it.
"""

import gzip
from pathlib import Path

import typer
from wasabi import msg

PARTS = ("train", "dev", "test")


def main(
    output: Path,
    suffix: str,
    variable: str,
    below: str,
    folder: str = "",
    environment: str = "",
    assets: str = "",
) -> None:
    source = Path(folder or (Path(environment) / below if environment else assets or "."))
    texts = {part: read(source, f"{part}.{suffix}") for part in PARTS}
    for part in ("train", "dev"):
        if texts[part] is None:
            download = "Run `python -m spacy project run download` or name" if assets else "Name"
            msg.fail(
                f"No *{part}.{suffix} or *{part}.{suffix}.gz in {source}",
                f"{download} a folder that has it, for example `--vars.{variable} FOLDER` after "
                "`python -m spacy project run WORKFLOW .` (or set HOSEQ_CORPORA).",
                exits=1,
            )
    if texts["test"] is None:
        msg.warn(f"No *test.{suffix} in {source}: the dev part is used for testing")
        texts["test"] = texts["dev"]
    output.mkdir(parents=True, exist_ok=True)
    for part, text in texts.items():
        (output / f"{part}.{suffix}").write_text(f"{text}\n\n", encoding="utf8")
        msg.good(f"{output / part}.{suffix}")


def read(folder: Path, ending: str) -> str | None:
    files = sorted([*folder.glob(f"*{ending}"), *folder.glob(f"*{ending}.gz")])
    if not files:
        return None
    data = files[0].read_bytes()
    return (
        (gzip.decompress(data) if files[0].suffix == ".gz" else data)
        .decode("utf8")
        .replace("\r\n", "\n")
        .strip()
    )


if __name__ == "__main__":
    typer.run(main)
