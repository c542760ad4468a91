"""The formats of corpora, a file each."""
