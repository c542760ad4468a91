"""What layers save, with plain arrays in the place of packed ones: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.layers.weights.storage import unpack_array, unpack_extra, unpack_keys


def message_of(data):
    """Of the bytes of a shim."""
    message = srsly.msgpack_loads(data)
    message["extra"] = unpack_extra(message["extra"])
    for tables in (message.get("arrays", {}), message.get("weights", {})):
        for packed in tables.values():
            packed.update({name: unpack_array(packed[name]) for name in ("counts", "columns", "values")})
            packed.update({name: unpack_keys(packed[name]) for name in ("rows",) if name in packed})
    return message
