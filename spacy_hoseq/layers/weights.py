"""A thinc Shim that holds weight arrays with update rules of their own.

thinc's dense optimizers touch every weight at every step; an update of a linear sequence model touches few. So the
arrays live in a Shim, thinc's device for parameters that it does not own: `model.finish_update`, `model.to_bytes`,
`model.copy` reach it, and it ignores the optimizer that they pass. What is saved is finished: averaged, half
precision, non-zero only.
"""

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import srsly
from numpy.typing import NDArray
from thinc.api import Model
from thinc.shims import Shim

from ..errors import Errors
from ..learning.parameter import Parameter, UpdateRule, to_storage

Gradient = Tuple[NDArray[Any], NDArray[Any]]  # distinct rows, gradient of these rows


class WeightsShim(Shim):
    """Named weight arrays of one layer.

    name (str): the layer's, for messages. parameters: arrays by name, none before `initialize`.
    extra: what else the layer must save to understand its rows (feature keys, patterns); msgpack types and arrays.
    problem (Callable): says what is wrong with weights just loaded, "" if nothing; None = not checked.
    """

    def __init__(self, name: str, problem: "Optional[Callable[[WeightsShim], str]]" = None) -> None:
        super().__init__(None)
        self.name = name
        self._problem = problem
        self.parameters: Dict[str, Parameter] = {}
        self.extra: Dict[str, Any] = {}
        self._rule: Optional[UpdateRule] = None
        self._averaged = True
        self._rng = np.random.default_rng(0)
        self._pending: Dict[str, List[Gradient]] = {}
        self._has_update = False

    def configure(self, rule: UpdateRule, *, averaged: bool, seed: int) -> None:
        """How to learn from now on. seed (int): of the feature dropout."""
        self._rule, self._averaged = rule, averaged
        self._rng = np.random.default_rng(seed)

    @property
    def rng(self) -> np.random.Generator:
        return self._rng

    def set(self, parameter: Parameter) -> None:
        self.parameters[parameter.name] = parameter

    def values(self, name: str, *, is_train: bool) -> NDArray[Any]:
        """Raw weights to learn on, finished ones to predict with. RAISES ValueError [HS052]: no weights yet."""
        if name not in self.parameters:
            raise ValueError(Errors.HS052.format(problem=f"\"{self.name}\" holds no weights"))
        parameter = self.parameters[name]
        return parameter.values if is_train else parameter.finished(averaged=self._averaged)

    def add_gradient(self, name: str, rows: NDArray[Any], gradient: NDArray[Any]) -> None:
        """Keep a gradient for the next `finish_update`. rows (n,) distinct, gradient (n, ...)."""
        self._has_update = True
        if len(rows):
            self._pending.setdefault(name, []).append((rows, gradient))

    def finish_update(self, optimizer: Any) -> None:
        """Apply what `add_gradient` has collected, by the layer's own rule. `optimizer` is not used."""
        if not self._has_update:
            return
        if self._rule is None:
            raise ValueError(Errors.HS055.format(name=self.name))
        for name, parameter in self.parameters.items():
            parameter.update(self._rule, self._pending.get(name, []))
        self._pending = {}
        self._has_update = False

    def to_device(self, device_type: str, device_id: int) -> None:
        """Linear models stay on the CPU."""

    def to_bytes(self) -> bytes:
        arrays = {name: compress_table(p.finished(averaged=self._averaged)) for name, p in self.parameters.items()}
        signs = {name: p.nonnegative for name, p in self.parameters.items()}
        message = {"layer": self.name, "arrays": arrays, "nonnegative": signs, "extra": self.extra}
        return bytes(srsly.msgpack_dumps(message))

    def from_bytes(self, data: bytes) -> "WeightsShim":
        """RAISES ValueError [HS050]: damaged; [HS051]: of another layer; [HS054]: NaN or infinite weights."""
        try:
            message = srsly.msgpack_loads(data)
            layer, signs, extra = message["layer"], message["nonnegative"], message["extra"]
            arrays = {name: expand_table(packed) for name, packed in message["arrays"].items()}
        except Exception as error:
            raise ValueError(Errors.HS050.format(name=self.name, problem=repr(error))) from error
        if layer != self.name:
            raise ValueError(Errors.HS051.format(name=self.name, got=layer, expected=self.name))
        for name, values in arrays.items():
            if not np.isfinite(values).all():
                raise ValueError(Errors.HS054.format(name=f"{self.name}.{name}"))
        try:
            self.parameters = {n: Parameter(n, v, nonnegative=bool(signs[n]), resumed=True) for n, v in arrays.items()}
            self.extra = extra
            problem = self._problem(self) if self._problem else ""
        except Exception as error:
            raise ValueError(Errors.HS050.format(name=self.name, problem=repr(error))) from error
        if problem:
            raise ValueError(Errors.HS050.format(name=self.name, problem=problem))
        self._pending, self._has_update = {}, False
        return self


def weights_of(model: Model) -> WeightsShim:
    """The layer's weights."""
    shim = model.shims[0]
    if not isinstance(shim, WeightsShim):
        raise ValueError(Errors.HS051.format(name=model.name, got=type(shim).__name__, expected="WeightsShim"))
    return shim


def weights_in(model: Model) -> List[WeightsShim]:
    """The weights of all layers."""
    return [shim for node in model.walk() for shim in node.shims if isinstance(shim, WeightsShim)]


def keys_problem(keys: Any) -> str:
    """What is wrong with feature keys just loaded; "" if nothing."""
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1 or not keys.all():
        return "the feature keys are no list of 64-bit numbers above 0"
    return "a feature key is given twice" if len(np.unique(keys)) < len(keys) else ""


def compress_table(values: NDArray[Any]) -> Dict[str, Any]:
    """Non-zero weights, row by row: how many, in which columns, the values in half precision."""
    table = values.reshape(len(values), int(np.prod(values.shape[1:])))
    rows, columns = np.nonzero(table)
    column_type = np.uint8 if table.shape[1] <= 256 else np.uint16 if table.shape[1] <= 65536 else np.uint32
    return {
        "shape": list(values.shape),
        "dtype": values.dtype.str,
        "counts": np.bincount(rows, minlength=len(table)).astype(column_type if table.shape[1] < 256 else np.uint32),
        "columns": columns.astype(column_type),
        "values": to_storage(table[rows, columns]),
    }


def expand_table(packed: Dict[str, Any]) -> NDArray[Any]:
    """The inverse of `compress_table`. RAISES ValueError, KeyError: the parts do not fit together."""
    shape = [int(size) for size in packed["shape"]]
    counts, columns, values = packed["counts"], packed["columns"], packed["values"]
    if len(counts) != shape[0] or counts.sum() != len(columns) or len(columns) != len(values):
        raise ValueError("the parts of an array do not fit together")
    table = np.zeros((shape[0], int(np.prod(shape[1:]))), np.dtype(packed["dtype"]))
    table[np.repeat(np.arange(shape[0]), counts), columns] = values
    return table.reshape(shape)
