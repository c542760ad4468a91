"""The thinc Shim of a layer: weight arrays that learn by an update rule of their own.

thinc's dense optimizers touch every weight at every step; an update of a linear sequence model
touches few. So the arrays live in a Shim, thinc's device for parameters that it does not own:
`model.finish_update`, `model.to_bytes`, `model.copy` reach it, and it ignores the optimizer that
they pass. What is saved is finished: averaged, half precision, non-zero only. It is a msgpack map of

    format    1
    layer     its name
    made_for  what the config says of it that its numbers depend on, as templates
    settings  whole numbers, texts, truth values
    tables    name -> weights that are not zero (`storage.pack_table`)
    extra     what else it needs to understand its rows: numbers, arrays by name
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import srsly
from numpy.typing import NDArray
from thinc.api import Model
from thinc.shims import Shim

from ..errors import Errors
from ..features.keys import shortened
from ..learning.gradients import Gradient
from ..learning.parameter import Parameter, UpdateRule
from ..learning.used_rows import UsedRows
from .storage import packed, unpacked

FORMAT = 1

AnyShim = TypeVar("AnyShim", bound="LayerShim")


class LayerShim(Shim):
    """The weights of one layer of this package: how they are read, and what tools ask of features,
    whose rows of weights are added to the scores of all labels.

    name (str): the layer's, for messages. made_for: what the config says of the layer that its
    weights depend on; those of another config are refused.
    """

    def __init__(self, name: str, made_for: dict[str, Any] | None = None) -> None:
        super().__init__(None)
        self.name = name
        self._made_for = made_for or {}

    @abstractmethod
    def feature_weights(self) -> list[UsedRows]:
        """Finished weights, tables (R, L); none before initialization."""

    @abstractmethod
    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        """Others of the same shapes in their place, rounded for storage already. What is being
        learnt is lost."""

    @abstractmethod
    def drop_features(self) -> None:
        """Forget features whose weights are zero."""

    @abstractmethod
    def n_features(self) -> int: ...

    def to_device(self, device_type: str, device_id: int) -> None:
        """Linear models stay on the CPU."""

    def written(
        self, settings: dict[str, Any], tables: dict[str, UsedRows], extra: dict[str, Any]
    ) -> bytes:
        """RETURNS the bytes of a file."""
        message = {"format": FORMAT, "layer": self.name, "made_for": self._made_for}
        message |= {"settings": settings, "tables": tables, "extra": extra}
        return bytes(srsly.msgpack_dumps(packed(message)))

    def from_bytes(self, data: bytes) -> "LayerShim":
        """RAISES ValueError [HS050]: damaged, or not finite; [HS051]: of another layer or
        config."""
        made_for = {"layer": self.name, **self._made_for}
        try:
            saved = unpacked(srsly.msgpack_loads(data))
            if saved["format"] != FORMAT:
                raise ValueError(f"format {saved['format']}")
            saved_for = {"layer": saved["layer"], **saved["made_for"]}
            names = {**saved_for, **made_for}
            differing = [name for name in names if saved_for.get(name) != made_for.get(name)]
            if not differing:
                self._take(saved)
        except Exception as error:
            raise ValueError(Errors.HS050.format(name=self.name, problem=repr(error))) from error
        for name in differing:
            one, other = _differing(saved_for.get(name), made_for.get(name))
            message = Errors.HS051.format(name=self.name, got=f"{name} {one}", expected=other)
            raise ValueError(message)
        return self

    @abstractmethod
    def _take(self, saved: dict[str, Any]) -> None:
        """Weights that were read: "settings", "tables" and "extra", as they were written."""


class WeightsShim(LayerShim):
    """Named weight arrays of one layer.

    parameters: arrays by name, none before `initialize`. extra: what else the layer must save to
        understand its rows (feature keys, patterns); msgpack types and arrays.
    """

    def __init__(self, name: str, made_for: dict[str, Any] | None = None) -> None:
        super().__init__(name, made_for)
        self.parameters: dict[str, Parameter] = {}
        self.extra: dict[str, Any] = {}
        self._rule: UpdateRule | None = None
        self.rng = np.random.default_rng(0)
        self._pending: dict[str, list[Gradient]] = {}

    def configure(self, rule: UpdateRule, *, seed: int) -> None:
        """How to learn from now on. seed (int): of the feature dropout."""
        self._rule = rule
        self.rng = np.random.default_rng(seed)

    def set(self, parameter: Parameter) -> None:
        self.parameters[parameter.name] = parameter

    def values(self, name: str, *, is_train: bool) -> NDArray[Any]:
        """Raw weights to learn on, finished ones to predict with. RAISES ValueError [HS052]: no
        weights yet."""
        parameter = self._known(name)
        return parameter.values if is_train else parameter.finished()

    def used_rows(self, name: str) -> UsedRows:
        """Finished weights, less rows that are zero: the same object until they change. RAISES
        ValueError [HS052]."""
        return self._known(name).finished_rows()

    def _known(self, name: str) -> Parameter:
        if name not in self.parameters:
            raise ValueError(Errors.HS052.format(problem=f'"{self.name}" holds no weights'))
        return self.parameters[name]

    def add_gradient(self, name: str, gradient: Gradient) -> None:
        """Keep a gradient for the next `finish_update`."""
        gradients = self._pending.setdefault(name, [])
        if len(gradient[0]):
            gradients.append(gradient)

    def finish_update(self, optimizer: object) -> None:
        """Apply what `add_gradient` has collected, by the layer's own rule. `optimizer` is not
        used."""
        if not self._pending:
            return
        if self._rule is None:
            raise ValueError(Errors.HS055.format(name=self.name))
        for name, parameter in self.parameters.items():
            parameter.update(self._rule, self._pending.get(name, []))
        self._pending = {}

    def feature_weights(self) -> list[UsedRows]:
        """The table of features, if the layer has one (the last row stands for no feature)."""
        return [self.used_rows("table")] if "table" in self.parameters else []

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        for table in tables:
            self.set(Parameter("table", table, resumed=True))
        self._pending = {}

    def drop_features(self) -> None:
        """Forget features whose weights are zero, shorten the keys of the others, and bring them in
        ascending order."""
        if "keys" not in self.extra or "table" not in self.parameters:
            return
        table = self.used_rows("table")
        n_features = self.n_features()
        rows = table.rows[table.rows < n_features]
        keys = shortened(self.extra["keys"][rows])
        order = np.argsort(keys)
        self.extra = {**self.extra, "keys": keys[order]}
        self.set_feature_weights([table.taking(np.append(rows[order], n_features))])

    def n_features(self) -> int:
        return len(self.extra.get("keys", ()))

    def to_bytes(self) -> bytes:
        tables = {name: self.used_rows(name) for name in self.parameters}
        signs = {name: parameter.nonnegative for name, parameter in self.parameters.items()}
        return self.written({"nonnegative": signs}, tables, self.extra)

    def __getstate__(self) -> dict[str, Any]:
        """Of a copy, or of one in another process: weights that were loaded as in files, those that
        learn whole."""
        if self._pending or not all(each.is_as_read for each in self.parameters.values()):
            return self.__dict__
        return {**self.__dict__, "parameters": self.to_bytes(), "extra": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state["parameters"], bytes):
            self.from_bytes(state["parameters"])

    def _take(self, saved: dict[str, Any]) -> None:
        signs = saved["settings"]["nonnegative"]
        self.parameters = {
            name: Parameter(name, used, nonnegative=bool(signs[name]), resumed=True)
            for name, used in saved["tables"].items()
        }
        self.extra = saved["extra"]
        self._pending = {}


def shim_in(model: Model, kind: type[AnyShim]) -> AnyShim:
    """Shim of the layer's weights. RAISES ValueError [HS051]: it is of another kind."""
    shim = model.shims[0]
    if not isinstance(shim, kind):
        raise ValueError(
            Errors.HS051.format(name=model.name, got=type(shim).__name__, expected=kind.__name__)
        )
    return shim


def weights_of(model: Model) -> WeightsShim:
    """The layer's weights."""
    return shim_in(model, WeightsShim)


def weights_in(model: Model) -> list[WeightsShim]:
    """The weights of all layers."""
    return [shim for node in model.walk() for shim in node.shims if isinstance(shim, WeightsShim)]


def _differing(saved: object, expected: object) -> tuple[object, object]:
    """Of two lists only what the other has not, if that tells them apart."""
    if not isinstance(saved, list) or not isinstance(expected, list):
        return saved, expected
    more = [each for each in saved if each not in expected]
    missing = [each for each in expected if each not in saved]
    return (more, missing) if more or missing else (saved, expected)
