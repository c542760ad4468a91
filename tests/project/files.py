"""The repository's project files, and how to run what is in them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


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
