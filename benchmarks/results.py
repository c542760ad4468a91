"""Tables and the plot of `benchmarks.tagging`, made of the rows of its CSV."""

import csv
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .machine import description
from .systems import CHUNKS, CNN, CRFSUITE, CRFSUITE_LBFGS, EASIEST, FIRST, HIGHER, TOKENIZER

Row = Dict[str, Any]
TEXT = ("system", "version", *description())  # columns that are no numbers
COLUMNS = ("system", "accuracy", "unknown", "F", "tokens/s", "time", "training", "to 0.1", "load", "memory", "model")
SHORT = ("system", "accuracy", "F", "tokens/s", "time", "model")  # for the first page
SHOWN_SHORT = ("spaCy tokenizer", "hoseq", "crfsuite perceptron", "spaCy CNN")  # beginnings of their systems
FROM_TEXT = (
    "system", "ready Docs, tokens/s", "time", "raw text, tokens/s", "time of it", "later text, tokens/s", "alone",
)  # fmt: skip
RATIOS = ("one core, the same run", "measured", "target", "aim")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path, text: Sequence[str] = TEXT) -> List[Row]:
    with path.open(newline="", encoding="utf8") as file:
        return [
            {key: value if key in text else (float(value) if value else None) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def machine_of(rows: Sequence[Row]) -> str:
    return ", ".join(f"{key} {rows[0][key]}" for key in description())


def versions_of(rows: Sequence[Row]) -> str:
    return "; ".join(f"{row['system']} {row['version']}" for row in rows)


def table_cells(rows: Sequence[Row]) -> List[Tuple[str, ...]]:
    """Columns as in COLUMNS; "time" is that of the tokenizer on the same text = 1."""
    base = seconds_of(rows, TOKENIZER)
    cells: List[Tuple[str, Callable[[float], str]]] = [
        ("accuracy", "{:.2%}".format),
        ("unknown_accuracy", "{:.1%}".format),
        ("chunk_f", "{:.2%}".format),
        ("tokens_per_second", "{:,.0f}".format),
        ("seconds", lambda seconds: f"{seconds / base:.2f}x" if base else "-"),
        ("training_seconds", "{:.0f} s".format),
        ("seconds_to_best", "{:.0f} s".format),
        ("load_seconds", "{:.2f} s".format),
        ("peak_bytes", lambda size: f"{size / 2**20:,.0f} MiB"),
        ("model_bytes", lambda size: f"{size / 1e6:.1f} MB"),
    ]
    return [(row["system"], *("-" if row[key] is None else show(row[key]) for key, show in cells)) for row in rows]


def short_cells(rows: Sequence[Row]) -> List[Tuple[str, ...]]:
    """The columns SHORT of some systems."""
    columns = [COLUMNS.index(name) for name in SHORT]
    return [tuple(cells[i] for i in columns) for cells in table_cells(rows) if cells[0].startswith(SHOWN_SHORT)]


def text_cells(rows: Sequence[Row]) -> List[Tuple[str, ...]]:
    """Columns as in FROM_TEXT, of the systems that read text; "time": over the tokenizer's, on text it has seen
    and on text it has not. "alone": without the tokenizer, over the tokenizer's."""
    ready, new, later = (seconds_of(rows, TOKENIZER, key) for key in ("seconds", "text_seconds", "later_seconds"))
    cells = []
    for row in rows:
        if row.get("text_seconds") is None:
            continue
        speeds = [f"{row['tokens'] / row[key]:,.0f}" for key in ("seconds", "text_seconds")]
        times = [
            f"{row[key] / base:.2f}x" if base else "-" for key, base in (("seconds", ready), ("text_seconds", new))
        ]
        alone = ["-", "-"]  # (older files have no such column)
        if later and row.get("later_seconds"):
            alone = [f"{row['tokens'] / row['later_seconds']:,.0f}", f"{row['later_seconds'] / later - 1:.2f}x"]
        cells.append((row["system"], speeds[0], times[0], speeds[1], times[1], *alone))
    return cells


def seconds_of(rows: Sequence[Row], system: str, key: str = "seconds") -> Optional[float]:
    """None if the system was not measured."""
    found = [row.get(key) for row in rows if row["system"] == system]
    return found[0] if found else None


def ratio_cells(rows: Sequence[Row]) -> List[Tuple[str, ...]]:
    """Ratios that are promised: columns as in RATIOS. Those of systems that were not measured are left out."""
    training = "CRFsuite: training to 0.1 point"
    wanted = [
        ("tagger, first order: time over the tokenizer's", FIRST, TOKENIZER, "seconds", "<= 2.0x", "1.0x"),
        ("tagger, higher over first order", HIGHER, FIRST, "seconds", "<= 1.15x", "1.05x"),
        ("easiest first, order 1: time over the tokenizer's", EASIEST, TOKENIZER, "seconds", "<= 6x", "3x"),
        ("tagger + chunker: time over the tokenizer's", CHUNKS, TOKENIZER, "seconds", "<= 5x", "3x"),
        ("CRFsuite: time over the tagger's", CRFSUITE, FIRST, "seconds", ">= 4x", "8x"),
        ("spaCy's CNN tagger: time over the tagger's", CNN, FIRST, "seconds", ">= 25x", "50x"),
        (f"{training}, perceptron, over the tagger's", CRFSUITE, FIRST, "seconds_to_best", ">= 3x", "8x"),
        (f"{training}, L-BFGS, over the tagger's", CRFSUITE_LBFGS, FIRST, "seconds_to_best", ">= 3x", "8x"),
    ]
    result = []
    for text, system, other, key, target, aim in wanted:
        over, under = seconds_of(rows, system, key), seconds_of(rows, other, key)
        if over and under:
            result.append((text, f"{over / under:.2f}x", target, aim))
    return result


def draw(rows: Sequence[Row], path: Path) -> None:
    """Accuracy against tagging speed, one point a system. Needs matplotlib (the extra `report`)."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tagging"
    from matplotlib import pyplot

    shown = [row for row in rows if row["accuracy"] is not None]
    figure, axes = pyplot.subplots(figsize=(8.4, 4.0))
    for i, row in enumerate(sorted(shown, key=lambda row: -row["tokens_per_second"]), start=1):
        point = (row["tokens_per_second"], 100 * row["accuracy"])
        colour = "#2f6fb3" if row["system"].startswith("hoseq") else "#c0392b"
        axes.scatter(*point, s=130, color=colour, alpha=0.85, label=f"{i}  {row['system']}", marker="o")
        axes.annotate(str(i), point, ha="center", va="center", fontsize=8, color="white")  # names would overlap
    tokenizer = next((row["tokens_per_second"] for row in rows if row["system"] == TOKENIZER), None)
    if tokenizer is not None:
        axes.axvline(tokenizer, color="gray", linestyle=":", label=TOKENIZER)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    axes.set_xscale("log")
    axes.set_xlabel("tokens a second, one core (logarithmic)")
    axes.set_ylabel("accuracy, %")
    axes.margins(0.2)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
