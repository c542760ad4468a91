"""What is wrong with annotation, and what to annotate next: exact probabilities of gold annotation
and of texts.

judgement    probabilities of gold labels and spans, alone and given the labels around;  folds: by unseeing models
findings     likely errors, ranked, with alternatives, and what becomes of those that are accepted
selection    texts, and words in them, of which a model is least sure
"""

from ..lazy_names import lazy_names

HOMES = {
    "Alternative": "findings",
    "Doubts": "selection",
    "Finding": "findings",
    "Judged": "findings",
    "Judgement": "judgement",
    "corrected": "findings",
    "doubtful_tokens": "selection",
    "doubts_of": "selection",
    "find_errors": "findings",
    "judge": "judgement",
    "judged": "judgement",
    "ranked": "findings",
    "select": "selection",
    "trained_without": "folds",
}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
