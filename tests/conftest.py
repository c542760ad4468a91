"""The three runs of the tests: the quick one by default, everything with `--all`, thousands of random examples with
`--slow`; their order, and the seeds of their random examples."""

import functools
import secrets
import time
from collections.abc import Iterator
from typing import Any

import catalogue
import pytest
from hypothesis import HealthCheck, core, is_hypothesis_test, settings
from spacy.language import Language

from spacy_hoseq.pipelines import loading

from .builders import packaged

COMMON: dict[str, Any] = dict(
    deadline=None,
    database=None,
    print_blob=False,  # the seed says it
    suppress_health_check=[
        HealthCheck.differing_executors,  # one contract, several decoders
        HealthCheck.too_slow,  # beside other processes anything is
    ],
)
settings.register_profile("quick", max_examples=40, **COMMON)
settings.register_profile("slow", max_examples=100, **COMMON)

# Folders whose modules take a minute each. They come first: last, each would leave the other processors idle.
FIRST = ("conformance", "docs", "project", "experiments")


def pytest_addoption(parser: pytest.Parser) -> None:
    option = parser.addoption
    option("--all", action="store_true", help="long tests, too")
    option("--slow", action="store_true", help="as --all, with thousands of random examples")
    option("--rounds", type=int, default=25, help="with --slow: of 100 random examples, at most")
    option("--seconds", type=float, default=10.0, help="with --slow: for all rounds of a test")


# before that of Hypothesis reads the seed; processes of xdist get the options
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes; run by --slow")
    long = "long: takes longer than a newcomer waits for gladly; run by --all"
    config.addinivalue_line("markers", long)
    settings.load_profile("slow" if config.getoption("--slow") else "quick")
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(10**6))


@pytest.fixture(scope="session", autouse=True)
def entry_points_once() -> Iterator[None]:
    """spaCy looks for entry points once for each name in a config: a quarter of loading."""
    search = functools.cache(catalogue.Registry._get_entry_points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue.Registry, "_get_entry_points", search)
        yield


@pytest.fixture(scope="module")
def loaded_once() -> Iterator[None]:
    """Commands get copies of the pipelines of the package, which are read once in a process."""
    load = loading.load_from

    def load_from(place: str, **settings: Any) -> Language:
        is_plain = place in ("en", "zh") and not settings
        return packaged(place) if is_plain else load(place, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load_from", load_from)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """--slow: a random test goes on in rounds with seeds of their own, until it has had enough of them or of time."""
    end = time.monotonic() + pyfuncitem.config.getoption("--seconds")
    result = yield
    if not (pyfuncitem.config.getoption("--slow") and is_hypothesis_test(pyfuncitem.obj)):
        return result
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    first = int(pyfuncitem.config.option.hypothesis_seed)
    for seed in range(first + 1, first + pyfuncitem.config.getoption("--rounds")):
        if time.monotonic() > end:
            break
        core.global_force_seed = seed
        try:
            pyfuncitem.obj(**arguments)
        except BaseException:
            pyfuncitem.add_report_section("call", "seed", f"again: --slow --hypothesis-seed={seed}")
            raise
        finally:
            core.global_force_seed = first
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    seed = config.option.hypothesis_seed
    terminalreporter.write_line(f"random examples: --hypothesis-seed={seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(folder in FIRST for folder in item.nodeid.split("/")[:-1]))
    if config.getoption("--slow"):
        return
    marks = ["slow"] if config.getoption("--all") else ["long", "slow"]
    left_out = {item for item in items if any(map(item.get_closest_marker, marks))}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
