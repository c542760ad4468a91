"""Write the golden files anew: `python -m tests.golden.make FOLDER`, with the version whose output is to be kept.

FOLDER/said.zip has what every system said, and its losses; FOLDER/NAME.zip the files of a model of three sentences."""

import json
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

from spacy.language import Language

from . import problems, systems

TRAINED, SAVED, LOSSES, STRATEGIES = "trained", "saved", "losses", "strategies"
LEFT_OUT = ["tokenizer"]  # is that of the language
DATE = (2020, 1, 1, 0, 0, 0)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    embedded = {name: systems.embedded(name) for name in systems.EMBEDDED}
    golden = {name: {TRAINED: systems.labelled(nlp, None, 1)} for name, nlp in embedded.items()}
    for name, system in systems.SYSTEMS.items():
        nlp, losses = systems.trained(name, "en", systems.training())
        golden[name] = {LOSSES: losses, TRAINED: systems.labelled(nlp, system, 1)}
        small, _ = systems.trained(name, "de", systems.short_training())
        golden[name][SAVED] = systems.labelled(small, system, 1)
        zipped(small, folder / f"{name}.zip")
        if name == "bidirectional":
            golden[name][STRATEGIES] = systems.decided(nlp)
    golden.update({f"problem {kind}": problems.said(kind) for kind in problems.KINDS})
    files = {f"{name}.json": json.dumps(said).encode() for name, said in golden.items()}
    archived(folder / "said.zip", files)


def zipped(nlp: Language, path: Path) -> None:
    """Save a pipeline as one small file."""
    with tempfile.TemporaryDirectory() as name:
        nlp.to_disk(name, exclude=LEFT_OUT)
        files = [file for file in sorted(Path(name).rglob("*")) if file.is_file()]
        archived(path, {file.relative_to(name).as_posix(): file.read_bytes() for file in files})


def archived(path: Path, files: dict[str, bytes]) -> None:
    """Write a zip file that is the same whenever it is written."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, DATE), data, zipfile.ZIP_LZMA)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[HW003\]")  # probabilities of a margin
        main(Path(sys.argv[1]))
