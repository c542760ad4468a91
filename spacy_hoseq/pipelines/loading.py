"""Any trained pipeline, of the package or from wherever it is. An error says which file is at fault."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple, Union

import spacy
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.strings import StringStore
from spacy.util import (
    get_package_path,
    import_file,
    is_package,
    load_config,
    load_model_from_config,
)
from spacy.vectors import Vectors

from ..errors import Errors

FOLDER = Path(__file__).parent
END = "_hoseq_sm"


def embedded_names() -> List[str]:
    """Names of the pipelines that are there, sorted: "en_hoseq_sm"."""
    return sorted(path.parent.name for path in FOLDER.glob("*/meta.json"))


def embedded_path(name: str) -> Path:
    """The folder of a pipeline. name (str): "en_hoseq_sm", or its language, "en".

    RAISES ValueError [HS130]: no pipeline of that name; [HS131]: the package was installed without
    its data.
    """
    known = embedded_names()
    if not known:
        raise ValueError(Errors.HS131.format(folder=FOLDER))
    full = name if name in known else f"{name}{END}"
    if full not in known:
        raise ValueError(
            Errors.HS130.format(
                name=name, known=", ".join(f'"{each.removesuffix(END)}"' for each in known)
            )
        )
    return FOLDER / full


def found_at(name: str) -> Union[str, Path]:
    """What `spacy.load` is to be given for a name: the folder of the embedded pipeline, unless the
    name is that of a folder or of an installed package."""
    if Path(name).exists() or is_package(name):
        return name
    known = embedded_names()
    return embedded_path(name) if name in known or f"{name}{END}" in known else name


CODED = "[HS"


def load(name: Union[str, Path], **settings: object) -> Language:
    """A trained pipeline: one of the package, of a folder, or an installed one.

        nlp = spacy_hoseq.load("en")
        [(token.text, token.tag_) for token in nlp("It just works.")]

    It is `spacy.load`, and every error names the file that cannot be read.

    name (str): "en", "zh", "af" or "cy" (docs/pipelines.md), the path of a folder, or the name
        of a package.
        settings: those of `spacy.load`: `exclude`, `disable`, `enable`, `config`, `vocab`.
    RAISES ValueError [HS130]: there is no such pipeline; [HS131]: the package was installed without
    its data; [HS133]: a file is damaged or missing, or needs code that is not there; [HS064,
    HS122]: the same of a component, a tokenizer.
    """
    known = embedded_names()
    if not known or name in known or f"{name}_hoseq_sm" in known:
        return load_from(embedded_path(str(name)), **settings)
    return load_from(name, **settings)


def load_found(name: Union[str, Path], **settings: object) -> Language:
    """As the command line does: a folder comes before a pipeline of the package of the same
    name."""
    return load_from(found_at(str(name)), **settings)


def run_code(path: Union[str, Path, None]) -> None:
    """Run the Python file that a pipeline needs; None = it needs none. RAISES ValueError [HS172]:
    it is none, or fails."""
    try:
        if path is not None:
            import_file("python_code", path)
    except Exception as error:
        expected = "Python code that runs, in a file with the ending .py"
        raise ValueError(Errors.HS172.format(actual=f"{path}: {error!r}", expected=expected)) from error


def load_from(place: Union[str, Path], **settings: Any) -> Language:
    """Of a folder or a package. RAISES ValueError as `load`."""
    folder = folder_of(place)
    try:
        nlp = spacy.load(place, **settings)
    except Exception as error:
        if str(error).startswith(CODED):
            raise
        name, problem = part_at_fault(folder, error)
        raise refusal(place, name, problem) from error
    return nlp


def folder_of(place: Union[str, Path]) -> Path:
    """With the config of a pipeline. RAISES ValueError [HS130]: there is none."""
    folder = Path(place)
    if not folder.is_dir():
        if not is_package(str(place)):
            raise ValueError(
                Errors.HS130.format(
                    name=place,
                    known=", ".join(f'"{name.removesuffix(END)}"' for name in embedded_names()),
                )
            )
        inner = sorted(path.parent for path in get_package_path(str(place)).glob("*/config.cfg"))
        folder = inner[0] if inner else get_package_path(str(place))
    return folder


def part_at_fault(folder: Path, error: BaseException) -> Tuple[str, BaseException]:
    """The first file or folder of a pipeline that cannot be read, and why. error: of the whole, if
    all can be."""
    readers: Dict[str, Callable[[Path], object]] = {
        "meta.json": lambda path: json.loads(path.read_text(encoding="utf8")),
        "config.cfg": lambda path: load_model_from_config(load_config(path), auto_fill=True),
        "vocab/strings.json": StringStore().from_disk,
        "vocab/lookups.bin": lambda path: Lookups().from_disk(path.parent),
        "vocab/vectors": lambda path: Vectors().from_disk(path.parent),
    }
    for name, read in readers.items():
        problem = _problem(lambda read=read, name=name: read(folder / name))  # type: ignore[misc]
        if problem is not None:
            return name, problem
    nlp = load_model_from_config(load_config(folder / "config.cfg"), auto_fill=True)
    parts = ["vocab", "tokenizer", *nlp.component_names]
    for part in parts:
        others = [*(other for other in parts if other != part), "meta", "config"]
        problem = _problem(lambda others=others: nlp.from_disk(folder, exclude=others))  # type: ignore[misc]
        if problem is not None:
            return part, problem
    return "one of its files", error


def _problem(read: Callable[[], object]) -> Union[BaseException, None]:
    try:
        read()
    except Exception as error:
        return error
    return None


def refusal(place: Union[str, Path], name: str, problem: object) -> ValueError:
    said = str(problem) or repr(problem)
    return ValueError(Errors.HS133.format(place=place, file=name, problem=said))
