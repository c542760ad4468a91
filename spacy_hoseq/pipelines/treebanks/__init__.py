"""A whole pipeline from one treebank of Universal Dependencies: its parts, the steps, and the
card."""
