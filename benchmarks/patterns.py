"""What sources of label patterns gain over the low-order tagger of Chinese, and what they cost.

    python -m benchmarks.patterns metrics/patterns.jsonl ctb=CORPUS ud=CORPUS [--seeds 3]
        [--page docs/measurements/chinese.md]

CORPUS: as in `benchmarks.rules`. Every run is a line of the output file, and is not done again. Trained for six epochs
by the recipe `tagger --lang zh`, measured after the last one. p: McNemar's test on both corpora and all seeds together.
"""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import numpy as np
import srsly
import typer
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.recipes import recipe
from spacy_hoseq.reporting.significance import mcnemar

from .page import show, write_table
from .rules import run

FREQUENT = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 2, "min_count": 100}
WORDS = {"@misc": "spacy_hoseq.word_patterns.v1", "most": 1000}
LOW = "low order"
SYSTEMS: Dict[str, List[Dict[str, Any]]] = {LOW: [], "frequent": [FREQUENT], "frequent, words": [FREQUENT, WORDS]}
SHORT = {"training.max_epochs": 6, "training.patience": 0}
HEADER = ("Patterns", "Errors, {}", "Errors, {}", "Together", "Gained/lost", "p", "Training", "Tagging")


def main(output: Path, corpora: List[str], seeds: int = 3, page: Optional[Path] = None) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    named = dict(item.split("=", 1) for item in corpora)
    for seed in range(seeds):
        for name, path in named.items():
            for system, sources in SYSTEMS.items():
                key = {"corpus": name, "system": system, "seed": seed}
                if any(key.items() <= row.items() for row in rows):
                    continue
                right, training, tagging = run(config_of(sources), Path(path), {**SHORT, "system.seed": seed})
                cells = "".join("01"[int(each)] for each in right)
                rows.append({**key, "right": cells, "training": training, "tagging": tagging})
                srsly.write_jsonl(output, rows)
                msg.text(f"{name}, {system}, {seed}: {cells.count('0')} errors, {training:.0f} s, {tagging:.3f} s")
    header = tuple(cell.format(name) for cell, name in zip(HEADER, ["", *named, *[""] * len(HEADER)], strict=False))
    cells = list(table(rows, list(named)))
    show(header, cells)
    if page is not None:
        write_table(page, "patterns", header, cells)


def config_of(sources: List[Dict[str, Any]]) -> str:
    config = Config().from_str(recipe("tagger", "zh"), interpolate=False)
    if sources:
        each = {str(i): source for i, source in enumerate(sources)}
        patterns = {"@misc": "spacy_hoseq.pattern_sources.v1", "*": each}
        config["components"]["hoseq_tagger"]["model"]["patterns"] = patterns
    text: str = config.to_str(interpolate=False)
    return text


def table(rows: List[Dict[str, Any]], corpora: List[str]) -> Iterator[List[str]]:
    low = {(row["corpus"], row["seed"]): row for row in rows if row["system"] == LOW}
    for system in SYSTEMS:
        mine = [row for row in rows if row["system"] == system]
        errors = [", ".join(str(r["right"].count("0")) for r in mine if r["corpus"] == name) for name in corpora]
        before = [low[row["corpus"], row["seed"]] for row in mine]
        a, b = (np.array([c == "1" for row in part for c in row["right"]]) for part in (before, mine))
        test = mcnemar(a, b)
        ratios = [sum(r[key] for r in mine) / sum(r[key] for r in before) for key in ("training", "tagging")]
        compared = [f"{(~b).sum() / (~a).sum() - 1:+.1%}", f"+{test.gained} -{test.lost}", f"{test.p:.2g}"]
        yield [system, *errors, *(compared if system != LOW else ["", "", ""]), *(f"{ratio:.2f}x" for ratio in ratios)]


if __name__ == "__main__":
    typer.run(main)
