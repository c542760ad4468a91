"""Chunks that a chunker reads: of the best labelling, or right in expectation."""
