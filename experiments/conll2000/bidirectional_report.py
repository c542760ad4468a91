"""Write the report on bidirectional inference: all strategies beside the figures of Tsuruoka & Tsujii (2005).

    python bidirectional_report.py OUTPUT.md METRICS.json ... [--model MODEL --sentences FILE.txt] [--note TEXT]

METRICS.json is what bidirectional.py writes. MODEL tags the sentences, and the order of its decisions is shown.
"""

import platform
from pathlib import Path
from typing import Any

import numpy
import spacy
import srsly
import typer
from spacy.tokens import Doc
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.decisions import (
    decisions_page,
    decisions_text,
    draw_decisions,
    sentences_of,
)

NAME = "hoseq_bidirectional_tagger"
PAPER_TAGS = {  # Table 2: accuracy, tokens/s; order 2, sections 19-21 of the WSJ
    "left_to_right": (96.92, 844),
    "right_to_left": (96.89, 902),
    "dependency_network": (97.06, 1446),
    "easiest_last": (96.58, 2360),
    "easiest_first": (97.13, 2461),
    "full_bidirectional": (97.12, 34),
}
PAPER_CHUNKS = {  # Table 5: F, tokens/s of orders 1 and 2; section 21 of the WSJ
    "iob2": {
        "left_to_right": ((93.11, 1775), (93.01, 989)),
        "right_to_left": ((92.87, 1635), (92.87, 927)),
        "dependency_network": ((92.81, 2534), (92.78, 1893)),
        "easiest_first": ((93.11, 2441), (93.33, 1248)),
        "full_bidirectional": ((93.21, 712), (93.19, 48)),
    },
    "start_end": {
        "left_to_right": ((92.83, 861), (92.81, 439)),
        "right_to_left": ((92.87, 887), (92.82, 451)),
        "dependency_network": ((88.32, 1894), (88.28, 331)),
        "easiest_first": ((93.14, 1950), (93.13, 1016)),
        "full_bidirectional": ((93.39, 392), (93.32, 4)),
    },
}
PAPER_TESTS = (
    "The paper's figures are of its development sets (Tables 2 and 5) and 2005 hardware. On its test sets the paper "
    "has 97.10% (easiest-first) and 97.15% (full bidirectional) for tags (Table 3, sections 22-24), and for chunks "
    "(Table 6, section 20, the test set of CoNLL-2000) F 93.63 with easiest-first of order 2 on IOB2 and F 93.70 with "
    "full bidirectional inference of order 1 on Start/End."
)
WHAT_COMPARES = (
    "The tags of CoNLL-2000 are a tagger's (Brill), not gold, and the paper's are those of a treebank: compare "
    "strategies with each other, not our accuracies with the paper's. Our templates are richer than the paper's (words "
    "around, affixes and shapes joined with labels), so that a better F says nothing of the method."
)
TAG_HEADER = ("Strategy", "Order", "Accuracy", "tokens/s", "paper: accuracy", "paper: tokens/s")
CHUNK_HEADER = (
    *("Representation", "Strategy", "Order", "Recall", "Precision", "F", "tokens/s"),
    *("paper: F", "paper: tokens/s"),
)
COST_HEADER = ("Task", "Representation", "Order", "Classifiers", "Training", "Peak memory", "Model")


