"""What layers and components save: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.layers.storage import layer_bytes, read_layer


def message_of(data):
    """The bytes of a shim, with arrays and `UsedRows` in the place of packed ones."""
    return read_layer(data)


def bytes_of(message):
    """The inverse, of damaged messages, too."""
    if {"tables", "extra"} <= message.keys() and isinstance(message["tables"], dict):
        return layer_bytes(message)
    return srsly.msgpack_dumps({name: message[name] for name in ("format", "layer", "made_for")})
