"""Lay what `python -m spacy hoseq report` wrote of several systems side by side: scores, speed, and who is better.

    python experiments/common/side_by_side.py TITLE OUTPUT.md NAME=FOLDER... [--compare NAME=OTHER]...
        [--training FOLDER] [--published FILE.json] [--before FILE.md] [--note TEXT]

FOLDER has report.json. Reports of the same name are of one system with other seeds: mean and standard deviation.
--compare: what OTHER gains over NAME, seed by seed; without it all are compared with the first. --training: the models,
with timings.json of train.py. --published: {"note": TEXT, "rows": [{COLUMN: CELL}]}. --before: text before the tables.
"""

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import srsly
import typer
from wasabi import MarkdownRenderer, msg, table

from spacy_hoseq.reporting.significance import RESAMPLES, f_score, mcnemar, paired_bootstrap

SHARES = {
    "accuracy": "Tags",
    "unknown words": "Unknown words",
    "precision": "Precision",
    "recall": "Recall",
    "f": "F",
}
ERROR = "Calibration error"
COSTS = {  # what report.json and timings.json have, its column, unit and form
    "training_seconds": ("Training, s", 1, ",.0f"),
    "peak_bytes": ("Memory, MiB", 2**20, ",.0f"),
    "tokens_per_second": ("Tokens/s", 1, ",.0f"),
    "bytes": ("Model, MB", 1e6, ".1f"),
}
FORMS = {
    **dict.fromkeys(SHARES.values(), ".2f"),
    ERROR: ".4f",
    **{column: form for column, _, form in COSTS.values()},
}
DIFFERENCES = ("Systems", "Of", "Gain", "p", "Errors", "Gained/lost", "p, McNemar")
Report = dict[str, Any]


def main(
    title: str,
    output: Path,
    systems: list[str],
    compare: Annotated[list[str] | None, typer.Option()] = None,
    training: Path = Path("training"),
    published: Path | None = None,
    before: Path | None = None,
    note: str = "",
) -> None:
    reports: dict[str, list[Report]] = {}
    links: dict[str, str] = {}
    for name, folder in (item.split("=", 1) for item in systems):
        file = Path(folder) / "report.json"
        if not file.exists():
            msg.warn(f"{name} was not measured: no {file}")
            continue
        reports.setdefault(name, []).append(srsly.read_json(file))
        page = file.with_name("report.html")
        links[name] = (
            f"[{name}]({Path(os.path.relpath(page, output.parent)).as_posix()})"
            if page.exists()
            else name
        )
    if not reports:
        msg.fail("No system was measured", exits=1)
    names = list(reports)
    pairs = (
        [item.split("=", 1) for item in compare]
        if compare
        else [[names[0], name] for name in names[1:]]
    )
    differences = [row for a, b in pairs if {a, b} <= set(names) for row in compared(a, b, reports)]
    figures = srsly.read_json(published) if published else {"note": "", "rows": []}
    header, rows = table_of(reports, training)
    output.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        f"{of_data(reports[names[0]][0])} {note}".strip(),
        before.read_text(encoding="utf8") if before else "",
    ]
    linked = [[links[row[0]], *row[1:]] for row in rows]
    others = [[row.get(column, "") for column in header] for row in figures["rows"]]
    text = page_of(title, parts, header, [*linked, *others], figures["note"], differences)
    output.write_text(text, encoding="utf8")
    print(table(rows, header=header, divider=True))
    print(table(differences, header=DIFFERENCES, divider=True) if differences else "")
    msg.good(f"Report: {output}")


def of_data(report: Report) -> str:
    versions = ", ".join(f"{package} {version}" for package, version in report["versions"].items())
    return f"{report['tokens']:,} tokens in {report['sentences']:,} sentences; {versions}."


def table_of(reports: dict[str, list[Report]], training: Path) -> tuple[list[str], list[list[str]]]:
    """The columns that any system has a number for, and the row of each system."""
    values = {
        name: [measures(report, training) for report in seeds] for name, seeds in reports.items()
    }
    used = [
        column
        for column in FORMS
        if any(column in one for seeds in values.values() for one in seeds)
    ]
    rows = [
        [
            name,
            *(
                spread([one[column] for one in seeds if column in one], FORMS[column])
                for column in used
            ),
        ]
        for name, seeds in values.items()
    ]
    return ["System", *used], rows


