"""Decoders to compare with: Algorithm 1 as printed, dual decomposition, beam search."""
