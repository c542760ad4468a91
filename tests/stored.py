"""What layers save, with plain arrays in the place of packed ones: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.layers.weights.storage import COLUMNS, WEIGHTS, unpack_array, unpack_extra

TYPES = {"counts": COLUMNS, "columns": COLUMNS, "values": WEIGHTS}


def message_of(data):
    """Of the bytes of a shim."""
    message = srsly.msgpack_loads(data)
    message["extra"] = unpack_extra(message["extra"])
    for packed in message["tables"].values():
        packed.update({name: unpack_array(packed[name], types) for name, types in TYPES.items()})
    return message
