"""What is known of a batch before anything runs: by it the algorithm is chosen."""

from typing import NamedTuple

from ..problem import Potentials


class Profile(NamedTuple):
    """n_tokens, n_labels: of the batch. longest: tokens of its longest sequence. has_patterns: of the weights.
    has_configurations: at least one. has_edge_scores: of label pairs at each token. permits_all: no transition is
    forbidden."""

    n_tokens: int
    n_labels: int
    longest: int
    has_patterns: bool
    has_configurations: bool
    has_edge_scores: bool
    permits_all: bool

    @classmethod
    def of(cls, potentials: Potentials) -> "Profile":
        n_tokens, n_labels = potentials.scores.shape
        weights = potentials.weights
        configurations = potentials.configurations
        return cls(
            n_tokens,
            n_labels,
            max(potentials.lengths.tolist(), default=0),
            weights.has_patterns,
            configurations is not None and len(configurations.first) > 0,
            potentials.edge_scores is not None,
            weights.permit_all,
        )

    @property
    def is_chain(self) -> bool:
        """Whether no feature looks at more than two neighbouring labels."""
        return not self.has_patterns and not self.has_configurations
