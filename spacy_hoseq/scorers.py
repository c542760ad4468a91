"""Scores of components, under spaCy's names (they follow the annotated attribute, not the component)."""

from typing import Any, Dict, Iterable

from spacy.scorer import Scorer
from spacy.tokens import Token
from spacy.training import Example


def _extension_value(token: Token, name: str) -> Any:
    return token.vocab.strings.add(getattr(token._, name) or "") if getattr(token._, name) else 0


def label_score(examples: Iterable[Example], *, attribute: str = "tag", **_: Any) -> Dict[str, Any]:
    """Accuracy of token labels as "{attribute}_acc": spaCy's `Scorer.score_token_attr` on the component's attribute."""
    if not attribute.startswith("_."):
        return dict(Scorer.score_token_attr(examples, attribute))
    return dict(Scorer.score_token_attr(examples, attribute[2:], getter=_extension_value))


def make_label_scorer() -> Any:
    """Registered as `spacy_hoseq.label_scorer.v1`."""
    return label_score
