"""What layers and components save: to be looked at, damaged, and loaded again."""

import srsly

from spacy_hoseq.components.digest import digest_in, with_digest
from spacy_hoseq.layers.weights.storage import COLUMNS, WEIGHTS, unpack_array, unpack_extra

TYPES = {"counts": COLUMNS, "columns": COLUMNS, "values": WEIGHTS}


def message_of(data):
    """Of the bytes of a shim, with plain arrays in the place of packed ones."""
    message = srsly.msgpack_loads(data)
    message["extra"] = unpack_extra(message["extra"])
    for packed in message["tables"].values():
        packed.update({name: unpack_array(packed[name], types) for name, types in TYPES.items()})
    return message


def reseal(folder, component, model):
    """Write the message of a model, with the digest that it and `cfg` have to have."""
    message = {name: part for name, part in model.items() if name != "digest"}
    data = with_digest(srsly.msgpack_dumps(message), component._meaning())
    (folder / "model").write_bytes(data)
    cfg = srsly.read_json(folder / "cfg")
    srsly.write_json(folder / "cfg", {**cfg, "digest": digest_in(data)})
