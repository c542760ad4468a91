"""Scores of labels at tokens: sparse linear, neural, sums of both."""
