"""spaCy's own tests of its tagger, with each of ours in its place. They are in spaCy's wheel.

Each run is a process of its own, with the plugin hoseq_as_tagger.py, and has all tests of spaCy's that make a tagger.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import spacy
import srsly

TESTS = """\
pipeline.test_tagger
pipeline.test_pipe_methods: test_issue3880 test_pipe_base_class_add_label[tagger] test_add_pipe_before_after
    test_pipe_label_data_exports_labels[tagger] test_pipe_methods_initialize test_enable_disable_conflict_with_config
    test_load_disable_enable
pipeline.test_pipe_factories: test_pipe_factories_from_source test_pipe_factories_from_source_language_subclass
    test_pipe_factories_from_source_custom test_pipe_factories_from_source_config
pipeline.test_tok2vec: test_tok2vec_listener test_tok2vec_listener_callback test_tok2vec_listener_overfitting
    test_tok2vec_frozen_not_annotating test_tok2vec_frozen_overfitting test_replace_listeners
    test_replace_listeners_from_config test_tok2vec_listeners_textcat test_tok2vec_listener_source_link_name
    test_tok2vec_listener_source_replace_listeners
serialize.test_serialize_pipeline: test_issue3456 test_serialize_tagger_roundtrip_bytes
    test_serialize_tagger_roundtrip_disk test_serialize_tagger_strings test_serialize_pipeline_disable_enable
serialize.test_serialize_config: test_create_nlp_from_config test_create_nlp_from_config_multiple_instances
    test_serialize_nlp test_config_overrides test_config_interpolation
