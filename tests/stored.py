"""What layers and components save: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.layers.storage import pack_extra, pack_table, unpack_extra, unpack_table
from spacy_hoseq.learning.used_rows import UsedRows


def message_of(data):
    """Of the bytes of a shim, with arrays and `UsedRows` in the place of packed ones."""
    message = srsly.msgpack_loads(data)
    tables = {name: unpack_table(packed) for name, packed in message["tables"].items()}
    return {**message, "extra": unpack_extra(message["extra"]), "tables": tables}


def bytes_of(message):
    """The inverse, of damaged messages, too."""
    tables = message["tables"]
    if isinstance(tables, dict):
        tables = {name: pack_table(table) if isinstance(table, UsedRows) else table for name, table in tables.items()}
    return srsly.msgpack_dumps({**message, "extra": pack_extra(message.get("extra")), "tables": tables})
