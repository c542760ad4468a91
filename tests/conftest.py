"""Hypothesis profiles. `--slow` tries many more examples."""

import pytest
from hypothesis import HealthCheck, settings

COMMON = dict(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors],  # one contract, several decoders
)
settings.register_profile("default", max_examples=100, **COMMON)
settings.register_profile("slow", max_examples=3000, **COMMON)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="try many more random examples")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("slow" if config.getoption("--slow") else "default")
