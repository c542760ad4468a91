"""Draw the curves of the papers: time of easiest-first decoding over the length of a sentence, and what rules gain over
the amount of training text. Needs matplotlib (the extra `report`).

    python pictures.py METRICS OUTPUT

OUTPUT/curve.svg and OUTPUT/amounts.svg. What has no metrics is not drawn.
"""

from pathlib import Path
from typing import Any

import numpy as np
import srsly
import typer
from wasabi import msg

Row = dict[str, Any]


def main(metrics: Path, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    if (metrics / "curve.json").exists():
        draw_curve(srsly.read_json(metrics / "curve.json")["rows"], output / "curve.svg")
    if (metrics / "amounts.jsonl").exists():
        draw_amounts(list(srsly.read_jsonl(metrics / "amounts.jsonl")), output / "amounts.svg")


def draw_curve(rows: list[Row], path: Path) -> None:
    """Both axes are logarithmic: what is proportional to n is parallel to the dotted lines."""
    figure, axes = canvas()
    for order in sorted({row["order"] for row in rows}):
        points = [(row["n"], 1000 * row["seconds"]) for row in rows if row["order"] == order]
        n, milliseconds = zip(*points, strict=True)
        (line,) = axes.plot(n, milliseconds, marker="o", label=f"order {order}")
        ends = np.array([n[0], n[-1]], float)
        axes.plot(ends, milliseconds[0] * ends / n[0], ":", color=line.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("words n of a sentence (dotted: proportional to n)")
    axes.set_ylabel("processor time, ms")
    save(figure, axes, path)


def draw_amounts(rows: list[Row], path: Path) -> None:
    figure, axes = canvas()
    for name, points in changes(rows).items():
        words, percent = zip(*points, strict=True)
        axes.plot(words, percent, marker="o", label=name)
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("words of training")
    axes.set_ylabel("errors with rules, change in %")
    save(figure, axes, path)


def changes(rows: list[Row]) -> dict[str, list[tuple[int, float]]]:
    """For each corpus and learner: words of training, and the change of errors in per cent, over all seeds that both
    systems have."""
    errors: dict[tuple[str, int], dict[str, dict[int, int]]] = {}
    for row in rows:
        of_amount = errors.setdefault((f"{row['corpus']}, {row['learner']}", row["words"]), {})
        wrong = sum(words - right for right, words in row["tested"])
        of_amount.setdefault(row["system"], {})[row["seed"]] = wrong
    curves: dict[str, list[tuple[int, float]]] = {}
    for name, words in sorted(errors):
        low, rules = (errors[name, words].get(system, {}) for system in ("low order", "rules"))
        seeds = low.keys() & rules.keys()
        if seeds:
            change = 100 * (
                sum(rules[seed] for seed in seeds) / sum(low[seed] for seed in seeds) - 1
            )
            curves.setdefault(name, []).append((words, change))
    return curves


def canvas() -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    plain = {"axes.spines.top": False, "axes.spines.right": False}
    pyplot.rcParams.update({"svg.hashsalt": "papers", "font.size": 10, **plain})
    return pyplot.subplots(figsize=(6, 3.6))


def save(figure: Any, axes: Any, path: Path) -> None:
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    msg.good(f"{path}")


if __name__ == "__main__":
    typer.run(main)
