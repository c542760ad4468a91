"""A batch to decode, in a form that the oracle can read: patterns as tuples of labels, not as a trie."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spacy_hoseq.chunks import read_chunks, write_chunks
from spacy_hoseq.decoders.problem import (
    Configurations,
    Fired,
    Paths,
    PatternTrie,
    Potentials,
    Weights,
)

Pattern = tuple[int, ...]
WeightedPattern = tuple[Pattern, float]
FiredPattern = tuple[int, Pattern, float]  # token of its last label, pattern, weight
# token of its first label, sets of labels, weight
Configuration = tuple[int, tuple[frozenset[int], ...], float]


class PatternScores(NamedTuple):
    """All label patterns of a case: the trie, the weight of each node, those that fire at positions."""

    trie: PatternTrie
    weights: NDArray[np.float64]
    fired: Fired | None = None


@dataclass(frozen=True)
class Case:
    """scores (N, L), trans (L, L), lengths (S,), allowed (N, L) or None. Patterns may be given more than once.

    edge_scores (N, L, L) or None: scores of label pairs at each token; those of first tokens count for nothing."""

    scores: NDArray[np.floating]
    trans: NDArray[np.floating]
    lengths: NDArray[np.int64]
    patterns: tuple[WeightedPattern, ...] = ()
    fired: tuple[FiredPattern, ...] = ()
    allowed: NDArray[np.bool_] | None = None
    configurations: tuple[Configuration, ...] = ()
    edge_scores: NDArray[np.floating] | None = None

    @property
    def n_labels(self) -> int:
        return self.scores.shape[1]

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths) - self.lengths

    def pattern_scores(self) -> PatternScores:
        """As the decoders want them."""
        everywhere, strings = [p for p, _ in self.patterns], [p for _, p, _ in self.fired]
        trie = PatternTrie(everywhere + strings, self.n_labels)
        weights = np.zeros(len(trie))
        for node, (_, weight) in zip(trie.node_of[: len(everywhere)], self.patterns, strict=True):
            weights[node] += weight
        if not self.fired:
            return PatternScores(trie, weights)
        tokens = np.array([token for token, _, _ in self.fired], np.intp)
        weights_fired = np.array([weight for _, _, weight in self.fired], float)
        fired = Fired(tokens, trie.node_of[len(everywhere) :], weights_fired)
        return PatternScores(trie, weights, fired)

    def label_sets(self) -> Configurations | None:
        """The configurations as the decoders want them."""
        if not self.configurations:
            return None
        every = [labels for _, sets, _ in self.configurations for labels in sets]
        distinct = sorted(set(every), key=sorted)
        table = np.array([[y in labels for y in range(self.n_labels)] for labels in distinct], bool)
        firsts, sets, weights = zip(*self.configurations, strict=True)
        return Configurations(
            np.array(firsts, np.intp),
            np.array([len(some) for some in sets], np.intp),
            np.array([distinct.index(labels) for labels in every], np.intp),
            table.reshape(len(distinct), self.n_labels),
            np.array(weights, float),
        )

    def potentials(self) -> Potentials:
        fired = self.pattern_scores().fired if self.fired else None
        spans, edges = self.label_sets(), self.edge_scores
        potentials = Potentials(self.scores, self.weights(), self.lengths, fired)
        return potentials._replace(configurations=spans, edge_scores=edges, allowed=self.allowed)

    def weights(self) -> Weights:
        """Transitions and, if there are patterns at all, their trie with the weights of its nodes."""
        if not (self.patterns or self.fired):
            return Weights(self.trans)
        scores = self.pattern_scores()
        return Weights(self.trans, scores.trie, scores.weights)

    def without_patterns(self) -> "Case":
        """A plain chain."""
        return replace(self, patterns=(), fired=(), configurations=())

    def doubles(self) -> "Case":
        edge_scores = None if self.edge_scores is None else self.edge_scores.astype(np.float64)
        scores, trans = self.scores.astype(np.float64), self.trans.astype(np.float64)
        return replace(self, scores=scores, trans=trans, edge_scores=edge_scores)

    def take(self, sequences: list[int]) -> "Case":
        """A batch of some of the sequences, in the given order. The trie stays the same: ties may depend on it."""
        ranges = [range(self.starts[i], self.starts[i] + self.lengths[i]) for i in sequences]
        tokens = np.array([token for r in ranges for token in r], np.intp)
        lengths = self.lengths[sequences]
        moved = np.cumsum(lengths) - lengths  # where each begins now
        fired = [
            (token - r.start + int(start), pattern, weight)
            for r, start in zip(ranges, moved, strict=True)
            for token, pattern, weight in self.fired
            if token in r
        ]
        configurations = [
            (first - r.start + int(start), sets, weight)
            for r, start in zip(ranges, moved, strict=True)
            for first, sets, weight in self.configurations
            if first in r
        ]
        return replace(
            self,
            scores=self.scores[tokens],
            lengths=lengths,
            patterns=self.patterns + tuple((pattern, 0.0) for _, pattern, _ in self.fired),
            fired=tuple(fired),
            allowed=None if self.allowed is None else self.allowed[tokens],
            configurations=tuple(configurations),
            edge_scores=None if self.edge_scores is None else self.edge_scores[tokens],
        )

    def singles(self) -> list["Case"]:
        return [self.take([i]) for i in range(len(self.lengths))]

    def parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values of tokens, by sequence."""
        return np.split(values, self.starts[1:])

    def results(self, paths: Paths) -> Iterator[tuple["Case", NDArray[np.integer], float]]:
        """Each sequence with its labels and its score."""
        return zip(self.singles(), self.parts(paths.labels), paths.scores, strict=True)

    def relabelled(self, new: NDArray[np.integer]) -> "Case":
        """Label y is called new[y]."""
        old = np.argsort(new)
        patterns = [(tuple(new[[*labels]].tolist()), weight) for labels, weight in self.patterns]
        fired = [(t, tuple(new[[*labels]].tolist()), weight) for t, labels, weight in self.fired]
        spans = []
        for first, sets, weight in self.configurations:
            sets = tuple(frozenset(int(new[y]) for y in labels) for labels in sets)
            spans.append((first, sets, weight))
        edges = None if self.edge_scores is None else self.edge_scores[:, old[:, None], old]
        allowed = None if self.allowed is None else self.allowed[:, old]
        features = tuple(patterns), tuple(fired), allowed, tuple(spans), edges
        return Case(self.scores[:, old], self.trans[np.ix_(old, old)], self.lengths, *features)

    def scaled(self, factor: float) -> "Case":
        """Weights of all higher-order features times `factor`."""
        return replace(
            self,
            patterns=tuple((pattern, factor * weight) for pattern, weight in self.patterns),
            fired=tuple((token, pattern, factor * weight) for token, pattern, weight in self.fired),
            configurations=tuple(
                (first, sets, factor * weight) for first, sets, weight in self.configurations
            ),
        )


def zero_case(*lengths: int, **fields: Any) -> Case:
    """Sequences of these lengths, of two labels, with all scores 0; fields: what is otherwise."""
    n_tokens = sum(lengths)
    case = Case(np.zeros((n_tokens, 2)), np.zeros((2, 2)), np.array(lengths, np.int64))
    return replace(case, **fields)


def same_paths(one: Paths, other: Paths) -> bool:
    """The same labels and scores, bit for bit."""
    is_same = one.labels.tolist() == other.labels.tolist()
    return is_same and one.scores.tolist() == other.scores.tolist()


def is_well_formed(tags: list[str], representation: str) -> bool:
    """Whether tags of chunks are what is written for the chunks that are read from them."""
    return write_chunks(read_chunks(tags), len(tags), representation) == tags
