"""Higher-order features with gaps, and a corpus that only these can learn."""

from .helpers import FREQUENT

PAIRS = {
    "@misc": "spacy_hoseq.same_word_pairs.v1",
    "label_sets": [["N", "V"], ["D"]],
    "token": {},
    "max_distance": 6,
}
GAPS = {
    "@misc": "spacy_hoseq.rule_patterns.v1",
    "rules": [
        {
            "name": "the-dot",
            "tokens": [{"LOWER": "the"}, {"OP": "*"}, {"LOWER": "."}],
            "labels": ["D", "*", "."],
        },
        {
            "name": "old",
            "tokens": [{"LOWER": "old"}, {}, {}],
            "labels": [["A", "N"], "*", "?y"],
            "tied": False,
        },
    ],
}
SPANS = {
    "@misc": "spacy_hoseq.pattern_sources.v1",
    "*": {"frequent": FREQUENT, "gaps": GAPS, "pairs": PAIRS},
}
