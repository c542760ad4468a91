"""Trainings of a config, each without one part of a corpus: every text is judged by a model that has
not seen it.

Texts with the same words are in the same part: a model that has seen a sentence knows its labels,
wrong ones too.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model_from_config
from thinc.api import Config

from ..arrays import Ints
from ..components.base import SequenceComponent
from ..errors import Errors, not_found
from ..readers.annotated import dev_examples
from .calibration import annotated_before, calibratable, calibrate_one


class Fold(NamedTuple):
    """A part of a corpus. nlp: trained without these texts. docs: their numbers in the corpus.
    examples: as the config reads them."""

    nlp: Language
    docs: list[int]
    examples: list[Example]


def trained_without(
    config: Config, docs: Sequence[Doc], n_folds: int, *, seed: int = 0
) -> Iterator[Fold]:
    """A training of the config for each of n_folds parts of the Docs, on the other parts.

    config: for `spacy train`, not interpolated; its corpora read `${paths.train}` and
    `${paths.dev}`. docs: annotated, of one vocabulary.
    RAISES ValueError [HS150]: fewer than two parts, or more parts than different texts; [HS159]:
    other corpora; [HS107]: the config cuts texts into words.
    """
    # labels of a corpus whose texts are cut anew are not those of its words
    augmenter = "spacy_hoseq.units.v1"
    for block in config.get("corpora", {}).values():
        if (block.get("augmenter") or {}).get("@augmenters") == augmenter:
            raise ValueError(Errors.HS107.format(augmenter=augmenter))
    parts = divided(docs, n_folds, seed)
    config = with_labels(config, docs)
    for part in range(n_folds):
        seen = [docs[i] for i in np.flatnonzero(parts != part).tolist()]
        numbers = np.flatnonzero(parts == part).tolist()
        nlp, examples = trained(config, seen, [docs[i] for i in numbers], seed=seed)
        calibrate_margins(nlp, examples)
        yield Fold(nlp, numbers, examples)


def calibrate_margins(nlp: Language, examples: Sequence[Example]) -> None:
    """Calibrate components whose objective is no probability: else all labels would be about as
    probable. A temperature is one number, which a few wrong labels in the examples hardly change.
    Components that cannot be calibrated stay as they are."""
    for name in calibratable(nlp):
        pipe: Any = nlp.get_pipe(name)
        if not pipe.is_calibrated:
            with suppress(ValueError):
                calibrate_one(pipe, annotated_before(nlp, name, examples))


def divided(docs: Sequence[Doc], n_folds: int, seed: int) -> Ints:
    """The part of each Doc (D,), 0 to n_folds - 1: at random, of about the same numbers of texts.
    RAISES ValueError [HS150]."""
    texts = [doc.to_array(["ORTH"]).tobytes() for doc in docs]  # words alone, without labels
    distinct = list(dict.fromkeys(texts))
    if not 2 <= n_folds <= len(distinct):
        raise ValueError(Errors.HS150.format(n=n_folds, texts=len(distinct)))
    order = np.random.default_rng(seed).permutation(len(distinct))
    part_of = dict(zip(distinct, (order % n_folds).tolist(), strict=True))
    return np.array([part_of[text] for text in texts], np.intp)


def with_labels(config: Config, docs: Sequence[Doc]) -> Config:
    """A copy in which components know all labels of the Docs: one that stands in a single place is
    doubtful there."""
    config = config.copy()
    examples = [Example(doc, doc) for doc in docs]
    for name, pipe in load_model_from_config(config.interpolate(), auto_fill=True).pipeline:
        # labels of a file, and of weights that are continued, are complete
        settings = config["initialize"]["components"].setdefault(name, {})
        if isinstance(pipe, SequenceComponent) and not settings.get("weights_from"):
            settings.setdefault("labels", pipe.target.labels_in(examples))
    return config


def trained(
    config: Config, docs: Sequence[Doc], others: Sequence[Doc], *, seed: int = 0
) -> tuple[Language, list[Example]]:
    """A pipeline by `spacy train` of the config on the Docs, a tenth of which chooses the best
    weights; and others as examples, as the config reads its development corpus. RAISES ValueError
    [HS159]."""
    order = np.random.default_rng(seed).permutation(len(docs)).tolist()
    n_dev = min(len(docs) - 1, max(1, round(len(docs) / 10)))
    with tempfile.TemporaryDirectory() as folder:
        for part, numbers in (("dev", order[:n_dev]), ("train", order[n_dev:])):
            path = saved([docs[i] for i in sorted(numbers)], Path(folder) / f"{part}.spacy")
            config = with_path(config, part, path)
        # no logger of the config: it may write files, or send scores to a service
        config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v3", "progress_bar": None}
        log = StringIO()
        train(init_nlp(config), Path(folder), use_gpu=-1, stdout=log, stderr=log)
        nlp = spacy.load(Path(folder) / "model-best")
        return nlp, dev_examples(nlp, saved(others, Path(folder) / "others.spacy"))


def saved(docs: Sequence[Doc], path: Path) -> Path:
    """The path, with the Docs in it."""
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def with_path(config: Config, part: str, path: Path) -> Config:
    """A copy in which "train" or "dev" of the paths is another file: its corpus reads that, and so
    does all else that must not know the rest of the texts. RAISES ValueError [HS159]: its corpus
    does not."""
    config = config.copy()
    config["paths"] = {**config.get("paths", {}), part: str(path)}
    # "corpora.train" names the block that reads it
    _, _, name = config.get("training", {}).get(f"{part}_corpus", part).rpartition(".")
    if config.interpolate().get("corpora", {}).get(name, {}).get("path") != str(path):
        raise not_found(
            "path",
            f"the corpus [corpora.{name}] of the config",
            f"it `path = ${{paths.{part}}}`, and a reader of .spacy files",
        )
    return config
