"""Entities from tags, one a token: B, I (or M) and E, S; all representations of chunks.py.

Every sequence stands for entities: one begins at B and S, and where an I, M or E follows O or
another type; it ends at E and S, and before O, B, S or another type (the rule of chunks.py and of
the CoNLL-2000 scorer). Tags that a well-formed sequence of these entities would not have are
counted.
"""

import re
from typing import Iterable, List, Sequence, Tuple

from ...chunks import check_representation, read_chunks, write_chunks
from ..sentences import LabelledSpan

AUTO = "auto"
EXPECTED_TAG = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
_TAG = re.compile(r"O|[BIMELSU]-.+")


def is_entity_tag(tag: str) -> bool:
    """Whether a tag has one of the known forms."""
    return _TAG.fullmatch(tag) is not None


def check_entity_representation(representation: str) -> None:
    """RAISES ValueError [HS081]: neither "auto" nor a representation of chunks.py."""
    if representation != AUTO:
        check_representation(representation)


def representation_of(tags: Iterable[str]) -> str:
    """The representation that has these tags: "start_end" with M, E or S, "bilou" with L or U,
    otherwise "iob2"."""
    for tag in tags:
        if is_entity_tag(tag) and tag[0] in "MES":
            return "start_end"
        if is_entity_tag(tag) and tag[0] in "LU":
            return "bilou"
    return "iob2"


def entities_of_tags(tags: Sequence[str], representation: str) -> Tuple[List[LabelledSpan], int]:
    """The entities, in order, and how many tags a well-formed sequence would have otherwise. tags:
    of known forms."""
    known = ["I" + tag[1:] if tag.startswith("M") else tag for tag in tags]
    chunks = read_chunks(known)
    written = write_chunks(chunks, len(known), representation)
    n_mended = sum(a != b for a, b in zip(known, written, strict=True))
    bounds = zip(chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True)
    return [LabelledSpan(first, end, name) for first, end, name in bounds], n_mended
