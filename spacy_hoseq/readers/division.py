"""One corpus divided into parts for training, development and test."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from spacy.tokens import Doc

from ..errors import wrong_value


def divided(docs: Sequence[Doc], shares: Mapping[str, float], seed: int) -> dict[str, list[Doc]]:
    """The Docs of each part, in their order; what no share has is "train".

    Docs of the same text go together. The Docs are dealt out by their rarest label, so that the
    labels are spread.

    shares: of the Docs, by the names of the other parts. RAISES ValueError [HS027]: shares of 1 or
    more together, or fewer texts than parts.
    """
    parts = {"train": 1 - sum(shares.values()), **shares}
    texts: dict[str, list[int]] = {}
    for i, doc in enumerate(docs):
        texts.setdefault(" ".join(doc.text.lower().split()), []).append(i)
    if min(parts.values()) <= 0 or len(texts) < len(parts):
        expected = (
            f"less than 1 together, and at least a text for each part; there are {len(texts):,}"
        )
        raise wrong_value("shares of dev and test", dict(shares), expected)
    groups = list(texts.values())
    counts = Counter(label for group in groups for label in labels_of(docs[group[0]]))
    Random(seed).shuffle(groups)
    groups.sort(key=lambda group: _rarest(docs[group[0]], counts))
    numbers: dict[str, list[int]] = {name: [] for name in parts}
    n_dealt = 0
    for group in groups:
        n_dealt += len(group)
        # the part that is furthest behind its share
        name = max(parts, key=lambda part: parts[part] * n_dealt - len(numbers[part]))
        numbers[name] += group
    for name in shares:
        if not numbers[name]:
            # too few texts for the share: one at least
            text = next(group for group in groups if group[0] in numbers["train"])
            numbers[name] = text
            numbers["train"] = [i for i in numbers["train"] if i not in text]
    return {name: [docs[i] for i in sorted(numbers[name])] for name in parts}


def labels_of(doc: Doc) -> set[str]:
    """The labels of a Doc: of its spans, or of its words if it has no spans."""
    spans = [*doc.ents, *(span for group in doc.spans.values() for span in group)]
    return {span.label_ for span in spans} or {token.tag_ for token in doc}


def _rarest(doc: Doc, counts: Counter[str]) -> tuple[int, str]:
    """How often the rarest label of a Doc is in the corpus, and its name."""
    return min((counts[label], label) for label in labels_of(doc))
