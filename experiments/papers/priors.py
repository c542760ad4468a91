"""Maximum entropy with inequality constraints beside a Gaussian prior, and batch learning beside the component's online
and batch learning (Tsuruoka & Tsujii 2005, section 3, after Kazama & Tsujii 2003 and Chen & Rosenfeld 1999).

    python priors.py METRICS.jsonl CORPUS [--widths 0.5,2] [--variances 1,4] [--iterations 100] [--sentences 0]

Minimised, for each of the four classifiers of order 1, over all training tokens n and weights w:

    inequality    sum_n -log p(y_n | x_n) + width * sum |w|           OWL-QN (Andrew & Gao 2007)
    Gaussian      sum_n -log p(y_n | x_n) + sum w^2 / (2 variance)    L-BFGS

CORPUS: as for strategies.py. Every row of METRICS.jsonl is made once. Online learning keeps the best epoch on the dev
part; batch learning ends where the objective no longer falls by 1e-5 of itself, that of the component after PASSES.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import srsly
import typer
from numpy.typing import NDArray
from spacy.language import Language
from spacy.training import Example
from strategies import NAME, counts, epochs, parts_of, score_of, started, training_examples
from wasabi import msg

from spacy_hoseq.decoders.bidirectional.local import known_slots
from spacy_hoseq.layers.local_classifiers import LocalClassifier, TrainingBatch, shim_of
from spacy_hoseq.learning.used_rows import UsedRows

STRATEGY = "easiest_first"
PASSES = 300
IN_PASSES = f"passes = {PASSES}"
SAVED = 10  # differences of weights and gradients that L-BFGS remembers
ENOUGH = 1e-5  # of the objective
Vector = NDArray[np.float64]
Objective = Callable[[Vector], tuple[float, Vector]]


def main(
    output: Path,
    corpus: Path,
    widths: str = "0.5,2",
    variances: str = "1,4",
    iterations: int = 100,
    sentences: int = 0,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for prior, learning, value in runs(widths, variances):
        key = {
            "corpus": corpus.name,
            "sentences": sentences,
            "prior": f"{prior} {value:g}",
            "learning": learning,
        }
        if any(key.items() <= row.items() for row in rows):
            continue
        rows.append({**key, **measured(corpus, sentences, prior, learning, value, iterations)})
        srsly.write_jsonl(output, rows)
        msg.text(f"{key}: {rows[-1]['seconds']:.0f} s, {rows[-1]['nonzero']:,} weights")


def runs(widths: str, variances: str) -> Iterator[tuple[str, str, float]]:
    for width in map(float, widths.split(",")):
        yield "width", "online", width
        yield "width", IN_PASSES, width
        yield "width", "batch", width
    for variance in map(float, variances.split(",")):
        yield "variance", "batch", variance


def measured(
    corpus: Path, sentences: int, prior: str, learning: str, value: float, iterations: int
) -> dict[str, Any]:
    """Objective: sum over the classifiers at the end. Seconds are the processor's, of learning alone."""
    width = value if prior == "width" else 0.0
    nlp, training = started(
        corpus, sentences, "", 1, width, 0, PASSES if learning == IN_PASSES else 0
    )
    component: Any = nlp.get_pipe(NAME)
    shim = shim_of(component.model)
    dev, test = (parts_of(nlp, corpus / f"{part}.spacy", "") for part in ("dev", "test"))
    examples = training_examples(nlp)
    begin = time.process_time()
    batches = classifiers(nlp, examples)
    if learning == "batch":
        tables = [
            minimised(
                classifier, batch, l1=width, l2=0.0 if width else 1 / value, iterations=iterations
            )
            for classifier, batch in batches
        ]
        shim.set_feature_weights(tables)
        seconds = time.process_time() - begin
    else:
        seconds = in_passes(nlp, examples) if learning == IN_PASSES else online(nlp, training, dev)
        tables = shim.feature_weights()
    objective = 0.0
    for (classifier, batch), table in zip(batches, tables, strict=True):
        classifier.begin_at(table)
        loss, _ = classifier.value(batch)
        weights = table.values.astype(np.float64)
        objective += loss + width * np.abs(weights).sum()
        objective += 0.0 if width else (weights**2).sum() / (2 * value)
    result = {"objective": objective, "tokens": len(batches[0][1].gold), "seconds": seconds}
    nonzero = sum(int((table.values != 0).sum()) for table in tables)
    parts = {"dev": total(counts(nlp, dev, STRATEGY)), "test": counts(nlp, test, STRATEGY)}
    return {**result, "nonzero": nonzero, **parts}


def online(nlp: Language, training: dict[str, Any], dev: list[Any]) -> float:
    """Train as the component does, and go back to the best epoch. RETURNS processor seconds of learning."""
    shim = shim_of(nlp.get_pipe(NAME).model)
    best, tables, seconds = -1.0, shim.feature_weights(), time.process_time()
    for _ in epochs(nlp, training):
        paused = time.process_time()
        score = score_of(total(counts(nlp, dev, STRATEGY)))
        if score > best:
            best, tables = score, shim.feature_weights()
        seconds += time.process_time() - paused
    seconds = time.process_time() - seconds
    shim.set_feature_weights(tables)
    return seconds