serialize.test_serialize_language: test_issue6950
serialize.test_serialize_doc: test_issue1727 test_issue2564
serialize.test_resource_warning: test_to_disk_resource_warning[tagger] TestToDiskResourceWarningUnittest
test_scorer: test_tokenization test_sents test_las_per_type test_ner_per_type test_tag_score test_partial_annotation
test_ty: test_component_types
test_cli: test_init_labels[tagger] test_issue7055
training.test_rehearse: test_rehearse[tagger]
training.test_training: test_issue7029 test_training_before_update
training.test_pretraining: test_pretraining_training test_pretraining_tagger_tok2vec
"""


def node_ids(listing: str, modules: Sequence[str] = ()) -> list[str]:
    """What pytest is asked for: "MODULE: TEST TEST" or "MODULE" for all of it; of these modules, or of all."""
    asked = []
    for line in re.sub(r"\n +", " ", listing).splitlines():
        module, _, tests = line.partition(":")
        if not modules or module in modules:
            asked += [f"spacy.tests.{module}::{test}" for test in tests.split()] or [
                f"spacy.tests.{module}"
            ]
    return asked


# Deselected tests, and why. Paths below spacy/tests.
SMOOTHING = "pipeline/test_tagger.py::test_label_smoothing"
ALWAYS = {
    SMOOTHING: (
        "label_smoothing is a setting of the tagger's cross-entropy; ours has no such setting"
    ),
    "pipeline/test_tok2vec.py::test_replace_listeners": (
        "looks for the listener at model.layers[0], where ours has the emissions layer that contains it; "
        "test_replace_listeners_from_config looks for it everywhere"
    ),
}
QUICKSTART = {
    "test_cli.py::test_init_labels[tagger]": (
        "`init config` writes spaCy's settings for a component of the name tagger (label_smoothing)"
    )
}
LISTENED_TO = {
    "test_ty.py::test_component_types": "wants a tagger that nobody can listen to; tests/components/test_listening.py"
}
AVERAGING = {
    "pipeline/test_tagger.py::test_overfitting_IO": (
        "expects 20 updates to undo what 50 have learnt; the average of the weights needs 29. It passes without"
    )
}
LIKELIHOOD = {
    "pipeline/test_tagger.py::test_incomplete_data": (
        "expects a loss below 1e-5 after 50 updates; ours is the log-likelihood of whole sentences, not a mean: 5e-3"
    ),
    "pipeline/test_tagger.py::test_overfitting_IO": "expects a loss below 1e-5 after 50 updates: 2e-2",
    "pipeline/test_tok2vec.py::test_tok2vec_listener_overfitting": "expects a loss below 1e-5 after 50 updates: 3e-5",
    "pipeline/test_tok2vec.py::test_tok2vec_frozen_overfitting": "expects a loss below 1e-4 after 100 updates: 3e-3",
}
BIDIRECTIONAL = {
    SMOOTHING: ALWAYS[SMOOTHING],
    "pipeline/test_tagger.py::test_overfitting_IO": (
        "expects to unlearn a label from negative annotation, which local classifiers count as missing"
    ),
    "serialize/test_serialize_config.py::test_serialize_nlp": "looks for token vectors, which our model has not",
}


@dataclass(frozen=True)
class Run:
    """n_passed: of the tests that make a tagger, how many must pass at least."""

    tests: list[str]
    n_passed: int
    settings: dict[str, Any] = field(default_factory=dict)
    deselected: dict[str, str] = field(default_factory=dict)
    factory: str = "hoseq_tagger"


LEARNING = node_ids(
    TESTS, ["pipeline.test_tagger", "pipeline.test_tok2vec", "serialize.test_serialize_pipeline"]
)
PATTERNS = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 3, "min_count": 1}
HIGHER_ORDER = {"patterns": PATTERNS}
UNAVERAGED = {"@misc": "spacy_hoseq.additive.v1", "average": False}
PERCEPTRON = {"objective": "perceptron", "update_rule": UNAVERAGED}
QUICK = "spaCy's tests of its tagger"
RUNS = {
    QUICK: Run(
        ["spacy.tests.pipeline.test_tagger"],
        5,
        deselected={test: why for test, why in ALWAYS.items() if "test_tagger" in test} | AVERAGING,
    ),
    "defaults": Run(
        node_ids(TESTS), 59, deselected={**ALWAYS, **QUICKSTART, **LISTENED_TO, **AVERAGING}
    ),
    "log-likelihood with marginals": Run(
        LEARNING,
        22,
        {"objective": "log_likelihood", "save_marginals": True},
        deselected={**ALWAYS, **LIKELIHOOD},
    ),
    "higher order, perceptron, not averaged": Run(
        LEARNING, 26, {**PERCEPTRON, "model": HIGHER_ORDER}, deselected=ALWAYS
    ),
    "bidirectional": Run(
        [test for test in node_ids(TESTS) if not re.search("test_tok2vec:|pretraining|cli", test)],
        45,
        {"width": 0.0},
        deselected=BIDIRECTIONAL,
        factory="hoseq_bidirectional_tagger",
    ),
}
PYTEST_INI = """\
[pytest]
markers =
    issue
    slow
filterwarnings =
    error:::spacy_hoseq
    ignore:\\[HW003
"""


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.long) for name in RUNS]
)
def test_spacys_tests_pass_with_our_tagger(name: str, tmp_path: Path):
    run = RUNS[name]
    asked = {"factory": run.factory, "settings": run.settings, "deselected": list(run.deselected)}
    assert n_passed(tmp_path, "hoseq_as_tagger", run.tests, asked) >= run.n_passed


def n_passed(folder: Path, plugin: str, tests: list[str], asked: dict[str, Any]) -> int:
    """How many of spaCy's tests passed that made a component of ours. The others passed, too."""
    srsly.write_json(folder / "asked.json", asked)
    (folder / "pytest.ini").write_text(PYTEST_INI, "utf8")
    site_packages = str(Path(spacy.__file__).parents[1])
    options = ["-q", "-p", "hooks", "-p", plugin, "-p", "no:cacheprovider"]
    options += ["-c", "pytest.ini", "--rootdir", site_packages]
    variables = {
        "HOSEQ_CONFORMANCE": str(folder / "asked.json"),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--junitxml", "report.xml", "--pyargs", *tests],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-5000:]
    return sum(
        case.find("skipped") is None
        and int(made.get("value", "0")) > 0  # an expected failure counts as skipped there
        for case in ElementTree.parse(folder / "report.xml").iter("testcase")
        for made in case.iter("property")
    )
