"""A page for text that one types, from a small server (`python -m spacy hoseq serve`; extra `ui`)."""

from ...front_door import names_of

HOMES = {"application": "application", "listening": "server", "serve": "server"}
__all__ = sorted(HOMES)
__getattr__ = names_of(__name__, HOMES)
