"""Convert a treebank in a local folder to train.spacy, dev.spacy and test.spacy, by a named division.

Divisions are described in docs/reference/readers.md.

    python convert.py OUTPUT --folder FOLDER --split wsj-tagging [--lang en] [--name 'the Penn Treebank']
        [--tenths 1] [--sample FOLDER]

Without FOLDER, that of --sample is taken. A folder that lacks a part of the division, such as a free sample of the
treebank, is divided by files instead: the last tenth (or so many tenths) is for testing, and as much before it for
development.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import typer
from wasabi import msg

from spacy_hoseq.readers.files import find_files
from spacy_hoseq.readers.formats.trees import trees_format
from spacy_hoseq.readers.splits import PARTS, in_part


def main(
    output: Path,
    folder: str = "",
    split: str = "wsj-tagging",
    lang: str = "en",
    name: str = "the treebank",
    tenths: int = 1,
    sample: str = "",
) -> None:
    folder = folder or sample
    if not folder or not Path(folder).is_dir():
        msg.fail(
            f'No folder with {name}: "{folder}"' if folder else f"No folder with {name} is named",
            "It is licensed and not part of this project. Name the folder that has its trees, for example "
            "`python -m spacy project run ptb . --vars.ptb_dir FOLDER` (ctb: --vars.ctb_dir).",
            exits=1,
        )
    try:
        files = find_files(Path(folder), trees_format().endings)
    except ValueError as error:
        msg.fail("Nothing converted", str(error), exits=1)
    for part, chosen in divided(files, split, tenths).items():
        copies = output / "files" / part
        shutil.rmtree(copies, ignore_errors=True)
        for number, file in enumerate(chosen):
            place = copies / f"{number:05d}"
            place.mkdir(parents=True)
            shutil.copy(file, place / file.name)
        msg.divider(f"{part}: {len(chosen)} files")
        target = output / f"{part}.spacy"
        target.unlink(missing_ok=True)
        arguments = [
            str(copies),
            "-o",
            str(target),
            "--format",
            "trees",
            "--lang",
            lang,
            "--n-sents",
            "1",
        ]
        done = subprocess.run([sys.executable, "-m", "spacy", "hoseq", "convert", *arguments])
        if done.returncode and not target.exists():
            msg.fail(f"No {target}", exits=1)


def divided(files: list[Path], split: str, tenths: int = 1) -> dict[str, list[Path]]:
    """The files of each part."""
    try:
        return {part: in_part(files, split, part) for part in PARTS}
    except ValueError as error:
        n = max(1, tenths * len(files) // 10)
        if len(files) < 3:
            msg.fail("Nothing converted", str(error), exits=1)
        msg.warn(
            "This folder has not all parts of the division, and is divided by files: results cannot be compared with "
            "published ones",
            str(error),
        )
        return {"train": files[: -2 * n], "dev": files[-2 * n : -n], "test": files[-n:]}


if __name__ == "__main__":
    typer.run(main)
