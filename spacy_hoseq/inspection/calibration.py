"""Calibrated probabilities, for a tagger or chunker of any objective, and whether they are right.

All weights are divided by one temperature T > 0, so that p_T(y | x) is proportional to exp(score(x,
y) / T). The order of the labellings does not change. At the best T the gold labels of a text that was
not trained on have the largest product of marginal probabilities (Guo, Pleiss, Sun & Weinberger
2017, section 4.2, for exact marginals, which are computed anew at every temperature).
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import (
    Any,
    NamedTuple,
)

import numpy as np
from numpy.typing import ArrayLike
from spacy.language import Language
from spacy.training import Example
from spacy.util import logger, minibatch, resolve_dot_names

from ..arrays import AnyInts, Floats, Ints, Labels, Mask
from ..components.base import SequenceComponent
from ..components.structured import StructuredComponent, listeners_in
from ..decoders import Potentials, posterior
from ..errors import Errors
from ..layers.listener import own_layers
from ..layers.weights import WeightsShim
from .conformal import fit_prediction_sets
from .reading import Reading, knows_sums, own_components, stages, sums_of

# of a batch of examples; gold labels (N,), -1 where not known, and the best ones (N,)
Part = tuple[Potentials, Labels, Labels]


class Reliability(NamedTuple):
    """Predictions in bins of probability. counts, expected, observed (B,): how many fall into each
    bin, their mean probability, the share of them that is right (0 in empty bins). error (float):
    sum of counts |observed - expected| / number of predictions, the expected calibration error
    (Naeini, Cooper & Hauskrecht 2015)."""

    counts: Ints
    expected: Floats
    observed: Floats
    error: float


class Quality(NamedTuple):
    """How good the probabilities of N labels are. n: how many. ece, ece_equal_mass: of the
    predicted labels, with bins of equal width and of equal mass. brier: mean over labels of the
    summed squared differences to 0 and 1. log_loss: mean of -log p(gold label), in nats. area:
    under the risk-coverage curve, the mean share of errors among the surest predictions (Geifman &
    El-Yaniv 2017). reliability: with bins of equal mass. curve: that of risk and coverage, as
    (share of the surest predictions, share of errors among them), fifty points of it."""

    n: int
    ece: float
    ece_equal_mass: float
    brier: float
    log_loss: float
    area: float
    reliability: Reliability
    curve: list[tuple[float, float]]


class Calibration(NamedTuple):
    """What calibration changed. temperature: T, found with all examples that have gold labels.
    before, after: of probabilities at T = 1, and at temperatures each of which was found without
    the half of these examples that it is measured on. n_changed: labels that are another one now,
    by rounding of weights."""

    temperature: float
    before: Quality
    after: Quality
    n_changed: int


def calibrate(
    nlp: Language,
    examples: Sequence[Example],
    names: Sequence[str] | None = None,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> dict[str, Calibration]:
    """Divide the weights of components by their best temperatures, in place, and keep with them
    what prediction sets need. RETURNS what was found, by name.

    examples: text that they were not trained on. Components before them annotate the predicted
        docs.
    names: of taggers and chunkers; None = all whose probabilities no later component reads: what
    that one has learnt holds for the probabilities as they are.
    RAISES ValueError [HS152]: there are no such components; [HS144]: emissions of a foreign layer;
    [HS145]: too few examples.
    """
    own = own_components(nlp, names or (), with_sentences=True)
    wanted = calibratable(nlp) if names is None else list(names)
    # refuse components without p(y | x) before the first one is changed
    for name in wanted or own:
        sums_of(own[name])
    if not wanted:
        known = ", ".join(own)
        raise ValueError(Errors.HS152.format(names="any to which none listens", known=known))
    calibrations = {}
    for name in progress(wanted):
        annotated = annotated_before(nlp, name, examples)
        calibrations[name] = calibrate_one(own[name], annotated)
        fit_prediction_sets(own[name], annotated)
    return calibrations


def calibratable(nlp: Language) -> list[str]:
    """Taggers and chunkers, but those whose marginals a later component listens to."""
    pipes: list[Any] = [pipe for _, pipe in nlp.pipeline]
    upstream: set[str] = set()
    for pipe in pipes:
        upstream.update(listener.upstream_name for listener in listeners_in(pipe))
    return [pipe.name for pipe in pipes if knows_sums(pipe) and pipe.name not in upstream]


def annotated_before(nlp: Language, name: str, examples: Sequence[Example]) -> list[Example]:
    """The examples, with predicted docs as the component `name` is given them."""
    copies = [eg.predicted.copy() for eg in examples]
    for stage, _, docs in stages(nlp, copies):
        if stage == name:
            return [Example(doc, eg.reference) for doc, eg in zip(docs, examples, strict=True)]
    raise KeyError(name)


def calibrate_one(pipe: StructuredComponent, examples: Sequence[Example]) -> Calibration:
    """The calibration of one component; examples: with what earlier components set. RAISES
    ValueError [HS144]: scores do not follow the weights, and nothing is changed; [HS145]."""
    examples = [eg for eg in examples if (pipe.gold_ids([eg]) >= 0).any()]
    if len(examples) < 2:
        raise ValueError(Errors.HS145.format(n=len(examples), what="a temperature", least=2))
    # Each half is measured at the temperature of the other one, which has not seen it.
    first = list(parts_of(pipe, examples[::2]))
    second = list(parts_of(pipe, examples[1::2]))
    parts = first + second
    unseen = [best_factor(second)] * len(first) + [best_factor(first)] * len(second)
    before = measured(parts, [1.0] * len(parts))
    after = measured(parts, unseen)
    factor = best_factor(parts)
    saved = pipe.model.to_bytes()
    _scale(pipe, factor)
    scaled = [*parts_of(pipe, examples[::2]), *parts_of(pipe, examples[1::2])]
    expected = parts[0][0].scaled(factor).scores
    difference = np.abs(scaled[0][0].scores - expected).max(initial=0.0)
    error = float(difference / max(1.0, np.abs(expected).max(initial=0.0)))
    if error > 0.01:  # more than the rounding of weights that are saved in half precision
        pipe.model.from_bytes(saved)
        raise ValueError(Errors.HS144.format(name=pipe.name, error=error))
    n_changed = 0
    for (_, _, old), (_, _, new) in zip(parts, scaled, strict=True):
        n_changed += int((old != new).sum())
    return Calibration(1 / factor, before, after, n_changed)


def calibrate_in_training(
    words: int = 10_000, span_thresholds: bool = False
) -> Callable[[Language], Language]:
    """Registered as `spacy_hoseq.calibrate.v1`: calibration whenever a training saves its pipeline.

        [training.before_to_disk]
        @callbacks = "spacy_hoseq.calibrate.v1"

    Each component gets the temperature at which the expected calibration error on the text that
    evaluates the training is smallest. Labels stay as they are; so do the weights that learn. The
    same text chooses the epoch: what probabilities are worth is to be measured on other text.

    words (int): of the development text, about, taken evenly from all of it. span_thresholds
    (bool): chunkers that have a `span_threshold` get the one with the largest F on all of it, which
    is logged, and written to the config that is saved.
    RETURNS (Callable): takes the pipeline that is to be saved and returns it. Components that are
    frozen, that others listen to, or that have a network stay as they are.
    """
    factors: dict[str, float] = {}
    texts: list[Example] = []
    sample: list[Example] = []

    def calibrate(nlp: Language) -> Language:
        config = nlp.config.interpolate()
        training = config["training"]
        if not texts:
            (read,) = resolve_dot_names(config, [training["dev_corpus"]])
            texts.extend(read(nlp))
            sample.extend(texts[:: max(1, sum(map(len, texts)) // words)])
        frozen = training["frozen_components"]
        for name in calibratable(nlp):
            if name in frozen:
                continue
            pipe: Any = nlp.get_pipe(name)
            if is_linear(pipe):
                _fit_error(pipe, annotated_before(nlp, name, sample), factors)
            if not span_thresholds:
                continue
            threshold = pipe.fit_threshold(annotated_before(nlp, name, texts))
            if threshold is not None:
                nlp.get_pipe_config(name)["span_threshold"] = threshold
                logger.info("%s: span_threshold = %s", name, threshold)
        return nlp

    return calibrate


def is_linear(component: SequenceComponent) -> bool:
    """True if all that scores are made of is in weights that can be scaled."""
    for layer in own_layers(component.model):
        if not layer.layers:
            # a leaf without weights of ours is a network
            if not layer.shims or not all(isinstance(shim, WeightsShim) for shim in layer.shims):
                return False
    return True


def reliability(
    probabilities: ArrayLike, right: ArrayLike, n_bins: int = 15, *, equal_mass: bool = False
) -> Reliability:
    """Sort predictions into bins. probabilities, right (N,): of each prediction, and whether it is
    right. Bins are equally wide or, with `equal_mass`, have as many predictions each (equal
    probabilities together)."""
    p = np.asarray(probabilities, float)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    if equal_mass and len(p):
        edges = np.sort(p)[(np.arange(1, n_bins) * len(p)) // n_bins]
        bins = np.searchsorted(edges, p, side="right")
    counts = np.bincount(bins, minlength=n_bins)
    filled = np.maximum(counts, 1)  # an empty bin has means of 0
    expected = np.bincount(bins, p, n_bins) / filled
    observed = np.bincount(bins, np.asarray(right, float), n_bins) / filled
    error = float((counts * np.abs(observed - expected)).sum() / max(1, counts.sum()))
    return Reliability(counts, expected, observed, error)


def quality(p: Floats, gold: AnyInts, predicted: AnyInts) -> Quality:
    """Quality of the labels of N words. p (N, L), gold, predicted (N,): label ids."""
    words = np.arange(len(gold))
    gold_p = p[words, gold]
    log_loss = -np.log(np.maximum(gold_p, 1e-12)).sum() / max(1, len(gold))  # finite where p is 0
    # sum over labels of (p - [label is gold])^2 = sum of p^2 - 2 p(gold) + 1
    brier = ((p**2).sum(axis=1) - 2 * gold_p + 1).sum() / max(1, len(gold))
    result = quality_of(p[words, predicted], predicted == gold)
    return result._replace(brier=float(brier), log_loss=float(log_loss))


def quality_of(confidence: Floats, right: Mask) -> Quality:
    """Quality of predictions with a probability each, and whether they are right; no brier,
    log_loss."""
    n = len(right)
    masses = reliability(confidence, right, equal_mass=True)
    ece = reliability(confidence, right).error
    # the n surest predictions, for each n: their share of errors
    order = np.argsort(-confidence, kind="stable")
    risks = np.cumsum(~right[order]) / np.arange(1, n + 1)
    curve = []
    for point in range(1, 51) if n else ():
        share = point / 50
        curve.append((share, float(risks[max(math.ceil(share * n), 1) - 1])))
    area = float(risks.sum() / max(1, n))
    return Quality(n, ece, masses.error, np.nan, np.nan, area, masses, curve)


def parts_of(pipe: StructuredComponent, examples: Sequence[Example]) -> Iterator[Part]:
    """Potentials and gold labels to find temperatures with."""
    for batch in minibatch(examples, 200):
        reading = Reading(pipe, [eg.predicted for eg in batch])
        yield reading.potentials, pipe.gold_ids(batch), reading.best


def measured(parts: Sequence[Part], factors: Sequence[float]) -> Quality:
    """Quality of the probabilities of each part, all scores times its factor."""
    rows = []
    for (potentials, gold, best), factor in zip(parts, factors, strict=True):
        known = gold >= 0
        rows.append((posterior(potentials.scaled(factor)).nodes[known], gold[known], best[known]))
    return quality(*map(np.concatenate, zip(*rows, strict=True)))


def best_factor(parts: Sequence[Part]) -> float:
    """1 / T of the smallest log loss, by golden section search: there is one minimum. T is between
    0.01 and 50."""

    # Of the two points of a step, the one before has computed one: it is cached, rounded, for as
    # long as the search takes.
    @cache
    def loss(x: float) -> float:
        return measured(parts, [float(np.exp(x))] * len(parts)).log_loss

    low = np.log(0.02)
    high = np.log(100.0)
    for _ in range(14):
        width = (np.sqrt(5.0) - 1.0) / 2.0 * (high - low)
        if loss(round(high - width, 9)) < loss(round(low + width, 9)):
            high = low + width
        else:
            low = high - width
    return float(np.exp((low + high) / 2))


def _fit_error(pipe: Any, examples: list[Example], factors: dict[str, float]) -> None:
    """The temperature of the smallest calibration error. factors: 1 / T of components, so far."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[HW001\]")  # labels that training has not seen
        parts = [part for part in parts_of(pipe, examples) if (part[1] >= 0).any()]
    if not parts:
        return
    # near the best log loss the first time, and then near the factor before
    center = 1.0
    if pipe.name not in factors:
        center = best_factor(parts)
    candidates = (center * np.geomspace(0.67, 1.5, 15)).tolist()
    errors = [measured(parts, [candidate] * len(parts)).ece for candidate in candidates]
    factor = candidates[int(np.argmin(errors))]
    factors[pipe.name] = factors.get(pipe.name, 1.0) * factor
    _scale(pipe, factor)
    pipe.cfg["temperature"] = 1 / factors[pipe.name]


def _scale(pipe: StructuredComponent, factor: float) -> None:
    """Multiply all that scores are made of."""
    for layer in own_layers(pipe.model):
        for shim in layer.shims:
            if isinstance(shim, WeightsShim):
                for parameter in shim.parameters.values():
                    parameter.scale(factor)
        if layer.has_ref("output_layer"):  # of a network: its last layer is linear
            output = layer.get_ref("output_layer")
            for name in output.param_names:
                output.set_param(name, output.get_param(name) * factor)
