"""Write what the strategies do with the templates of Tsuruoka & Tsujii (2005) themselves, over several seeds.

    python templates_report.py OUTPUT.md METRICS.json ...

METRICS.json is what bidirectional.py writes of models by configs/paper_tags.cfg or paper_chunks.cfg. Models of
one task, representation and order differ in their seeds.
"""

import platform
import statistics
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
import typer
from bidirectional_report import PAPER_CHUNKS, PAPER_TAGS
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.significance import RESAMPLES, f_score, paired_bootstrap

REFERENCE = "easiest_first"
HEADER = ("Task", "Strategy", "Order", "Score", f"{REFERENCE} over it", "p", "Seeds", "paper")
ALIGNS = ("l", "l", *["r"] * (len(HEADER) - 2))
Measured = dict[str, Any]


def main(output: Path, metrics: list[Path]) -> None:
    measured = sorted((srsly.read_json(path) for path in metrics), key=kind)
    rows = [row for _, models in groupby(measured, kind) for row in strategy_rows(list(models))]
    page = MarkdownRenderer()
    page.add(page.title(2, "The paper's own templates"))
    page.add(
        "The tables above are of our templates, which have more words, affixes and shapes around, so that their gain "
        "over the paper's figures is not the strategies'. The same with its "
        "Tables 1 and 4: accuracy of tags, F of chunks, mean and standard deviation over "
        "seeds."
    )
    page.add(page.table(rows, HEADER, aligns=ALIGNS))
    page.add(
        f"p: paired bootstrap over sentences, {RESAMPLES:,} resamples, one-sided: how often {REFERENCE} is not better; "
        f"the largest of the seeds. The paper's figures are of its development sets. Python "
        f"{platform.python_version()}, NumPy {np.__version__}, spaCy {spacy.__version__}, {platform.machine()}, "
        f"{platform.system()}."
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=HEADER, divider=True, aligns=ALIGNS))
    msg.good(f"Report: {output}")


def kind(values: Measured) -> tuple[str, str, int]:
    return values["task"], values["representation"] or "", values["order"]


def strategy_rows(models: Sequence[Measured]) -> Iterator[list[str]]:
    """Columns as in HEADER. models: of one task, representation and order."""
    task, representation, order = kind(models[0])
    columns = (
        [3, 4, 4] if task == "tags" else [0, 1, 2]
    )  # of the counts: right, found and gold ones
    for strategy in models[0]["strategies"]:
        scores = [100 * score_of(one["strategies"][strategy]) for one in models]
        gains, p = [], []
        for one in models:
            other, reference = (
                np.array(one["strategies"][name]["sentences"], float)
                for name in (strategy, REFERENCE)
            )
            test = paired_bootstrap(other[:, columns], reference[:, columns], f_score)
            gains.append(100 * test.gain)
            p.append(test.p)
        compared = ["-", "-"] if strategy == REFERENCE else [spread(gains, "+.2f"), f"{max(p):.4f}"]
        name = f"{task} {representation}".strip()
        yield [
            name,
            strategy,
            str(order),
            spread(scores, ".2f"),
            *compared,
            str(len(models)),
            paper_of(*kind(models[0]), strategy),
        ]


def score_of(measured: Measured) -> float:
    return float(measured["tag_acc"] if "tag_acc" in measured else measured["spans_chunks_f"])


def paper_of(task: str, representation: str, order: int, strategy: str) -> str:
    if task == "tags":
        return f"{PAPER_TAGS[strategy][0]:.2f}" if order == 2 else "-"
    papers = PAPER_CHUNKS.get(representation, {}).get(strategy)
    return f"{papers[order - 1][0]:.2f}" if papers else "-"


def spread(values: Sequence[float], form: str) -> str:
    text = f"{statistics.mean(values):{form}}"
    return text if len(values) == 1 else f"{text} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    typer.run(main)
