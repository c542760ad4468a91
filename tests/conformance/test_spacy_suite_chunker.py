"""spaCy's own tests of its span categorizer and entity recognizer, with our chunker in their place.

As test_spacy_suite.py does for taggers, with the plugin hoseq_as_chunker.py. What those tests of theirs ask that cannot
be pointed at ours (tests listed below) is asked in tests/components: test_chunker*.py, test_entities.py.
"""

from pathlib import Path

import pytest

from .test_spacy_suite import HIGHER_ORDER, PERCEPTRON, n_passed, node_ids

TESTS = """\
pipeline.test_spancat
parser.test_ner
pipeline.test_pipe_methods: test_issue3880 test_replace_last_pipe test_pipe_base_class_add_label[ner] test_pipe_labels
    test_add_pipe_before_after test_pipe_methods_frozen test_pipe_label_data_exports_labels[ner]
    test_pipe_methods_initialize
pipeline.test_pipe_factories: test_pipe_factory_meta_config_cleanup
serialize.test_serialize_pipeline: test_issue4042 test_issue4042_bug2 test_issue4725_1
    test_serialize_pipeline_disable_enable
serialize.test_serialize_config: test_config_nlp_roundtrip
serialize.test_serialize_language: test_issue2482
training.test_rehearse: test_rehearse[ner]
training.test_training: test_tuple_format_implicit
"""
LEARNING = ("pipeline.test_spancat", "parser.test_ner")

# Deselected tests, and why. Paths below spacy/tests.
NO_SETTING = "a setting that ours has not (threshold, max_positive, suggester, use_upper, those of the oracle)"
TRANSITIONS = "looks into the transition system, which ours has not"
NOT_RESIZABLE = (
    "adds labels after initialization; ours cannot, and neither can spaCy's span categorizer"
)
ORDER = "expects the labels as they come in the examples; ours are sorted, as a tagger's"
COLUMNS = "expects one column of weights for each label; ours has one for each tag"
NEEDS_LABELS = "initializes without labels or examples, which is an error in all trainable components but this one"
DESELECTED = {
    **{
        f"pipeline/test_spancat.py::test_make_spangroup_multilabel[{ids}]": NO_SETTING
        for ids in ("None-4", "1-2", "2-3", "3-4", "4-4")
    },
    **{
        f"pipeline/test_spancat.py::test_make_spangroup_singlelabel[{ids}]": NO_SETTING
        for ids in ("0.05-True-3", "0.05-False-1", "0.5-True-2", "0.5-False-1")
    },
    "pipeline/test_spancat.py::test_make_spangroup_negative_label": NO_SETTING,
    "pipeline/test_spancat.py::test_zero_suggestions[spancat]": NO_SETTING,
    "pipeline/test_spancat.py::test_set_candidates[spancat]": "there are no candidates: all chunkings are searched",
    "pipeline/test_spancat.py::test_implicit_labels[spancat]": ORDER,
    "pipeline/test_spancat.py::test_overfitting_IO": COLUMNS,
    "pipeline/test_spancat.py::test_overfitting_IO_overlapping": "gold spans that overlap: HS083",
    "parser/test_ner.py::test_issue1967[U-JOB-NAME]": TRANSITIONS,
    "parser/test_ner.py::test_issue2179": TRANSITIONS,
    "parser/test_ner.py::test_issue2800": "1000 types make 4001 tags, 16 million transitions: possible, but slow",
    "parser/test_ner.py::test_issue3209": TRANSITIONS,
    "parser/test_ner.py::test_labels_from_BILUO": TRANSITIONS,
    "parser/test_ner.py::test_accept_blocked_token": TRANSITIONS,
    "parser/test_ner.py::test_train_negative_deprecated": "!PERSON is a type like any other: a warning, HW001",
    "parser/test_ner.py::test_overwrite_token": NEEDS_LABELS,
    "parser/test_ner.py::test_ner_warns_no_lookups": NEEDS_LABELS,
    "parser/test_ner.py::test_overfitting_IO[True]": NO_SETTING,
    "parser/test_ner.py::test_overfitting_IO[False]": NO_SETTING,
    "serialize/test_serialize_pipeline.py::test_issue4042_bug2": NOT_RESIZABLE,
    "serialize/test_serialize_pipeline.py::test_issue4725_1": NO_SETTING,
    "training/test_rehearse.py::test_rehearse[ner]": NOT_RESIZABLE,
}
# Modules that are left out, and why: test_cli (`init config` writes spaCy's settings; no `threshold` to find),
# parser.test_add_label (adds labels after initialization), the rest of training.test_training (learns without examples
# in initialization, from which ours takes its features), pipeline.test_tok2vec (models of a transition system).
RUNS = {  # settings, modules, and how many tests that make a chunker must pass at least
    "defaults": ({}, (), 24),
    "max-margin, patterns, iob2": (
        {"objective": "max_margin", "representation": "iob2", "model": HIGHER_ORDER},
        LEARNING,
        8,
    ),
    "perceptron with marginals, start_end": (
        {**PERCEPTRON, "representation": "start_end", "save_marginals": True},
        LEARNING,
        8,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_spacys_tests_pass_with_our_chunker(name: str, tmp_path: Path):
    settings, modules, least = RUNS[name]
    tests = node_ids(TESTS, modules)
    modules = [test.split("::")[0].removeprefix("spacy.tests.") for test in tests]
    files = {module.replace(".", "/") + ".py" for module in modules}
    deselected = [test for test in DESELECTED if test.split("::")[0] in files]
    asked = {"settings": settings, "deselected": deselected}
    assert n_passed(tmp_path, "hoseq_as_chunker", tests, asked) >= least
