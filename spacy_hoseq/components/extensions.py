"""Extensions of Docs for what components keep beside labels, that are registered when this is
imported."""

from typing import Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Floats32

# Doc extension: {component name: {"labels": [...], "probabilities": (n, L) float32}}
MARGINALS = "hoseq_marginals"
# (rows of white-space tokens are 0)
# {component name: {"labels": [...], "order": (n,) int32, "probabilities": (n,) float32}}
DECISIONS = "hoseq_decisions"

# they belong to the process: one that reads Docs of another needs them, too
for extension in (MARGINALS, DECISIONS):
    if not Doc.has_extension(extension):
        Doc.set_extension(extension, default=None)


def write_marginals(doc: Doc, name: str, labels: Sequence[str], probabilities: Floats32) -> None:
    """Keep the marginals of the component `name` on the Doc, beside those of others."""
    _keep(doc, MARGINALS, name, {"labels": list(labels), "probabilities": probabilities})


def write_decisions(
    doc: Doc, name: str, labels: List[str], order: NDArray[np.int32], probabilities: Floats32
) -> None:
    """Keep on the Doc the label of each token, when it was decided (1 = first of its sentence, 0 =
    never: white space), and how probable it was then."""
    _keep(doc, DECISIONS, name, {"labels": labels, "order": order, "probabilities": probabilities})


def _keep(doc: Doc, extension: str, name: str, kept: Dict[str, object]) -> None:
    doc._.set(extension, {**(doc._.get(extension) or {}), name: kept})
