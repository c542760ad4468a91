"""What layers and components save: to be looked at, damaged, and loaded again."""

import numpy as np
import srsly

from spacy_hoseq.components.saving import with_digest
from spacy_hoseq.layers.weights.storage import SparseTable, unpack_extra


def message_of(data):
    """Of the bytes of a shim, with plain arrays in the place of packed ones; tables as in format 4."""
    message = srsly.msgpack_loads(data)
    message["extra"] = unpack_extra(message["extra"])
    message["tables"] = {name: as_format_4(packed) for name, packed in message["tables"].items()}
    return message


def as_format_4(packed):
    """counts (R,): how many weights of each row are not zero. columns, values: of these, row by row."""
    table = SparseTable.unpacked(packed)
    order = np.lexsort((table.columns, table.rows))
    n_columns = int(np.prod(table.shape[1:]))
    counts = np.bincount(table.rows, minlength=table.shape[0]).astype(np.min_scalar_type(n_columns))
    parts = {"counts": counts, "columns": table.columns[order], "values": table.values[order]}
    return {"shape": list(table.shape), "double": table.double, **parts}


def reseal(folder, component, model):
    """Write the message of a model, with the digest that it has to have."""
    message = {name: part for name, part in model.items() if name != "digest"}
    data = with_digest(srsly.msgpack_dumps(message), component._meaning())
    (folder / "model").write_bytes(data)
