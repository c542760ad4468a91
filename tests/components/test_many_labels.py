"""Five thousand labels: a component begins to learn within 20 seconds of one processor, and in 2 GB."""

import subprocess
import sys

import numpy as np
import pytest

from spacy_hoseq.learning import parameter

from .helpers import blank, examples_of, tagger_of

N_LABELS = 5000
TRAIN = f"""
import sys
import time
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from benchmarks.machine import peak_bytes

start = time.process_time()
nlp = spacy.blank("xx")
nlp.add_pipe("hoseq_tagger", config={{"objective": sys.argv[1]}})
examples = []
for first in range(0, {N_LABELS}, 25):
    words = [f"w{{i % 1500}}" for i in range(first, first + 25)]
    tags = [f"L{{i}}" for i in range(first, first + 25)]
    examples.append(Example.from_dict(Doc(nlp.vocab, words=words), {{"tags": tags}}))
nlp.initialize(lambda: examples)
nlp.update(examples[:8])
assert len(nlp.get_pipe("hoseq_tagger").labels) == {N_LABELS}
print(time.process_time() - start, peak_bytes() / 1e9)
"""


@pytest.mark.long
@pytest.mark.parametrize("objective", ["max_margin", "perceptron", "log_likelihood"])
def test_time_and_memory_to_the_first_update(objective):
    command = [sys.executable, "-c", TRAIN, objective]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, gigabytes = map(float, result.stdout.split())
    assert seconds < 20 and gigabytes < 2


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_weights_are_updated_in_blocks(objective, monkeypatch):
    """Some rows of transitions at a time, with the same result."""

    def transitions():
        nlp = blank(objective)
        examples = examples_of(nlp)
        nlp.initialize(lambda: examples)
        for _ in range(3):
            nlp.update(examples)
        return tagger_of(nlp).model.shims[0].values("trans", is_train=True)

    expected = transitions()
    monkeypatch.setattr(parameter, "BLOCK", 7)
    assert np.array_equal(transitions(), expected) and expected.any()
