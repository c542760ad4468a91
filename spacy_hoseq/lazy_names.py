"""Names of a package that are loaded when they are first used (PEP 562).

spaCy loads the factories, architectures and functions that a config names; the front door of their
package must not load all others with them.
"""

import sys
from importlib import import_module
from typing import Any, Callable, Dict, List


def lazy_names(package: str, homes: Dict[str, str]) -> Callable[[str], Any]:
    """`__getattr__` of a package. homes: public name -> the module within the package that has
    it."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(name)
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return get


def listed(package: str) -> Callable[[], List[str]]:
    """`__dir__` of a package, for `dir` and `help`: what it exports, loaded or not."""

    def names() -> List[str]:
        module = vars(sys.modules[package])
        return sorted({*module["__all__"], *(name for name in module if name.startswith("__"))})

    return names
