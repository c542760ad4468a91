"""Write the report on handwriting: the systems, and what the order of the patterns does to accuracy and time.

    python report.py OUTPUT.md NAME=FOLDS.json ... [--words NAME=FOLDS.json] [--dual FILE.json] [--note TEXT]

FOLDS.json is what folds.py writes, with --divide-words for those after --words; a file with more than two orders
becomes a line in the two figures. FILE.json is what dual_iterations.py writes. Without NAME=FOLDS.json only the
sections on words and on dual decomposition are written.
"""

import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy
import srsly
import typer
from dual_iterations import HEADER as DUAL_HEADER
from dual_iterations import cells_of
from wasabi import MarkdownRenderer, msg, table

HEADER = ("System", "Order", "Accuracy", "Training, s/iteration", "Test, s", "Iterations", "Folds")
ALIGNS = ("l", *["r"] * (len(HEADER) - 1))
WORDS_HEADER = (
    *(
        "System",
        "Order",
        "Patterns",
        "Words of training",
        "over the lowest order",
        "Words not in training",
    ),
    *("over the lowest order", "Iterations", "Batch", "Dropout", "Folds"),
)
PUBLISHED = (  # Qian & Liu, Table 1; seconds are of their hardware
    ("M3N, cubic kernel (Taskar et al. 2003)", "1", "87.5%", "-", "-", "-", "10"),
    ("Ye et al. (2009)", "5", "85.5%", "85", "-", "40", "10"),
    ("SHO-CRF (Qian et al. 2009)", "7", "88.52%", "5.8", "-", "300", "10"),
    ("Dual decomposition (Qian & Liu)", "7", "86.75%", "1.04", "-", "50", "10"),
    ("Perceptron (Qian & Liu)", "7", "88.53%", "0.390", "-", "50", "10"),
    ("Perceptron (Qian & Liu)", "1", "82.42%", "0.319", "-", "50", "10"),
)


