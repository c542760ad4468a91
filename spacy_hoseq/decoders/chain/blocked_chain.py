"""p(y | x) of chains too long to keep forward-backward: in blocks of steps.

Neighbouring blocks share a step. A block is an ordinary chain whose first emissions are log alpha of
that step, and whose last beta is that of the block behind it. Only alpha at the borders is stored: each
question walks from the last block to the first, and makes both ways of a block anew.

Checked with small blocks in tests/decoders/test_posterior.py.
"""

from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...caches import cached_property
from ..problem import (
    LabelPairs,
    Layout,
    Potentials,
    PotentialsGradient,
    Tuning,
    make_layout,
    ranges,
)
from .chain_posterior import ChainPosterior, chain_posterior, forward_of, posterior_of
from .forward_backward import ChainWeights, Prefixes


def sums_of_chain(potentials: Potentials, tuning: Tuning) -> ChainPosterior | None:
    """p(y | x) of a checked batch. RETURNS None if scaled probabilities would lose digits, or if a
    sequence has no path."""
    # (in blocks, each question computes both ways anew: up to four blocks are stored instead)
    is_large = potentials.scores.size > 4 * tuning.sum_cells
    if not is_large or potentials.edge_scores is not None:
        return chain_posterior(potentials)
    blocked = BlockedChain(potentials, tuning)
    return blocked if blocked.keeps_digits else None


class Block(NamedTuple):
    """potentials: of the block as a chain. sequences (S',), tokens (N',): of the batch.
    goes_on (S',): there is a block behind it."""

    potentials: Potentials
    sequences: Ints
    tokens: Ints
    goes_on: Mask


class BlockedChain(ChainPosterior):
    """Forward messages at the borders of blocks. Without edge_scores, checked.

    keeps_digits: scaled probabilities do, and every sequence has a path; if not, nothing can be
        computed. Backpropagation takes the memory of the whole chain: an update that large keeps its
        scores and their gradient in any case.
    """

    def __init__(self, potentials: Potentials, tuning: Tuning) -> None:
        self._potentials = potentials
        self.lengths = potentials.lengths
        self.log_z = np.zeros(len(potentials.lengths))
        self._blocks: list[tuple[int, int, Floats | None]] = []
        entry: Floats | None = None
        self.keeps_digits = True
        layout = make_layout(potentials.lengths, len(potentials.scores))
        for first, last in layout.blocks(potentials.scores.shape[1], tuning.sum_cells):
            self._blocks.append((first, last, entry))
            block = self._block(first, last, entry)
            forward = forward_of(block.potentials)
            if forward is None:
                self.keeps_digits = False
                return
            (_, alpha, ends, total, log_z), _, here = forward
            self.log_z[block.sequences[here.order]] += log_z
            shares = np.empty((len(ends), alpha.shape[1]))
            shares[here.order] = alpha[ends] / total[:, None]
            entry = shares[block.goes_on]

    @cached_property
    def nodes(self) -> Floats:
        nodes = np.empty(self._potentials.scores.shape)
        for block, chain in self._chains():
            nodes[block.tokens] = chain.nodes
        return nodes

    @property
    def expected(self) -> PotentialsGradient:
        trans = np.zeros(self._potentials.trans.shape)
        for _, chain in self._chains():
            trans += chain.expected.trans
        return PotentialsGradient(self.nodes, trans)

    def steps(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        steps = np.zeros(len(tokens))
        for block, chain in self._chains():
            # the first token of a block has one before it in the block before, which comes later
            place = np.searchsorted(block.tokens, tokens)
            which = np.flatnonzero(block.tokens.take(place, mode="clip") == tokens)
            steps[which] = chain.steps(place[which], earlier[which], later[which])
        return steps

    def conditional_entropies(self) -> Floats:
        entropies = np.empty(len(self._potentials.scores))
        for block, chain in self._chains():
            entropies[block.tokens] = chain.conditional_entropies()
        return entropies

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: LabelPairs | None = None,
        d_arcs: AnyFloats | None = None,
    ) -> PotentialsGradient:
        chain = cast(ChainPosterior, chain_posterior(self._potentials))
        return chain.backprop(d_nodes, arcs, d_arcs)

    def _block(self, first: int, last: int, entry: Floats | None) -> Block:
        """Steps from `first` to before `last`, and the one before them. entry: alpha of that one."""
        scores, weights, lengths = self._potentials[:3]
        allowed = self._potentials.allowed
        begin = max(0, first - 1)
        sequences = np.flatnonzero(lengths > first)
        sizes = np.minimum(lengths[sequences], last) - begin
        tokens = ranges((np.cumsum(lengths) - lengths)[sequences] + begin, sizes)
        emissions = scores[tokens]
        if allowed is not None:
            allowed = allowed[tokens]
        if entry is not None:
            border = np.cumsum(sizes) - sizes
            emissions = emissions.astype(np.float64)
            with np.errstate(divide="ignore"):
                emissions[border] = np.log(entry)
        potentials = Potentials(emissions, weights, sizes, allowed=allowed)
        return Block(potentials, sequences, tokens, lengths[sequences] > last)

    def _chains(self) -> Iterator[tuple[Block, ChainPosterior]]:
        """The blocks and their posteriors, from the last to the first. The token that two blocks
        share is complete in the earlier one, which comes later."""
        after: Floats | None = None
        for first, last, entry in reversed(self._blocks):
            block = self._block(first, last, entry)
            # there is one, as there was on the way forward
            forward = cast("tuple[Prefixes, ChainWeights, Layout]", forward_of(block.potentials))
            layout = forward[2]
            suffixes = np.ones((len(block.sequences), block.potentials.weights.n_labels))
            if after is not None:
                suffixes[block.goes_on] = after
            chain = posterior_of(*forward, suffixes[layout.order])
            after = np.empty_like(suffixes)
            after[layout.order] = chain.beta[: len(after)]
            yield block, chain
