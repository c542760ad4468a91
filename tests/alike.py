"""Compare what was written on another machine: processors round differently, so numbers may differ by 1e-6 and nothing
else may differ at all."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TOLERANCE = 1e-6


def differences(now: Any, then: Any, tolerance: float = TOLERANCE) -> list[str]:
    """Where two nested structures of mappings, sequences, strings and numbers differ: a line for each place.

    Floats count as different when they differ by more than the tolerance, absolutely below 1 and relatively above;
    everything else has to be equal."""
    return list(_differences(now, then, "value", tolerance))


def _differences(now: Any, then: Any, place: str, tolerance: float) -> Iterator[str]:
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        if now.keys() != then.keys():
            yield f"{place}: {sorted(now.keys() ^ then.keys(), key=str)} stand on one side only"
        for key in now.keys() & then.keys():
            yield from _differences(now[key], then[key], f"{place}[{key!r}]", tolerance)
    elif _is_list(now) and _is_list(then):
        if len(now) != len(then):
            yield f"{place}: {len(now)} entries instead of {len(then)}"
        for i, (entry, before) in enumerate(zip(now, then, strict=False)):
            yield from _differences(entry, before, f"{place}[{i}]", tolerance)
    elif not _equal(now, then, tolerance):
        yield f"{place}: {now!r} instead of {then!r}"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _equal(now: Any, then: Any, tolerance: float) -> bool:
    if isinstance(now, float) and isinstance(then, float):
        both_are_nan = math.isnan(now) and math.isnan(then)
        return both_are_nan or math.isclose(now, then, rel_tol=tolerance, abs_tol=tolerance)
    return type(now) is type(then) and bool(now == then)