def main(
    output: Path,
    results: Annotated[list[str] | None, typer.Argument()] = None,
    words: list[str] | None = None,
    dual: Path | None = None,
    note: str = "",
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    page = MarkdownRenderer()
    if results:
        add_systems(page, read(results), output, note)
    if words:
        add_words(page, read(words))
    if dual is not None:
        add_dual(page, srsly.read_json(dual))
    machine = f"{platform.machine()}, {platform.system()}"
    page.add(f"Python {platform.python_version()}, NumPy {numpy.__version__}, {machine}.")
    output.write_text(page.text + "\n", encoding="utf8")
    msg.good(f"Report: {output}")


def read(files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """NAME=FILE.json. RETURNS what the files say, by name."""
    return {name: srsly.read_json(path) for name, path in (item.split("=", 1) for item in files)}


def add_systems(
    page: MarkdownRenderer, measured: dict[str, dict[str, Any]], output: Path, note: str
) -> None:
    rows = [row for name, values in measured.items() for row in system_rows(name, values)]
    page.add(page.title(1, "Handwriting recognition"))
    folds = next(iter(measured.values()))["data_folds"]
    page.add(
        f"Trained on one fold, tested on the others of the {len(folds)} in the file; mean and standard deviation over "
        "the training folds. "
        f"Seconds are of one training iteration and of one pass over the test folds through `nlp.pipe`. {note}".strip()
    )
    page.add(page.title(2, "Systems"))
    page.add(page.table(rows, HEADER, aligns=ALIGNS))
    page.add("Published, over ten folds and on the hardware of their time (Qian & Liu, Table 1):")
    page.add(page.table(PUBLISHED, HEADER, aligns=ALIGNS))
    lines = {name: values["means"] for name, values in measured.items() if len(values["means"]) > 2}
    if lines:
        page.add(page.title(2, "The order of the patterns"))
        page.add("\n\n".join(f"![{caption}]({path.name})" for path, caption in draw(output, lines)))
        page.add("Times are relative to those of the lowest order of the same system.")
    print(table(rows, header=HEADER, divider=True, aligns=ALIGNS))


def add_words(page: MarkdownRenderer, measured: dict[str, dict[str, Any]]) -> None:
    rows = [row for name, values in measured.items() for row in word_rows(name, values["runs"])]
    n_folds = len(next(iter(measured.values()))["data_folds"])
    page.add(page.title(2, "Words that training has not seen"))
    page.add(
        "The data have few different words, and all of them occur in every fold, so that long patterns can learn the "
        f"words themselves. Here the words are divided, too, into {n_folds} parts: a fold is trained on without the "
        "words of one part, and those of the other folds are tested apart. Mean and standard deviation over the "
        "training folds, in points; *over the lowest order*: of the differences, fold by fold."
    )
    page.add(page.table(rows, WORDS_HEADER, aligns=("l", *["r"] * (len(WORDS_HEADER) - 1))))
    print(table(rows, header=WORDS_HEADER, divider=True))


def add_dual(page: MarkdownRenderer, measured: dict[str, Any]) -> None:
    page.add(page.title(2, "What iterations buy dual decomposition"))
    page.add(
        f"{measured['train_words']} words of one fold, {measured['epochs']} iterations of the perceptron, order 7 but "
        f"where it says 1; tested on {measured['test_words']} words of another. *Certified*: of the words, those whose "
        "labelling is proved to be the best. *Bound / best score*: of what the relaxation promises to what there is."
    )
    page.add(
        page.table(
            [cells_of(row) for row in measured["rows"]],
            DUAL_HEADER,
            aligns=("l", "l", "r", "r", "r"),
        )
    )


def word_rows(name: str, runs: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One row for each order, columns as in WORDS_HEADER."""
    lowest = {run["fold"]: run for run in runs if run["order"] == min(run["order"] for run in runs)}
    rows = []
    for order in sorted({run["order"] for run in runs}):
        of_order = [run for run in runs if run["order"] == order and run["fold"] in lowest]
        cells: list[str] = []
        for key in ("accuracy", "unseen_accuracy"):
            gains = [run[key] - lowest[run["fold"]][key] for run in of_order]
            cells += [
                spread([run[key] for run in of_order], "{:.2f}%"),
                spread(gains, "{:+.2f}") if any(gains) else "-",
            ]
        settings = (f"{of_order[0][key]:g}" for key in ("iterations", "batch_size", "dropout"))
        patterns = f"{statistics.mean(run['patterns'] for run in of_order):.0f}"
        rows.append((name, str(order), patterns, *cells, *settings, str(len(of_order))))
    return rows


def spread(shares: Sequence[float], form: str) -> str:
    """Mean, and if there are several the standard deviation, in percent."""
    points = [100 * share for share in shares]
    text = form.format(statistics.mean(points))
    return text if len(points) == 1 else f"{text} ± {statistics.stdev(points):.2f}"


def system_rows(name: str, values: dict[str, Any]) -> list[tuple[str, ...]]:
    """The lowest and the highest order of a system."""
    means = values["means"]
    iterations = values["runs"][0]["iterations"]
    chosen = [means[0], means[-1]] if len(means) > 1 else means
    return [
        (
            name,
            str(mean["order"]),
            spread(
                [run["accuracy"] for run in values["runs"] if run["order"] == mean["order"]],
                "{:.2f}%",
            ),
            f"{mean['train_seconds_per_iteration']:.3f}",
            f"{mean['test_seconds']:.3f}",
            str(iterations),
            str(mean["folds"]),
        )
        for mean in reversed(chosen)
    ]


def draw(output: Path, systems: dict[str, list[dict[str, Any]]]) -> list[tuple[Path, str]]:
    """Figures 7 and 8 of Qian & Liu. Needs matplotlib (the extra `report`)."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    plain = {"axes.spines.top": False, "axes.spines.right": False}
    pyplot.rcParams.update({"svg.hashsalt": "ocr", "font.size": 10, **plain})
    pictures = []
    output.parent.mkdir(parents=True, exist_ok=True)
    for part, caption in (
        ("accuracy", "Accuracy against order"),
        ("time", "Relative time against order"),
    ):
        figure, axes = pyplot.subplots(figsize=(6, 3.6))
        for i, (name, means) in enumerate(systems.items()):
            orders = [mean["order"] for mean in means]
            if part == "accuracy":
                axes.plot(
                    orders, [100 * mean["accuracy"] for mean in means], marker="o", label=name
                )
                continue
            for key, style in (("train_seconds_per_iteration", "-"), ("test_seconds", "--")):
                kind = "training" if style == "-" else "test"
                relative = [mean[key] / means[0][key] for mean in means]
                axes.plot(
                    orders, relative, style, color=f"C{i}", marker="o", label=f"{name}, {kind}"
                )
        axes.set_xlabel("highest order of the label patterns")
        axes.set_ylabel("letters right, %" if part == "accuracy" else "seconds, relative")
        if part == "time":
            axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        figure.tight_layout()
        path = output.with_name(f"{output.stem}_{part}.svg")
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
        pictures.append((path, caption))
    return pictures


if __name__ == "__main__":
    typer.run(main)
