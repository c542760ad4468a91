"""The three runs of the tests: the quick one by default, everything with `--all`, thousands of random examples with
`--slow`; their order, and the seed of their random examples."""

import secrets
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from . import noise

COMMON: dict[str, Any] = dict(
    deadline=None,
    database=None,
    print_blob=False,  # the seed says it
    suppress_health_check=[
        HealthCheck.differing_executors,  # one contract, several decoders
        HealthCheck.too_slow,  # beside other processes anything is
    ],
)
settings.register_profile("quick", max_examples=10, **COMMON)
settings.register_profile("all", max_examples=15, **COMMON)

# Folders whose modules take a minute each. They come first: last, each would leave the other processors idle.
FIRST = ("conformance", "docs", "project", "experiments")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything: long tests too, and more random examples")
    parser.addoption("--slow", action="store_true", help="as --all, with thousands of random examples")
    parser.addoption("--examples", type=int, default=2500, help="with --slow: random examples of each test")
    parser.addoption("--noise", action="store_true", help="round as another processor might (tests/noise.py)")


@pytest.hookimpl(tryfirst=True)  # before that of Hypothesis reads the seed; processes of xdist get the options
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes longer than a newcomer waits for gladly; run by --all")
    slow, everything = config.getoption("--slow"), config.getoption("--all")
    settings.register_profile("slow", max_examples=config.getoption("--examples"), **COMMON)
    settings.load_profile("slow" if slow else "all" if everything else "quick")
    if config.getoption("--noise"):
        noise.install()
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(10**6))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    terminalreporter.write_line(f"random examples: --hypothesis-seed={config.option.hypothesis_seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(folder in FIRST for folder in item.nodeid.split("/")[:-1]))
    if config.getoption("--all") or config.getoption("--slow"):
        return
    left_out = [item for item in items if item.get_closest_marker("long") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("long") is None]
