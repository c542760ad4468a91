"""The thinc Shim of a layer: weight arrays that learn by an update rule of their own.

thinc's dense optimizers touch every weight at every step; an update of a linear sequence model
touches few. So the arrays live in a Shim, thinc's device for parameters that it does not own:
`model.finish_update`, `model.to_bytes`, `model.copy` reach it, and it ignores the optimizer that
they pass. What is saved is finished: averaged, half precision, non-zero only (`storage.py`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from thinc.api import Model
from thinc.shims import Shim

from ..errors import Errors
from ..features.keys import shortened
from ..learning.gradients import Gradient
from ..learning.parameter import Parameter, UpdateRule
from ..learning.used_rows import UsedRows
from .storage import FORMAT, SavedLayer, layer_bytes, read_layer

AnyShim = TypeVar("AnyShim", bound="LayerShim")


class LayerShim(Shim):
    """The weights of one layer of this package: how they are saved, and the tables of its features.

    name (str): of the layer, for messages. made_for: settings of the config on which the weights
    depend; weights that were made for others are refused.
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
        """Replace them by others of the same shapes, which are rounded for storage already. Weights
        in training are dropped."""

    @abstractmethod
    def drop_features(self) -> None:
        """Drop features whose weights are all zero."""

    @abstractmethod
    def n_features(self) -> int:
        """The number of features that have a row."""

    def to_device(self, device_type: str, device_id: int) -> None:
        """Linear models stay on the CPU."""

    def saved_bytes(
        self, settings: dict[str, Any], tables: dict[str, UsedRows], extra: dict[str, Any]
    ) -> bytes:
        """The bytes of a file with these parts of a `SavedLayer`."""
        return layer_bytes(
            {
                "format": FORMAT,
                "layer": self.name,
                "made_for": self._made_for,
                "settings": settings,
                "tables": tables,
                "extra": extra,
            }
        )

    def from_bytes(self, data: bytes) -> "LayerShim":
        """Read weights. RAISES ValueError [HS050]: damaged, or not finite; [HS051]: of another
        layer or config."""
        try:
            saved = read_layer(data)
            difference = self._difference(saved)
            if difference is None:
                self._take(saved)
        except Exception as error:
            raise ValueError(Errors.HS050.format(name=self.name, problem=repr(error))) from error
        if difference is not None:
            got, expected = difference
            raise ValueError(Errors.HS051.format(name=self.name, got=got, expected=expected))
        return self

    def _difference(self, saved: SavedLayer) -> tuple[str, object] | None:
        """What weights were made for, and what this layer has, in words. None: the same."""
        saved_for = {"layer": saved["layer"], **saved["made_for"]}
        made_for = {"layer": self.name, **self._made_for}
        for name in {**saved_for, **made_for}:
            got = saved_for.get(name)
            expected = made_for.get(name)
            if got == expected:
                continue
            if isinstance(got, list) and isinstance(expected, list):
                more = [value for value in got if value not in expected]
                missing = [value for value in expected if value not in got]
                # without what both have, unless they only differ in their order
                if more or missing:
                    return f"{name} {more}", missing
            return f"{name} {got}", expected
        return None

    @abstractmethod
    def _take(self, saved: SavedLayer) -> None:
        """Use weights that were read."""


class WeightsShim(LayerShim):
    """Named weight arrays of one layer.

    parameters: arrays by name, none before `initialize`. extra: as in `SavedLayer`.
    """

    def __init__(self, name: str, made_for: dict[str, Any] | None = None) -> None:
        super().__init__(name, made_for)
        self.parameters: dict[str, Parameter] = {}
        self.extra: dict[str, Any] = {}
        self._rule: UpdateRule | None = None
        self.rng = np.random.default_rng(0)
        self._pending: dict[str, list[Gradient]] = {}

    def configure(self, rule: UpdateRule, *, seed: int) -> None:
        """Set the update rule. seed (int): of the feature dropout."""
        self._rule = rule
        self.rng = np.random.default_rng(seed)

    def set(self, parameter: Parameter) -> None:
        self.parameters[parameter.name] = parameter

    def values(self, name: str, *, is_train: bool) -> NDArray[Any]:
        """Raw weights to learn on, finished ones to predict with. RAISES ValueError [HS052]: no
        weights yet."""
        parameter = self._parameter(name)
        return parameter.values if is_train else parameter.finished()

    def used_rows(self, name: str) -> UsedRows:
        """Finished weights without rows of zeros: the same object until they change. RAISES
        ValueError [HS052]: no weights yet."""
        return self._parameter(name).finished_rows()

    def _parameter(self, name: str) -> Parameter:
        if name not in self.parameters:
            raise ValueError(Errors.HS052.format(problem=f'"{self.name}" holds no weights'))
        return self.parameters[name]

    def add_gradient(self, name: str, gradient: Gradient) -> None:
        """Keep a gradient for the next `finish_update`."""
        # (an empty gradient is an update, too: it counts for the average)
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
        """The table of features, if the layer has one. Its last row stands for no feature."""
        return [self.used_rows("table")] if "table" in self.parameters else []

    def set_feature_weights(self, tables: Sequence[UsedRows]) -> None:
        for table in tables:
            self.set(Parameter("table", table, resumed=True))
        self._pending = {}

    def drop_features(self) -> None:
        """Drop features whose weights are all zero, shorten the keys of the others, and sort them:
        in ascending order they are stored in fewer bytes."""
        if "keys" not in self.extra or "table" not in self.parameters:
            return
        table = self.used_rows("table")
        n_features = self.n_features()
        rows = table.rows[table.rows < n_features]  # the last row stands for no feature
        keys = shortened(self.extra["keys"][rows])
        order = np.argsort(keys)
        self.extra = {**self.extra, "keys": keys[order]}
        self.set_feature_weights([table.taking(np.append(rows[order], n_features))])

    def n_features(self) -> int:
        return len(self.extra.get("keys", ()))

    def to_bytes(self) -> bytes:
        tables = {name: self.used_rows(name) for name in self.parameters}
        signs = {name: parameter.nonnegative for name, parameter in self.parameters.items()}
        return self.saved_bytes({"nonnegative": signs}, tables, self.extra)

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, also in another process: weights in training as they are, others as in files,
        which is smaller."""
        is_in_training = not all(p.is_as_read for p in self.parameters.values())
        if self._pending or is_in_training:
            return self.__dict__
        return {**self.__dict__, "parameters": self.to_bytes(), "extra": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state["parameters"], bytes):
            self.from_bytes(state["parameters"])

    def _take(self, saved: SavedLayer) -> None:
        signs = saved["settings"]["nonnegative"]
        self.parameters = {
            name: Parameter(name, used, nonnegative=bool(signs[name]), resumed=True)
            for name, used in saved["tables"].items()
        }
        self.extra = saved["extra"]
        self._pending = {}


def shim_in(model: Model, kind: type[AnyShim]) -> AnyShim:
    """The shim of a layer's weights. RAISES ValueError [HS051]: it is of another kind."""
    shim = model.shims[0]
    if not isinstance(shim, kind):
        raise ValueError(
            Errors.HS051.format(name=model.name, got=type(shim).__name__, expected=kind.__name__)
        )
    return shim


def weights_of(model: Model) -> WeightsShim:
    """The weights of a layer."""
    return shim_in(model, WeightsShim)


def weights_in(model: Model) -> list[WeightsShim]:
    """The weights of all layers of a model."""
    shims = chain.from_iterable(node.shims for node in model.walk())
    return [shim for shim in shims if isinstance(shim, WeightsShim)]
