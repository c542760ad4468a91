"""Names of a package that are loaded when they are first used (PEP 562).

spaCy loads the factories, architectures and functions that a config names. So the front door of
their package must not load all others.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package. homes: public name -> its module within
    the package."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(name)
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def names() -> list[str]:
        special = [name for name in vars(sys.modules[package]) if name.startswith("__")]
        return sorted({*homes, *special})

    return get, names, sorted(homes)
