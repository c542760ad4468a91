"""Changes of recipes: configs that differ in what they say, scores, and tests over seeds."""

import gzip

import spacy

CONLLU = "1\tone\tone\tNUM\t_\tNumType=Card\t0\troot\t_\t_\n2\tdogs\tdog\tNOUN\t_\tNumber=Plur\t1\tdep\t_\t_\n\n"
NAMES = "# text = Ana sees Leeds\n1\tAna\tB-PER\t-\t-\n2\tsees\tO\t-\t-\n3\tLeeds\tB-LOC\t-\t-\n\n"


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
