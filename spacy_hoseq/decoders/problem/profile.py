"""What is known of a batch before anything runs: by it the algorithm is chosen."""

from typing import NamedTuple

from .potentials import Potentials


class Profile(NamedTuple):
    """n_tokens, n_labels: of the batch. longest: tokens of its longest sequence. permits_all: no
    transition is forbidden. has_patterns: of the weights, and has_negative: one of them, everywhere
    or where it fires, has a negative weight. has_fired: patterns at given positions.
    has_configurations, has_edge_scores: of label pairs."""

    n_tokens: int
    n_labels: int
    longest: int
    permits_all: bool
    has_patterns: bool
    has_negative: bool
    has_fired: bool
    has_configurations: bool
    has_edge_scores: bool

    @classmethod
    def of(cls, potentials: Potentials) -> "Profile":
        n_tokens, n_labels = potentials.scores.shape
        weights = potentials.weights
        fired = potentials.fired
        configurations = potentials.configurations
        return cls(
            n_tokens,
            n_labels,
            max(potentials.lengths.tolist(), default=0),
            weights.permit_all,
            weights.has_patterns,
            weights.some_are_negative or (fired is not None and fired.weights.min(initial=0.0) < 0),
            fired is not None,
            configurations is not None and len(configurations.first) > 0,
            potentials.edge_scores is not None,
        )

    @property
    def is_plain(self) -> bool:
        """Whether exact pruning takes it: nothing but scores, transitions, and patterns whose
        weights are not negative."""
        return not (self.has_negative or self.has_configurations or self.has_edge_scores)

    @property
    def is_chain(self) -> bool:
        """Whether no feature looks at more than two neighbouring labels."""
        return not self.has_patterns and not self.has_configurations
