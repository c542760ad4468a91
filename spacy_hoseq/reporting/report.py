"""The report of `hoseq report`: the same object as a page, as Markdown and as JSON."""

import platform
import statistics
import timeit
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Config

from ..errors import Warnings
from ..features.sequences import sentence_starts
from ..inspection.folds import trained
from ..readers.annotated import dev_examples
from ..readers.corpora import corpus
from .evaluation import evaluated
from .pages import rendered
from .scores import Data
from .text import Page


class Report(dict[str, Any]):
    """Figures of a pipeline, ready for JSON.

    title; model, data, against: names. tokens, sentences, docs: of the data. tokens_per_second: by
    `nlp.pipe`, from ready Docs to annotated ones. bytes: of the files of the pipeline, 0 if it has
    none. versions. layers: as of `evaluated`. curve: points of a learning curve: texts of the
    training corpus, and the first score of each layer; [] = none was wanted."""

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return Page(as_page(self))._repr_html_()


def report(
    nlp: Language,
    examples: Sequence[Example],
    *,
    model: str,
    data: str,
    against: tuple[str, Language] | None = None,
    train: Sequence[Doc] | None = None,
    curve: bool = False,
    tell: Callable[[str], object] = str,
) -> Report:
    """Evaluate a pipeline and measure its speed.

    examples: of the data; predicted docs with what the pipeline is given. against: the name of
    another pipeline, and that pipeline. train: the training corpus. curve: train the pipeline's
    config on shares of it. tell: called with each step before it begins."""
    tell(f"Evaluating on {len(examples):,} texts")
    # words of the training corpus divide the scores into those of known and of unknown words
    known = None
    if train is not None:
        known = {token.text for doc in train for token in doc}
    other_name = None
    others = None
    if against is not None:
        other_name, other = against
        others = _annotated_by(other, examples)
    layers = evaluated(nlp, examples, known, others)
    gold = [eg.reference for eg in examples]
    tell("Measuring the speed")
    n_tokens = sum(map(len, gold))
    n_seconds = seconds(nlp, [eg.predicted for eg in examples])
    points = []
    if curve:
        points = learning_curve(nlp.config, train or [], gold, tell)
    versions = {
        "Python": platform.python_version(),
        "spaCy": spacy.__version__,
        "NumPy": np.__version__,
    }
    return Report(
        title=f"{model} on {data}",
        model=model,
        data=data,
        against=other_name,
        docs=len(gold),
        sentences=sum(int(sentence_starts(doc).sum()) for doc in gold),
        tokens=n_tokens,
        tokens_per_second=n_tokens / n_seconds,
        bytes=n_bytes(nlp.path),
        versions=versions,
        layers=layers,
        curve=points,
    )


def _annotated_by(nlp: Language, examples: Sequence[Example]) -> list[Doc]:
    """Copies of the predicted Docs, which another pipeline annotates with its own vocabulary."""
    docs = [Doc(nlp.vocab).from_bytes(eg.predicted.to_bytes()) for eg in examples]
    return list(nlp.pipe(docs))


def n_bytes(folder: Path | None) -> int:
    """Bytes of all files in a folder. None: a pipeline that was never saved."""
    if folder is None:
        return 0
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def seconds(nlp: Language, docs: Sequence[Doc]) -> float:
    """Median time from ready Docs to annotated ones, of three runs. As in a stream, Docs do not
    stay."""
    times = []
    for _ in range(3):
        copies = [doc.copy() for doc in docs]  # copying is not timed
        begin = timeit.default_timer()
        deque(nlp.pipe(copies), maxlen=0)
        times.append(timeit.default_timer() - begin)
    return statistics.median(times)


def learning_curve(
    config: Config,
    train: Sequence[Doc],
    test: Sequence[Doc],
    tell: Callable[[str], object] = str,
) -> list[Data]:
    """Scores of trainings of a config on shares of the training corpus. Shares are drawn at random,
    and each is part of the next one."""
    order = np.random.default_rng(0).permutation(len(train)).tolist()
    points = []
    for part in (0.125, 0.25, 0.5, 1.0):
        # two texts at least: one of them chooses the best epoch
        docs = [train[i] for i in order[: max(2, round(part * len(train)))]]
        tell(f"Training on {len(docs):,} of {len(train):,} texts")
        scores = {}
        for layer in evaluated(*trained(config, docs, test)):
            # the first score is the main one: accuracy or precision
            scores[layer["component"]] = next(iter(layer["scores"].values()))
        points.append({"docs": len(docs), "scores": scores})
    return points


def examples_in(nlp: Language, path: Path) -> list[Example]:
    """Examples as the pipeline's config reads its development corpus, if that does not change the
    tokens; else with words and sentences."""
    try:
        examples = dev_examples(nlp, path)
    except (ValueError, KeyError):  # the config reads no such corpus
        examples = []
    for example in examples:
        if [token.text for token in example.x] != [token.text for token in example.y]:
            examples = []
            break
    return examples or list(corpus(path)(nlp))


def as_page(data: Report) -> str:
    """A page of HTML that needs no network."""
    return rendered("report.html.jinja", **data, note=Warnings.HW009)


def as_markdown(data: Report) -> str:
    """The tables of the page, as Markdown."""
    return rendered("report.md.jinja", **data, note=Warnings.HW009)
