"""Errors of annotation, and texts to annotate next: exact probabilities of gold annotation
and of texts.

findings     probabilities of gold labels and spans, likely errors with alternatives, and what becomes of them
folds        models that have not seen a text
selection    texts, and words in them, of which a model is least sure
"""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Alternative": "findings",
        "Doubts": "selection",
        "Finding": "findings",
        "Judgement": "findings",
        "corrected": "findings",
        "doubtful_tokens": "selection",
        "doubts_of": "selection",
        "find_errors": "findings",
        "judge": "findings",
        "judged": "findings",
        "ranked": "findings",
        "select": "selection",
        "trained_without": "folds",
    },
)
