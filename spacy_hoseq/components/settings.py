"""Settings that are objects made by registered functions; spaCy does not check what such a function returns."""

from typing import Any

from ..decoders.choice import Decoder
from ..errors import Errors
from ..learning.parameter import UpdateRule


def check_settings(decoder: Any, update_rule: Any) -> None:
    """RAISES ValueError [HS067]: a setting is not what it must be."""
    _check("decoder", decoder, Decoder, "spacy_hoseq.exact_decoder.v1")
    check_update_rule(update_rule)


def check_update_rule(update_rule: Any) -> None:
    """RAISES ValueError [HS067]."""
    _check("update_rule", update_rule, UpdateRule, "spacy_hoseq.adagrad.v1")


def _check(name: str, value: Any, kind: type, example: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(Errors.HS067.format(name=name, value=repr(value), kind=kind.__name__, example=example))
