"""How far a sentence goes through the code: files, functions and calls of the package, counted by `sys.setprofile`.

    python -m benchmarks.paths [--functions PATH]

Unlike times, these numbers have no noise: a longer way is seen on any machine. Each path is walked twice before it is
counted: the first time fills caches.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_hoseq
from spacy_hoseq.inspection import explain

from .page import show

PACKAGE = Path(spacy_hoseq.__file__).parent
SENTENCE = "The quick brown fox jumps over the lazy dog and runs away."
HEADER = ("path", "files", "functions", "calls")


class Way(NamedTuple):
    """calls: of each function, by (file, name)."""

    calls: dict[tuple[str, str], int]

    @property
    def files(self) -> list[str]:
        return sorted({file for file, _ in self.calls})

    @property
    def row(self) -> tuple[int, int, int]:
        return len(self.files), len(self.calls), sum(self.calls.values())


def walked(function: Callable[[], Any]) -> Way:
    """Of the third call."""
    function()
    function()
    calls: Counter[tuple[str, str]] = Counter()
    prefix = f"{PACKAGE}/"

    def count(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(prefix):
            calls[code.co_filename[len(prefix) :], f"{code.co_name}:{code.co_firstlineno}"] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return Way(dict(calls))


def paths() -> dict[str, Callable[[], Any]]:
    """What a user does most, by the name of its row."""
    nlp = spacy_hoseq.load("en", exclude=["hoseq_lemmatizer", "hoseq_entities"])
    tagger: Any = nlp.get_pipe("hoseq_tagger")
    learner, sgd = one_that_learns()
    example = tagged(learner)
    return {
        "four components": lambda: nlp(SENTENCE),
        "HoseqTagger.predict": lambda: tagger.predict([nlp.make_doc(SENTENCE)]),
        "nlp.pipe, 3 texts": lambda: list(nlp.pipe([SENTENCE] * 3)),
        "an update": lambda: learner.update([example], sgd=sgd),
        "explain": lambda: explain(tagger, nlp(SENTENCE), 1),
    }


def one_that_learns() -> tuple[Language, Any]:
    """A pipeline of one tagger, and the optimizer that `update` is called with."""
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger")
    return nlp, nlp.initialize(lambda: [tagged(nlp)])


def tagged(nlp: Language) -> Example:
    words = SENTENCE.split()
    reference = Doc(nlp.vocab, words=words, tags=["W" if word.islower() else "U" for word in words])
    return Example(Doc(nlp.vocab, words=words), reference)


def main(
    functions: str | None = typer.Option(
        None, help="List the functions of this path, with their calls"
    ),
) -> None:
    known = paths()
    if functions is not None:
        way = walked(known[functions])
        show(
            ("function", "calls"),
            [(f"{file} {name}", str(n)) for (file, name), n in sorted(way.calls.items())],
        )
        return
    show(HEADER, [(name, *map(str, walked(function).row)) for name, function in known.items()])


if __name__ == "__main__":
    typer.run(main)
