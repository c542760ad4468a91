"""Smaller pipelines: every component of this package loses the weights that the metric does not
need."""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.strings import StringStore
from spacy.training import Example

from ...arrays import Floats
from ...errors import Errors
from .weights import CompactWeights, Counts, Pruning, counts_of, feature_shims, smallest, steps_for

FOLDS = 10

Metrics = dict[str, float]


class ComponentChange(NamedTuple):
    """Sizes of one component before and after. pruning: of its weights; None: the metrics permit none."""

    name: str
    before: Counts
    after: Counts
    pruning: Pruning | None


class Compaction(NamedTuple):
    """Result of a compaction. before, after: metrics on the development corpus. changes: of each
    component, in the order of the pipeline."""

    before: Metrics
    after: Metrics
    changes: list[ComponentChange]


def compact_pipeline(
    nlp: Language,
    examples: Sequence[Example],
    tolerance: float,
    metrics: Sequence[str] | None = None,
    components: Sequence[str] | None = None,
    progress: Callable[[], object] = lambda: None,
    folds: int = FOLDS,
) -> Compaction:
    """Prune the components one after the other, in place; of n components the i-th may use up i / n
    of the tolerance.

    tolerance (float): >= 0; of each metric, the mean loss over the folds and its standard error are
    not above it together, so that few examples keep more weights. metrics: names in what
    `nlp.evaluate` gives; None = those of `guarded_metrics`. components: names; None = all of this
    package that have weights of features. progress: is called after each evaluation. folds (int):
    parts of the examples; 1 = no standard error.
    RAISES ValueError [HS161]: no such metrics; [HS027]: `tolerance`; [HS159]: nothing to prune.
    """
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(
            Errors.HS027.format(
                name="tolerance", value=tolerance, expected="0 or a positive number (0.0005 of 1)"
            )
        )
    pipes: list[tuple[str, Any]] = [
        (name, pipe)
        for name, pipe in nlp.pipeline
        if is_compactible(pipe) and (components is None or name in components)
    ]
    if not pipes:
        source = f"the pipeline ({', '.join(nlp.pipe_names)})"
        expected = "a trained one of spacy_hoseq"
        raise ValueError(
            Errors.HS159.format(what="component with weights", source=source, expected=expected)
        )
    names = guarded_metrics(nlp, nlp.evaluate(examples), metrics)
    before = measured(nlp, examples, names)
    parts = [examples[k::folds] for k in range(min(folds, len(examples)))]
    of_parts = measured_on_each(nlp, parts, names)
    changes = []

    def is_good(most: float) -> bool:
        now = measured_on_each(nlp, parts, names)
        progress()
        return all(likely_loss(of_parts[key] - now[key]) <= most + 1e-12 for key in names)

    for i, (name, pipe) in enumerate(pipes):
        most = tolerance * (i + 1) / len(pipes)
        changes.append(_compact(name, pipe.model, partial(is_good, most)))
        if changes[-1].pruning is not None and hasattr(pipe, "forget_calibration"):
            pipe.forget_calibration()
    return Compaction(before, measured(nlp, examples, names), changes)


def _compact(name: str, model: Any, is_good: Callable[[], bool]) -> ComponentChange:
    """Change of one component to the least weights that are good."""
    weights = CompactWeights(model)
    before = counts_of(model)

    def is_good_with(pruning: Pruning) -> bool:
        weights.apply(pruning)
        return is_good()

    def size_of(pruning: Pruning) -> int:
        weights.apply(pruning)
        return counts_of(model).bytes

    pruning = smallest(weights.ranges(), steps_for(weights.weights()), is_good_with, size_of)
    weights.apply(pruning)
    weights.finish()
    return ComponentChange(name, before, counts_of(model), pruning)


def is_compactible(pipe: object) -> bool:
    """True if a component has weights of features."""
    return (
        hasattr(pipe, "model") and hasattr(pipe.model, "walk") and bool(feature_shims(pipe.model))
    )


