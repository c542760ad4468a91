"""spaCy's own tests of its tagger, with each of ours in its place. They are in spaCy's wheel.

Each run is a process of its own, with the plugin hoseq_as_tagger.py, and has all tests of spaCy's that make a tagger.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
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


def node_ids() -> list[str]:
    """What pytest is asked for: "MODULE: TEST TEST", or "MODULE" for all of it."""
    asked = []
    for line in re.sub(r"\n +", " ", TESTS).splitlines():
        module, _, tests = line.partition(":")
        names = [f"spacy.tests.{module}::{test}" for test in tests.split()]
        asked += names or [f"spacy.tests.{module}"]
    return asked


# Deselected tests, and why. Paths below spacy/tests.
SMOOTHING = {"pipeline/test_tagger.py::test_label_smoothing": "a setting of cross-entropy"}
OVERFITTING = "pipeline/test_tagger.py::test_overfitting_IO"
AVERAGING = {
    OVERFITTING: "the average of the weights needs 29 updates, not 20, to undo what 50 learnt"
}
NOT_OURS = {
    # there is the emissions layer that contains it; test_replace_listeners_from_config looks on
    "pipeline/test_tok2vec.py::test_replace_listeners": "looks for the listener at model.layers[0]",
    "test_cli.py::test_init_labels[tagger]": "`init config` writes spaCy's settings for a tagger",
    "test_ty.py::test_component_types": "wants a tagger that nobody can listen to",
}
BIDIRECTIONAL = {
    OVERFITTING: "negative annotation counts as missing for local classifiers",
    "serialize/test_serialize_config.py::test_serialize_nlp": "looks for token vectors",
}
# factory, tests, deselected, how many tests that make a tagger must pass at least
TAGGER = ["spacy.tests.pipeline.test_tagger"]
WORDS = [test for test in node_ids() if not re.search("test_tok2vec:|pretraining|cli", test)]
EVERY = SMOOTHING | AVERAGING | NOT_OURS
RUNS = {
    "quick": ("hoseq_tagger", TAGGER, SMOOTHING | AVERAGING, 5),
    "all": ("hoseq_tagger", node_ids(), EVERY, 59),
    "bidirectional": ("hoseq_bidirectional_tagger", WORDS, SMOOTHING | BIDIRECTIONAL, 45),
}
LONG = [
    pytest.param("all", marks=pytest.mark.long),
    pytest.param("bidirectional", marks=pytest.mark.slow),
]
PYTEST_INI = """\
[pytest]
markers =
    issue
    slow
filterwarnings =
    error:::spacy_hoseq
    ignore:\\[HW003
"""


@pytest.mark.parametrize("name", ["quick", *LONG])
def test_spacys_tests_pass_with_our_tagger(name: str, tmp_path: Path):
    """Enough of them make a tagger of ours; the others pass, too."""
    factory, tests, deselected, least = RUNS[name]
    settings = {"width": 0.0} if name == "bidirectional" else {}
    asked = {"factory": factory, "settings": settings, "deselected": list(deselected)}
    srsly.write_json(tmp_path / "asked.json", asked)
    (tmp_path / "pytest.ini").write_text(PYTEST_INI, "utf8")
    site_packages = str(Path(spacy.__file__).parents[1])
    options = ["-q", "-p", "hooks", "-p", "hoseq_as_tagger", "-p", "no:cacheprovider"]
    options += ["-c", "pytest.ini", "--rootdir", site_packages]
    here = str(Path(__file__).parent)
    variables = {"HOSEQ_CONFORMANCE": str(tmp_path / "asked.json"), "PYTHONPATH": here}
    command = [sys.executable, "-m", "pytest", *options, "--junitxml", "report.xml", "--pyargs"]
    environment = {"cwd": tmp_path, "env": {**os.environ, **variables}}
    process = subprocess.run([*command, *tests], capture_output=True, text=True, **environment)
    assert process.returncode == 0, process.stdout[-5000:] + process.stderr[-5000:]
    n_passed = 0
    for case in ElementTree.parse(tmp_path / "report.xml").iter("testcase"):
        if case.find("skipped") is None:  # an expected failure counts as skipped there
            n_passed += any(int(made.get("value", "0")) for made in case.iter("property"))
    assert n_passed >= least
