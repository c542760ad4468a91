"""Words that are labelled differently in the same context (Dickinson & Meurers 2003, variation
n-grams).

The context is one word on either side: in it a word rarely has two labels, so one of them is likely
wrong.
"""

from collections import Counter
from typing import Dict, List, Sequence, Tuple

import numpy as np

from ..arrays import Ints
from ..inspection import Reading

EDGE = 0  # stands before the first and after the last word of a sequence
Context = Tuple[int, int, int]


def variants(parts: Sequence[Tuple[Reading, Ints]]) -> List[List[Dict[str, int]]]:
    """How often each word has each label in its context, if it has several there; else nothing.

    parts: of a corpus, with gold label ids (N,), -1 = not known. RETURNS for each part a dictionary
        a word.
    """
    contexts = [contexts_of(reading) for reading, _ in parts]
    counts: Dict[Context, Counter[str]] = {}
    for of_part, (reading, gold) in zip(contexts, parts, strict=True):
        for context, label in zip(of_part, gold.tolist(), strict=True):
            if label >= 0:
                counts.setdefault(context, Counter())[reading.labels[label]] += 1
    several = {
        context: dict(count.most_common()) for context, count in counts.items() if len(count) > 1
    }
    return [[several.get(context, {}) for context in of_part] for of_part in contexts]


def contexts_of(reading: Reading) -> List[Context]:
    """The word before, the word and the word after, for all words."""
    orths, _ = reading.docs.words_and_lengths
    before = np.roll(orths, 1)
    after = np.roll(orths, -1)
    before[reading.ends - reading.lengths] = EDGE
    after[reading.ends - 1] = EDGE
    return list(zip(before.tolist(), orths.tolist(), after.tolist(), strict=True))
