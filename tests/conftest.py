"""Hypothesis profiles and the two runs of the tests: the quick one by default, everything with `--all`."""

import pytest
from hypothesis import HealthCheck, settings

COMMON = dict(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors],  # one contract, several decoders
)
settings.register_profile("quick", max_examples=10, **COMMON)
settings.register_profile("all", max_examples=50, **COMMON)
settings.register_profile("slow", max_examples=3000, **COMMON)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run everything: long tests too, and more random examples")
    parser.addoption("--rest", action="store_true", help="what --all runs beyond the quick run")
    parser.addoption("--slow", action="store_true", help="as --all, with many more random examples")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes longer than a newcomer waits for gladly; run by --all")
    slow, everything = config.getoption("--slow"), config.getoption("--all") or config.getoption("--rest")
    settings.load_profile("slow" if slow else "all" if everything else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or config.getoption("--slow"):
        return
    others = [item for item in items if is_long(item)]  # those that are not run
    if config.getoption("--rest"):
        others = [item for item in items if not is_long(item) and not is_random(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


def is_random(item: pytest.Item) -> bool:
    """Whether it has more examples in a longer run."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
