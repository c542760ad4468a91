"""What layers and components save: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.layers.storage import packed, unpacked


def message_of(data):
    """Of the bytes of a shim, with arrays and `UsedRows` in the place of packed ones."""
    return unpacked(srsly.msgpack_loads(data))


def bytes_of(message):
    """The inverse, of damaged messages, too."""
    return srsly.msgpack_dumps(packed(message))
