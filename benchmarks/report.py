"""Write the tables and the plot again from the CSV of earlier runs, without measuring anything.

    python -m benchmarks.report --tagging metrics/tagging.csv --scale metrics/scale.csv
        --page docs/measurements/performance.md --page README.md --plot docs/images/tagging.svg

Pages get the tables that they have marks for.
"""

from pathlib import Path
from typing import List, Optional

import typer

from . import scale as scale_benchmark
from . import tagging as tagging_benchmark
from .results import read_rows


def main(
    tagging: Optional[Path] = None,
    scale: Optional[Path] = None,
    page: Optional[List[Path]] = None,
    plot: Optional[Path] = None,
) -> None:
    if tagging is not None:
        tagging_benchmark.publish(read_rows(tagging), page or [], plot)
    if scale is not None:
        scale_benchmark.publish(read_rows(scale, scale_benchmark.TEXT), page or [])


if __name__ == "__main__":
    typer.run(main)
