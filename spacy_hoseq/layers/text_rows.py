"""Feature rows of training texts, kept from epoch to epoch."""

from typing import Callable, Dict, List, Sequence, Tuple

import numpy as np

from ..arrays import Rows


class TextRows:
    """Rows of texts that were asked for before, as long as there is room: those of others are made
    each time. most (int): bytes."""

    def __init__(self, most: int) -> None:
        self._rows: Dict[bytes, Tuple[Rows, ...]] = {}
        self._room = most

    def of(
        self, names: Sequence[bytes], sizes: Sequence[int], make: Callable[[List[int]], List[Rows]]
    ) -> List[Rows]:
        """The rows of a batch, end to end, copies. names: of the texts; all that rows depend on.
        sizes: tokens of each.
        make: arrays of rows (K, n), ... of some texts, by number, end to end. RETURNS arrays (K,
            N), ..."""
        number_of: Dict[bytes, int] = {}
        for number, name in enumerate(names):
            if name not in self._rows:
                number_of.setdefault(name, number)
        made: Dict[bytes, Tuple[Rows, ...]] = {}
        if number_of:
            new = list(number_of.values())
            made = self.add(list(number_of), [sizes[number] for number in new], make(new))
        parts = [made[name] if name in made else self._rows[name] for name in names]
        return [np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)]

    def add(
        self, names: Sequence[bytes], sizes: Sequence[int], arrays: Sequence[Rows]
    ) -> Dict[bytes, Tuple[Rows, ...]]:
        """Keep rows of some texts, if there is room. RETURNS them by the names of the texts."""
        cuts = np.cumsum(sizes)[:-1]
        parts = [map(np.ascontiguousarray, np.split(array, cuts, axis=1)) for array in arrays]
        made = dict(zip(names, zip(*parts, strict=True), strict=True))
        n_bytes = sum(array.nbytes for array in arrays)
        if n_bytes <= self._room:
            self._rows.update(made)
            self._room -= n_bytes
        return made
