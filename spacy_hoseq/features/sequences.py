"""Where one sequence ends and the next begins: sentences where the Doc has them, else the whole Doc."""

from typing import List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc


def sequence_lengths(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """Lengths of the sequences of all docs, in order; empty docs have none. RETURNS (S,) int32, all >= 1."""
    lengths: List[int] = []
    for doc in docs:
        if doc.has_annotation("SENT_START"):
            lengths += np.diff(np.flatnonzero(np.append(sentence_starts(doc), True))).tolist()
        elif len(doc):
            lengths.append(len(doc))
    return np.array(lengths, np.int32)


def sentence_starts(doc: Doc) -> NDArray[np.bool_]:
    """RETURNS (len(doc),) bool: tokens that begin a sequence. Unknown boundaries (0) are no boundaries."""
    starts: NDArray[np.bool_] = doc.to_array(["SENT_START"]).reshape(len(doc)) == 1
    if len(starts):
        starts[0] = True
    return starts