def likely_loss(losses: Floats) -> float:
    """losses (K,): of the parts of a corpus, NaN where a part has none. RETURNS their mean and its
    standard error."""
    known = losses[~np.isnan(losses)]
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    return float(known.mean() + error)


def measured_on_each(
    nlp: Language, parts: Sequence[Sequence[Example]], names: Sequence[str]
) -> dict[str, Floats]:
    """Metrics of each part (K,); NaN where it does not say."""
    scores = [nlp.evaluate(part) for part in parts]
    return {name: np.array([each[name] for each in scores], np.float64) for name in names}


def measured(nlp: Language, examples: Sequence[Example], names: Sequence[str]) -> Metrics:
    """Scores of the pipeline, of these names."""
    scores = nlp.evaluate(examples)
    return {name: float(scores[name]) for name in names}


def guarded_metrics(
    nlp: Language, scores: dict[str, Any], names: Sequence[str] | None = None
) -> list[str]:
    """Names of the metrics that must not fall: those asked for; else those by which training chose
    the best model or that the components of this package name, if the corpus gives them. RAISES
    ValueError [HS161]."""
    known = sorted(name for name, score in scores.items() if isinstance(score, float))
    weights: dict[str, float | None] = {}
    for name, pipe in nlp.pipeline:
        if is_compactible(pipe):
            weights.update(nlp.get_pipe_meta(name).default_score_weights or {})
    weights.update(nlp.config.get("training", {}).get("score_weights", {}))
    wanted = [*names] if names else sorted(name for name, weight in weights.items() if weight)
    missing = [name for name in wanted if name not in known]
    if len(missing) == len(wanted) or (names and missing):
        said = ", ".join(missing) or "none is wanted"
        raise ValueError(Errors.HS161.format(name=said, known=", ".join(known)))
    return [name for name in wanted if name in known]


def save_compact(
    nlp: Language, output: Path, *, overwrite: bool = False, keep_strings: bool = False
) -> None:
    """Save the pipeline. If all of its components are of this package, the strings of the vocabulary
    are left out, for they need none: features are hashes of words, and labels are in the
    components. The same of a trained tokenizer. A link stays: what it leads to is written.

    RAISES ValueError [HS113]: there is something, or something that is no pipeline.
    """
    check_output(output, overwrite=overwrite)
    output = output.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        new = Path(folder) / "new"
        others = [pipe for _, pipe in nlp.components if not is_compactible(pipe)]
        sentencizers = [pipe for pipe in others if isinstance(pipe, Sentencizer)]
        for pipe in sentencizers:  # it would write a set, in any order
            pipe.punct_chars = dict.fromkeys(sorted(pipe.punct_chars))
        nlp.to_disk(new)
        if len(others) == len(sentencizers) and not keep_strings and not len(nlp.vocab.vectors):
            only_labels(nlp, new)  # a sentencizer needs no strings, either
        old = Path(folder) / "old"
        try:
            if output.exists():
                output.rename(old)
            new.rename(output)
        finally:
            if old.exists() and not output.exists():  # interrupted in between
                old.rename(output)


def only_labels(nlp: Language, folder: Path) -> None:
    """Drop all strings but labels of a saved pipeline, and of the one that cuts its words."""
    pipes: list[Any] = [pipe for _, pipe in nlp.components]
    labels = {label for pipe in pipes for label in getattr(pipe, "labels", ())}
    StringStore(labels).to_disk(folder / "vocab" / "strings.json")
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    if isinstance(segmenter, Language):  # that of spaCy's Chinese tokenizer is a name
        only_labels(segmenter, folder / "tokenizer" / "segmenter")


def check_output(output: Path, *, overwrite: bool) -> None:
    """RAISES ValueError [HS113]."""
    if any(map(Path.is_file, output.parents)):
        raise ValueError(Errors.HS113.format(path=output, problem="a part of this path is a file"))
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / "meta.json").exists():
        raise ValueError(Errors.HS113.format(path=output, problem="what is there is no pipeline"))
    if not overwrite:
        raise ValueError(Errors.HS113.format(path=output, problem="there is a pipeline already"))
