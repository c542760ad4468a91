"""Services: threads and tasks that share a pipeline give its labels; memory stays level however many new words come."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import spacy_hoseq


@pytest.fixture(scope="module")
def nlp():
    return spacy_hoseq.load("en")


def text_of(i):
    """A text with three words that no other text has."""
    return f"The wumpus{i} glorfed{i} in Blorvania{i} again."


def labels_of(doc):
    return [(t.text, t.tag_, t.pos_, t.lemma_) for t in doc], [str(s) for s in doc.spans["chunks"]]


TEXTS = [text_of(i % 90) for i in range(120)]


def by_threads(nlp):
    with ThreadPoolExecutor(8) as pool:
        return [labels_of(doc) for doc in pool.map(nlp, TEXTS)]


def by_pipes_in_threads(nlp):
    with ThreadPoolExecutor(8) as pool:
        parts = pool.map(lambda k: list(map(labels_of, nlp.pipe(TEXTS[k::8]))), range(8))
        found = [None] * len(TEXTS)
        for k, part in enumerate(parts):
            found[k::8] = part
        return found


def by_tasks(nlp):
    async def tagged():
        waiting = [asyncio.to_thread(nlp, text) for text in TEXTS]
        return await asyncio.gather(*waiting)

    return list(map(labels_of, asyncio.run(tagged())))


@pytest.mark.parametrize("run", [by_threads, by_pipes_in_threads, by_tasks])
def test_many_at_once(nlp, run):
    expected = [labels_of(doc) for doc in nlp.pipe(TEXTS)]
    assert run(spacy_hoseq.load("en")) == expected, "a pipeline that has seen none of the words"
    assert run(nlp) == expected


def resident():
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.slow
def test_a_hundred_thousand_texts_of_new_words(nlp):
    """In zones of 500 texts. The second half needs no more than the first one did, but for noise and spaCy's own
    tables of strings, which grow by some 10 MB (a blank pipeline does as much)."""
    sizes = []
    for start in range(0, 100_000, 500):
        with nlp.memory_zone():
            for _ in nlp.pipe(map(text_of, range(start, start + 500))):
                pass
        sizes.append(resident())
    assert threading.active_count() < 20
    first, second = np.array_split(sizes[20:], 2)
    assert second.max() < 1.02 * first.max() + 20e6, sizes[::10]
