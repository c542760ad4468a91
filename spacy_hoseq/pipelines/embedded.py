"""Where the pipelines of the package are."""

from pathlib import Path
from typing import List, Union

from spacy.util import is_package

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
        languages = ", ".join(f'"{pipeline.removesuffix(END)}"' for pipeline in known)
        raise ValueError(Errors.HS130.format(name=name, known=languages))
    return FOLDER / full


def found_at(name: str) -> Union[str, Path]:
    """What `spacy.load` is to be given for a name: the folder of the embedded pipeline, unless the
    name is that of a folder or of an installed package."""
    if Path(name).exists() or is_package(name):
        return name
    known = embedded_names()
    return embedded_path(name) if name in known or f"{name}{END}" in known else name
