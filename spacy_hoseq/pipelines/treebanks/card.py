"""The card of a pipeline: what it was made of, and how good it is on text that was used for nothing
else."""

from collections.abc import Iterable, Sequence
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

CARD = """# {meta[lang]}_{meta[name]}

{meta[description]}

```python
import spacy

nlp = spacy.load("{folder}")
for token in nlp(text):
    print(token.text, token.tag_, token.pos_, token.morph, token.lemma_)
```

## How good it is

On {test.words:,} words of the treebank that were used for nothing else{part}. Percentages: with the words and
sentences of the treebank, and from raw text, where an answer counts if its word was found, too.

{table}

## What it cannot do

It has no dependency parser, no vectors and no names. A multi-word token is cut if its words spell it; others stay one
token, and `spacy_hoseq.treebanks.words_of` gives their words.

## What it was made of

| Part | Words | Use |
| --- | ---: | --- |
| train | {train.words:,} | training |
| dev | {dev.words:,} | choice of the best epoch, size, calibration of probabilities |
| test | {test.words:,} | the figures above |

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
    what = f"{', '.join(layers)}, from {treebank.name}"
    performance.update(boundaries)
    return pipeline_meta(name, treebank.lang, what, licence, sources, performance)


def pipeline_meta(
    name: str,
    lang: str,
    what: str,
    licence: str,
    sources: list[dict[str, Any]],
    performance: dict[str, Any],
) -> dict[str, Any]:
    """The meta of a pipeline that a command has made. what: it finds, and from whom it has that."""
    return {
        "lang": lang,
        "name": name,
        "version": "1.0.0",
        "spacy_version": ">=3.8.13,<3.9.0",  # as pyproject.toml has it
        "description": f"{get_lang_class(lang).__name__}: {what}.",
        "license": licence,
        "sources": sources,
        "performance": performance,
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
    return CARD.format(
        folder=folder,
        meta=meta,
        part="" if contents["test"].made else " (its test part)",
        table=markdown(("", "gold words", "raw text"), figures(scores)),
        source=source,
        divided=divided(contents),
        **contents,
    )


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the first column has names, others numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
