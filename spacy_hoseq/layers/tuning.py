"""How layers cut their work, and how much they remember: constants that were found by measuring."""

from typing import NamedTuple


class Tuning(NamedTuple):
    """Sizes that decide how fast layers are, and how much memory they take; none changes what comes
    out.

    label_cells: scores of labels, tokens x labels, from which they are decoded at once.
    key_tokens: whose keys are made and looked up together.
    cache_bytes: feature rows of training texts that are kept between epochs.
    """

    label_cells: int = 8_000_000
    key_tokens: int = 32_768
    cache_bytes: int = 1 << 29


TUNING = Tuning()
