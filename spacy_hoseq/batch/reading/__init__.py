"""Formats of texts, one in each file of this room: its `FORMAT` says which endings it is for, and
how to read it.

A new file is a new format: nothing else names it.
"""

import pkgutil
from importlib import import_module
from typing import Dict

from ..source import InputFormat


def input_formats() -> Dict[str, InputFormat]:
    """Ending of a file name -> how it is read."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    formats = [import_module(f"{__name__}.{name}").FORMAT for name in names]
    return {ending: format for format in formats for ending in format.endings}
