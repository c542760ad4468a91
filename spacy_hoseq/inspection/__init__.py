"""What a trained pipeline can say of its decisions: how sure it is, why, and what its weights are.

reading     texts as one component sees them: what is decoded, p(y | x), the best labelling with each label
certainty   entropies, margins, probabilities of tokens and sentences;  spans: of chunks, in four meanings
extensions  the same on `doc._`, `span._` and `token._`
explanation why a label, and not another one;  chunk_explanation: why a chunk;  decision_explanation: why a decision
features    what emissions are made of, by name;  alternatives: what would be without something
calibration one temperature, at which probabilities are calibrated;  measures: whether they are
conformal   sets that hold the right answer with a promised probability
weights     what a model has learnt;  accounts: all decisions of a text
"""

from ..lazy_names import lazy_names

HOMES = {
    "Conformal": "conformal",
    "Explanation": "explanation",
    "Feature": "features",
    "Term": "explanation",
    "explain": "explanation",
    "explain_decision": "decision_explanation",
    "explain_span": "chunk_explanation",
    "Calibration": "calibration",
    "Certainty": "certainty",
    "Quality": "measures",
    "Reading": "reading",
    "Reliability": "measures",
    "SentenceCertainty": "certainty",
    "SpanCertainty": "spans",
    "TokenCertainty": "extensions",
    "calibratable": "calibration",
    "calibrate": "calibration",
    "certainties": "certainty",
    "how_sure": "extensions",
    "prediction_sets": "conformal",
    "quality": "measures",
    "reliability": "measures",
    "span_certainties": "spans",
}
__all__ = sorted(HOMES)
__getattr__ = lazy_names(__name__, HOMES)
