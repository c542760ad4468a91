"""What approximate inference makes of weights that were learnt exactly, and of those it has learnt itself (Qian & Liu,
Table 1; the introduction of Qian et al. 2009), on handwritten letters.

    python letters.py METRICS.jsonl --data letter.data.gz [--words 100] [--train-words 80]

Trained on fold 0, tested on words of the other folds that are drawn at random. Every row of METRICS.jsonl is made once.
Dual decomposition learns from fewer words, since it is slow.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import spacy
import srsly
import typer
from approximate import annealed, belief_propagation, gibbs
from baselines import DualDecomposition, decoded
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_config
from wasabi import msg

from spacy_hoseq.arrays import Ints
from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Potentials

OCR = Path(__file__).parents[1] / "ocr"
sys.path.append(str(OCR))

from folds import OBJECTIVES, fit  # noqa: E402
from handwriting import letter_corpus  # noqa: E402

TAGGER = "hoseq_tagger"
FOLDS = (0, 1, 2, 3, 4)


class Learner(NamedTuple):
    """epochs: of training. words: of fold 0, 0 = all."""

    objective: str
    order: int
    decoder: str
    epochs: int
    words: int


def main(
    output: Path,
    data: Annotated[Path, typer.Option(help="letter.data, plain or gzipped")],
    words: Annotated[int, typer.Option(help="of the other folds")] = 100,
    train_words: Annotated[
        int, typer.Option(help="of fold 0, where dual decomposition learns")
    ] = 80,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for learner in learners(train_words):
        key = {**learner._asdict(), "test_words": words}
        if any(key.items() <= row.items() for row in rows):
            continue
        msg.text(f"{key}")
        rows += [{**key, **row} for row in measured(learner, data, words)]
        srsly.write_jsonl(output, rows)


def learners(train_words: int) -> Iterator[Learner]:
    yield Learner("perceptron", 1, "exact", 50, 0)
    yield Learner("perceptron", 7, "exact", 50, 0)
    yield Learner("crf", 7, "exact", 50, 0)
    yield Learner("perceptron", 1, "exact", 50, train_words)
    yield Learner("perceptron", 7, "exact", 50, train_words)
    yield Learner("perceptron", 7, "dual_decomposition", 50, train_words)


def measured(learner: Learner, data: Path, words: int) -> Iterator[dict[str, Any]]:
    """A row for each way to decode."""
    nlp, seconds = trained(learner, data)
    test = some(letter_corpus(data, list(FOLDS[1:]))(nlp), words)
    gold = np.array([token.tag_ for example in test for token in example.reference])
    component = nlp.get_pipe(TAGGER)
    names = np.array(component.labels)
    potentials = component.model.predict(
        [Doc(nlp.vocab, [t.text for t in eg.reference]) for eg in test]
    )
    for name, amount, decode in decoders(learner, potentials):
        start = time.process_time()
        labels = decode()
        taken = time.process_time() - start
        right = "".join(
            "01"[a == b] for a, b in zip(names[labels].tolist(), gold.tolist(), strict=True)
        )
        row = {
            "decoding": name,
            "amount": amount,
            "seconds": taken,
            "training": seconds,
            "right": right,
        }
        yield {**row, "lengths": potentials.lengths.tolist()}


def trained(learner: Learner, data: Path) -> tuple[Language, float]:
    settings = load_config(OCR / "configs" / "ocr.cfg", overrides={"paths.letters": str(data)})
    settings["training"]["max_epochs"] = learner.epochs
    if learner.objective == "perceptron":
        settings["training"]["dropout"] = 0.0
    tagger = settings["components"][TAGGER]
    tagger.update(OBJECTIVES[learner.objective])
    decoded(tagger, learner.decoder)
    count = 11 if not learner.words else 5
    frequent = {
        "@misc": "spacy_hoseq.frequent_transitions.v1",
        "max_order": learner.order,
        "min_count": count,
    }
    tagger["model"]["patterns"] = frequent if learner.order > 1 else None
    fix_random_seed(settings["system"]["seed"])
    nlp = spacy.util.load_model_from_config(settings, auto_fill=True)
    train = list(letter_corpus(data, [0])(nlp))
    start = time.process_time()
    fit(nlp, some(train, learner.words) if learner.words else train, settings)
    return nlp, time.process_time() - start


def decoders(
    learner: Learner, potentials: Potentials
) -> Iterator[tuple[str, int, Callable[[], Ints]]]:
    """Names, iterations, and what gives the labels."""
    yield "exact", 0, lambda: decode_exact(potentials).labels
    if learner.order == 1:
        return
    if learner.objective == "perceptron":
        for n in (1, 10, 50):
            yield "dual", n, lambda n=n: DualDecomposition(n).solve(potentials).labels
    else:
        exact = posterior(potentials).nodes
        yield "largest marginals", 0, lambda: exact.argmax(axis=1)
        for n in (10, 100):
            yield "Gibbs, annealed", n, lambda n=n: annealed(potentials, n)
            yield "Gibbs, marginals", n, lambda n=n: gibbs(potentials, n, n // 5).argmax(axis=1)
        for n in (1, 5, 20):
            yield (
                "loopy BP",
                n,
                lambda n=n: belief_propagation(potentials, n, damping=0.3).argmax(axis=1),
            )


def some(examples: Any, n: int) -> list[Example]:
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    return shuffled[:n]


if __name__ == "__main__":
    typer.run(main)
