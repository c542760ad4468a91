"""The digest that ends a saved model.

A saved model is a msgpack map. Its last entry, "digest", is the SHA-256 of all bytes before it and
of what gives its columns their meaning: labels, tag dictionary, tables of the vocabulary that
features read. A bit that differs in any of them, or a `cfg` of one training beside the `model` of
another, is found before anything is made of the weights.
"""

import hashlib
import json
from typing import Any, Dict, Optional, Set

import srsly
from spacy.lookups import Table
from thinc.api import Model

from ..layers.scorer import scorer_of

SIZE = 32  # bytes of SHA-256
KEY = b"\xa6digest\xc4" + bytes([SIZE])  # msgpack: a string of 6 bytes; a binary of SIZE bytes


def signed(model: bytes, meaning: Dict[str, Any], n_added: int = 1) -> bytes:
    """The bytes of a model and their digest. model: a msgpack map of fewer than 15 entries, as
    thinc makes it; its first byte says how many. meaning: of its columns, as JSON has it, and its
    "tables". n_added: to the number of entries; 0 = the digest was cut off."""
    tables = {name: digest_of_table(table) for name, table in meaning["tables"].items()}
    text = json.dumps({**meaning, "tables": tables}, sort_keys=True)
    body = bytes([model[0] + n_added]) + model[1:] + KEY
    return body + hashlib.sha256(text.encode("ascii") + body).digest()


def checked(data: bytes, meaning: Dict[str, Any]) -> bytes:
    """The data of a signed model. RAISES ValueError: another digest."""
    if signed(data[: -SIZE - len(KEY)], meaning, n_added=0) == data:
        return data
    problem = "labels, tag dictionary and weights are damaged or not of one training"
    if meaning["tables"]:
        names = ", ".join(sorted(meaning["tables"]))
        problem += (
            f", or tables of the vocabulary ({names}) are missing or others"
        )
    raise ValueError(problem)


def digest_of_table(table: Optional[Table]) -> Optional[str]:
    """SHA-256 of what a table of the vocabulary holds, in any order of its keys; None: there is no
    such table."""
    if table is None:
        return None
    entries = [[key, value] for key, value in sorted(table.items())]
    return hashlib.sha256(srsly.msgpack_dumps(entries)).hexdigest()


def tables_of(model: Model[Any, Any]) -> Set[str]:
    """The tables of the vocabulary that features of a model depend on."""
    return {table for node in model.walk() for table in scorer_of(node).tables}
