"""Exact inference: for each case the algorithm that solves it at the least cost.

    a chain                                     Viterbi, forward-backward          O(L^2) a token
    label patterns, no weight negative          inclusive messages                 O(U + L^2)
    label patterns, some weight negative        longest matches                    O(U L)
    sequences in which configurations fire      states made on the fly             O(S L)
    scores of label pairs at each token         the chain's, step by step          O(L^2)

The first two decode what pruning leaves. Sums keep to inclusive messages as long as these do not cancel.
"""

from contextlib import contextmanager, suppress
from typing import Iterator, Optional, Tuple, Union

import numpy as np

from ..arrays import AnyFloats, Ints, Labels, Mask
from ..errors import Errors
from .chain.chain_marginals import ChainMarginals
from .chain.edge_viterbi import edge_viterbi
from .chain.forward_backward import forward_backward
from .chain.log_marginals import LogMarginals
from .higher_order.configurations import ConfigurationLattice, configuration_paths, configuration_posterior
from .higher_order.longest_match import any_sign_posterior, check_finite, decode_any_sign
from .higher_order.pattern_posterior import is_stable, pattern_posterior
from .problem.configurations import Configurations, check_configurations
from .problem.layout import check_lengths, check_scores
from .problem.path_score import sum_score
from .problem.potentials import OneSequence, Potentials
from .problem.results import LostDigits, NoPath, Paths, Posterior
from .pruning.pruned import pruned_labels


