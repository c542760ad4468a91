"""Smaller pipelines: every component of this package loses the weights that the metrics do not need."""

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
from ...errors import Errors, not_found, unknown_name, wrong_value
from .weights import CompactWeights, Counts, Pruning, counts_of, feature_shims, smallest, steps_for

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
    folds: int = 10,
) -> Compaction:
    """Prune the components one after the other, in place. After the i-th of n components, i / n of
    the tolerance may be used up.

    tolerance (float): >= 0; for each metric, the mean loss over the folds plus its standard error is
        at most this, so that more weights stay if there are few examples.
    metrics: names in what `nlp.evaluate` gives; None = those of `guarded_metrics`. components: names;
        None = all of this package that have weights of features. progress: called after each
        evaluation. folds (int): parts of the examples; 1 = no standard error.
    RAISES ValueError [HS161]: no such metrics; [HS027]: `tolerance`; [HS159]: nothing to prune.
    """
    if not (np.isfinite(tolerance) and tolerance >= 0):
        expected = "0 or a positive number (0.0005 of 1)"
        raise wrong_value("tolerance", tolerance, expected)
    pipes: list[tuple[str, Any]] = []
    for name, pipe in nlp.pipeline:
        if is_compactible(pipe) and (components is None or name in components):
            pipes.append((name, pipe))
    if not pipes:
        source = f"the pipeline ({', '.join(nlp.pipe_names)})"
        expected = "a trained one of spacy_hoseq"
        raise not_found("component with weights", source, expected)
    names = guarded_metrics(nlp, nlp.evaluate(examples), metrics)
    before = measured(nlp, examples, names)
    parts = [examples[k::folds] for k in range(min(folds, len(examples)))]
    # the loss is measured against the pipeline as it was, not against the step before
    part_scores = measured_on_each(nlp, parts, names)
    changes = []

    def is_good(max_loss: float) -> bool:
        scores = measured_on_each(nlp, parts, names)
        progress()
        losses = [likely_loss(part_scores[name] - scores[name]) for name in names]
        # metrics are sums of floats
        return max(losses) <= max_loss + 1e-12

    for i, (name, pipe) in enumerate(pipes):
        max_loss = tolerance * (i + 1) / len(pipes)
        change = _compact(name, pipe.model, partial(is_good, max_loss))
        changes.append(change)
        # other weights have other probabilities
        if change.pruning is not None and hasattr(pipe, "forget_calibration"):
            pipe.forget_calibration()
    return Compaction(before, measured(nlp, examples, names), changes)


def _compact(name: str, model: Any, is_good: Callable[[], bool]) -> ComponentChange:
    """Prune a component to the fewest weights that are good."""
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
    model: Any = getattr(pipe, "model", None)
    # some components of spaCy have True as their model
    return hasattr(model, "walk") and bool(feature_shims(model))


def likely_loss(losses: Floats) -> float:
    """Mean of losses plus its standard error. losses (K,): of the parts of a corpus; NaN where a part
    has no score."""
    known = losses[~np.isnan(losses)]
    loss = float(known.mean())
    if len(known) > 1:
        loss += float(known.std(ddof=1) / np.sqrt(len(known)))
    return loss


def measured_on_each(
    nlp: Language, parts: Sequence[Sequence[Example]], names: Sequence[str]
) -> dict[str, Floats]:
    """Metrics of each part (K,); NaN where a part has no annotation for one."""
    scores = [nlp.evaluate(part) for part in parts]
    return {name: np.array([each[name] for each in scores], np.float64) for name in names}


def measured(nlp: Language, examples: Sequence[Example], names: Sequence[str]) -> Metrics:
    """Metrics of the pipeline on all examples."""
    scores = nlp.evaluate(examples)
    return {name: float(scores[name]) for name in names}


def guarded_metrics(
    nlp: Language, scores: dict[str, Any], names: Sequence[str] | None = None
) -> list[str]:
    """Names of the metrics that must not fall.

    names: of the metrics; None = those by which training chose the best model and those that the
        components of this package name, if the corpus gives them.
    RAISES ValueError [HS161]: a name is unknown, or there are none.
    """
    known = sorted(name for name, score in scores.items() if isinstance(score, float))
    weights: dict[str, float | None] = {}
    for name, pipe in nlp.pipeline:
        if is_compactible(pipe):
            weights.update(nlp.get_pipe_meta(name).default_score_weights or {})
    # the config of the training has the last word
    weights.update(nlp.config.get("training", {}).get("score_weights", {}))
    wanted = list(names or sorted(name for name, weight in weights.items() if weight))
    guarded = [name for name in wanted if name in known]
    missing = [name for name in wanted if name not in known]
    if not guarded or (names and missing):
        raise unknown_name(", ".join(missing) or "none is wanted", known)
    return guarded


def save_compact(
    nlp: Language, output: Path, *, overwrite: bool = False, keep_strings: bool = False
) -> None:
    """Save the pipeline, without the strings of the vocabulary if all components are of this package:
    these need none, since features are hashes of words, and labels are in the components. The same
    holds for a trained tokenizer. If `output` is a link, the folder that it leads to is replaced.

    RAISES ValueError [HS113]: the output exists and must not be replaced, or is no pipeline.
    """
    check_output(output, overwrite=overwrite)
    output = output.resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        new = Path(folder) / "new"
        others = [pipe for _, pipe in nlp.components if not is_compactible(pipe)]
        sentencizers = [pipe for pipe in others if isinstance(pipe, Sentencizer)]
        for pipe in sentencizers:
            # it writes a set, whose order would be another one in each process
            pipe.punct_chars = dict.fromkeys(sorted(pipe.punct_chars))
        nlp.to_disk(new)
        # a sentencizer needs no strings, either; vectors do
        if len(others) == len(sentencizers) and not keep_strings and not len(nlp.vocab.vectors):
            only_labels(nlp, new)
        old = Path(folder) / "old"
        # renaming twice: at no time is there half a pipeline at the output
        try:
            if output.exists():
                output.rename(old)
            new.rename(output)
        finally:
            # interrupted between the two
            if old.exists() and not output.exists():
                old.rename(output)


def only_labels(nlp: Language, folder: Path) -> None:
    """Drop all strings but labels of a saved pipeline, and of the one in its tokenizer."""
    labels: set[str] = set()
    for _, pipe in nlp.components:
        labels.update(getattr(pipe, "labels", ()))
    StringStore(labels).to_disk(folder / "vocab" / "strings.json")
    segmenter = getattr(nlp.tokenizer, "segmenter", None)
    # that of spaCy's Chinese tokenizer is a name
    if isinstance(segmenter, Language):
        only_labels(segmenter, folder / "tokenizer" / "segmenter")


def check_output(output: Path, *, overwrite: bool) -> None:
    """RAISES ValueError [HS113]: a pipeline cannot be written there. An empty folder is replaced, other
    folders only if they have a pipeline."""
    problem = ""
    if any(map(Path.is_file, output.parents)):
        problem = "a part of this path is a file"
    elif not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    elif not (output / "meta.json").exists():
        problem = "what is there is no pipeline"
    elif not overwrite:
        problem = "there is a pipeline already"
    if problem:
        raise ValueError(Errors.HS113.format(path=output, problem=problem))
