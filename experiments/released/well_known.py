"""F of names on well_known_names.txt, from raw text: `python well_known.py MODEL [MODEL ...]`."""

import re
from collections.abc import Iterator
from pathlib import Path

import spacy
import typer
from spacy.scorer import PRFScore

TEXTS = Path(__file__).with_name("well_known_names.txt")
NAME = re.compile(r"\[(.+?) ([A-Z]+)\]")
Names = set[tuple[int, int, str]]


def main(models: list[str]) -> None:
    for model in models:
        nlp = spacy.load(model)
        score = PRFScore()
        for text, gold in texts():
            found = {(name.start_char, name.end_char, name.label_) for name in nlp(text).ents}
            score.score_set(found, gold)
            if found != gold:
                print(
                    text,
                    *(f"+{text[first:end]}/{kind}" for first, end, kind in sorted(found - gold)),
                    sep=" | ",
                )
        print(
            f"{model}: precision {score.precision:.3f}, recall {score.recall:.3f}, F {score.fscore:.3f}"
        )


def texts() -> Iterator[tuple[str, Names]]:
    """Each text, and its names by their characters."""
    for line in TEXTS.read_text(encoding="utf8").splitlines():
        if line and not line.startswith("#"):
            before, *parts = NAME.split(line)
            text, gold = before, set()
            for name, kind, after in zip(*(parts[i::3] for i in range(3)), strict=True):
                gold.add((len(text), len(text) + len(name), kind))
                text += name + after
            yield text, gold


if __name__ == "__main__":
    typer.run(main)
