"""Load any trained pipeline: a folder, an installed package, or one that comes with this package.
An error names the file that cannot be read."""

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

from ..errors import Errors, unreadable
from .names import is_file_name

PIPELINES_FOLDER = Path(__file__).parent
MAX_FILE_BYTES = 2**35  # more than any model has


def load(name: str | Path, **settings: object) -> Language:
    """A trained pipeline: a folder, an installed package, or one of this package.

        nlp = spacy_hoseq.load("en")
        [(token.text, token.tag_) for token in nlp("It just works.")]

    It is `spacy.load`, but errors name the file that cannot be read.

    name (str): the path of a folder, the name of a package, "en", "zh", "af" or "cy"
        (docs/pipelines.md), or the code of another language, "ga" for the installed package
        ga_hoseq_sm; the first of these that exists.
        settings: those of `spacy.load`: `exclude`, `disable`, `enable`, `config`, `vocab`.
    RAISES ValueError [HS130]: there is no such pipeline; [HS131]: the package was installed without
    its data; [HS133]: a file is damaged or missing, or needs code that is not there; [HS064]: the
    same for a component or a tokenizer; TypeError: `spacy.load` has no such setting.
    """
    return load_from(name, **settings)


def load_from(place: str | Path, **settings: Any) -> Language:
    """As `load`."""
    # an unknown setting is the caller's error, not that of a file
    signature(spacy.load).bind(place, **settings)
    source = source_of(place)
    folder = folder_of(place)
    check_files(place, folder)
    try:
        nlp = spacy.load(source, **settings)
    except Exception as error:
        # a message with a code says what is wrong already
        if str(error).startswith("[HS"):
            raise
        raise refusal(place, *part_at_fault(folder, error)) from error
    check_tokenizer(place, folder, nlp)
    check_components(place, nlp)
    return nlp


def source_of(place: str | Path) -> str | Path:
    """What `spacy.load` takes for a pipeline: a folder, or the name of an installed package. RAISES
    ValueError [HS130, HS131]: there is no such pipeline."""
    if Path(place).is_dir():
        return Path(place)
    if is_package(str(place)):
        return str(place)
    # what `hoseq treebank --install` has made, for a language that does not come with this package
    installed = f"{place}_hoseq_sm"
    if str(place) not in embedded() and is_package(installed):
        return installed
    return embedded_path(str(place))


def folder_of(place: str | Path) -> Path:
    """The folder with the config of a pipeline. RAISES ValueError [HS130, HS131]: there is no such
    pipeline."""
    source = source_of(place)
    if isinstance(source, Path):
        return source
    # a package has its data in a folder of its own: en_core_web_sm/en_core_web_sm-3.8.0
    try:
        package = get_package_path(source)
    except ImportError as error:
        raise refusal(place, "its code", error) from error
    return next((path.parent for path in sorted(package.glob("*/config.cfg"))), package)


def embedded_path(name: str) -> Path:
    """The folder of a pipeline that comes with this package. name (str): "en_hoseq_sm" or "en".

    RAISES ValueError [HS130]: no pipeline has this name; [HS131]: the package was installed without
    its data.
    """
    folders = embedded()
    if not folders:
        raise ValueError(Errors.HS131.format(folder=PIPELINES_FOLDER))
    for lang, folder in folders.items():
        if name in (lang, folder.name):
            return folder
    known = ", ".join(f'"{lang}"' for lang in folders)
    raise ValueError(Errors.HS130.format(name=name, known=known))


def embedded() -> dict[str, Path]:
    """Language -> folder of each pipeline that comes with this package."""
    folders = sorted(PIPELINES_FOLDER.glob("*_hoseq_sm/meta.json"))
    return {path.parent.name.partition("_")[0]: path.parent for path in folders}


def check_files(place: str | Path, folder: Path) -> None:
    """RAISES ValueError [HS133]: the folder has a device or a pipe, which might never end, or a file
    that is larger than any model."""
    for file in folder.rglob("*"):
        # a link that leads nowhere is missing, which the reader of the file will say
        is_other = file.exists() and not file.is_file() and not file.is_dir()
        if is_other:
            raise refusal(place, str(file.relative_to(folder)), "no regular file")
        if file.is_file() and file.stat().st_size > MAX_FILE_BYTES:
            problem = f"more than {MAX_FILE_BYTES:,} bytes"
            raise refusal(place, str(file.relative_to(folder)), problem)


def check_tokenizer(place: str | Path, folder: Path, nlp: Language) -> None:
    """RAISES ValueError [HS133]: the file of the tokenizer is another one. spaCy reads any file of
    keys and values, and then has no rules of words."""
    file = folder / "tokenizer"
    if type(nlp.tokenizer) is Tokenizer and file.is_file():
        if "exceptions" not in srsly.read_msgpack(file):
            raise refusal(place, file.name, "no rules of a tokenizer")


def check_components(place: str | Path, nlp: Language) -> None:
    """RAISES ValueError [HS133]: the name of a component is a path. A pipeline is saved with a folder
    for each component, which would be elsewhere."""
    for name in nlp.component_names:
        if not is_file_name(name):
            problem = f'the component "{name}" has a name that no folder can have'
            raise refusal(place, "config.cfg", problem)


def part_at_fault(folder: Path, error: BaseException) -> tuple[str, BaseException]:
    """The first file or folder of a pipeline that cannot be read, and its error. error: the error of
    the whole pipeline, which is returned if every part can be read."""
    # spaCy's errors rarely say which file they are about, so each part is read again alone
    for name, read in _readers(folder):
        try:
            read()
        except Exception as problem:
            return name, problem
    return "one of its files", error


def _readers(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The name of each part of a pipeline, and what reads it. A part is made only after those before
    it could be read."""

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
    # some exceptions have no text
    text = str(problem) or repr(problem)
    return ValueError(Errors.HS133.format(place=place, file=name, problem=text))


def run_code(path: str | Path | None) -> None:
    """Run the Python file that a pipeline needs; None = it needs none. RAISES ValueError [HS172]: it
    cannot be read, or fails."""
    if path is None:
        return
    try:
        import_file("python_code", path)
    except Exception as error:
        raise unreadable(
            f"{path}: {error!r}", "Python code that runs, in a file with the ending .py"
        ) from error
