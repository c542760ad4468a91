"""A weight array (R, C) of many columns, cell by cell: a feature learns of a few labels out of a
thousand.

The cells of row r stand side by side in arrays that all rows share, at the places first[r] :
first[r] + counts[r], in ascending order of their columns. A row that has no room for a new cell
moves to where there is twice as much, and what it leaves is taken by rows that are smaller; a row
of which a quarter is used has all C columns, and is added up as the row of an array is. So memory
grows with the cells that were touched, and so do the sums of rows.

Checked against arrays in tests/learning/test_cell_table.py.
"""

from typing import Any, Dict, Iterator, List, Sequence, Tuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import AnyFloats, AnyInts, Ints, Mask, distinct
from ..decoders.problem import ranges

WHOLE = 4  # a row has all columns from where one in so many is used
BLOCK_CELLS = 1 << 20  # read together
SUM_CELLS = 1 << 20  # of sums, that stay in the processor's cache until all is added
GROWTH = 1.25  # of the shared arrays

Numbers = TypeVar("Numbers", bound=np.generic)


class CellTable:
    """shape: (R, C). starts (F,): what the numbers of a new cell are; the first number is its
    weight.

    columns (places,), fields: F arrays (places,), of which those of the rows are part.
    """

    def __init__(
        self, shape: Tuple[int, ...], dtype: DTypeLike, starts: Sequence[float] = (0.0,)
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._starts = starts
        self.first = np.zeros(shape[0], np.intp)
        self.counts = np.zeros(shape[0], np.int32)
        self._room = np.zeros(shape[0], np.int32)
        self._free: Dict[int, List[int]] = {}  # size -> places where so many cells can stand
        self._end = 0
        self.columns: NDArray[Any] = np.zeros(
            shape[1], np.uint16 if shape[1] <= 1 << 16 else np.uint32
        )
        self.fields: List[AnyFloats] = [np.zeros(shape[1], self.dtype) for _ in starts]

    @classmethod
    def of(
        cls,
        shape: Tuple[int, ...],
        cells: Ints,
        values: AnyFloats,
        starts: Sequence[float] = (0.0,),
    ) -> "CellTable":
        """cells (n,): of the flat array, ascending. values (n,): their weights."""
        table = cls(shape, values.dtype, starts)
        rows, columns = np.divmod(cells, shape[1])
        n_cells = np.bincount(rows, minlength=shape[0])
        room = table._room[:] = table.counts[:] = np.where(
            WHOLE * n_cells > shape[1], shape[1], n_cells
        )
        table.first[:] = np.cumsum(room) - room
        table._make_room(int(room.sum()))
        table._clear(np.flatnonzero(room))
        before = np.cumsum(n_cells) - n_cells
        places = table.first.take(rows) + np.where(
            table._are_whole(rows), columns, np.arange(len(rows)) - before[rows]
        )
        table.columns[places] = columns
        table.fields[0][places] = values
        return table

    def __len__(self) -> int:
        return self.shape[0]

    def add_to(self, sums: AnyFloats, rows: AnyInts) -> None:
        """sums[n] += row rows[k, n], whole rows before the others, each for k = 0, 1, ...; so the
        order does not depend on the other tokens. rows (K, n), sums (n, C)."""
        block_tokens = max(1, SUM_CELLS // self.shape[1])
        for start in range(0, len(sums), block_tokens):
            some = slice(start, start + block_tokens)
            self._add_to_block(sums[some], rows[:, some])

    def _add_to_block(self, block: AnyFloats, rows: AnyInts) -> None:
        n_columns = self.shape[1]
        counts = self.counts.take(rows)  # (K, n)
        is_whole = counts == n_columns
        if is_whole.any():
            cells = self.fields[0]
            shape = (len(cells) - n_columns + 1, n_columns)
            # all stretches of so many cells (`sliding_window_view` takes longer than the sums)
            windows = np.ndarray(shape, cells.dtype, cells, strides=cells.strides * 2)
            for k in np.flatnonzero(is_whole.any(axis=1)).tolist():
                whole = np.flatnonzero(is_whole[k])
                block[whole] += windows[self.first.take(rows[k].take(whole))]
            counts[is_whole] = 0
        used = np.flatnonzero(counts)
        sizes = counts.take(used)
        places = ranges(self.first.take(rows.take(used)), sizes)
        at = (used % len(block) * n_columns).repeat(sizes)
        at += self.columns.take(places)
        np.add.at(block.reshape(-1), at, self.fields[0].take(places))  # flat

    def touch(self, cells: Ints) -> Ints:
        """Places of cells, which get one if they have none. cells (n,): of the flat array,
        distinct, ascending.
        RETURNS (n,)."""
        rows, columns = np.divmod(cells, self.shape[1])
        places, is_there = self._search(rows, columns)
        missing = np.flatnonzero(~is_there)
        if len(missing):
            self._insert(rows.take(missing), columns.take(missing))
            places, _ = self._search(rows, columns)
        return places

    def cells(self) -> Iterator[Tuple[Ints, Ints]]:
        """All cells, ascending, some rows at a time. YIELDS cells (n,) of the flat array, places
        (n,)."""
        used = np.flatnonzero(self.counts)
        cuts = (
            np.flatnonzero(np.diff(np.cumsum(self.counts.take(used), dtype=np.intp) // BLOCK_CELLS))
            + 1
        )
        for rows in np.split(used, cuts):
            places = ranges(self.first.take(rows), self.counts.take(rows))
            yield (
                (rows * self.shape[1]).repeat(self.counts.take(rows)) + self.columns.take(places),
                places,
            )

    def _are_whole(self, rows: Ints) -> Mask:
        return np.asarray(self.counts.take(rows) == self.shape[1], bool)

    def _search(self, rows: Ints, columns: Ints) -> Tuple[Ints, Mask]:
        """RETURNS where each cell is, or comes before, and whether it is there."""
        low = self.first.take(rows)
        end = high = low + self.counts.take(rows)
        whole = np.flatnonzero(self._are_whole(rows))
        low[whole] += columns.take(whole)
        high[whole] = low.take(whole)
        for _ in range(int(self.counts.take(rows).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            is_before = (low < high) & (self.columns.take(middle, mode="clip") < columns)
            low = np.where(is_before, middle + 1, low)
            high = np.where(is_before, high, middle)
        is_there = (low < end) & (self.columns.take(low, mode="clip") == columns)
        is_there[whole] = True
        return low, is_there

    def _insert(self, rows: Ints, columns: Ints) -> None:
        """New cells, ascending: their rows are written anew."""
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        changed = rows.take(begins)
        n_new = np.diff(begins, append=len(rows))
        n_old = self.counts.take(changed).astype(np.intp)
        old = ranges(self.first.take(changed), n_old)
        place_of = np.arange(len(changed))
        n_columns = self.shape[1]
        of_old = place_of.repeat(n_old) * n_columns + self.columns.take(old)
        of_new = place_of.repeat(n_new) * n_columns + columns
        kept = [field.take(old) for field in self.fields]
        counts = n_old + n_new
        self._move(changed, counts)
        merged = np.concatenate([of_old, of_new])
        order = np.argsort(merged, kind="stable")
        row, column = np.divmod(merged.take(order), n_columns)
        within = np.arange(len(merged)) - (np.cumsum(counts) - counts).take(row)
        places = np.empty(len(merged), np.intp)
        places[order] = self.first.take(changed).take(row) + np.where(
            self._are_whole(changed).take(row), column, within
        )
        self.columns[places.take(order)] = column
        for field, old_numbers in zip(self.fields, kept, strict=True):
            field[places[: len(old)]] = old_numbers

    def _move(self, rows: Ints, counts: Ints) -> None:
        """Places for so many cells of each row, which hold none. Whole rows have all columns."""
        n_columns = self.shape[1]
        is_whole = WHOLE * counts > n_columns
        self.counts[rows] = np.where(is_whole, n_columns, counts)
        wanted = np.where(is_whole, n_columns, 1 << np.ceil(np.log2(counts)).astype(np.intp))
        too_small = np.flatnonzero(self._room.take(rows) < np.where(is_whole, n_columns, counts))
        leaving = rows.take(too_small)
        left = leaving[self._room.take(leaving) > 0]
        for size in distinct(self._room.take(left)).tolist():
            places = self.first.take(left[self._room.take(left) == size])
            self._free.setdefault(size, []).extend(places.tolist())
        for size in distinct(wanted.take(too_small)).tolist():
            moving = leaving[wanted.take(too_small) == size]
            free = self._free.get(size, [])
            end = self._end
            n_left = max(0, len(free) - len(moving))
            self._make_room(end + size * (len(moving) - (len(free) - n_left)))
            self.first[moving] = [*free[n_left:], *range(end, self._end, size)]
            del free[n_left:]
            self._room[moving] = size
        self._clear(rows)

    def _make_room(self, end: int) -> None:
        self._end = end
        if end > len(self.columns):
            size = int(GROWTH * end)
            self.columns = _longer(self.columns, size)
            for i, field in enumerate(self.fields):
                self.fields[i] = _longer(field, size)

    def _clear(self, rows: Ints) -> None:
        """Cells as they are when nobody has touched them."""
        places = ranges(self.first.take(rows), self.counts.take(rows))
        for field, start in zip(self.fields, self._starts, strict=True):
            field[places] = start
        whole = rows[self._are_whole(rows)]
        self.columns[ranges(self.first.take(whole), self.counts.take(whole))] = np.tile(
            np.arange(self.shape[1], dtype=self.columns.dtype), len(whole)
        )


def _longer(array: NDArray[Numbers], size: int) -> NDArray[Numbers]:
    longer: NDArray[Numbers] = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