def measures(report: Report, training: Path) -> dict[str, float]:
    """By column. Calibration error: of the last layer."""
    found: dict[str, float] = {}
    for layer in report["layers"]:
        scores = layer["scores"]
        found |= {
            SHARES[name]: 100 * scores[name]["value"]
            for name in SHARES
            if scores.get(name, {}).get("n")
        }
        found |= {ERROR: layer["calibration"]["ece"]} if layer.get("calibration") else {}
    timings = training / Path(report["model"]).parent / "timings.json"
    costs = {**report, **(srsly.read_json(timings) if timings.exists() else {})}
    return {
        **found,
        **{column: costs[key] / unit for key, (column, unit, _) in COSTS.items() if costs.get(key)},
    }


def compared(a: str, b: str, reports: dict[str, list[Report]]) -> list[list[str]]:
    """A row for each kind of annotation that both systems write, columns as in DIFFERENCES."""
    n = max(len(reports[a]), len(reports[b]))
    seeds = list(zip(*((reports[name] * n)[:n] for name in (a, b)), strict=True))
    rows = []
    for kind in [layer["attribute"] for layer in seeds[0][0]["layers"]]:
        layers = [
            [one for report in pair for one in report["layers"] if one["attribute"] == kind]
            for pair in seeds
        ]
        if all(len(pair) == 2 for pair in layers):
            gains, *others = zip(*(difference(*pair) for pair in layers), strict=True)
            cells = [", ".join(filter(None, texts)) for texts in others]
            rows.append([f"{a} → {b}", kind, spread(gains, "+.2f"), *cells])
    return rows


def difference(a: Report, b: Report) -> tuple[float, str, str, str, str]:
    """Two layers: gain in points, p; of tokens change of errors, gained and lost, p of McNemar's test."""
    gain, p = paired_bootstrap(np.array(a["counts"], float), np.array(b["counts"], float), f_score)
    if a["attribute"].startswith("spans."):
        return 100 * gain, f"{p:.4f}", "", "", ""
    right = [np.array(list(layer["right"])) == "1" for layer in (a, b)]
    before, after = (int((~of).sum()) for of in right)
    test = mcnemar(*right)
    change = f"{after / before - 1:+.1%}" if before else "from none"
    return 100 * gain, f"{p:.4f}", change, f"+{test.gained} -{test.lost}", f"{test.p:.2g}"


def spread(values: Sequence[float], form: str) -> str:
    """Mean, and if there are several the standard deviation; "" if there are none."""
    mean = f"{statistics.mean(values):{form}}" if values else ""
    return f"{mean} ± {statistics.stdev(values):{form.lstrip('+')}}" if len(values) > 1 else mean


def page_of(
    title: str,
    before: Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str,
    differences: Sequence[Sequence[str]],
) -> str:
    page = MarkdownRenderer()
    page.add(page.title(1, title))
    for part in filter(None, before):
        page.add(part.strip())
    page.add(page.table(rows, header, aligns=("l", *["r"] * (len(header) - 1))))
    page.add(
        "Scores in per cent. Calibration error: by how much probabilities, of a chunker those of its chunks, are off "
        f"on average. Tokens/s: `nlp.pipe` over ready Docs, median of several passes. {note}".strip()
    )
    if differences:
        page.add(page.title(2, "Differences"))
        page.add(
            page.table(differences, DIFFERENCES, aligns=("l", "l", *["r"] * (len(DIFFERENCES) - 2)))
        )
        page.add(
            f"Gain: points of the second system over the first. p: paired bootstrap over sentences, {RESAMPLES:,} "
            "resamples, one-sided: how often the second is not better. Gained/lost: tokens that only the second, and "
            "only the first, has right; McNemar's test on them is two-sided."
        )
    return page.text + "\n"


if __name__ == "__main__":
    typer.run(main)
