"""Higher-order features with gaps, and a corpus that only these can learn."""

from ..builders import misc, sources
from .helpers import FREQUENT

PAIRS = misc("same_word_pairs", label_sets=[["N", "V"], ["D"]], token={}, max_distance=6)
TOKENS = [{"LOWER": "the"}, {"OP": "*"}, {"LOWER": "."}]
THE_DOT = {"name": "the-dot", "tokens": TOKENS, "labels": ["D", "*", "."]}
OLD = {"name": "old", "labels": [["A", "N"], "*", "?y"], "tied": False}
GAPS = misc("rule_patterns", rules=[THE_DOT, {**OLD, "tokens": [{"LOWER": "old"}, {}, {}]}])
SPANS = sources(frequent=FREQUENT, gaps=GAPS, pairs=PAIRS)
