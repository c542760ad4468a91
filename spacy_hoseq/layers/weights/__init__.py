"""Weights of a layer: shim, sums of rows, what is stored."""
