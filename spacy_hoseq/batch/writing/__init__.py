"""Formats of parts, one in each file of this room: the name of the file is the name of the format
and the ending of its files, and its `FORMAT` says how to write them.

A new file is a new format: nothing else names it. Names are known without loading the formats,
which need pyarrow.
"""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    from ..output import OutputFormat


def output_formats() -> List[str]:
    """The names of all formats."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def output_format(name: str) -> "OutputFormat":
    """The format of this name."""
    return import_module(f"{__name__}.{name}").FORMAT
