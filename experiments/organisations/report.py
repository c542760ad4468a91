"""Write the report on organisation names: three systems on each corpus, the comparison of Qian et al. (2009).

    python report.py OUTPUT.md METRICS_FOLDER [--note TEXT]

METRICS_FOLDER has a folder for each seed, with what measure.py and rerank.py write: CORPUS_SYSTEM.json. The lowest seed
tells all tables but that of the seeds.
"""

import platform
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import srsly
import typer
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.significance import RESAMPLES, f_score, paired_bootstrap

CORPORA = {
    "pfr": "People's Daily, words",
    "msra": "MSRA, characters",
    "resume": "Resumes, characters",
}
SYSTEMS = {
    "low": "CRF, low order",
    "reranked": "its k best, reranked",
    "reranked_literature": "its k best, reranked, features of the literature",
    "reranked_both": "its k best, reranked, both",
    "patterns": "CRF with patterns",
    "low_expected": "CRF, low order, by probability",
    "reranked_expected": "its k best, reranked, by probability",
    "reranked_literature_expected": "its k best, reranked, features of the literature, by probability",
    "reranked_both_expected": "its k best, reranked, both, by probability",
    "patterns_expected": "CRF with patterns, by probability",
}
PAIRS = (
    ("low", "reranked"),
    ("low", "patterns"),
    ("reranked", "patterns"),
    ("reranked", "reranked_literature"),
    ("reranked_literature", "reranked_both"),
    ("reranked_both", "patterns"),
    ("patterns", "patterns_expected"),
    ("low_expected", "patterns_expected"),
    ("low_expected", "reranked_expected"),
    ("reranked_expected", "patterns_expected"),
    ("reranked_both_expected", "patterns_expected"),
)
HEADER = (
    "Corpus",
    "System",
    "Precision",
    "Recall",
    "F",
    "F of all types",
    "Features",
    "Training",
    "tokens/s",
)
ALIGNS = ("l", "l", *["r"] * 7)
PAPER = (
    "Qian et al. (2009): with the same higher-order features their CRFs 'significantly outperform' conventional CRFs "
    "and the reranking of candidates, on Chinese organisation names; the tables are missing in our copy of the paper."
)
Measured = dict[str, Any]


def main(output: Path, metrics: Path, note: str = "") -> None:
    seeds = [read(folder) for folder in sorted(metrics.glob("*")) if folder.is_dir()]
    measured = seeds[0] if seeds else {}
    rows = [
        row(corpus, system, values)
        for corpus, some in measured.items()
        for system, values in some.items()
    ]
    if not rows:
        msg.fail(f"No measurements in {metrics}", "Run measure.py first.", exits=1)
    page = MarkdownRenderer()
    page.add(page.title(1, "Organisation names"))
    page.add(f"{PAPER} {note}".strip())
    page.add(page.table(rows, HEADER, aligns=ALIGNS))
    page.add(
        "Precision, recall and F of whole names. Features: higher-order features whose weight is not zero. Training: "
        "`spacy train`; for reranking with the models of the cross-validation. tokens/s: `nlp.pipe` over ready Docs; "
        "for reranking one by one. By probability: not the best labelling, but the names whose probability less a "
        "threshold has the largest sum (`span_threshold`); each half of the sentences takes it from the other: "
        f"{thresholds_of(measured)}. Python {platform.python_version()}, NumPy {np.__version__}, "
        f"spaCy {spacy.__version__}, {platform.machine()}, {platform.system()}."
    )
    compared = [line for corpus, some in measured.items() for line in comparisons(corpus, some)]
    if compared:
        page.add(page.title(2, "Differences"))
        page.add(page.table(compared, ("Corpus", "Systems", "F", "p"), aligns=("l", "l", "r", "r")))
        page.add(
            f"p: paired bootstrap over sentences, {RESAMPLES:,} resamples, one-sided: how often the second system is "
            "not better."
        )
    if len(seeds) > 1:
        page.add(page.title(2, "Over seeds"))
        page.add(
            page.table(
                seed_rows(seeds), ("Corpus", "System", "F", "Seeds"), aligns=("l", "l", "r", "r")
            )
        )
    curves = [line for corpus, some in measured.items() for line in curves_of(corpus, some)]
    if curves:
        page.add(page.title(2, "How F grows"))
        page.add("F of all types on the dev part, at the last evaluation within each epoch.")
        n = max(map(len, curves))
        header = ("Corpus", "System", *(f"epoch {epoch}" for epoch in range(1, n - 1)))
        page.add(
            page.table(
                [line + ["-"] * (n - len(line)) for line in curves],
                header,
                aligns=("l", "l", *["r"] * (n - 2)),
            )
        )
    listed = [line for corpus, some in measured.items() for line in oracles(corpus, some)]
    if listed:
        page.add(page.title(2, "Lists of candidates"))
        page.add(
            page.table(
                listed,
                ("Corpus", "k", "F of the first", "F of the best", "Lists to learn from", "L2"),
            )
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=HEADER, divider=True, aligns=ALIGNS))
    msg.good(f"Report: {output}")


