"""Docs of spaCy (`DocBin`): a file is a part of a job."""

from ..source import InputFormat

FORMAT = InputFormat([".spacy"], None)
