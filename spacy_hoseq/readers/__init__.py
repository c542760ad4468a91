"""Corpora in formats that spaCy does not read, as registered readers."""
