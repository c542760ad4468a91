"""Batches that follow the size of the corpus: every epoch has the same number of updates, or a
multiple of it.

How many updates a training needs depends little on the size of its corpus, and `spacy train` counts
in updates: it evaluates after updates 1, f + 1, 2 f + 1, ... (f = `eval_frequency`). With batches
of so many words, a small corpus is through before the second evaluation, and the last updates are
seen by none.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from spacy.training import Example

from ..errors import wrong_value


def batch_by_share(
    n_batches: int = 100, max_words: int = 2000
) -> Callable[[Iterable[Example]], Iterator]:
    """A batcher that cuts each epoch into n_batches batches of about the same number of words, in
    the order of the examples. With eval_frequency = n_batches, the end of every epoch is evaluated:
    the first epoch has one batch more.

    n_batches (int): batches in an epoch. Fewer examples than that are repeated.
    max_words (int): about the most words in a batch: an epoch of more than n_batches * max_words
    words has a multiple of n_batches batches, and as many evaluations. A corpus that streams has
    twice as many words in memory.
    RAISES ValueError [HS027].
    """
    # an epoch has all its batches in memory
    if not 1 <= n_batches <= 1_000_000 or max_words < 1:
        raise wrong_value(
            "n_batches or max_words", (n_batches, max_words), "1 or more, batches up to a million"
        )
    first_epoch = [1]  # the batch that spaCy evaluates at once

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        for window in windows(examples, n_batches * max_words):
            n = n_batches
            if first_epoch:
                n += first_epoch.pop()
            yield from shares(window, n)

    return batches


def windows(examples: Iterable[Example], max_words: int) -> Iterator[list[Example]]:
    """Examples in order, in windows of about max_words words at most, and half of that at least."""
    window = []
    n_words = 0
    for example in examples:
        window.append(example)
        n_words += len(example)
        if n_words > 2 * max_words and len(window) > 1:
            # the second half waits for what follows, so that no window is small
            full, window = shares(window, 2)
            yield full
            n_words = sum(map(len, window))
    # the last examples: up to two windows
    if n_words > max_words and len(window) > 1:
        yield from shares(window, 2)
    elif window:
        yield window


def shares(examples: list[Example], n: int) -> list[list[Example]]:
    """Cuts examples into n parts of about the same number of words, none empty. Fewer examples than
    parts are repeated."""
    examples = examples * -(-n // len(examples))
    words = np.asarray([len(example) for example in examples])
    # an example is in the part that has its middle
    middles = np.cumsum(words) - words / 2
    i = np.arange(1, n)
    starts = np.searchsorted(middles, words.sum() * i / n)  # (n - 1,) of all parts but the first
    # a part has an example at least
    starts = i + np.clip(np.maximum.accumulate(starts - i), 0, len(examples) - n)
    bounds = [0, *starts.tolist(), len(examples)]
    return [examples[start:end] for start, end in zip(bounds[:-1], bounds[1:], strict=True)]
