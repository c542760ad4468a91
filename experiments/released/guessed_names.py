"""Names in a treebank that has no annotation of names, as Docs: where they are by its tags, of which type by a model.

    python guessed_names.py OUTPUT.spacy TREEBANK.conllu.gz MODEL [--types NAMES.txt]

A run of proper nouns is a name, or inside of one that MODEL finds ("University of Leeds"). Its type is what MODEL
finds most probable, here and wherever the same string stands in this text and in the others; `--types`: that of a list
by hand (ewt_names.txt), if the string is there. If no type is clear, or words of the run have several heads, its
tokens are missing: training learns nothing from them. All other words are outside of names.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import spacy
import typer
from convert import ATTRS, Sent, read_treebank, texts
from names import PROPER, TITLES
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from word_lists import read_lists

COMPONENT = "hoseq_entities"
LEAST = 0.6  # share of the most probable type among all types
MOST_OUTSIDE = 0.9  # probability
INNER = {
    "of",
    "the",
    "for",
    "and",
    "&",
    "de",
    "-",
    "'s",
    "/",
}  # what no proper noun is, inside of names
DATES = {
    *(
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
    ),
    *(
        "december",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ),
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("mon", "tue", "tues", "wed", "thu", "thurs", "fri", "sat", "sun"),
}
Run = tuple[int, int]


class Guess(NamedTuple):
    """A sentence; its Doc as the model has it; its runs of proper nouns; probabilities of types, of each run (T + 1,),
    the last one of none."""

    sentence: Sent
    doc: Doc
    runs: list[Run]
    types: list[NDArray[np.float64]]


def main(output: Path, treebank: Path, model: Path, types: Path | None = None) -> None:
    nlp = spacy.load(model, config={"components": {COMPONENT: {"save_marginals": True}}})
    names = list(nlp.get_pipe(COMPONENT).labels)  # type: ignore[attr-defined]
    by_hand = {} if types is None else listed(types, names)
    guesses = [list(guessed(nlp, text, names, by_hand)) for text in texts(read_treebank(treebank))]
    everywhere = summed([guess for text in guesses for guess in text])
    docs = DocBin(attrs=ATTRS, store_user_data=False)
    for text in guesses:
        here = summed(text)
        for guess in text:
            docs.add(annotated(guess, [here, everywhere], names))
    output.parent.mkdir(parents=True, exist_ok=True)
    docs.to_disk(output)
    print(f"{output}: {len(docs)} Docs")


def listed(path: Path, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Probabilities of types, of each string of a list: its own; of an unclear one, that of kind "-", all alike."""
    certain = {name: np.eye(len(names) + 1)[i] for i, name in enumerate(names)}
    p = {**certain, "-": np.full(len(names) + 1, 1 / (len(names) + 1))}
    return {
        string.lower(): p[kind]
        for kind, strings in read_lists(path, "; ").items()
        for string in strings
    }


def guessed(
    nlp: Language, text: list[Sent], names: Sequence[str], by_hand: dict[str, NDArray[np.float64]]
) -> Iterator[Guess]:
    """Sentences of a text. by_hand: probabilities of types, of some strings."""
    docs = [
        Doc(nlp.vocab, sentence.words, [row.space for row in sentence.rows]) for sentence in text
    ]
    for sentence, doc in zip(text, nlp.pipe(docs), strict=True):
        kept = doc._.hoseq_marginals[COMPONENT]
        places = [
            names.index(tag[2:]) if tag[2:] in names else len(names) for tag in kept["labels"]
        ]
        p = np.asarray(kept["probabilities"], np.float64) @ np.eye(len(names) + 1)[places]
        runs = list(runs_of(sentence))
        strings = [string_of(sentence, run) for run in runs]
        found = [p[first:end].mean(axis=0) for first, end in runs]
        yield Guess(
            sentence, doc, runs, [by_hand.get(*pair) for pair in zip(strings, found, strict=True)]
        )


def runs_of(sentence: Sent) -> Iterator[Run]:
    """first <= i < end of proper nouns in a row, without titles before them and without dates."""
    is_proper = [row.tag in PROPER for row in sentence.rows]
    words = [word.lower() for word in sentence.words]
    end = 0
    while True in is_proper[end:]:
        first = is_proper.index(True, end)
        end = is_proper.index(False, first) if False in is_proper[first:] else len(words)
        while first < end and words[first] in TITLES:
            first += 1
        if not all(word.rstrip(".") in DATES for word in words[first:end]):
            yield first, end


def summed(guesses: Sequence[Guess]) -> dict[str, NDArray[np.float64]]:
    """Mean probabilities of each run's string."""
    found: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for guess in guesses:
        for run, types in zip(guess.runs, guess.types, strict=True):
            found[string_of(guess.sentence, run)].append(types)
    return {string: np.mean(types, axis=0) for string, types in found.items()}


def string_of(sentence: Sent, run: Run) -> str:
    return " ".join(sentence.words[slice(*run)]).lower()


def annotated(
    guess: Guess, others: Sequence[dict[str, NDArray[np.float64]]], names: Sequence[str]
) -> Doc:
    """A Doc with names, and tokens of which nothing is known."""
    spans: list[tuple[int, int, str]] = []
    missing: set[int] = set()
    for run, types in zip(guess.runs, guess.types, strict=True):
        string = string_of(guess.sentence, run)
        p = np.mean([types, *(of[string] for of in others)], axis=0)
        best = int(p[:-1].argmax())
        bounds = bounds_of(guess, run)
        is_sure = p[best] >= LEAST * p[:-1].sum() and p[-1] < MOST_OUTSIDE
        if bounds is None or not is_sure or (spans and bounds[0] < spans[-1][1]):
            missing.update(range(*run))
        else:
            spans.append((*bounds, names[best]))
    sentence = guess.sentence
    starts: list[bool | int | None] = [i == 0 for i in range(len(sentence.words))]
    tags = [row.tag for row in sentence.rows]
    doc = Doc(
        guess.doc.vocab,
        sentence.words,
        [row.space for row in sentence.rows],
        tags=tags,
        sent_starts=starts,
    )
    inside = {i for first, end, _ in spans for i in range(first, end)}
    unknown = [Span(doc, i, i + 1) for i in sorted(missing - inside)]
    doc.set_ents([Span(doc, *span) for span in spans], missing=unknown, default="outside")
    return doc


def bounds_of(guess: Guess, run: Run) -> Run | None:
    """Those of the run, or of the name around it that the model found; None if it is more than one phrase."""
    first, end = run
    sentence = guess.sentence
    over = [
        (name.start, name.end) for name in guess.doc.ents if name.start < end and name.end > first
    ]
    if len(over) == 1 and over[0][0] <= first and end <= over[0][1]:
        others = [*range(over[0][0], first), *range(end, over[0][1])]
        if all(
            sentence.rows[i].tag in PROPER or sentence.words[i].lower() in INNER for i in others
        ):
            first, end = over[0]
    n_heads = sum(not first <= sentence.heads[i] < end for i in range(first, end))
    return (first, end) if n_heads == 1 and len(over) < 2 else None


if __name__ == "__main__":
    typer.run(main)
