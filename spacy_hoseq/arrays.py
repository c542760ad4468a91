"""What arrays are called, by what they hold. One place for all rooms; the type checker is the only reader."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]  # sums, probabilities, scores of paths
Floats32 = NDArray[np.float32]  # weights and emissions
AnyFloats = NDArray[np.floating]  # either: what is only read
Ints = NDArray[np.intp]  # positions: tokens, nodes, rows of tables
AnyInts = NDArray[np.integer]  # either: what is only read
Rows = NDArray[np.int32]  # rows of a table of weights or of word types
Lengths = NDArray[np.int32]  # tokens of each sequence, >= 1
Labels = NDArray[np.int32]  # label ids
Keys = NDArray[np.uint64]  # hashes of features and of strings
Mask = NDArray[np.bool_]
