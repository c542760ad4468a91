"""Docs of spaCy (`DocBin`), with all annotation."""

from typing import Any, Dict, Sequence

from spacy.tokens import Doc, DocBin

from ..output import OutputFormat


class DocsFile:
    """A .spacy file; `doc.user_data["id"]` is the id."""

    def __init__(self) -> None:
        self._docs = DocBin(store_user_data=True)

    def add(self, ids: Sequence[str], docs: Sequence[Doc]) -> None:
        """Docs may be forgotten behind it."""
        for name, doc in zip(ids, docs, strict=True):
            data: Dict[Any, object] = doc.user_data
            data["id"] = name
            self._docs.add(doc)

    def data(self) -> bytes:
        return self._docs.to_bytes()


FORMAT = OutputFormat(docs=DocsFile, is_stream=False)
