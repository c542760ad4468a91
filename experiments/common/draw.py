"""Tag sentences, one in each line, and draw them with the exact probability of each tag; .html: with chunks, as a page.

python experiments/common/draw.py MODEL SENTENCES.txt OUTPUT.svg
"""

from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

import spacy
import typer
from spacy.tokens import Doc

from spacy_hoseq.reporting.sentence import columns, cut, shown
from spacy_hoseq.reporting.text import notes_of, text_page

CHARACTER = 8.6  # widths and heights in pixels, for a 14 px fixed-width font
GAP = 12
LINE = 62
MARGIN = 14
NOTE = 16
FEWEST = 3  # characters a word's box is wide at least


def main(model: Path, sentences: Path, output: Path) -> None:
    nlp = spacy.load(model, config={"components": {"hoseq_tagger": {"save_marginals": True}}})
    texts = sentences.read_text(encoding="utf8").split("\n")
    docs = list(nlp.pipe(Doc(nlp.vocab, words=text.split()) for text in texts if text.strip()))
    notes = notes_of(nlp)
    output.parent.mkdir(parents=True, exist_ok=True)
    drawn = text_page(docs, nlp) if output.suffix == ".html" else draw(docs, notes.get("tag", ""))
    output.write_text(drawn, encoding="utf8")


def draw(docs: list[Doc], note: str) -> str:
    """All sentences in one picture, with the marginal probability of each tag, and what to say of these."""
    words, tags, probabilities, starts = [], [], [], []
    for doc in docs:
        starts += [len(words) + token.i for token in doc if token.is_sent_start]
        marginals = doc._.hoseq_marginals["hoseq_tagger"]
        row = {label: i for i, label in enumerate(marginals["labels"])}
        words += [t.text for t in doc]
        tags += [t.tag_ for t in doc]
        probabilities += [
            float(p[row[t.tag_]]) for t, p in zip(doc, marginals["probabilities"], strict=True)
        ]
    return draw_sentence(words, tags, probabilities, starts=starts, note=note)


def draw_sentence(
    words: Sequence[str],
    labels: Sequence[str],
    probabilities: Sequence[float],
    *,
    width: int = 900,
    starts: Collection[int] = (),
    note: str = "",
) -> str:
    """RETURNS (str): SVG, each word above its label, with a bar as long as the label's probability.

    probabilities: of each label, 0 to 1; the bar is red below one half, else blue. starts: words that begin a sentence,
    which begins a line. note: what to say of the probabilities, below.
    """
    boxes: list[str] = []
    most = int((width - 2 * MARGIN) / CHARACTER)
    x = float(MARGIN)
    y = float(MARGIN)
    for i, (word, label, probability) in enumerate(zip(words, labels, probabilities, strict=True)):
        word = cut(shown(word), most)
        label = cut(shown(label), most)
        box = max(columns(word), columns(label), FEWEST) * CHARACTER
        if (i in starts or x + box > width - MARGIN) and x > MARGIN:
            x = float(MARGIN)
            y = y + LINE
        colour = "#2f6fb3" if probability >= 0.5 else "#c0392b"
        boxes.append(
            f'<text x="{x:.1f}" y="{y + 14:.1f}" class="word">{escape(word)}</text>'
            f'<text x="{x:.1f}" y="{y + 32:.1f}" class="label">{escape(label)}</text>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box:.1f}" height="4" fill="#e3e6ea"/>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box * probability:.1f}" height="4" fill="{colour}">'
            f"<title>{probability:.3f}</title></rect>"
        )
        x += box + GAP
    for line in wrap(note, most):
        boxes.append(
            f'<text x="{MARGIN}" y="{y + LINE + 8:.1f}" class="note">{escape(line)}</text>'
        )
        y += NOTE
    style = (
        ".word{font:14px monospace;fill:#1c2733}.label{font:bold 12px monospace;fill:#2f6fb3}"
        ".note{font:11px monospace;fill:#51606f}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + LINE:.0f}" '
        f'viewBox="0 0 {width} {y + LINE:.0f}"><style>{style}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        + "\n".join(boxes)
        + "</svg>\n"
    )


if __name__ == "__main__":
    typer.run(main)
