"""Extensions of Docs for what components save beside labels, registered when this is imported."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc

from ..arrays import Floats32
from ..errors import Warnings

# {component name: {"labels": [...], "probabilities": (n, L) float32}}, rows of white space are 0
MARGINALS = "hoseq_marginals"
# {component name: {"labels": [...], "order": (n,) int32, "probabilities": (n,) float32}}
DECISIONS = "hoseq_decisions"
# key of `doc.user_data`: ([(first character, characters) of each token], [probability of its label])
CONFIDENCES = "hoseq_probabilities"


def values_on(doc: Doc, extension: str) -> dict[str, Any] | None:
    """What an extension has of each component, by name; None = no component saves any."""
    return doc.user_data.get(_key(extension))


def write_marginals(doc: Doc, name: str, labels: Sequence[str], probabilities: Floats32) -> None:
    """Save the marginals of the component `name` on the Doc, beside those of others."""
    _save(doc, MARGINALS, name, {"labels": list(labels), "probabilities": probabilities})


def write_decisions(
    doc: Doc, name: str, labels: list[str], order: NDArray[np.int32], probabilities: Floats32
) -> None:
    """Save on the Doc the label of each token, when it was decided (1 = first of its sentence, 0 =
    never: white space), and how probable it was then."""
    _save(doc, DECISIONS, name, {"labels": labels, "order": order, "probabilities": probabilities})


def write_confidences(doc: Doc, probabilities: Floats32) -> None:
    """Save the probability of each token's label with the token's characters in the text, by which
    it is found again after another component has merged or split tokens."""
    doc.user_data[CONFIDENCES] = (doc.to_array([IDX, LENGTH]).tolist(), probabilities.tolist())


def _save(doc: Doc, extension: str, name: str, values: dict[str, object]) -> None:
    # a new dict: copies of the Doc share the old one
    doc.user_data[_key(extension)] = {**(values_on(doc, extension) or {}), name: values}


def _key(extension: str) -> Any:
    """The key of `doc.user_data` under which spaCy saves an extension."""
    return ("._.", extension, None, None)


def _get(doc: Doc, extension: str, setting: str) -> dict[str, Any] | None:
    """WARNS [HW007]: no component saves any. setting: the one that it needs for that."""
    values = values_on(doc, extension)
    if values is None:
        message = Warnings.HW007.format(name=extension, setting=setting)
        warnings.warn(message, stacklevel=3)
    return values


def _set(doc: Doc, values: dict[str, Any], extension: str) -> None:
    doc.user_data[_key(extension)] = values


# extensions belong to the process: one that reads Docs of another needs them, too
for _extension, _setting in ((MARGINALS, "save_marginals"), (DECISIONS, "save_decisions")):
    Doc.set_extension(
        _extension,
        getter=partial(_get, extension=_extension, setting=_setting),
        setter=partial(_set, extension=_extension),
        force=True,
    )
