"""Report on tagging a treebank: statistics of the corpus, systems, what rules gain over the low-order tagger.

    python report.py TITLE OUTPUT.md STATISTICS.json NAME=METRICS.json... [--paper ctb|wsj]
        [--pool FOLDER]

The first system is the low-order one that all others are compared with, by McNemar's test. --pool names a folder with
low_order.json and higher_order.json of another corpus, for a test on both together.
"""

import platform
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import spacy
import srsly
import typer
from corpus_statistics import COLUMNS as STATISTICS_COLUMNS
from corpus_statistics import row as statistics_row
from numpy.typing import NDArray
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.significance import mcnemar

COLUMNS = ("System", "Accuracy", "Unknown", "Errors", "Gained/lost", "p", "Training", "Tagging")
PAPERS: Dict[str, List[List[str]]] = {
    "ctb": [  # Qian & Liu, Table 3; their test part has 59,955 tokens
        ["*Qian & Liu, low order*", "94.04%", "", "", "", "", "6919 s", "23.4 s"],
        ["*Qian & Liu, higher order*", "94.41%", "", "-5.3%", "", "< 0.01", "7431 s", "26.2 s"],
        ["*best official, SIGHAN 2008*", "94.28%", "", "", "", "", "", ""],
    ],
    "wsj": [  # Tsuruoka & Tsujii, sections 22-24
        ["*Tsuruoka & Tsujii, easiest-first*", "97.10%", "", "", "", "", "", ""],
        ["*Tsuruoka & Tsujii, full bidirectional*", "97.15%", "", "", "", "", "", ""],
    ],
}


def main(title: str, output: Path, statistics: Path, systems: List[str], paper: str = "", pool: str = "") -> None:
    measured = {}
    for name, path in (item.split("=", 1) for item in systems):
        if Path(path).exists():
            measured[name] = srsly.read_json(path)
        else:
            msg.warn(f"{name} was not measured: no {path}")
    if not measured:
        msg.fail("No system was measured", exits=1)
    low = next(iter(measured.values()))
    rows = [row(name, values, low) for name, values in measured.items()]
    page = MarkdownRenderer()
    page.add(page.title(1, title))
    page.add(page.title(2, "The corpus"))
    parts = srsly.read_json(statistics)
    page.add(page.table([statistics_row(*item) for item in parts.items()], STATISTICS_COLUMNS))
    page.add(
        "Unknown: tokens whose word is not in the training part. Ambiguous: tokens whose word has several tags there."
        + (
            " Qian & Liu, Table 2: 642,246 tokens of training and 59,955 of testing, 6.33% unknown, 50.9% ambiguous."
            if paper == "ctb"
            else ""
        )  # fmt: skip
    )
    page.add(page.title(2, "Tagging"))
    page.add(page.table([*rows, *PAPERS.get(paper, [])], COLUMNS, aligns=("l", *["r"] * (len(COLUMNS) - 1))))
    first = next(iter(measured))
    page.add(
        f"Errors: change in their number against {first}. Gained/lost: tokens that only this system, and only {first}, "
        "has right; p: McNemar's test on them. Tagging: of the test part, median of several passes. Rows in italics: "
        f"from the paper, on its own corpus. Python {platform.python_version()}, NumPy {np.__version__}, spaCy "
        f"{spacy.__version__}, {platform.machine()}, {platform.system()}."
    )
    if pool and (Path(pool) / "higher_order.json").exists() and "higher order" in measured:
        others = [srsly.read_json(Path(pool) / f"{name}.json") for name in ("low_order", "higher_order")]
        page.add(pooled(Path(pool).name, [low, measured["higher order"]], others))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=COLUMNS, divider=True))
    msg.good(f"Report: {output}")


def right(values: Dict[str, Any]) -> NDArray[np.bool_]:
    """Whether each token is."""
    return np.array(list(values["correct"])) == "1"


def pooled(name: str, these: List[Dict[str, Any]], others: List[Dict[str, Any]]) -> str:
    """Both corpora as one. these, others: low order, higher order."""
    a, b = (np.concatenate([right(x), right(y)]) for x, y in zip(these, others, strict=True))
    test = mcnemar(a, b)
    change = f"{(~b).sum() / (~a).sum() - 1:+.1%}" if not a.all() else "from none"
    return (
        f"Higher order against low order, together with {name}: {len(a):,} tokens, errors "
        f"{change}, +{test.gained} -{test.lost}, p = {test.p:.2g}."
    )


def row(name: str, values: Dict[str, Any], low: Dict[str, Any]) -> List[str]:
    a, b = right(low), right(values)
    test = mcnemar(a, b)
    errors, before = int((~b).sum()), int((~a).sum())
    compared = values is not low
    return [
        name,
        f"{values['accuracy']:.2%}",
        f"{values['unknown_accuracy']:.1%}" if "unknown_accuracy" in values else "",
        f"{errors / before - 1:+.1%}" if compared and before else "",
        f"+{test.gained} -{test.lost}" if compared else "",
        ("< 0.0001" if test.p < 1e-4 else f"{test.p:.4f}") if compared else "",
        f"{values['training_seconds']:.0f} s" if "training_seconds" in values else "",
        f"{values['tokens'] / values['tokens_per_second']:.2f} s",
    ]


if __name__ == "__main__":
    typer.run(main)
