"""Write the report on chunking: three systems with two feature sets, beside the figures of Azuma & Matsumoto (2011).

    python chunking_report.py OUTPUT.md METRICS_FOLDER [--model MODEL --sentences FILE.txt] [--note TEXT]

METRICS_FOLDER has what measure_chunks.py (in common/) writes: NAME.json for the systems in SYSTEMS. MODEL chunks the
sentences.
"""

import platform
from itertools import pairwise
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.tokens import Doc
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.chunks import chunks_page
from spacy_hoseq.reporting.reliability import Reliability, draw_reliability, reliability
from spacy_hoseq.reporting.significance import RESAMPLES, f_score, paired_bootstrap

SYSTEMS = {
    "multilayer_1best": ("Table 1 of the paper", "CRF + CRF: best tags"),
    "multilayer_marginal": ("Table 1 of the paper", "CRF + CRF-MF: marginals"),
    "multilayer_joint": ("Table 1 of the paper", "CRF + CRF-BP: joint"),
    "pipeline_1best": ("ours", "best tags"),
    "pipeline_marginal": ("ours", "marginals"),
    "pipeline_joint": ("ours", "joint"),
    "given": ("ours", "tags given"),
}
PAPER = {
    "multilayer_1best": ("95.6", "92.1"),
    "multilayer_marginal": ("95.6", "92.7"),
    "multilayer_joint": ("95.8", "93.1"),
}
GROUPS = (
    ["multilayer_1best", "multilayer_marginal", "multilayer_joint"],
    ["pipeline_1best", "pipeline_marginal", "pipeline_joint"],
)
HEADER = (
    *("Features", "System", "Tags", "Precision", "Recall", "F", "paper: tags", "paper: F"),
    *("ECE", "Training", "Peak memory", "tokens/s", "Model"),
)
Measured = Dict[str, Any]


def main(
    output: Path,
    metrics: Path,
    model: Optional[Path] = None,
    sentences: Optional[Path] = None,
    note: str = "",
) -> None:
    measured = {
        name: srsly.read_json(metrics / f"{name}.json") for name in SYSTEMS if (metrics / f"{name}.json").exists()
    }
    if not measured:
        msg.fail(f"No measurements in {metrics}", "Run measure_chunks.py (in experiments/common) first.", exits=1)
    quality = {name: reliability(values["probabilities"], values["right"]) for name, values in measured.items()}
    rows = [row(name, values, quality[name]) for name, values in measured.items()]
    used = [i for i in range(len(HEADER)) if any(cells[i] for cells in rows)]  # the paper has figures for its own only
    header, rows = [HEADER[i] for i in used], [[cells[i] for i in used] for cells in rows]
    aligns = ("l", "l", *["r"] * (len(header) - 2))
    page = MarkdownRenderer()
    page.add(page.title(1, "Chunking"))
    page.add(f"{next(iter(measured.values()))['tokens']:,} test tokens. {note}".strip())
    page.add(page.table(rows, header, aligns=aligns))
    page.add(
        ("Paper: Azuma & Matsumoto (2011), Table 2. " if "paper: F" in header else "")
        + "ECE: expected calibration error of the probabilities of chunks, 15 "
        "bins. Training: `spacy train` with its evaluations; that of a chunker on a trained tagger without the "
        f"tagger's. tokens/s: `nlp.pipe` over ready Docs, median. Python {platform.python_version()}, NumPy "
        f"{np.__version__}, spaCy {spacy.__version__}, {platform.machine()}, {platform.system()}."
    )
    compared = [comparison(a, b, measured) for group in GROUPS for a, b in pairwise(n for n in group if n in measured)]
    if compared:
        names = ("Features", "Systems", "F", "p", "Tags", "p")
        page.add(page.title(2, "Differences"))
        page.add(page.table(compared, names, aligns=("l", "l", "r", "r", "r", "r")))
        page.add(
            f"p of F: paired bootstrap over sentences, {RESAMPLES:,} resamples, one-sided: how often the second "
            "system is not better. p of tags: the same for their accuracy."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    shown = next(name for name in ("pipeline_joint", *measured) if name in measured)
    picture = output.with_name(f"{output.stem}_reliability.svg")
    picture.write_text(draw_reliability(quality[shown], title=f"Chunks, {', '.join(SYSTEMS[shown])}"), encoding="utf8")
    page.add(page.title(2, "Are the probabilities right?"))
    page.add(f"![Expected and observed share of right chunks]({picture.name})")
    if model is not None and sentences is not None:
        view = output.with_suffix(".html")
        docs = chunked(model, sentences)
        view.write_text(chunks_page(docs), encoding="utf8")
        page.add(page.title(2, "Chunks"))
        page.add(f"With their probabilities in [{view.name}]({view.name}).")
        page.add("\n".join(f"- {text_of(doc)}" for doc in docs))
    output.write_text(page.text + "\n", encoding="utf8")
    print(table(rows, header=header, divider=True, aligns=aligns))
    msg.good(f"Report: {output}")


def row(name: str, values: Measured, quality: Reliability) -> List[str]:
    scores = values["scores"]
    given_tags = name == "given"
    return [
        *SYSTEMS[name],
        "-" if given_tags or scores.get("tag_acc") is None else f"{scores['tag_acc']:.2%}",
        *(f"{100 * scores[f'spans_chunks_{x}']:.2f}" for x in "prf"),
        *PAPER.get(name, ("", "")),
        f"{quality.error:.4f}",
        f"{values['training_seconds']:.0f} s" if "training_seconds" in values else "-",
        f"{values['peak_bytes'] / 2**20:,.0f} MiB" if "peak_bytes" in values else "-",
        f"{values['tokens_per_second']:,.0f}",
        f"{values['model_bytes'] / 1e6:.1f} MB",
    ]


def comparison(first: str, second: str, measured: Dict[str, Measured]) -> List[str]:
    a, b = (np.array(measured[name]["sentences"], float) for name in (first, second))
    (f_gain, f_p), (tag_gain, tag_p) = significance(a, b)
    systems = f"{SYSTEMS[first][1]} → {SYSTEMS[second][1]}"
    return [SYSTEMS[first][0], systems, f"{100 * f_gain:+.2f}", f"{f_p:.4f}", f"{100 * tag_gain:+.2f}", f"{tag_p:.4f}"]


def significance(a: "np.ndarray", b: "np.ndarray") -> "Tuple[Tuple[float, float], Tuple[float, float]]":
    """Gain of b over a in F and in accuracy of tags, and how often it is not above 0 when sentences are drawn anew.

    a, b (S, 5): counts of each sentence as measure_chunks.py has them.
    """
    f, tags = (paired_bootstrap(a, b, score) for score in (f_score, accuracy))
    return (f.gain, f.p), (tags.gain, tags.p)


def accuracy(counts: "np.ndarray") -> "np.ndarray":
    return np.asarray(counts[:, 3] / counts[:, 4])


def chunked(model: Path, sentences: Path) -> List[Doc]:
    nlp = spacy.load(model)
    texts = sentences.read_text(encoding="utf8").split("\n")
    return list(nlp.pipe(Doc(nlp.vocab, words=text.split()) for text in texts if text.strip()))


def text_of(doc: Doc) -> str:
    """The words, chunks in brackets with their types."""
    words = [token.text for token in doc]
    for span in doc.spans["chunks"]:
        words[span.start] = f"[{words[span.start]}"
        words[span.end - 1] += f"]**{span.label_}**"
    return " ".join(words)


if __name__ == "__main__":
    typer.run(main)
