"""The card of a released pipeline: what it does, what it was made of, how good it is, and its licence. Into README.md,
LICENSE and meta.json.

    python card.py PIPELINE SOURCES.json "NAME=METRICS.json" ...
"""

from pathlib import Path
from typing import Any

import spacy
import srsly
import typer

HEADER = (
    "text", "tokens", "sentences F", "words F", "tags", "tags, new words", "tags, lower case", "tags, capitals", "pos",
    "features", "lemmas", "chunks F", "names F", "ECE of tags",
)  # fmt: skip


MOST_CHARACTERS = 80  # of labels that are shown


def main(
    pipeline: Path,
    sources: Path,
    measured: list[str] = typer.Argument(
        ..., help="NAME=METRICS.json of measure_text.py, the first for meta.json"
    ),
) -> None:
    about, meta = srsly.read_json(sources), srsly.read_json(pipeline / "meta.json")
    texts = {
        name: srsly.read_json(path) for name, _, path in (part.partition("=") for part in measured)
    }
    first = next(iter(texts.values()))
    meta["performance"] = {
        "tag_acc": first["gold_words"]["tag"],
        "pos_acc": first["gold_words"]["pos"],
        "sents_f": first["sentences"]["f"],
        "token_f": first["words"]["f"],
        "calibration_error": first["calibration_error"],
        **({"spans_chunks_f": first["chunks_f"]} if "chunks_f" in first else {}),
        **({"ents_f": first["names_f"]} if "names_f" in first else {}),
    }
    srsly.write_json(pipeline / "meta.json", meta, indent=0)
    name = f"{meta['lang']}_{meta['name']}"
    cells_of = (row(text, scores, meta["pipeline"]) for text, scores in texts.items())
    rows = [HEADER, tuple("---" for _ in HEADER), *cells_of]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in rows)
    uses = "\n".join(about["use"])
    limits = "\n".join(about["limits"])
    made_of = "\n".join(
        f"- [{s['name']}]({s['url']}): {s['license']}. {s['author']}." for s in meta["sources"]
    )
    components = "\n".join(f"- `{pipe}`: {labels_of(pipeline, pipe)}" for pipe in meta["pipeline"])
    size = sum(file.stat().st_size for file in pipeline.rglob("*") if file.is_file())
    page = CARD.format(
        name=name, description=meta["description"], lang=meta["lang"], components=components, use=uses, limits=limits,
        table=table, made_of=made_of, size=size / 1e6, version=meta["version"], requires=meta["spacy_version"],
        load=first["load_seconds"], speed=first["tokens_per_second"], license=meta["license"],
    )  # fmt: skip
    (pipeline / "README.md").write_text(page, encoding="utf8")
    (pipeline / "LICENSE").write_text("\n".join(about["license"]) + "\n", encoding="utf8")


def row(name: str, scores: dict[str, Any], pipeline: list[str]) -> tuple[str, ...]:
    """pipeline: the names of its components; what none of them finds has no figure."""
    gold = scores["gold_words"]
    for key, component in (("morph", "hoseq_morphologizer"), ("lemma", "hoseq_lemmatizer")):
        gold[key] = gold[key] if component in pipeline else None
    found = [percent(scores.get(key)) for key in ("chunks_f", "names_f")]
    return (
        name, f"{scores['tokens']:,}", percent(scores["sentences"]["f"]), percent(scores["words"]["f"]),
        *(percent(gold[key]) for key in ("tag", "new_tag")),
        *(percent(scores[f"gold_words_{form}"]["tag"]) for form in ("lower", "capitals")),
        *(percent(gold[key]) for key in ("pos", "morph", "lemma")), *found,
        f"{scores['calibration_error'].get('hoseq_tagger', 0):.4f}",
    )  # fmt: skip


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def labels_of(pipeline: Path, name: str) -> str:
    pipe: Any = spacy.load(pipeline).get_pipe(name)
    labels = getattr(pipe, "labels", ())
    if not labels:
        return "rules"
    shown = [
        label for i, label in enumerate(labels) if len(", ".join(labels[: i + 1])) < MOST_CHARACTERS
    ]
    place = pipe.cfg.get("attribute", "spans")
    return f"{place}; {len(labels)} labels ({', '.join(shown)}{', ...' if len(shown) < len(labels) else ''})"


CARD = """# {name} {version}

{description}

```python
import spacy_hoseq

nlp = spacy_hoseq.load("{lang}")
```

## What it does

{components}

## For what

{use}

## How good it is

On development parts, which also chose the settings. Sentences and words are found in raw text (F of both ends); the
other columns are of gold words. ECE: expected calibration error of the probabilities of tags, 15 bins, on the half of
the texts that did not fit them.

{table}

{size:.1f} MB; loads in {load:.2f} s; {speed:,.0f} tokens a second from raw text seen before, on one core of the machine
that made it.

## What it cannot do

{limits}

## What it was made of

{made_of}

Licence of these weights: {license}, see LICENSE. spaCy {requires}, spacy_hoseq.
"""

if __name__ == "__main__":
    typer.run(main)
