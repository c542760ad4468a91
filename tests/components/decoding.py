"""Higher-order features with gaps, and a corpus that only these can learn."""

from .helpers import FREQUENT, sparse, tagger_model

PAIRS = {"@misc": "spacy_hoseq.same_word_pairs.v1", "label_sets": [["N", "V"], ["D"]], "token": {}, "max_distance": 6}
GAPS = {
    "@misc": "spacy_hoseq.rule_patterns.v1",
    "rules": [
        {"name": "the-dot", "tokens": [{"LOWER": "the"}, {"OP": "*"}, {"LOWER": "."}], "labels": ["D", "*", "."]},
        {"name": "old", "tokens": [{"LOWER": "old"}, {}, {}], "labels": [["A", "N"], "*", "?y"], "tied": False},
    ],
}
SPANS = {"@misc": "spacy_hoseq.pattern_sources.v1", "*": {"frequent": FREQUENT, "gaps": GAPS, "pairs": PAIRS}}

# The second mention of a name has the label of the first, which the word before it tells.
SKIP_PAIRS = {
    "@misc": "spacy_hoseq.same_word_pairs.v1",
    "label_sets": [["P"], ["L"]],
    "token": {"IS_TITLE": True},
    "max_distance": 5,
}
SKIP_RULE = {
    "@misc": "spacy_hoseq.rule_patterns.v1",
    "rules": [
        {
            "name": "skip",
            "tokens": [{"IS_TITLE": True}, {"IS_LOWER": True, "OP": "+"}, {"IS_TITLE": True}],
            "labels": ["?y", "*", "?y"],
        }
    ],
}
SKIP_CORPUS = [
    ("mr Ford met Ford", "O P O P"),
    ("in Ford met Ford", "O L O L"),
    ("mr Lund and then met Lund", "O P O O O P"),
    ("in Lund and then met Lund", "O L O O O L"),
]


def skip_settings(patterns, **settings):
    """A tagger whose other features are the same for both labels of the second mention."""
    return {"model": tagger_model(sparse(["lower[0]", "lower[-1]"]), patterns), **settings}