def in_passes(nlp: Language, examples: list[Example]) -> float:
    """One update. RETURNS processor seconds."""
    begin = time.process_time()
    nlp.update(examples)
    return time.process_time() - begin


def total(rows: list[list[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


class BatchClassifier(LocalClassifier):
    """A local classifier whose loss over a batch is asked for, and learnt by somebody else."""

    def begin_at(self, table: UsedRows) -> None:
        """table: weights (F, L)."""
        self._weights.values[:] = 0
        self._weights.resume(table.rows, table.values)

    def at(self, weights: Vector, batch: TrainingBatch) -> tuple[float, Vector]:
        """The loss for weights (F * L,), and its gradient."""
        self._weights.values[:-1] = weights.reshape(-1, self._weights.values.shape[1])
        return self.value(batch)

    def value(self, batch: TrainingBatch) -> tuple[float, Vector]:
        loss = self.gradient(batch, 0.0)
        ((rows, part),) = self._pending
        self._pending = []
        gradient = np.zeros_like(self._weights.values[:-1], np.float64)
        gradient[rows] = part
        return loss, gradient.ravel()

    def table(self, weights: Vector) -> UsedRows:
        values = weights.reshape(-1, self._weights.values.shape[1]).astype(np.float32)
        return UsedRows.of(values)


def classifiers(
    nlp: Language, examples: list[Example]
) -> list[tuple[BatchClassifier, TrainingBatch]]:
    """As those of the component, with weights of zero, and all training tokens as one batch."""
    component: Any = nlp.get_pipe(NAME)
    shim: Any = shim_of(component.model)
    gold = component.gold_ids(examples).astype(np.intp)
    docs = component._words([example.predicted for example in examples])
    contexts = component._contexts(docs, gold)
    features = component.model.attrs["features"]
    rows = features.training_rows(docs, contexts, shim.known)
    batch = TrainingBatch(rows, gold, known_slots(contexts))
    made = [shim._classifier(visible) for visible in shim.masks]
    for classifier in made:
        classifier.__class__ = BatchClassifier
        classifier._sure = np.float32(0)  # all tokens, always
    return [(classifier, batch) for classifier in made]


def minimised(
    classifier: BatchClassifier, batch: TrainingBatch, *, l1: float, l2: float, iterations: int
) -> UsedRows:
    n_weights = classifier._weights.values[:-1].size

    def objective(weights: Vector) -> tuple[float, Vector]:
        loss, gradient = classifier.at(weights, batch)
        return loss + l2 / 2 * float(weights @ weights), gradient + l2 * weights

    return classifier.table(owl_qn(objective, np.zeros(n_weights), l1, iterations))


def owl_qn(objective: Objective, weights: Vector, l1: float, iterations: int) -> Vector:
    """Weights that minimise objective(w) + l1 * sum |w|; without l1 this is L-BFGS."""
    history: deque[tuple[Vector, Vector, float]] = deque(maxlen=SAVED)
    value, gradient = objective(weights)
    value += l1 * np.abs(weights).sum()
    for _ in range(iterations):
        slope = steepest(weights, gradient, l1)
        direction = -inverse_hessian(slope, history)
        if l1:  # of the same signs as the steepest descent
            direction[direction * slope >= 0] = 0
        signs = np.where(weights != 0, np.sign(weights), -np.sign(slope))
        step = 1.0 if history else 1 / max(1.0, float(np.abs(slope).sum()) ** 0.5)
        for _ in range(20):
            new = weights + step * direction
            if l1:  # in the same orthant
                new[new * signs < 0] = 0
            new_value, new_gradient = objective(new)
            new_value += l1 * np.abs(new).sum()
            if new_value <= value + 1e-4 * float(slope @ (new - weights)):
                break
            step /= 2
        else:
            return weights
        s, y = new - weights, new_gradient - gradient
        if s @ y > 0:
            history.append((s, y, 1 / float(s @ y)))
        fell = value - new_value
        weights, value, gradient = new, new_value, new_gradient
        if fell < ENOUGH * abs(value):
            return weights
    return weights


def steepest(weights: Vector, gradient: Vector, l1: float) -> Vector:
    """The subgradient of smallest size (Andrew & Gao 2007, equation 4)."""
    at_zero = np.sign(gradient) * np.maximum(0, np.abs(gradient) - l1)
    return np.where(weights != 0, gradient + l1 * np.sign(weights), at_zero)


def inverse_hessian(slope: Vector, history: deque[tuple[Vector, Vector, float]]) -> Vector:
    """Two-loop recursion of L-BFGS."""
    q = slope.copy()
    shares = []
    for s, y, rho in reversed(history):
        shares.append(rho * float(s @ q))
        q -= shares[-1] * y
    if history:
        s, y, rho = history[-1]
        q /= rho * float(y @ y)
    for (s, y, rho), share in zip(history, reversed(shares), strict=True):
        q += (share - rho * float(y @ q)) * s
    return q


if __name__ == "__main__":
    typer.run(main)
