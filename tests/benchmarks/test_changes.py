"""Changes of recipes: configs that differ in what they say, scores, and tests over seeds."""

import gzip

import numpy as np
import pytest
import spacy

CONLLU = "1\tone\tone\tNUM\t_\tNumType=Card\t0\troot\t_\t_\n2\tdogs\tdog\tNOUN\t_\tNumber=Plur\t1\tdep\t_\t_\n\n"
NAMES = "# text = Ana sees Leeds\n1\tAna\tB-PER\t-\t-\n2\tsees\tO\t-\t-\n3\tLeeds\tB-LOC\t-\t-\n\n"


@pytest.mark.parametrize(
    "differences, p",
    [
        ([1.0, 2.0, 3.0], 0.0742),  # t = 3.4641, 2 degrees of freedom
        ([1.0, -1.0, 2.0, 0.5], 0.3910),  # t = 1, 3 degrees
        ([1.0, -1.0, 0.0], 1.0),
        ([1.0, 1.0, 1.0], None),
        ([0.3, 0.1 + 0.2, 0.3], None),  # the same but for rounding
        ([1.0, 3.0], None),
    ],
)
def test_t_test(differences, p, benchmarks):
    found = benchmarks("changes").paired_t_test(differences)
    assert found is None if p is None else abs(found - p) < 2e-3


def test_t_test_with_two_degrees_of_freedom_has_a_closed_form(benchmarks):
    differences = np.array([0.3, -0.1, 0.9])
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(3))
    assert benchmarks("changes").paired_t_test(differences) == pytest.approx(1 - t / np.sqrt(t**2 + 2), abs=1e-6)


def test_configs_differ_in_what_they_say(benchmarks):
    module = benchmarks("changes")
    for name, change in module.CHANGES.items():
        for corpus in module.CORPORA.values():
            if change.is_for(corpus.task):
                config = module.config_of(corpus.task, change, "train.spacy", 3)
                base = module.config_of(corpus.task, module.CHANGES[module.RECIPE], "train.spacy", 3)
                assert config["training"]["seed"] == 3
                is_config = bool(change.templates or change.more or change.settings or change.recipe)
                assert (config != base) == is_config, name


def test_runs_of_both_kinds(benchmarks, tmp_path):
    module = benchmarks("changes")
    for name, text in (("a.conllu.gz", CONLLU), ("b.iob2.gz", NAMES)):
        (tmp_path / name).write_bytes(gzip.compress((text * 40).encode("utf8")))
    words = module.Corpus(module.Task("morphologizer", "xx", ("a.conllu.gz",) * 2, 1, (3, 5)), ("morph", "pos"), 2)
    names = module.Corpus(module.Task("entities", "xx", ("b.iob2.gz",) * 2, 1, (), 2), ("F",), 2)
    recipe = module.CHANGES[module.RECIPE]
    assert module.run(words, recipe, tmp_path, 0)["scores"] == {"morph": 1.0, "pos": 1.0}
    assert module.run(names, recipe, tmp_path, 0)["scores"] == {"F": 1.0}


def test_without_a_dev_part_every_fifth_text_is_measured(benchmarks, tmp_path):
    module = benchmarks("changes")
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress((CONLLU * 60).encode("utf8")))  # six Docs
    corpus = module.treebank("xx", "", "")._replace(task=module.Task("morphologizer", "xx", ("a.conllu.gz", ""), 1, ()))
    nlp = spacy.blank("xx")
    sizes = [len(list(module.part_of(nlp, corpus, tmp_path, is_dev=is_dev))) for is_dev in (False, True)]
    assert sizes == [5, 1]


def test_table(benchmarks):
    module = benchmarks("changes")
    name = next(name for name in module.CHANGES if "entities" in module.CHANGES[name].recipes and name != module.RECIPE)
    scores = {module.RECIPE: [0.5, 0.5, 0.5], name: [0.51, 0.52, 0.53]}
    rows = [
        {"corpus": "Resume", "change": change, "seed": seed, "scores": {"F": f}, "training": 2.0, "prediction": 1.0}
        for change, of_seeds in scores.items()
        for seed, f in enumerate(of_seeds)
    ]
    base, changed = module.table(rows)
    assert base == [f"Resume, F: {module.RECIPE}", "50.00", "50.00, 50.00, 50.00", "", "", "1.00x", "1.00x"]
    assert changed[1:] == ["52.00", "51.00, 52.00, 53.00", "+2.00", "0.074", "1.00x", "1.00x"]
