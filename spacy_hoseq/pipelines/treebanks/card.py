"""The card of a pipeline: what it was made of, and how good it is on text that was used for nothing
else."""

from typing import Any

from spacy.util import get_lang_class

from .parts import Contents
from .source import Treebank
from .training import Lexicons

FIGURES = {  # score of spaCy -> its name in the card
    "token_f": "words, F",
    "sents_f": "sentences, F",
    "tag_acc": "tags (XPOS)",
    "pos_acc": "parts of speech (UPOS)",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
}
BOUNDARIES = ("token_f", "sents_f")  # with gold words there is nothing to find

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


def meta_of(
    treebank: Treebank, name: str, scores: dict[str, Any], lexicons: Lexicons
) -> dict[str, Any]:
    """The meta of a pipeline that was trained on a treebank."""
    licence = treebank.licence or "unknown: the folder of the treebank does not say"
    sources = [
        {
            "name": treebank.name,
            "url": f"https://github.com/UniversalDependencies/{treebank.name}",
            "license": licence,
            "author": treebank.contributors,
            **treebank.fetched,
        }
    ]
    for kind, path in lexicons._asdict().items():
        if path is not None:
            named = f"{kind}: {path.name}"
            as_made = "as its maker says"
            sources.append({"name": named, "url": "", "license": as_made, "author": ""})
    # boundaries from raw text, all else with gold words
    performance: dict[str, float] = {}
    boundaries: dict[str, float] = {}
    layers = ["sentences"]
    for score, title in FIGURES.items():
        if score in BOUNDARIES:
            if scores["raw"].get(score) is not None:
                boundaries[score] = scores["raw"][score]
        elif scores["gold"].get(score) is not None:
            performance[score] = scores["gold"][score]
            layers.append(title)
    lang = get_lang_class(treebank.lang).__name__
    return {
        "name": name,
        "version": "1.0.0",
        "spacy_version": ">=3.8.13,<3.9.0",  # as pyproject.toml has it
        "description": f"{lang}: {', '.join(layers)}, from {treebank.name}.",
        "license": licence,
        "sources": sources,
        "performance": {**performance, **boundaries},
    }


def licence_of(treebank: Treebank, meta: dict[str, Any]) -> str:
    """Text of the file LICENSE."""
    source = meta["sources"][0]
    address = ""
    if source["license"] == "CC BY-SA 4.0":
        address = ", https://creativecommons.org/licenses/by-sa/4.0/"
    contributors = ""
    if treebank.contributors:
        contributors = f" ({treebank.contributors})"
    return f"""The pipeline {treebank.lang}_{meta["name"]} is licensed under {source["license"]}{address}.

It was trained on {treebank.name}{contributors}, {source["url"]},
which has that licence.
"""


def card_of(
    treebank: Treebank,
    folder: str,
    meta: dict[str, Any],
    scores: dict[str, Any],
    contents: dict[str, Contents],
) -> str:
    """The card as Markdown."""
    source = f"Treebank: {treebank.name}. Licence: {meta['license']}."
    if treebank.contributors:
        source += f" Contributors: {treebank.contributors}."
    if treebank.fetched:
        source += " Release {release}, {url}, SHA-256 {sha256}.".format(**treebank.fetched)
    rows = ["| | gold words | raw text |", "| --- | ---: | ---: |"]
    for cells in figures(scores):
        rows.append(f"| {' | '.join(cells)} |")
    return CARD.format(
        name=f"{treebank.lang}_{meta['name']}",
        description=meta["description"],
        folder=folder,
        words=contents["test"].words,
        test="" if contents["test"].made else " (its test part)",
        table="\n".join(rows),
        train=contents["train"].words,
        dev=contents["dev"].words,
        source=source,
        divided=divided(contents),
    )


def divided(contents: dict[str, Contents]) -> str:
    """A sentence about the parts that were made from the training sentences; "" if there are none."""
    parts = []
    places = []
    if contents["test"].made:
        parts.append("test")
        places.append("the ninth is for the test")
    if contents["dev"].made:
        parts.append("dev")
        places.append("the tenth is for development")
    if not parts:
        return ""
    return (
        f"The treebank has no part {' and '.join(parts)}: of every ten groups of ten sentences "
        f"{', '.join(places)}.\n"
    )


def figures(scores: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The name of each figure, its value with gold words and from raw text, in percent."""
    rows = []
    for score, name in FIGURES.items():
        gold = ""
        if score not in BOUNDARIES:
            gold = _percent(scores["gold"].get(score))
        raw = _percent(scores["raw"].get(score))
        # a treebank without lemmas has no row of lemmas
        if gold or raw:
            rows.append((name, gold, raw))
    return rows


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