def main(
    output: Path,
    metrics: list[Path],
    model: Path | None = None,
    sentences: Path | None = None,
    note: str = "",
) -> None:
    measured = [srsly.read_json(path) for path in metrics]
    tags = [row for values in measured if values["task"] == "tags" for row in tag_rows(values)]
    chunks = [
        row for values in measured if values["task"] == "chunks" for row in chunk_rows(values)
    ]
    costs = [cost_row(values) for values in measured]
    page = MarkdownRenderer()
    page.add(page.title(1, "Bidirectional inference"))
    page.add(f"{measured[0]['tokens']:,} test tokens. {note}".strip())
    for title, rows, header, n_left in (
        ("Part-of-speech tags", tags, TAG_HEADER, 1),
        ("Chunks, tags given", chunks, CHUNK_HEADER, 2),
        ("Training", costs, COST_HEADER, 2),
    ):
        if rows:
            aligns = ("l",) * n_left + ("r",) * (len(header) - n_left)
            page.add(page.title(2, title))
            page.add(page.table(rows, header, aligns=aligns))
            print(table(rows, header=header, divider=True, aligns=aligns))
    changed = [
        f"{values['representation'] or values['task']} {strategy} {figures['changed_by_pruning']}"
        for values in measured
        for strategy, figures in values["strategies"].items()
        if "changed_by_pruning" in figures
    ]
    page.add(
        f"Labels that pruning changes, compared with exact search at order 1: {'; '.join(changed)}."
    )
    page.add(f"{WHAT_COMPARES} {PAPER_TESTS}")
    page.add(
        f"tokens/s: `nlp.pipe` over ready Docs, one process, median of three passes. "
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, spaCy {spacy.__version__}, "
        f"{platform.machine()}, {platform.system()}."
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    if model is not None and sentences is not None:
        page.add(page.title(2, "In which order sentences were understood"))
        page.add(decisions(model, sentences, output))
    output.write_text(page.text + "\n", encoding="utf8")
    msg.good(f"Report: {output}")


def tag_rows(values: dict[str, Any]) -> list[list[str]]:
    rows = []
    for strategy, figures in values["strategies"].items():
        paper = PAPER_TAGS[strategy] if values["order"] == 2 else None
        ours = [f"{figures['tag_acc']:.2%}", f"{figures['tokens_per_second']:,.0f}"]
        theirs = [f"{paper[0]:.2f}%", f"{paper[1]:,}"] if paper else ["-", "-"]
        rows.append([strategy, str(values["order"]), *ours, *theirs])
    return rows


def chunk_rows(values: dict[str, Any]) -> list[list[str]]:
    rows = []
    for strategy, figures in values["strategies"].items():
        papers = PAPER_CHUNKS.get(values["representation"], {}).get(strategy)
        paper = papers[values["order"] - 1] if papers else None
        ours = [f"{100 * figures[f'spans_chunks_{key}']:.2f}" for key in ("r", "p", "f")]
        theirs = [f"{paper[0]:.2f}", f"{paper[1]:,}"] if paper else ["-", "-"]
        speed = f"{figures['tokens_per_second']:,.0f}"
        rows.append(
            [values["representation"], strategy, str(values["order"]), *ours, speed, *theirs]
        )
    return rows


def cost_row(values: dict[str, Any]) -> list[str]:
    return [
        values["task"],
        values["representation"] or "-",
        str(values["order"]),
        str(4 ** values["order"]),
        f"{values['training_seconds']:.0f} s" if "training_seconds" in values else "-",
        f"{values['peak_bytes'] / 2**20:,.0f} MiB" if "peak_bytes" in values else "-",
        f"{values['model_bytes'] / 1e6:.1f} MB",
    ]


def decisions(model: Path, sentences: Path, output: Path) -> str:
    """Tag the sentences, write the page and a picture beside the report. RETURNS what the report says of them."""
    nlp = spacy.load(
        model, config={"components": {NAME: {"strategy": "easiest_first", "save_decisions": True}}}
    )
    texts = sentences.read_text(encoding="utf8").split("\n")
    docs = list(nlp.pipe(Doc(nlp.vocab, words=text.split()) for text in texts if text.strip()))
    tagged = [sentence for doc in docs for sentence in sentences_of(doc, NAME)]
    view, picture = output.with_suffix(".html"), output.with_suffix(".svg")
    view.write_text(decisions_page(docs, NAME, title="Easiest first"), encoding="utf8")
    picture.write_text(draw_decisions(*tagged[0]) + "\n", encoding="utf8")
    lines = "\n".join(
        f"- {decisions_text(span, labels, order)}" for span, labels, order, _ in tagged
    )
    image = f"![A sentence on the staircase of its decisions]({picture.name})"
    return f"Word/tag/turn, easiest first. All of them as a page: [{view.name}]({view.name}).\n\n{lines}\n\n{image}"


if __name__ == "__main__":
    typer.run(main)
