"""The repository's project files, and how to run what is in them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    """scripts/NAME.py as a module, to call its functions without the costs of another process."""
    spec = importlib.util.spec_from_file_location(f"script_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command: Any, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python COMMAND` in a folder. Standard output and errors come as one text."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**os.environ, "HOSEQ_CORPORA": "", "PYTHONIOENCODING": "utf8", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf8",
    )
