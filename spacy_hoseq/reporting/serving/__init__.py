"""A page for text that one types, from a small server (`python -m spacy hoseq serve`; extra
`ui`)."""

from ...lazy_names import lazy_names

HOMES = {"application": "application", "listening": "server", "serve": "server"}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
