"""Attributes that a token has by its place in a text, for whole batches: where known words lie."""
