"""Tag sentences, one in each line, and draw them with the exact probability of each tag; .html: with chunks, as a page.

python experiments/common/draw.py MODEL SENTENCES.txt OUTPUT.svg
"""

from pathlib import Path
from typing import List

import spacy
import typer
from spacy.tokens import Doc

from spacy_hoseq.reporting.sentence import draw_sentence
from spacy_hoseq.reporting.text import notes_of, text_page


def main(model: Path, sentences: Path, output: Path) -> None:
    nlp = spacy.load(model, config={"components": {"hoseq_tagger": {"save_marginals": True}}})
    texts = sentences.read_text(encoding="utf8").split("\n")
    docs = list(nlp.pipe(Doc(nlp.vocab, words=text.split()) for text in texts if text.strip()))
    notes = notes_of(nlp)
    output.parent.mkdir(parents=True, exist_ok=True)
    drawn = text_page(docs, notes=notes) if output.suffix == ".html" else draw(docs, notes.get("tag", ""))
    output.write_text(drawn, encoding="utf8")


def draw(docs: List[Doc], note: str) -> str:
    """All sentences in one picture, with the marginal probability of each tag, and what to say of these."""
    words, tags, probabilities, starts = [], [], [], []
    for doc in docs:
        starts += [len(words) + token.i for token in doc if token.is_sent_start]
        marginals = doc._.hoseq_marginals["hoseq_tagger"]
        row = {label: i for i, label in enumerate(marginals["labels"])}
        words += [t.text for t in doc]
        tags += [t.tag_ for t in doc]
        probabilities += [float(p[row[t.tag_]]) for t, p in zip(doc, marginals["probabilities"], strict=True)]
    return draw_sentence(words, tags, probabilities, starts=starts, note=note)


if __name__ == "__main__":
    typer.run(main)
