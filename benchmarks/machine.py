"""The machine that is measured on: what to write down of it, and how to keep a process on one core of it."""

import os
import platform
import resource
import sys
from pathlib import Path

import numpy
import spacy

THREADS = {key: "1" for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def environment() -> dict[str, str]:
    """Of the process to start: one thread for linear algebra."""
    return {**os.environ, **THREADS}


def description() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "spacy": spacy.__version__,
        "machine": platform.machine(),
        "processor": processor(),
    }


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    names = cpuinfo.read_text().split("model name") if cpuinfo.exists() else []
    return names[1].split(":")[1].split("\n")[0].strip() if len(names) > 1 else platform.processor()


def pin_to_one_core() -> None:
    """Of this process, and of those it starts."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def used_bytes() -> int:
    """Memory that this process uses now; its peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    return (
        int(statm.read_text().split()[1]) * resource.getpagesize()
        if statm.exists()
        else peak_bytes()
    )


def peak_bytes() -> int:
    """Most memory that this process has used, since `forget_peak` where that works."""
    status = Path("/proc/self/status")
    found: str | None = None
    if status.exists():
        found = next(
            (line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None
        )
    if found is not None:
        return int(found.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def forget_peak() -> None:
    """Begin to watch the peak anew (Linux only; elsewhere the peak is that of the whole process)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