def read(folder: Path) -> dict[str, dict[str, Measured]]:
    """Of each corpus and system of one seed."""
    files = {
        corpus: {system: folder / f"{corpus}_{system}.json" for system in SYSTEMS}
        for corpus in CORPORA
    }
    return {
        corpus: {system: srsly.read_json(file) for system, file in some.items() if file.exists()}
        for corpus, some in files.items()
    }


def seed_rows(seeds: list[dict[str, dict[str, Measured]]]) -> list[list[str]]:
    """Mean and standard deviation of F."""
    lines = []
    for corpus in CORPORA:
        for system in SYSTEMS:
            f = [100 * seed[corpus][system]["f"] for seed in seeds if system in seed[corpus]]
            if f:
                spread = f" ± {statistics.stdev(f):.2f}" if len(f) > 1 else ""
                lines.append(
                    [
                        CORPORA[corpus],
                        SYSTEMS[system],
                        f"{statistics.mean(f):.2f}{spread}",
                        str(len(f)),
                    ]
                )
    return lines


def thresholds_of(measured: dict[str, dict[str, Measured]]) -> str:
    some = [
        (corpus, system, one["thresholds"])
        for corpus, of in measured.items()
        for system, one in of.items()
        if "thresholds" in one
    ]
    named = [
        f"{CORPORA[c]}, {SYSTEMS[s].split(', by')[0]}: {a:g} and {b:g}"
        for c, s, (a, b) in some
        if a is not None
    ]
    return "; ".join(named) or "-"


def row(corpus: str, system: str, values: Measured) -> list[str]:
    patterns = values["patterns"]
    return [
        CORPORA[corpus],
        SYSTEMS[system],
        *(f"{100 * values[x]:.2f}" for x in "prf"),
        f"{100 * values['all']['f']:.2f}" if "all" in values else "-",
        "-" if patterns is None else f"{patterns:,}",
        f"{values['training_seconds']:.0f} s" if "training_seconds" in values else "-",
        f"{values['tokens_per_second']:,.0f}",
    ]


def comparisons(corpus: str, measured: dict[str, Measured]) -> list[list[str]]:
    lines = []
    for first, second in PAIRS:
        if first in measured and second in measured:
            a, b = (np.array(measured[name]["sentences"], float) for name in (first, second))
            gain, p = paired_bootstrap(a, b, f_score)
            systems = f"{SYSTEMS[first]} → {SYSTEMS[second]}"
            lines.append([CORPORA[corpus], systems, f"{100 * gain:+.2f}", f"{p:.4f}"])
    return lines


def curves_of(corpus: str, measured: dict[str, Measured]) -> list[list[str]]:
    lines = []
    for system, values in measured.items():
        at = {
            epoch: f"{100 * f:.2f}" for epoch, f in values.get("curve", [])
        }  # the last one counts
        if at:
            lines.append(
                [
                    CORPORA[corpus],
                    SYSTEMS[system],
                    *(at.get(epoch, "-") for epoch in range(max(at) + 1)),
                ]
            )
    return lines


def oracles(corpus: str, measured: dict[str, Measured]) -> list[list[str]]:
    if "reranked" not in measured:
        return []
    values = measured["reranked"]
    f = [f"{100 * values[name]:.2f}" for name in ("first_f", "oracle_f")]
    return [[CORPORA[corpus], str(values["k"]), *f, f"{values['lists']:,}", str(values["l2"])]]


if __name__ == "__main__":
    typer.run(main)
