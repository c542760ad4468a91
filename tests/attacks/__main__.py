"""`python -m tests.attacks NAME [OPTIONS]`: run one of the modules beside this one."""

import importlib
import sys
from pathlib import Path

import typer

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def start() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in NAMES:
        sys.exit(f"python -m tests.attacks NAME [OPTIONS], NAME one of: {', '.join(NAMES)}")
    app = typer.Typer(add_completion=False)
    app.command()(importlib.import_module(f"tests.attacks.{name}").main)
    sys.argv = [f"attacks {name}", *sys.argv[2:]]
    app()


if __name__ == "__main__":
    start()
