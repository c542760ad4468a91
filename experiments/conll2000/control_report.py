"""Write what joint training adds, beside its control: the same restart, epochs and seed without the gradient of the
chunker in the tagger.

    python control_report.py OUTPUT.md METRICS_FOLDER

METRICS_FOLDER has what measure_chunks.py (in common/) writes: start.json, the pipeline that both start from, and for
each seed joint_SEED.json and apart_SEED.json.
"""

import platform
import statistics
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy as np
import spacy
import srsly
import typer
from chunking_report import significance
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.significance import RESAMPLES

HEADER = ("Seed", "Epochs", "F without", "F joint", "difference", "p", "Tags without", "Tags joint", "difference", "p")
Measured = Dict[str, Any]


def main(output: Path, metrics: Path) -> None:
    seeds = sorted(int(path.stem.removeprefix("joint_")) for path in metrics.glob("joint_*.json"))
    pairs = {
        seed: [srsly.read_json(metrics / f"{arm}_{seed}.json") for arm in ("apart", "joint")]
        for seed in seeds
        if (metrics / f"apart_{seed}.json").exists()
    }
    if not pairs:
        msg.fail(f"No measurements of both kinds in {metrics}", "Run the step joint-control-measure first.", exits=1)
    rows = [row(seed, *pair) for seed, pair in pairs.items()]
    start = srsly.read_json(metrics / "start.json")
    gains = [f_of(joint) - f_of(apart) for apart, joint in pairs.values()]
    restarts = [f"{f_of(apart) - f_of(start):+.2f}" for apart, _ in pairs.values()]
    page = MarkdownRenderer()
    page.add(page.title(2, "What joint training adds"))
    page.add(
        "Joint training starts from the weights of CRF + CRF-MF and goes on from there, so it is trained longer, too, "
        "and its tagger with it. The control is the same restart with the same epochs and seed, but `grad_factor = 0`: "
        "the tagger learns from its tags alone. Features: Table 1 of the paper. Last weights, not those of the best "
        f"evaluation. The start has F {f_of(start):.2f} and {tags_of(start):.2f}% of the tags."
    )
    page.add(page.table(rows, HEADER, aligns=("r",) * len(HEADER)))
    page.add(
        f"Of F, joint less control: {mean_of(gains)} points over {len(gains)} seeds; control less start, seed by seed: "
        f"{', '.join(restarts)}. p: paired bootstrap over sentences, "
        f"{RESAMPLES:,} resamples, one-sided: how often joint training is not better. Python "
        f"{platform.python_version()}, NumPy {np.__version__}, spaCy {spacy.__version__}, {platform.machine()}, "
        f"{platform.system()}."
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=HEADER, divider=True))
    msg.good(f"Report: {output}")


def row(seed: int, apart: Measured, joint: Measured) -> List[str]:
    """Columns as in HEADER."""
    (f_gain, f_p), (tag_gain, tag_p) = significance(*(np.array(one["sentences"], float) for one in (apart, joint)))
    chunks = [f"{f_of(one):.2f}" for one in (apart, joint)]
    tags = [f"{tags_of(one):.2f}%" for one in (apart, joint)]
    cells = [*chunks, f"{100 * f_gain:+.2f}", f"{f_p:.2f}", *tags, f"{100 * tag_gain:+.2f}", f"{tag_p:.2f}"]
    return [str(seed), str(joint["max_epochs"]), *cells]


def f_of(measured: Measured) -> float:
    return float(100 * measured["scores"]["spans_chunks_f"])


def tags_of(measured: Measured) -> float:
    return float(100 * measured["scores"]["tag_acc"])


def mean_of(gains: Sequence[float]) -> str:
    text = f"{statistics.mean(gains):+.2f}"
    return text if len(gains) == 1 else f"{text} ± {statistics.stdev(gains):.2f}"


if __name__ == "__main__":
    typer.run(main)
