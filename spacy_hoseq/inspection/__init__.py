"""Decisions of a trained pipeline: how sure it is, why, and what its weights are.

reading     texts as one component sees them: what is decoded, p(y | x), the best labelling with each label
certainty   entropies, margins, probabilities of tokens and sentences and chunks, also on `doc._`
explanation why a label, a chunk or a decision, and not what comes next
calibration one temperature, at which probabilities are calibrated, and whether they are
conformal   sets that hold the right answer with a promised probability
weights     what a model has learnt
"""

from ..lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Calibration": "calibration",
        "Certainty": "certainty",
        "Explanation": "explanation",
        "Quality": "calibration",
        "Reading": "reading",
        "Reliability": "calibration",
        "SentenceCertainty": "certainty",
        "SpanCertainty": "certainty",
        "Term": "explanation",
        "TokenCertainty": "certainty",
        "calibratable": "calibration",
        "calibrate": "calibration",
        "certainties": "certainty",
        "explain": "explanation",
        "explain_span": "explanation",
        "explanations": "explanation",
        "fit_prediction_sets": "conformal",
        "how_sure": "certainty",
        "prediction_sets": "conformal",
        "quality": "calibration",
        "quality_of": "calibration",
        "reliability": "calibration",
        "span_certainties": "certainty",
    },
)
