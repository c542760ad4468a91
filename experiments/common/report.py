"""Write a report in Markdown: a table of measured systems, and tagged sample sentences with a picture.

python experiments/common/report.py TITLE OUTPUT.md NAME=METRICS.json...
    [--model MODEL] [--sentences FILE.txt] [--note TEXT]
"""

import platform
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy
import spacy
import srsly
import typer
from spacy.tokens import Doc
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.sentence import draw_sentence

COLUMNS = ("System", "Accuracy", "Unknown words", "Calibration error", "Training", "Peak memory", "Tagging", "Model")
ALIGNS = ("l", *["r"] * (len(COLUMNS) - 1))


def main(
    title: str,
    output: Path,
    metrics: List[str],
    model: Optional[Path] = None,
    sentences: Optional[Path] = None,
    note: str = "",
) -> None:
    measured = {name: srsly.read_json(path) for name, path in (item.split("=", 1) for item in metrics)}
    rows = [row(name, values) for name, values in measured.items()]
    page = MarkdownRenderer()
    page.add(page.title(1, title))
    first = next(iter(measured.values()))
    unknown = first.get("unknown_words", 0)
    page.add(f"{first['tokens']:,} test tokens, {unknown:,} of them words not seen in training. {note}")
    page.add(page.table(rows, COLUMNS, aligns=ALIGNS))
    page.add(
        "Calibration error: by how much, on average, the probability of a tag differs from how often such tags are "
        "right; only `log_likelihood` (crf) trains the probabilities. "
        f"Tagging: `nlp.pipe` over ready Docs, median of several passes. Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, spaCy {spacy.__version__}, {platform.machine()}, {platform.system()}."
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    if model is not None and sentences is not None:
        nlp = spacy.load(model, config={"components": {"hoseq_tagger": {"save_marginals": True}}})
        texts = sentences.read_text(encoding="utf8").split("\n")
        docs = list(nlp.pipe(Doc(nlp.vocab, words=text.split()) for text in texts if text.strip()))
        page.add(page.title(2, "Tagged sentences"))
        page.add("\n".join("- " + " ".join(f"{t.text}/**{t.tag_}**" for t in doc) for doc in docs))
        picture = output.with_suffix(".svg")
        picture.write_text(draw(docs), encoding="utf8")
        page.add(f"![Tagged sentences with the probability of each tag]({picture.name})")
        page.add("The bars show the exact marginal probability of each tag.")
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=COLUMNS, divider=True, aligns=ALIGNS))
    msg.good(f"Report: {output}")


def row(name: str, values: Dict[str, Any]) -> List[str]:
    return [
        name,
        f"{values['accuracy']:.2%}",
        f"{values['unknown_accuracy']:.1%}" if "unknown_accuracy" in values else "-",
        f"{values['calibration_error']:.3f}" if "calibration_error" in values else "-",
        f"{values['training_seconds']:.0f} s" if "training_seconds" in values else "-",
        f"{values['peak_bytes'] / 2**20:,.0f} MiB" if "peak_bytes" in values else "-",
        f"{values['tokens_per_second']:,.0f} tokens/s",
        f"{values['model_bytes'] / 1e6:.1f} MB",
    ]


def draw(docs: List[Doc]) -> str:
    """All sentences in one picture, with the marginal probability of each tag."""
    words, tags, probabilities, starts = [], [], [], []
    for doc in docs:
        starts += [len(words) + token.i for token in doc if token.is_sent_start]
        marginals = doc._.hoseq_marginals["hoseq_tagger"]
        row = {label: i for i, label in enumerate(marginals["labels"])}
        words += [t.text for t in doc]
        tags += [t.tag_ for t in doc]
        probabilities += [float(p[row[t.tag_]]) for t, p in zip(doc, marginals["probabilities"], strict=True)]
    return draw_sentence(words, tags, probabilities, starts=starts)


if __name__ == "__main__":
    sys.exit(typer.run(main))
