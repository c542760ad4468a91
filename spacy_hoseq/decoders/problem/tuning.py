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
    step_cells: (earlier label, label, sequence) triples that are compared in one call.
    column_cells: of one step of the sequences that are walked together, nodes x sequences
        (`nonnegative.py`).
    min_columns: sequences that are walked together even if that makes more cells.
    arc_cells: arcs of one step of the sequences that are walked together, over longest matches
        (`longest_match.py`).
    sum_cells: states of all tokens that are kept together for sums.
    matrix_cells: for each node of a trie, up to which products of matrices take less time
        (`matrix_walk.py`).
    table_cells: (node, label) pairs up to which a trie's children are looked up in a table, beyond
        by search.
    limit_cells: (neighbour, label, label) triples compared at once for limits of pruning.
    ranked_labels: from which on limits are bounds of what a label can lose, and `limit_ranks`:
        neighbours of each label that are looked at for them.
    limit_drift: by how much limits of earlier weights may be too high, on average, before they are
        made anew.
    bound_cells: (token, label) pairs compared at once to exclude labels.
    bound_candidates: candidates compared at once to exclude more of them.
    pair_cells: pairs of candidates at neighbouring tokens that are decoded together.
    short_tokens: of a text that plain Python decodes, `short_candidates`: of each of its tokens, on
        average, `short_refined`: pairs of candidates at neighbouring tokens of a sequence that are
        compared one by one, and `short_pairs`: that are decoded so, of all its windows.
    short_sequences: of the length of the longest, up to which a text is short for sums
        (`short/sums.py`), and `short_labels`: that it may have; `short_likely`: of each token, on
        average, that are decoded one by one.
    window_tokens: of open windows that are decoded together.
    node_cost, step_cost: time of a node in the decoder of all labels, and of the calls that a step
        of a chain takes, which the sequences of a batch share; over that of a transition.
    pair_cost, sparse_cost: the same of two candidates to compare, and to decode with patterns
        (`sparse.py`).
    long_tokens: of a sequence from which on it is cut into pieces.
    piece_tokens, warm_up: tokens that a piece answers for, and that it looks at on each side.
    pieces_together: pieces that are decoded together.
    part_tokens: of the sequences that are summed together.
    block_scores, block_tokens: scores of local classifiers (contexts x labels), and tokens, that
        are computed together.
    short_queries: of local classifiers, tokens x sets of visible neighbours, that are asked at once
        (`short_text.py`).
    search_cells: of all windows, times modes, that are searched together (`decompositions.py`).
    piece_tolerance: by how much pieces may disagree, all together, before the sequence is summed as
        a whole.
    undecided: a labelling that is less probable excludes too few labels to be of use
        (`posterior_pruning.py`).
    """

    history_cells: int = 4_000_000
    step_cells: int = 500_000
    column_cells: int = 65_536  # half a megabyte
    min_columns: int = 16
    arc_cells: int = 2_000_000
    sum_cells: int = 4_000_000
    matrix_cells: int = 50
    table_cells: int = 8_000_000
    limit_cells: int = 200_000
    ranked_labels: int = 256
    limit_ranks: int = 24
    limit_drift: float = 0.5
    bound_cells: int = 180_000
    bound_candidates: int = 100_000
    pair_cells: int = 1_000_000
    short_tokens: int = 160
    short_candidates: int = 12
    short_refined: int = 300
    short_pairs: int = 500
    short_sequences: int = 3
    short_labels: int = 100
    short_likely: int = 4
    window_tokens: int = 100_000
    node_cost: int = 8
    step_cost: int = 4_000
    pair_cost: int = 32
    sparse_cost: int = 64
    long_tokens: int = 4_000
    piece_tokens: int = 128
    warm_up: int = 32
    pieces_together: int = 32
    part_tokens: int = 6_000
    block_scores: int = 4_000_000
    block_tokens: int = 4_096
    short_queries: int = 2_048
    search_cells: int = 4_000_000
    piece_tolerance: float = 1e-8
    undecided: float = 1e-2


TUNING = Tuning()
