"""Statistics of tagged corpora, as in Table 2 of Qian & Liu. Writes a section in Markdown.

    python corpus_statistics.py OUTPUT.md TRAIN.spacy NAME=OTHER.spacy...

tokens; word_types; tag_types; tags_per_word: different tags of a word type, averaged over word types; unknown: tokens
whose word is not in the training part, and their share; ambiguous: tokens whose word has several tags in the training
part, and their share.
"""

from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import MarkdownRenderer, table

COLUMNS = (
    "",
    "Tokens",
    "Word types",
    "Tag types",
    "Tags/word",
    "Unknown",
    "Share",
    "Ambiguous",
    "Share",
)


def main(output: Path, train: Path, others: list[str]) -> None:
    parts = {
        "train": read(train),
        **{name: read(Path(path)) for name, path in (item.split("=", 1) for item in others)},
    }
    tags_of = tags_by_word(parts["train"])
    measured = {name: statistics(pairs, tags_of) for name, pairs in parts.items()}
    measured["train"]["unknown"] = 0
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = [row(name, values) for name, values in measured.items()]
    page = MarkdownRenderer()
    page.add(page.title(2, "The corpus"))
    page.add(page.table(rows, COLUMNS, aligns=("l", *["r"] * (len(COLUMNS) - 1))))
    page.add(
        "Unknown: tokens of words that training has not seen. Ambiguous: tokens of words with several tags there."
    )
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=COLUMNS, divider=True))


def read(path: Path) -> list[tuple[str, str]]:
    vocab = spacy.blank("xx").vocab
    return [
        (token.text, token.tag_)
        for doc in DocBin().from_disk(path).get_docs(vocab)
        for token in doc
    ]


def tags_by_word(pairs: list[tuple[str, str]]) -> dict[str, set[str]]:
    tags: dict[str, set[str]] = {}
    for word, tag in pairs:
        tags.setdefault(word, set()).add(tag)
    return tags


def statistics(pairs: list[tuple[str, str]], known: dict[str, set[str]]) -> dict[str, Any]:
    tags_here = tags_by_word(pairs)
    return {
        "tokens": len(pairs),
        "word_types": len(tags_here),
        "tag_types": len({tag for _, tag in pairs}),
        "tags_per_word": sum(map(len, tags_here.values())) / len(tags_here),
        "unknown": sum(word not in known for word, _ in pairs),
        "ambiguous": sum(len(known.get(word, ())) > 1 for word, _ in pairs),
    }


def row(name: str, values: dict[str, Any]) -> list[str]:
    n = values["tokens"]
    counts = [f"{values[key]:,}" for key in ("tokens", "word_types", "tag_types")]
    shares = [
        text
        for key in ("unknown", "ambiguous")
        for text in (f"{values[key]:,}", f"{values[key] / n:.2%}")
    ]
    return [name, *counts, f"{values['tags_per_word']:.4f}", *shares]


if __name__ == "__main__":
    typer.run(main)
