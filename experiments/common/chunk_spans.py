"""Turn the entities of a corpus, as `spacy convert --converter conll` reads the chunk column, into chunks.

python experiments/common/chunk_spans.py INPUT.spacy OUTPUT.spacy [--key chunks]
"""

from pathlib import Path

import spacy
import typer
from spacy.tokens import DocBin, Span
from wasabi import msg


def main(source: Path, output: Path, key: str = "chunks") -> None:
    vocab = spacy.blank("en").vocab
    docs = list(DocBin().from_disk(source).get_docs(vocab))
    for doc in docs:
        doc.spans[key] = [Span(doc, ent.start, ent.end, ent.label) for ent in doc.ents]
        doc.set_ents([], default="missing")
    output.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(output)
    msg.good(f"{sum(len(doc.spans[key]) for doc in docs):,} chunks in {len(docs):,} docs: {output}")


if __name__ == "__main__":
    typer.run(main)
