"""A thinc Shim that holds weight arrays with update rules of their own, and sums of their rows.

thinc's dense optimizers touch every weight at every step; an update of a linear sequence model
touches few. So the arrays live in a Shim, thinc's device for parameters that it does not own:
`model.finish_update`, `model.to_bytes`, `model.copy` reach it, and it ignores the optimizer that
they pass. What is saved is finished: averaged, half precision, non-zero only.

NumPy adds a million numbers in the time it takes to fetch them from memory, so the sums of rows at
many tokens are made in blocks of tokens that stay in the processor's cache until all is added.
"""

from abc import abstractmethod
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
)

import numpy as np
from numpy.typing import NDArray
from thinc.api import Model
from thinc.shims import Shim

from ...arrays import AnyInts, Floats32
from ...errors import Errors
from ...features.keys import shortened
from ...kept import Kept
from ...learning.adagrad import Averaging
from ...learning.cell_table import CellTable
from ...learning.gradients import Gradient
from ...learning.parameter import Parameter, UpdateRule
from ...learning.used_weights import Used, UsedCells
from ..tuning import TUNING, Tuning
from .storage import COPIED, Saved, SparseTable, pack_extra, read_layer, unpack_extra, write_layer

Summands = Union[Floats32, CellTable]  # (F, L)
Term = Tuple[Summands, NDArray[Any]]


def sum_rows(terms: Sequence[Term], sums: Floats32, tuning: Tuning = TUNING) -> None:
    """sums[n] = sum over (table, rows) and k of table[rows[k, n]], one after the other, whatever
    the block.

    terms: table (F, L), rows (K, n). sums (n, L): what is written, 0 without terms.
    """
    n_rows = sum([len(rows) for _, rows in terms])
    if not n_rows:
        sums[:] = 0
        return
    # (of a single cell NumPy adds in another order)
    is_few = 1 < sums.size <= tuning.few_cells // n_rows
    if is_few and CellTable not in [type(table) for table, _ in terms]:
        gathered = np.empty((n_rows, *sums.shape), sums.dtype)
        first = 0
        for array, rows in terms:
            out = gathered[first : first + len(rows)]
            cast(Floats32, array).take(rows, axis=0, out=out, mode="clip")
            first += len(rows)
        np.add.reduce(gathered, axis=0, out=sums)
        return
    for start in range(0, len(sums), tuning.sum_tokens):
        some = slice(start, start + tuning.sum_tokens)
        _sum_block([(table, rows[:, some]) for table, rows in terms], sums[some])


def _sum_block(terms: Sequence[Term], block: Floats32) -> None:
    """`sum_rows` of tokens that stay in the processor's cache."""
    buffer = np.empty_like(block)
    is_first = True
    for table, rows in terms:
        if isinstance(table, CellTable):
            if is_first:
                block[:] = 0
            table.add_to(block, rows)
            is_first = False
            continue
        for row in rows:
            np.take(table, row, axis=0, out=block if is_first else buffer, mode="clip")
            if not is_first:
                block += buffer
            is_first = False


