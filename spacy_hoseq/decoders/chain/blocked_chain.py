"""p(y | x) of chains too long to keep forward-backward: in blocks of steps.

Neighbouring blocks share a step. A block is an ordinary chain whose first emissions are log alpha of
that step, and whose last beta is that of the block behind it. Only alpha at the borders is kept: each
question walks from the last block to the first, and makes both ways of a block anew.

Checked against the same chains as a whole in tests/decoders/chain/test_blocked_chain.py.
"""

from functools import cached_property
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple, cast

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem import (
    TUNING,
    LabelPairs,
    Posterior,
    Potentials,
    PotentialsGradient,
    Tuning,
    largest,
    make_layout,
    ranges,
)
from .chain_posterior import ChainPosterior, WayForward, chain_posterior, way_of_chain

MANY_BLOCKS = 4  # from which on a batch is walked in blocks: each question then takes two ways


def sums_of_chain(potentials: Potentials, tuning: Tuning = TUNING) -> Optional[Posterior]:
    """As `chain_posterior`, in blocks if the batch is large."""
    if potentials.edge_scores is not None or (
        potentials.scores.size <= MANY_BLOCKS * tuning.sum_cells
    ):
        return chain_posterior(potentials)
    chain = BlockedChain(potentials, tuning)
    return chain if chain.keeps_digits else None


class Block(NamedTuple):
    """potentials: of the block as a chain. sequences (S',), tokens (N',): of the batch.
    goes_on (S',): there is a block behind it."""

    potentials: Potentials
    sequences: Ints
    tokens: Ints
    goes_on: Mask


class BlockedChain(Posterior):
    """Forward messages at the borders of blocks. Without edge_scores, checked.

    keeps_digits: scaled probabilities do, and every sequence has a path; if not, nothing can be
        asked. Backpropagation takes the memory of the whole chain.
    """

    def __init__(self, potentials: Potentials, tuning: Tuning = TUNING) -> None:
        self._potentials = potentials
        self._most = largest(potentials.scores)
        self._log_z = np.zeros(len(potentials.lengths))
        layout = make_layout(potentials.lengths, len(potentials.scores))
        steps = layout.blocks(potentials.scores.shape[1], tuning.sum_cells)
        self._blocks: List[Tuple[int, int, Optional[Floats]]] = []
        entry: Optional[Floats] = None
        self.keeps_digits = True
        for first, last in steps:
            self._blocks.append((first, last, entry))
            block = self._block(first, last, entry)
            way = way_of_chain(block.potentials, self._most)
            if way is None:
                self.keeps_digits = False
                return
            self._log_z[block.sequences[way.layout.order]] += way.prefixes.log_z
            ends = np.cumsum(block.potentials.lengths)[block.goes_on] - 1
            entry = way.prefixes.alpha[way.layout.place[ends]]

    @property
    def lengths(self) -> AnyInts:
        return self._potentials.lengths

    @property
    def log_z(self) -> Floats:
        return self._log_z

    @cached_property
    def nodes(self) -> Floats:
        nodes = np.empty(self._potentials.scores.shape)
        for block, chain in self._chains():
            nodes[block.tokens] = chain.nodes
        return nodes

    @property
    def expected(self) -> PotentialsGradient:
        nothing = np.zeros(0)
        trans = np.zeros(self._potentials.trans.shape)
        for _, chain in self._chains():
            trans += chain.expected.trans
        return PotentialsGradient(self.nodes, trans, nothing, nothing)

    def pairs(self, arcs: LabelPairs) -> Floats:
        p = np.zeros(len(arcs.tokens))
        for chain, place in self._places():
            which, here = _held(place, arcs.tokens)
            p[which] = chain.pairs(LabelPairs(here, arcs.earlier[which], arcs.later[which]))
        return p

    def entropies(self) -> Floats:
        return self._of_tokens(ChainPosterior.entropies)

    def conditional_entropies(self) -> Floats:
        return self._of_tokens(ChainPosterior.conditional_entropies)

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
    ) -> PotentialsGradient:
        whole = cast(ChainPosterior, chain_posterior(self._potentials, self._most))
        return whole.backprop(d_nodes, arcs, d_arcs)

    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Optional[Mask]
    ) -> Floats:
        if not len(sizes):
            return np.zeros(0)
        tokens = ranges(first, sizes)
        starts = np.cumsum(sizes) - sizes
        last = starts + sizes - 1
        factors = np.ones(len(tokens))
        of_starts = np.ones(len(starts))
        stops = np.ones(len(starts))
        earlier = np.roll(labels, 1)
        for chain, place in self._places():
            which, here = _held(place, tokens)
            factors[which] = chain.steps(here, earlier[which], labels[which])
            which, here = _held(place, tokens[starts])
            of_starts[which] = chain.at(here, labels[starts[which]])
            if continues is not None:
                # the last token of a block stops for certain there: the one behind it knows
                which, here = _held(place, tokens[last])
                stops[which] *= chain.stops(here, labels[last[which]], continues)
        factors[starts] = of_starts
        return np.asarray(np.multiply.reduceat(factors, starts) * stops)

    def _block(self, first: int, last: int, entry: Optional[Floats]) -> Block:
        """Steps from `first` to before `last`, and the one before them. entry: alpha of that one."""
        scores, weights, lengths = self._potentials[:3]
        allowed = self._potentials.allowed
        begin = max(0, first - 1)
        sequences = np.flatnonzero(lengths > first)
        sizes = np.minimum(lengths[sequences], last) - begin
        tokens = ranges((np.cumsum(lengths) - lengths)[sequences] + begin, sizes)
        emissions = scores[tokens]
        allowed = None if allowed is None else allowed[tokens]
        if entry is not None:
            border = np.cumsum(sizes) - sizes
            emissions = emissions.astype(np.float64)
            with np.errstate(divide="ignore"):
                emissions[border] = np.log(entry)
        potentials = Potentials(emissions, weights, sizes, allowed=allowed)
        return Block(potentials, sequences, tokens, lengths[sequences] > last)

    def _chains(self) -> Iterator[Tuple[Block, ChainPosterior]]:
        """From the last block to the first. The token that two blocks share is complete in the
        earlier one, which comes later."""
        after: Optional[Floats] = None
        for first, last, entry in reversed(self._blocks):
            block = self._block(first, last, entry)
            # there is one, as there was on the way forward
            way = cast(WayForward, way_of_chain(block.potentials, self._most))
            suffixes = np.ones((len(block.sequences), block.potentials.weights.n_labels))
            if after is not None:
                suffixes[block.goes_on] = after
            chain = ChainPosterior(*way, suffixes[way.layout.order])
            after = chain.first_suffixes()
            yield block, chain

    def _places(self) -> Iterator[Tuple[ChainPosterior, Ints]]:
        """Each block, and where it has the tokens of the batch (N,), -1 for others."""
        place = np.full(len(self._potentials.scores), -1, np.intp)
        for block, chain in self._chains():
            place[block.tokens] = np.arange(len(block.tokens))
            yield chain, place
            place[block.tokens] = -1

    def _of_tokens(self, values: Callable[[ChainPosterior], Floats]) -> Floats:
        found = np.empty(len(self._potentials.scores))
        for block, chain in self._chains():
            found[block.tokens] = values(chain)
        return found


def _held(place: Ints, tokens: Ints) -> Tuple[Ints, Ints]:
    """Those of the tokens that a block holds, and where."""
    here = place.take(tokens)
    which = np.flatnonzero(here >= 0)
    return which, here[which]