def decode_exact(potentials: Potentials, *, allowed: Optional[Mask] = None) -> Paths:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences, with their scores.

    allowed (N, L) bool: labels permitted at each token. RETURNS (Paths). Ties: as the algorithm used.
    RAISES ValueError [HS020-HS025, HS036-HS038]; [HS099]: scores of label pairs at each token beside label patterns.
    """
    labels = exact_labels(potentials, allowed=allowed)
    scores, trans, lengths, patterns, configurations, edge_scores = potentials[:6]
    emissions = scores[np.arange(len(labels)), labels].astype(np.float64)
    return Paths(labels, sum_score(emissions, trans, labels, lengths, patterns, configurations, edge_scores))


def exact_labels(potentials: Potentials, *, allowed: Optional[Mask] = None) -> Labels:
    """The labels of `decode_exact` alone (N,), for those who do not ask for scores."""
    if potentials.edge_scores is not None:
        check_chain(potentials)
        scores, trans, lengths = potentials[:3]
        return edge_viterbi(scores, trans, potentials.edge_scores, lengths, allowed=allowed).labels
    spanned, rest = _split(potentials, allowed, with_zero=False)
    if not len(spanned):
        return _decode_contiguous(potentials, allowed)
    labels = np.zeros(len(potentials.scores), np.int32)
    if len(rest):
        chain, tokens, _ = potentials.chain_of(rest)
        with _numbered(rest):
            labels[tokens] = _decode_contiguous(chain, None if allowed is None else allowed[tokens])
    for i, one, configurations in _spanned(potentials, spanned, allowed):
        if (configurations.weights == 0).any():
            configurations = configurations.chosen(np.flatnonzero(configurations.weights), 0)
        with _numbered(np.array([i])):
            lattice = ConfigurationLattice(one.scores, one.trans, one.patterns, configurations, one.allowed)
            labels[potentials.tokens_of(i)] = configuration_paths(lattice).labels
    return labels


def exact_posterior(potentials: Potentials, *, allowed: Optional[Mask] = None) -> Posterior:
    """log Z, marginals and all expected counts of p(y | x) = exp(score(x, y)) / Z(x), for a batch of sequences.

    allowed (N, L) bool. RETURNS (Posterior): the gradient of sum(log_z) with respect to every field of `potentials`.
    RAISES ValueError as `decode_exact`.
    """
    if potentials.edge_scores is not None:
        return _sum_edge_scores(potentials, potentials.edge_scores, allowed)
    spanned, rest = _split(potentials, allowed, with_zero=True)
    if not len(spanned):
        found = _sum_contiguous(potentials, allowed)
        n = 0 if potentials.configurations is None else len(potentials.configurations.first)
        return found._replace(configuration_counts=np.zeros(n))
    patterns, configurations = potentials.patterns, potentials.configurations
    fired = None if patterns is None else patterns.fired
    total = Posterior(
        np.zeros(len(potentials.lengths)),
        np.zeros(potentials.scores.shape),
        np.zeros(potentials.trans.shape),
        np.zeros(0 if patterns is None else len(patterns.trie)),
        np.zeros(0 if fired is None else len(fired.tokens)),
        np.zeros(0 if configurations is None else len(configurations.first)),
    )
    if len(rest):
        chain, tokens, entries = potentials.chain_of(rest)
        with _numbered(rest):
            found = _sum_contiguous(chain, None if allowed is None else allowed[tokens])
        _add(total, found, rest, tokens, (entries, np.zeros(0, np.intp)))
    for i, one, own in _spanned(potentials, spanned, allowed):
        at = potentials.tokens_of(i)
        with _numbered(np.array([i])):
            lattice = ConfigurationLattice(one.scores, one.trans, one.patterns, own, one.allowed)
            found = configuration_posterior(lattice, one.patterns)
        _add(total, found, np.array([i]), np.arange(at.start, at.stop), one.entries)
    return total


def check_chain(potentials: Potentials) -> None:
    """RAISES ValueError [HS099]: pairs of labels have scores at each token, and there are label patterns, too."""
    if potentials.patterns is not None or potentials.configurations is not None:
        raise ValueError(Errors.HS099.format(decoder="label patterns"))


def _sum_edge_scores(potentials: Potentials, edge_scores: AnyFloats, allowed: Optional[Mask]) -> Posterior:
    check_chain(potentials)
    scores, trans, lengths = potentials[:3]
    chain: Union[ChainMarginals, LogMarginals]
    try:
        chain = ChainMarginals(scores, trans, lengths, allowed=allowed, edge_scores=edge_scores)
    except LostDigits:
        chain = LogMarginals(scores, trans, lengths, allowed=allowed, edge_scores=edge_scores)
    arcs = chain.every_arc()
    return Posterior(chain.log_z, chain.nodes, arcs.sum(axis=0), np.zeros(0), np.zeros(0), edge_scores=arcs)


def _split(potentials: Potentials, allowed: Optional[Mask], *, with_zero: bool) -> Tuple[Ints, Ints]:
    """Sequences in which configurations fire (those of weight 0 only if they count), and all others.

    With configurations the batch is checked here, before it is taken apart; without, where it is decoded.
    """
    every = np.arange(len(potentials.lengths))
    configurations = potentials.configurations
    if configurations is None or not len(configurations.first):
        return every[:0], every
    check_scores(potentials.scores, potentials.trans, allowed)
    check_lengths(potentials.lengths, len(potentials.scores))
    check_configurations(configurations, potentials.lengths, potentials.scores.shape[1])
    first = configurations.first if with_zero else configurations.first[configurations.weights != 0]
    spanned = np.unique(np.searchsorted(np.cumsum(potentials.lengths), first, side="right"))
    return spanned, np.setdiff1d(every, spanned, assume_unique=True)


def _spanned(
    potentials: Potentials, sequences: Ints, allowed: Optional[Mask]
) -> Iterator[Tuple[int, OneSequence, Configurations]]:
    """Sequences one by one, with their configurations."""
    for i in sequences.tolist():
        one = potentials.one(i, allowed)
        if one.configurations is not None:
            yield i, one, one.configurations


def _decode_contiguous(potentials: Potentials, allowed: Optional[Mask]) -> Labels:
    """Sequences without configurations; each by the signs of its own patterns, so that ties do not depend on others."""
    scores, trans, lengths, patterns = potentials[:4]
    if patterns is None:
        return pruned_labels(scores, trans, lengths, allowed=allowed, limits=potentials.limits)
    check_finite(patterns)
    if patterns.weights.min(initial=0.0) < 0:
        return decode_any_sign(scores, trans, patterns, lengths, allowed=allowed).labels
    if patterns.fired is None or patterns.fired.weights.min(initial=0.0) >= 0:
        return pruned_labels(scores, trans, lengths, patterns=patterns, allowed=allowed, limits=potentials.limits)
    negative = patterns.fired.tokens[patterns.fired.weights < 0]
    signed = np.unique(np.searchsorted(np.cumsum(lengths), negative, side="right"))
    labels = np.zeros(len(scores), np.int32)
    for sequences in (signed, np.setdiff1d(np.arange(len(lengths)), signed, assume_unique=True)):
        if len(sequences):
            chain, tokens, _ = potentials.chain_of(sequences)
            scores, trans, own_lengths, inside = chain[:4]
            mask = None if allowed is None else allowed[tokens]
            with _numbered(sequences):
                if sequences is signed and inside is not None:
                    labels[tokens] = decode_any_sign(scores, trans, inside, own_lengths, allowed=mask).labels
                else:
                    labels[tokens] = pruned_labels(
                        scores, trans, own_lengths, patterns=inside, allowed=mask, limits=potentials.limits
                    )
    return labels


def _sum_contiguous(potentials: Potentials, allowed: Optional[Mask]) -> Posterior:
    scores, trans, lengths, patterns = potentials[:4]
    if patterns is None:
        return forward_backward(scores, trans, lengths, allowed=allowed)
    if is_stable(trans, patterns):
        with suppress(LostDigits):
            return pattern_posterior(scores, trans, patterns, lengths, allowed=allowed)
    return any_sign_posterior(scores, trans, patterns, lengths, allowed=allowed)


def _add(total: Posterior, part: Posterior, sequences: Ints, tokens: Ints, entries: Tuple[Ints, Ints]) -> None:
    total.log_z[sequences] = part.log_z
    total.marginals[tokens] = part.marginals
    total.transitions[:] += part.transitions
    if len(total.node_counts):
        total.node_counts[:] += part.node_counts
    total.fired_counts[entries[0]] = part.fired_counts
    total.configuration_counts[entries[1]] = part.configuration_counts


@contextmanager
def _numbered(sequences: Ints) -> Iterator[None]:
    """Messages name a sequence by its number in the whole batch."""
    try:
        yield
    except NoPath as no_path:
        raise NoPath(int(sequences[no_path.sequence])) from None
