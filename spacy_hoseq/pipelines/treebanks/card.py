"""The card of a pipeline: what it was made of, and how good it is on text that was used for nothing
else."""

from typing import Any

from spacy.util import get_lang_class

from .parts import Contents
from .source import Treebank
from .training import Lexicons

FIGURES = {  # score of spaCy -> what it is called
    "token_f": "words, F",
    "sents_f": "sentences, F",
    "tag_acc": "tags (XPOS)",
    "pos_acc": "parts of speech (UPOS)",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
}
GIVEN = ("token_f", "sents_f")  # with gold words
PLACES = {"test": "the ninth is for the test", "dev": "the tenth is for development"}
UNKNOWN = "unknown: the folder of the treebank does not say"

CARD = """# {name}

{description}

```python
import spacy

nlp = spacy.load("{folder}")
for token in nlp(text):
    print(token.text, token.tag_, token.pos_, token.morph, token.lemma_)
```

## How good it is

On {words:,} words of the treebank that were used for nothing else{test}. Percentages: with the words and sentences of
the treebank, and from raw text, where an answer counts if its word was found, too.

{table}

## What it cannot do

It has no dependency parser, no vectors and no names. A multi-word token is cut if its words spell it; others stay one
token, and `spacy_hoseq.treebanks.words_of` gives their words.

## What it was made of

| Part | Words | Use |
| --- | ---: | --- |
| train | {train:,} | training |
| dev | {dev:,} | choice of the best epoch, size, calibration of probabilities |
| test | {words:,} | the figures above |

{source}

{divided}
Trained by `python -m spacy hoseq treebank`.
"""

LICENCE = """The pipeline {pipeline} is licensed under {licence}{address}.

It was trained on {name}{contributors}, {url},
which has that licence.
"""
ADDRESSES = {"CC BY-SA 4.0": ", https://creativecommons.org/licenses/by-sa/4.0/"}


def meta_of(
    treebank: Treebank, name: str, scores: dict[str, Any], lexicons: Lexicons
) -> dict[str, Any]:
    """Meta of the pipeline."""
    sources = [
        {
            "name": treebank.name,
            "url": f"https://github.com/UniversalDependencies/{treebank.name}",
            "license": treebank.licence or UNKNOWN,
            "author": treebank.contributors,
        }
    ]
    sources += [
        {"name": f"{kind}: {path.name}", "url": "", "license": "as its maker says", "author": ""}
        for kind, path in lexicons._asdict().items()
        if path is not None
    ]
    gold = {
        score: scores["gold"][score]
        for score in FIGURES
        if score not in GIVEN and scores["gold"].get(score) is not None
    }
    lang = get_lang_class(treebank.lang).__name__
    raw = {score: scores["raw"][score] for score in GIVEN if scores["raw"].get(score) is not None}
    written = ", ".join(["sentences", *(FIGURES[score] for score in gold)])
    return {
        "name": name,
        "version": "1.0.0",
        "spacy_version": ">=3.8.13,<3.9.0",  # as pyproject.toml has it
        "description": f"{lang}: {written}, from {treebank.name}.",
        "license": treebank.licence or UNKNOWN,
        "sources": sources,
        "performance": {**gold, **raw},
    }


def licence_of(treebank: Treebank, meta: dict[str, Any]) -> str:
    """Text of the file LICENSE."""
    source = meta["sources"][0]
    return LICENCE.format(
        pipeline=f"{treebank.lang}_{meta['name']}",
        licence=source["license"],
        address=ADDRESSES.get(source["license"], ""),
        name=treebank.name,
        contributors=treebank.contributors and f" ({treebank.contributors})",
        url=source["url"],
    )


def card_of(
    treebank: Treebank,
    folder: str,
    meta: dict[str, Any],
    scores: dict[str, Any],
    contents: dict[str, Contents],
) -> str:
    """The card as Markdown."""
    source = f"Treebank: {treebank.name}. Licence: {treebank.licence or UNKNOWN}."
    if treebank.contributors:
        source += f" Contributors: {treebank.contributors}."
    return CARD.format(
        name=f"{treebank.lang}_{meta['name']}",
        description=meta["description"],
        folder=folder,
        words=contents["test"].words,
        test=" (its test part)" if not contents["test"].made else "",
        table="\n".join(
            [
                "| | gold words | raw text |",
                "| --- | ---: | ---: |",
                *(f"| {' | '.join(cells)} |" for cells in figures(scores)),
            ]
        ),
        train=contents["train"].words,
        dev=contents["dev"].words,
        source=source,
        divided=divided(contents),
    )


def divided(contents: dict[str, Contents]) -> str:
    """What was made of the training sentences; "" if the treebank has all parts."""
    missing = [part for part in PLACES if contents[part].made]
    if not missing:
        return ""
    places = ", ".join(PLACES[part] for part in missing)
    parts = " and ".join(missing)
    return f"The treebank has no part {parts}: of every ten groups of ten sentences {places}.\n"


def figures(scores: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, with gold words, from raw text; in percent."""
    gold = {**scores["gold"], **dict.fromkeys(GIVEN)}
    rows = [
        (name, _percent(gold, score), _percent(scores["raw"], score))
        for score, name in FIGURES.items()
    ]
    return [row for row in rows if any(row[1:])]


def _percent(scores: dict[str, Any], score: str) -> str:
    return "" if scores.get(score) is None else f"{100 * scores[score]:.1f}"
