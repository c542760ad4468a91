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

SHARES = (0.125, 0.25, 0.5, 1.0)  # of the training corpus, of a learning curve
PASSES = 3  # of which the median time is taken


class Report(dict[str, Any]):
    """title; model, data, against: names. tokens, sentences, docs: of the data. tokens_per_second:
    by `nlp.pipe`, from ready Docs to annotated ones. bytes: of the files of the pipeline, 0 if it
    has none. versions. layers: as of `evaluated`. curve: points of a learning curve, if it was
    asked for: texts of the training corpus, and the first score of each layer."""

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
    """examples: of the data; predicted docs with what the pipeline is given. against: the name of
    another pipeline, and that. train: the training corpus. curve: train the pipeline's
    config on shares of it. tell: is called with what begins."""
    tell(f"Evaluating on {len(examples):,} texts")
    other = None
    if against is not None:
        vocab = against[1].vocab
        docs = [Doc(vocab).from_bytes(eg.predicted.to_bytes()) for eg in examples]
        other = list(against[1].pipe(docs))
    known = None if train is None else {token.text for doc in train for token in doc}
    layers = evaluated(nlp, examples, known, other)
    gold = [eg.reference for eg in examples]
    tell("Measuring the speed")
    n_tokens = sum(map(len, gold))
    files = nlp.path.rglob("*") if nlp.path else ()
    return Report(
        title=f"{model} on {data}",
        model=model,
        data=data,
        against=None if against is None else against[0],
        docs=len(gold),
        sentences=sum(int(sentence_starts(doc).sum()) for doc in gold),
        tokens=n_tokens,
        tokens_per_second=n_tokens / seconds(nlp, [eg.predicted for eg in examples]),
        bytes=sum(path.stat().st_size for path in files if path.is_file()),
        versions={
            "Python": platform.python_version(),
            "spaCy": spacy.__version__,
            "NumPy": np.__version__,
        },
        layers=layers,
        curve=learning_curve(nlp.config, train or [], gold, tell) if curve else [],
    )


def seconds(nlp: Language, docs: Sequence[Doc]) -> float:
    """Seconds from ready Docs to annotated ones, which do not stay, as in a stream."""
    passes = [[doc.copy() for doc in docs] for _ in range(PASSES)]

    def run() -> None:
        deque(nlp.pipe(passes.pop()), maxlen=0)

    return statistics.median(timeit.repeat(run, number=1, repeat=PASSES))


def learning_curve(
    config: Config,
    train: Sequence[Doc],
    test: Sequence[Doc],
    tell: Callable[[str], object] = str,
) -> list[Data]:
    """Trainings of a config on shares of the training corpus, drawn at random, each in those after
    it."""
    order = np.random.default_rng(0).permutation(len(train)).tolist()
    points = []
    for part in SHARES:
        docs = [train[i] for i in order[: max(2, round(part * len(train)))]]
        tell(f"Training on {len(docs):,} of {len(train):,} texts")
        layers = evaluated(*trained(config, docs, test))
        scores = {layer["component"]: next(iter(layer["scores"].values())) for layer in layers}
        points.append({"docs": len(docs), "scores": scores})
    return points


def examples_in(nlp: Language, path: Path) -> list[Example]:
    """Examples as the pipeline's config reads its development corpus, if that keeps the tokens;
    else with words and sentences."""
    try:
        examples = dev_examples(nlp, path)
    except (ValueError, KeyError):
        examples = []
    if not examples or any([t.text for t in eg.x] != [t.text for t in eg.y] for eg in examples):
        examples = list(corpus(path)(nlp))
    return examples


def as_page(found: Report) -> str:
    """A page of HTML that needs no network."""
    return rendered("report.html.jinja", **found, note=Warnings.HW009)


def as_markdown(found: Report) -> str:
    return rendered("report.md.jinja", **found, note=Warnings.HW009)
