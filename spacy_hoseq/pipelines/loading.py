"""Any trained pipeline, of the package or from wherever it is. An error says which file is at fault."""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import (
    get_package_path,
    import_file,
    is_package,
    load_config,
    load_model_from_config,
)

from ..errors import Errors

FOLDER = Path(__file__).parent
END = "_hoseq_sm"
CODED = "[HS"
LARGEST = 2**35  # bytes of a file


def load(name: str | Path, **settings: object) -> Language:
    """A trained pipeline: one of the package, of a folder, or an installed one.

        nlp = spacy_hoseq.load("en")
        [(token.text, token.tag_) for token in nlp("It just works.")]

    It is `spacy.load`, and every error names the file that cannot be read.

    name (str): the path of a folder, the name of a package, or "en", "zh", "af" or "cy"
        (docs/pipelines.md).
        settings: those of `spacy.load`: `exclude`, `disable`, `enable`, `config`, `vocab`.
    RAISES ValueError [HS130]: there is no such pipeline; [HS131]: the package was installed without
    its data; [HS133]: a file is damaged or missing, or needs code that is not there; [HS064]: the
    same of a component or a tokenizer; TypeError: `spacy.load` has no such setting.
    """
    return load_from(name, **settings)


def load_from(place: str | Path, **settings: Any) -> Language:
    """The pipeline of a folder or a package. RAISES ValueError as `load`."""
    signature(spacy.load).bind(place, **settings)
    folder = folder_of(place)
    check_files(place, folder)
    try:
        nlp = spacy.load(place if is_package(str(place)) else folder, **settings)
    except Exception as error:
        if str(error).startswith(CODED):
            raise
        raise refusal(place, *part_at_fault(folder, error)) from error
    check_tokenizer(place, folder, nlp)
    return nlp


def embedded_path(name: str) -> Path:
    """The folder of a pipeline. name (str): "en_hoseq_sm", or its language, "en".

    RAISES ValueError [HS130]: no pipeline of that name; [HS131]: the package was installed without
    its data.
    """
    known = sorted(path.parent.name for path in FOLDER.glob("*/meta.json"))
    if not known:
        raise ValueError(Errors.HS131.format(folder=FOLDER))
    full = name if name in known else f"{name}{END}"
    if full not in known:
        names = ", ".join(f'"{each.removesuffix(END)}"' for each in known)
        raise ValueError(Errors.HS130.format(name=name, known=names))
    return FOLDER / full


def folder_of(place: str | Path) -> Path:
    """The folder with the config of a pipeline: itself, that of a package, or of one of this
    package. RAISES ValueError [HS130, HS131]: there is none."""
    if Path(place).is_dir():
        return Path(place)
    if not is_package(str(place)):
        return embedded_path(str(place))
    package = get_package_path(str(place))
    return next((path.parent for path in sorted(package.glob("*/config.cfg"))), package)


def check_files(place: str | Path, folder: Path) -> None:
    """Before anything is read. RAISES ValueError [HS133]: something is no regular file, so that
    reading it might never end, or is larger than any model."""
    for file in folder.rglob("*"):
        is_other = file.exists() and not file.is_file() and not file.is_dir()
        if is_other or (file.is_file() and file.stat().st_size > LARGEST):
            problem = "no regular file" if is_other else f"more than {LARGEST:,} bytes"
            raise refusal(place, str(file.relative_to(folder)), problem)


def check_tokenizer(place: str | Path, folder: Path, nlp: Language) -> None:
    """spaCy's tokenizer reads any file of keys and values, and then has no rules. RAISES ValueError
    [HS133]: the file is that of something else."""
    file = folder / "tokenizer"
    if type(nlp.tokenizer) is Tokenizer and file.is_file():
        if "exceptions" not in srsly.read_msgpack(file):
            raise refusal(place, file.name, "no rules of a tokenizer")


def part_at_fault(folder: Path, error: BaseException) -> tuple[str, BaseException]:
    """The first file or folder of a pipeline that cannot be read, and its error. error: of the whole
    pipeline, for the case that each part can be read."""
    for name, read in _readers(folder):
        try:
            read()
        except Exception as problem:
            return name, problem
    return "one of its files", error


def _readers(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Readers of all parts; later ones are asked for if those before can be read."""

    def blank() -> Language:
        return load_model_from_config(load_config(folder / "config.cfg"), auto_fill=True)

    yield "meta.json", partial(srsly.read_json, folder / "meta.json")
    yield "config.cfg", blank
    nlp = blank()
    parts = ["meta", "config", "vocab", "tokenizer", *nlp.component_names]
    for part in parts[2:]:
        others = [other for other in parts if other != part]
        yield part, partial(nlp.from_disk, folder, exclude=others)


def refusal(place: str | Path, name: str, problem: object) -> ValueError:
    """Error [HS133] about a file of a pipeline."""
    return ValueError(
        Errors.HS133.format(place=place, file=name, problem=str(problem) or repr(problem))
    )


def run_code(path: str | Path | None) -> None:
    """Run the Python file that a pipeline needs; None = it needs none. RAISES ValueError [HS172]:
    it is none, or fails."""
    try:
        if path is not None:
            import_file("python_code", path)
    except Exception as error:
        expected = "Python code that runs, in a file with the ending .py"
        raise ValueError(
            Errors.HS172.format(actual=f"{path}: {error!r}", expected=expected)
        ) from error