def add_rows(table: Summands, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores


AnyShim = TypeVar("AnyShim", bound="LayerShim")


class LayerShim(Shim):
    """The weights of one layer of this package: how they are read, and what tools ask of features,
    whose rows of weights are added to the scores of all labels.

    name (str): the layer's, for messages. made_for: what the config says of the layer that its
    weights depend on; those of another config are refused.
    """

    def __init__(self, name: str, made_for: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(None)
        self.name = name
        self._made_for = made_for or {}

    @abstractmethod
    def feature_weights(self) -> List[UsedCells]:
        """Finished weights, tables (R, L); none before initialization."""

    @abstractmethod
    def set_feature_weights(self, tables: Sequence[UsedCells]) -> None:
        """Others of the same shapes in their place, rounded for storage already. What is being
        learnt is lost."""

    @abstractmethod
    def drop_features(self) -> None:
        """Forget features whose weights are zero."""

    @abstractmethod
    def n_features(self) -> int: ...

    def to_device(self, device_type: str, device_id: int) -> None:
        """Linear models stay on the CPU."""

    def from_bytes(self, data: bytes) -> "LayerShim":
        """RAISES ValueError [HS050]: damaged; [HS051]: of another layer or config; [HS054]: NaN or
        infinite weights; [HS059]: of a later version."""
        saved = read_layer(data, self.name, self._made_for)
        self._check(saved)
        try:
            problem = self._take(saved)
        except Exception as error:
            raise ValueError(Errors.HS050.format(name=self.name, problem=repr(error))) from error
        if problem:
            raise ValueError(Errors.HS050.format(name=self.name, problem=problem))
        return self

    def _check(self, saved: Saved) -> None:
        """RAISES ValueError [HS051]: settings of another layer."""

    @abstractmethod
    def _take(self, saved: Saved) -> str:
        """Weights that were read. RETURNS what is wrong with them, "" if nothing."""


class WeightsShim(LayerShim):
    """Named weight arrays of one layer.

    parameters: arrays by name, none before `initialize`. extra: what else the layer must save to
        understand its rows (feature keys, patterns); msgpack types and arrays.
    problem (Callable): says what is wrong with weights just loaded, "" if nothing; None = not
        checked.
    """

    def __init__(
        self,
        name: str,
        problem: "Optional[Callable[[WeightsShim], str]]" = None,
        made_for: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(name, made_for)
        self._problem = problem
        self.parameters: Dict[str, Parameter] = {}
        self.extra: Dict[str, Any] = {}
        self._packed: Kept[Dict[str, object]] = Kept()
        self._rule: Optional[UpdateRule] = None
        self._averaged: Averaging = True
        self.rng = np.random.default_rng(0)
        self._pending: Dict[str, List[Gradient]] = {}
        self._has_update = False

    def configure(self, rule: UpdateRule, *, averaged: Averaging, seed: int) -> None:
        """How to learn from now on. seed (int): of the feature dropout."""
        self._rule = rule
        self._averaged = averaged
        self.rng = np.random.default_rng(seed)

    def set(self, parameter: Parameter) -> None:
        self.parameters[parameter.name] = parameter

    def values(self, name: str, *, is_train: bool) -> NDArray[Any]:
        """Raw weights to learn on, finished ones to predict with. RAISES ValueError [HS052]: no
        weights yet."""
        parameter = self._known(name)
        return parameter.values if is_train else parameter.finished(averaged=bool(self._averaged))

    def summands(self, name: str) -> Union[NDArray[Any], CellTable]:
        """Raw weights to learn on, whose rows are added up (`Parameter.summands`). RAISES
        ValueError [HS052]."""
        return self._known(name).summands(self._rule)

    def used_rows(self, name: str) -> Used:
        """Finished weights, less rows that are zero, or less all cells that are: the same object
        until they change.
        RAISES ValueError [HS052]."""
        return self._known(name).finished_summands(averaged=bool(self._averaged))

    def _known(self, name: str) -> Parameter:
        if name not in self.parameters:
            raise ValueError(Errors.HS052.format(problem=f'"{self.name}" holds no weights'))
        return self.parameters[name]

    def add_gradient(self, name: str, gradient: Gradient) -> None:
        """Keep a gradient for the next `finish_update`."""
        self._has_update = True
        if len(gradient[0]):
            self._pending.setdefault(name, []).append(gradient)

    def feature_weights(self) -> List[UsedCells]:
        """The table of features, if the layer has one (the last row stands for no feature)."""
        table = self.parameters.get("table")
        return [] if table is None else [table.finished_cells(averaged=bool(self._averaged))]

    def set_feature_weights(self, tables: Sequence[UsedCells]) -> None:
        """Another table in its place, rounded for storage already. What is being learnt is lost."""
        for table in tables:
            self.set(Parameter("table", table.fitting(), resumed=True))
        self._pending = {}
        self._has_update = False

    def scale(self, factor: float) -> None:
        """Multiply all weights that predict: probabilities become sharper (factor > 1) or flatter,
        the best labels stay. Those that learn stay as they are."""
        for name, parameter in list(self.parameters.items()):
            if parameter.n_updates:
                parameter.scale_finished(factor)
                continue
            values = self.values(name, is_train=False) * np.float32(factor)
            self.set(Parameter(name, values, nonnegative=parameter.nonnegative, resumed=True))

    def drop_features(self) -> None:
        """Forget features whose weights are zero, shorten the keys of the others, and bring them in
        ascending order; hashed rows stay."""
        if "keys" not in self.extra or "table" not in self.parameters:
            return
        (table,) = self.feature_weights()
        keys = self.extra["keys"]
        n_features = len(keys)
        rows = np.unique(table.cells // table.shape[1])
        rows = rows[rows < n_features]
        keys = shortened(keys[rows])
        order = np.argsort(keys)
        self.extra = {**self.extra, "keys": keys[order]}
        self.set_feature_weights([table.taking(np.append(rows[order], n_features))])

    def n_features(self) -> int:
        return len(self.extra.get("keys", ()))

    def finish_update(self, optimizer: object) -> None:
        """Apply what `add_gradient` has collected, by the layer's own rule. `optimizer` is not
        used."""
        if not self._has_update:
            return
        if self._rule is None:
            raise ValueError(Errors.HS055.format(name=self.name))
        for name, parameter in self.parameters.items():
            parameter.update(self._rule, self._pending.get(name, []), late=self._averaged == "late")
        self._pending = {}
        self._has_update = False

    def __getstate__(self) -> Dict[str, object]:
        """Of a copy, or of one in another process: weights that were loaded are packed as in files,
        without rounding, those that learn are whole."""
        parameters = {
            name: packed_parameter(parameter) for name, parameter in self.parameters.items()
        }
        return {**self.__dict__, "parameters": parameters, "extra": self._extra_packed()}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.extra = unpack_extra(state["extra"])
        packed = state["parameters"].items()
        self.parameters = {name: unpacked_parameter(name, parameter) for name, parameter in packed}

    def to_bytes(self) -> bytes:
        finished = {
            name: p.finished_cells(averaged=bool(self._averaged))
            for name, p in self.parameters.items()
        }
        settings = {"nonnegative": {name: p.nonnegative for name, p in self.parameters.items()}}
        return write_layer(self.name, self._made_for, settings, finished, self._extra_packed())

    def _extra_packed(self) -> Dict[str, object]:
        """`extra` as it is saved, which is the same at every evaluation of a training."""
        return self._packed.of((self.extra,), lambda: pack_extra(self.extra))

    def _take(self, saved: Saved) -> str:
        signs = saved.settings["nonnegative"]
        self.parameters = {
            name: Parameter(name, used, nonnegative=bool(signs[name]), resumed=True)
            for name, used in saved.tables.items()
        }
        self.extra = saved.extra
        self._pending = {}
        self._has_update = False
        return "" if self._problem is None else self._problem(self)


def packed_parameter(parameter: Parameter) -> Union[Parameter, Dict[str, Any]]:
    """As it is copied."""
    loaded = parameter.as_loaded()
    if loaded is None:
        return parameter
    return {"nonnegative": parameter.nonnegative, **SparseTable.of(loaded, exact=True).packed()}


def unpacked_parameter(name: str, packed: Union[Parameter, Dict[str, Any]]) -> Parameter:
    """The inverse of `packed_parameter`."""
    if isinstance(packed, Parameter):
        return packed
    used = SparseTable.unpacked(packed, COPIED).used()
    return Parameter(name, used, nonnegative=packed["nonnegative"], resumed=True)


def shim_in(model: Model, kind: Type[AnyShim]) -> AnyShim:
    """What the layer keeps its weights in. RAISES ValueError [HS051]: it is of another kind."""
    shim = model.shims[0]
    if not isinstance(shim, kind):
        raise ValueError(
            Errors.HS051.format(name=model.name, got=type(shim).__name__, expected=kind.__name__)
        )
    return shim


def weights_of(model: Model) -> WeightsShim:
    """The layer's weights."""
    return shim_in(model, WeightsShim)


def weights_in(model: Model) -> List[WeightsShim]:
    """The weights of all layers."""
    return [shim for node in model.walk() for shim in node.shims if isinstance(shim, WeightsShim)]
