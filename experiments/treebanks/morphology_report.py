"""Tables of what morphology.py measured: shares in per cent, times in processor seconds.

python experiments/treebanks/morphology_report.py METRICS OUTPUT.md
"""

from pathlib import Path
from typing import Any

import srsly
import typer

COLUMNS = (
    "| System | Labels | Weights | UPOS | Features | Both | F of features | F of case "
    "| Training | Memory | Tokens/s |"
)


def main(metrics: Path, output: Path) -> None:
    text = "".join(
        table(path.stem, srsly.read_json(path)) for path in sorted(metrics.glob("*.json"))
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf8")


def table(name: str, measured: dict[str, Any]) -> str:
    sizes = ", ".join(f"{part} {n:,} words" for part, n in measured["sizes"].items())
    lines = [f"### {name}", "", f"{sizes}.", ""]
    for part in ("dev", "test"):
        if part in measured["sizes"]:
            lines += [COLUMNS.replace("System", f"System, on {part}"), "| --- |" + " ---: |" * 10]
            lines += [
                row(system, values, values[part]) for system, values in measured["systems"].items()
            ]
            lines.append("")
    return "\n".join(lines) + "\n"


def row(system: str, values: dict[str, Any], scores: dict[str, Any]) -> str:
    shares = [scores[key] for key in ("pos", "morph", "both", "feature_f", "case_f")]
    cells = [f"{100 * share:.2f}" if share is not None else "" for share in shares]
    cells += [f"{values['processor_seconds']:.0f} s", f"{values['peak_bytes'] / 1e9:.2f} GB"]
    cells += [f"{scores['tokens_per_second']:,.0f}"]
    return f"| {system} | {values['labels']} | {values['weights']:,} | {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
