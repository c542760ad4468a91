"""What the package said at the start of a rebuilding, it says now: labels to the last one, numbers to 1e-6.

The files in data/ were written by `make.py`. Where a change of what models say is meant, write them anew."""

import itertools
import json
import math
import zipfile
from pathlib import Path

import pytest
import spacy

from . import problems, systems

DATA = Path(__file__).parent / "data"
HALF = 1e-4  # weights are kept in half precision: where rounding differs, one of them may be its neighbour
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:\[HW003\]"),  # probabilities of a margin
    pytest.mark.filterwarnings(r"ignore:\[W095\]"),  # saved by a later spaCy
]


def differences(now, then, tolerance=1e-6, place="value"):
    """A line for each place where two structures differ: numbers by more than the tolerance,
    absolutely below 1 and relatively above, all else at all."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        parts = [(key, now[key], then[key]) for key in now]
    elif isinstance(now, list | tuple) and isinstance(then, list) and len(now) == len(then):
        parts = zip(itertools.count(), now, then, strict=False)
    elif isinstance(now, float) and isinstance(then, float):
        is_same = math.isclose(now, then, rel_tol=tolerance, abs_tol=tolerance)
        return [] if is_same else [f"{place}: {now} instead of {then}"]
    else:
        is_same = type(now) is type(then) and now == then
        return [] if is_same else [f"{place}: {now!r} instead of {then!r}"]
    return [
        line
        for key, one, other in parts
        for line in differences(one, other, tolerance, f"{place}[{key!r}]")
    ]


def golden(name):
    with zipfile.ZipFile(DATA / "said.zip") as archive:
        return json.loads(archive.read(f"{name}.json"))


def compare(nlp, system, then, tolerance=1e-6):
    """In batches of any size."""
    for batch_size in systems.BATCH_SIZES:
        labelled = systems.labelled(nlp, system, batch_size)
        assert not differences(labelled, then, tolerance), batch_size


@pytest.mark.parametrize("name", systems.EMBEDDED)
def test_pipelines_of_the_package(name):
    compare(systems.embedded(name), None, golden(name)["trained"])


@pytest.mark.parametrize("name", systems.SYSTEMS)
def test_recipes_learn_the_same(name):
    """Losses of each update, and what is said after the last one."""
    nlp, losses = systems.trained(name, "en", systems.training())
    then = golden(name)
    assert len(losses) == systems.UPDATES
    assert not differences(losses, then["losses"])
    compare(nlp, systems.SYSTEMS[name], then["trained"], HALF)


def test_strategies_decide_the_same():
    nlp, _ = systems.trained("bidirectional", "en", systems.training())
    now = systems.decided(nlp)
    assert len({json.dumps(said) for said in now.values()}) == len(systems.STRATEGIES)
    assert not differences(now, golden("bidirectional")["strategies"], HALF)


@pytest.mark.parametrize("kind", problems.KINDS)
def test_decoders_say_the_same(kind):
    assert not differences(problems.said(kind), golden(f"problem {kind}"))


@pytest.mark.parametrize("name", systems.SYSTEMS)
def test_saved_files_load_and_say_the_same(name, tmp_path):
    with zipfile.ZipFile(DATA / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    nlp = spacy.load(tmp_path, exclude=["tokenizer"])
    compare(nlp, systems.SYSTEMS[name], golden(name)["saved"])


@pytest.mark.parametrize("name", systems.SYSTEMS)
def test_what_was_said_is_worth_comparing(name):
    """Several labels, and probabilities of each kind that the recipe has."""
    then = golden(name)
    for said in (then["trained"], then["saved"]):
        assert len(said) == systems.N_LABELLED
        numbers = [key for key in said[0] if key.endswith("probabilities") or key[:6] == "scores"]
        kinds = ("tag_", "pos_", "ent_iob_", "spans chunks")
        labels = {label for doc in said for kind in kinds for label in _all(doc, kind)}
        assert numbers and len(labels) > 2
    assert all(any(value > 0 for value in update.values()) for update in then["losses"])


def _all(doc, key):
    value = doc.get(key, [])
    return value.split() if isinstance(value, str) else [span.split()[1] for span in value]
