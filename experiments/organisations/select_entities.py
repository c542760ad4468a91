"""Some sentences of a corpus, and some types of its entities.

    python select_entities.py INPUT.spacy OUTPUT.spacy [--types ORG,LOC] [--last N]

All types and all sentences unless said otherwise. --last takes the last N sentences.
"""

from pathlib import Path

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg


def main(source: Path, output: Path, types: str = "", last: int = 0) -> None:
    docs = list(DocBin().from_disk(source).get_docs(spacy.blank("xx").vocab))
    docs = docs[-last:] if last else docs
    for doc in docs if types else []:
        doc.set_ents([entity for entity in doc.ents if entity.label_ in types.split(",")])
    output.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(output)
    msg.good(f"{len(docs):,} sentences, {sum(len(doc.ents) for doc in docs):,} entities: {output}")


if __name__ == "__main__":
    typer.run(main)
