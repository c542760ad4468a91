"""How work is cut into parts: the constants that were found by measuring."""

from typing import NamedTuple


class Tuning(NamedTuple):
    """Sizes that decide how fast decoders and sums are, and how much memory they take; none changes
    what comes out.

    A part is as large as the processor's cache likes it, or as memory permits. Every function that
    cuts its work takes `tuning`; tests hand in small numbers, so that a small case is cut, too. A
    cell is one number of a table.

    history_cells: of the lattice, kept for the way back. A longer batch is walked in blocks of
        steps, each computed a second time on the way back.
    column_cells: of one step of the sequences that are walked together, nodes x sequences
        (`nonnegative.py`).
    min_columns: sequences that are walked together even if that makes more cells.
    arc_cells: arcs of one step of the sequences that are walked together, over longest matches
        (`longest_match.py`).
    sum_cells: states of all tokens that are kept together for sums.
    matrix_cells: for each node of a trie, up to which products of matrices take less time
        (`matrix_messages.py`).
    pair_cells: pairs of candidates at neighbouring tokens that are decoded together.
    block_scores, block_tokens: scores of local classifiers (contexts x labels), and tokens, that
        are computed together.
    short_queries: of local classifiers, tokens x sets of visible neighbours, that are asked at once
        (`easiest_first.py`).
    search_cells: of all windows, times modes, that are searched together (`decompositions.py`).
    """

    history_cells: int = 4_000_000
    column_cells: int = 65_536  # half a megabyte
    min_columns: int = 16
    arc_cells: int = 2_000_000
    sum_cells: int = 4_000_000
    matrix_cells: int = 50
    pair_cells: int = 1_000_000
    block_scores: int = 4_000_000
    block_tokens: int = 4_096
    short_queries: int = 2_048
    search_cells: int = 4_000_000


TUNING = Tuning()
