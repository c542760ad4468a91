"""Run steps of steps.yml in a size, two at a time, and say how long each took.

    python sized.py SIZE [STEP ...]

All steps, or those named. A step that fails ends the command when the others have ended.
"""

import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import srsly
import typer
from wasabi import msg

STEPS = Path(__file__).parent / "steps.yml"
SIZES = ("trial", "hour", "full")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main(
    size: str,
    names: Annotated[
        list[str] | None, typer.Argument(help="steps; all of them if none is named")
    ] = None,
) -> None:
    steps = srsly.read_yaml(STEPS)
    unknown = {*(names or ())} - {*steps}
    if size not in SIZES or unknown:
        msg.fail(
            f"Unknown: {', '.join([*unknown] or [size])}",
            f"Sizes: {SIZES}; steps: {[*steps]}",
            exits=1,
        )
    chosen = [name for name in names or steps if steps[name][size] is not None]
    with ThreadPoolExecutor(2) as workers:
        done = list(workers.map(lambda name: ran(name, steps[name], size), chosen))
    failed = [name for name, well in zip(chosen, done, strict=True) if not well]
    if failed:
        msg.fail(f"Failed: {', '.join(failed)}", exits=1)


def ran(name: str, step: dict[str, str], size: str) -> bool:
    command = shlex.split(f"{step['run']} {step[size]}")
    start = time.monotonic()
    done = subprocess.run([sys.executable, *command], env={**os.environ, **ONE_THREAD})
    msg.info(f"{name}, {size}: {(time.monotonic() - start) / 60:.1f} minutes")
    return done.returncode == 0


if __name__ == "__main__":
    typer.run(main)
