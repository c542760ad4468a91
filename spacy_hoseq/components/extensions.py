"""Extensions of Docs for what components keep beside labels, registered when this is imported."""

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
SETTINGS = {MARGINALS: "save_marginals", DECISIONS: "save_decisions"}


def values_on(doc: Doc, extension: str) -> dict[str, Any] | None:
    """Values of all components that keep some, by name; None: none does."""
    return doc.user_data.get(_key(extension))


def write_marginals(doc: Doc, name: str, labels: Sequence[str], probabilities: Floats32) -> None:
    """Keep the marginals of the component `name` on the Doc, beside those of others."""
    _keep(doc, MARGINALS, name, {"labels": list(labels), "probabilities": probabilities})


def write_decisions(
    doc: Doc, name: str, labels: list[str], order: NDArray[np.int32], probabilities: Floats32
) -> None:
    """Keep on the Doc the label of each token, when it was decided (1 = first of its sentence, 0 =
    never: white space), and how probable it was then."""
    _keep(doc, DECISIONS, name, {"labels": labels, "order": order, "probabilities": probabilities})


def write_confidences(doc: Doc, probabilities: Floats32) -> None:
    """Keep the probability of each token's label beside the token's place in the text, which finds
    the token again after another component has merged or split others."""
    doc.user_data[CONFIDENCES] = (doc.to_array([IDX, LENGTH]).tolist(), probabilities.tolist())


def _keep(doc: Doc, extension: str, name: str, values: dict[str, object]) -> None:
    doc.user_data[_key(extension)] = {**(values_on(doc, extension) or {}), name: values}


def _key(extension: str) -> Any:
    """Key of `doc.user_data` under which spaCy keeps and saves an extension."""
    return ("._.", extension, None, None)


def _get(doc: Doc, extension: str) -> dict[str, Any] | None:
    """WARNS [HW007]: no component keeps them."""
    values = values_on(doc, extension)
    if values is None:
        message = Warnings.HW007.format(name=extension, setting=SETTINGS[extension])
        warnings.warn(message, stacklevel=3)
    return values


def _set(doc: Doc, values: dict[str, Any], extension: str) -> None:
    doc.user_data[_key(extension)] = values


# they belong to the process: one that reads Docs of another needs them, too
for _extension in SETTINGS:
    Doc.set_extension(
        _extension,
        getter=partial(_get, extension=_extension),
        setter=partial(_set, extension=_extension),
        force=True,
    )
