"""What a config names: one of several ways, and functions, of the package or of your own."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from spacy.util import registry

from ..errors import unknown_name, wrong_value

Strategy = Literal[
    "easiest_first",
    "easiest_last",
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "full_bidirectional",
]
Representation = Literal["iob1", "iob2", "ioe1", "ioe2", "bilou", "start_end"]
ChunkRepresentation = Literal["iob2", "bilou", "start_end"]


def function_named(
    setting: str, value: str | Callable[..., Any], functions: Mapping[str, Callable[..., Any]]
) -> Callable[..., Any]:
    """The function of a setting: one of `functions` by its short name, one that a function in the
    registry `misc` makes by the name of that, or the value itself.

    RAISES ValueError [HS161]: nothing has this name; [HS027]: it is no function.
    """
    if isinstance(value, str):
        if value in functions:
            return functions[value]
        if value not in registry.misc:
            foreign = [name for name in sorted(registry.misc.get_all()) if name[:5] != "spacy"]
            raise unknown_name(value, [*functions, *foreign])
        value = registry.misc.get(value)()
    if not callable(value):
        raise wrong_value(
            f"`{setting}`", value, f"a function, or the name of one: {', '.join(functions)}"
        )
    return value


def name_of(function: Callable[..., Any], functions: Mapping[str, Callable[..., Any]]) -> str:
    """The short name of a function, or that which Python gives it."""
    for name, known in functions.items():
        if known is function:
            return name
    function = getattr(function, "func", function)  # of a `functools.partial`
    return getattr(function, "__name__", type(function).__name__)
