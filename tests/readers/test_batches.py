"""`spacy_hoseq.batch_by_share.v1`: how many batches, of what, and what `spacy train` evaluates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.readers.batches import batch_by_share, shares, windows

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=60)


class Sized:
    """An example of so many words: batchers look at nothing else."""

    def __init__(self, n_words):
        self.n_words = n_words

    def __len__(self):
        return self.n_words


def examples_of(lengths):
    return [Sized(n) for n in lengths]


def in_order(batches, examples):
    """Whether batches are the examples end to end, as often as it takes."""
    flat = [example for batch in batches for example in batch]
    times = len(flat) // len(examples)
    pairs = zip(flat, examples * times, strict=True)
    return len(flat) % len(examples) == 0 and all(a is b for a, b in pairs)


@given(LENGTHS, st.integers(1, 40), st.integers(1, 200), st.booleans())
def test_epochs(lengths, n_batches, max_words, streams):
    """A multiple of n_batches, in the first epoch one more; no batch is empty; nothing is lost."""
    examples, batcher = examples_of(lengths), batch_by_share(n_batches, max_words)
    for epoch in range(3):
        batches = list(batcher(iter(examples) if streams else examples))
        assert len(batches) % n_batches == (epoch == 0 and n_batches > 1) and all(batches)
        if len(batches) <= n_batches + 1:
            assert in_order(batches, examples)
        assert {id(example) for batch in batches for example in batch} == set(map(id, examples))


@given(LENGTHS, st.integers(1, 40))
def test_shares(lengths, n):
    """Contiguous, complete, and balanced to within a word of the longest example where there are enough of them."""
    examples = examples_of(lengths)
    parts = shares(examples, n)
    assert len(parts) == n and all(parts) and in_order(parts, examples)
    if len(examples) < n:
        assert sum(map(len, parts)) < n + len(examples)
    elif min(lengths) == max(lengths) > 0:
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1
    else:
        share, longest = sum(lengths) / n, max(lengths)
        sizes = [sum(map(len, part)) for part in parts]
        pairs = zip(sizes, parts, strict=True)
        forced = [size for size, part in pairs if len(part) > 1 and size > share + longest]
        # too many words only where others must have one at least
        assert not forced or min(map(len, parts)) == 1


@given(
    st.lists(st.integers(1, 9), min_size=80, max_size=160), st.integers(1, 4), st.integers(15, 30)
)
def test_words_of_a_batch(lengths, n_batches, max_words):
    """About max_words at most, in a corpus with more."""
    batches = list(batch_by_share(n_batches, max_words)(examples_of(lengths)))
    assert max(sum(map(len, batch)) for batch in batches) <= max_words + 2 * 9
    assert len(batches) <= 2 * (sum(lengths) / max_words + n_batches)


@given(st.lists(st.integers(1, 9), min_size=50, max_size=120), st.integers(15, 50))
def test_windows(lengths, max_words):
    """All but the last two have max_words words, to within an example."""
    sizes = [sum(map(len, window)) for window in windows(examples_of(lengths), max_words)]
    assert sum(sizes) == sum(lengths)
    assert all(abs(size - max_words) <= 9 for size in sizes[:-2])


def test_streams_are_not_held_in_memory():
    """At most twice the words between two evaluations."""
    read = 0

    def stream():
        nonlocal read
        for _ in range(10_000):
            read += 1
            yield Sized(10)

    batches = batch_by_share(5, 20)(stream())
    for n_batches in range(1, 100):
        next(batches)
        assert 10 * read <= 10 * (n_batches // 5 * 10) + 2 * 5 * 20 + 10


@pytest.mark.parametrize("n_documents", [1, 3, 7, 40])
@pytest.mark.parametrize("epochs, steps", [(3, 0), (0, 24)])
def test_the_last_update_is_evaluated(n_documents, epochs, steps):
    """As `spacy train` counts: after updates 1, f + 1, 2 f + 1, ..., until an epoch or `max_steps` is reached."""
    frequency = 6
    batcher, step, seen = batch_by_share(frequency, 1000), -1, []
    examples, epoch = examples_of([4] * n_documents), 0
    while not epochs or epoch < epochs:
        for _ in batcher(examples):
            step += 1
            seen += [step] if step % frequency == 0 else []
            if steps and step >= steps:
                epochs = -1
                break
        epoch += 1
        if epochs < 0:
            break
    assert seen[-1] == step and len(seen) == (4 if steps == 0 else 5)


@pytest.mark.parametrize("settings", [{"n_batches": 0}, {"max_words": 0}, {"n_batches": 10**12}])
def test_impossible_settings(settings):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong n_batches or max_words: \(.*0"):
        batch_by_share(**settings)
