"""Local classifiers of the bidirectional tagger, and their training."""
