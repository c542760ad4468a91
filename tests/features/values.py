"""Attributes of words, one at a time."""

from spacy_hoseq.features.attributes import as_keys, lexical_attribute


def value_of(name, lexeme):
    """As a number, 0 = no value."""
    return as_keys([lexical_attribute(name).value(lexeme)]).tolist()[0]
