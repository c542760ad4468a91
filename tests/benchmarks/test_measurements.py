"""What is measured has not been trained on, and has not chosen anything; rows, and what stands in them."""

import pytest
from spacy.tokens import DocBin
from spacy.util import load_model_from_config, set_dot_to_object
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_hoseq.recipes import recipe


def conll(folder, n, dev=0):
    """CoNLL-2000 of n sentences, each of one word of its own, and another part of `dev` sentences."""
    for name, first, end in (("train.txt", 0, n), ("dev.txt", n, n + dev)):
        text = "".join(f"word{i} NN B-NP\n\n" for i in range(first, end))
        (folder / name).write_text(text, "utf8")
    return folder


def words_of(folder):
    files = {part: folder / f"{part}.spacy" for part in ("train", "dev", "test")}
    docs = {part: DocBin().from_disk(file).get_docs(Vocab()) for part, file in files.items()}
    return {part: {token.text for doc in found for token in doc} for part, found in docs.items()}


@pytest.mark.parametrize("dev, sizes", [("", (100, 20, 20)), ("dev.txt", (100, 15, 15))])
def test_parts_have_nothing_in_common(benchmarks, tmp_path, dev, sizes):
    corpora = benchmarks("corpora")
    corpus = corpora.Corpus("en", "tag", "train.txt", dev)
    words = words_of(corpora.divide(corpus, conll(tmp_path, 400, 30), 100, tmp_path / "parts"))
    assert tuple(map(len, words.values())) == sizes
    assert len(set().union(*words.values())) == sum(sizes)


def test_texts_of_a_treebank(benchmarks, tmp_path):
    path = tmp_path / "a.conllu"
    rows = "1\tI\tI\tPRON\t_\t_\t0\troot\t_\tSpaceAfter=No\n"
    rows += "2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
    path.write_text(rows * 3)
    texts_of = benchmarks("corpora").texts_of
    assert texts_of(path, "en", 2) == ["I. I.", "I."] and texts_of(path, "zh") == ["I."] * 3


def test_rows_are_different_trainings(benchmarks):
    recipes = benchmarks("recipes")
    keys = [str(run.key) for corpora in recipes.TABLES.values() for run in recipes.runs_of(corpora)]
    assert len(keys) > 50 and len(keys) == len(set(keys))


@pytest.mark.long
def test_settings_of_all_rows(benchmarks):
    """Each changes what it says, and the config is one that spaCy takes."""
    recipes = benchmarks("recipes")
    every = [run for table in recipes.TABLES.values() for run in recipes.runs_of(table)]
    runs = {(run.of.lang, run.name): run for run in every}
    for run in runs.values():
        config = Config().from_str(recipe(run.system["recipe"], run.of.lang), interpolate=False)
        before = config.to_str()
        for key, value in run.system.get("set", {}).items():
            set_dot_to_object(config, key, value)
        assert (config.to_str() != before) == ("set" in run.system), run.name
        if "guide" not in run.name:  # (which is another pipeline, trained first)
            load_model_from_config(config, auto_fill=True)


@pytest.mark.parametrize(
    "place, name", [("tag", "tagger"), ("spans.chunks", "pipeline"), ("spans.chunks", "chunker")]
)
def test_a_run(benchmarks, tmp_path, place, name):
    """Trained by one half of the development text, measured on the other, which is as easy."""
    recipes, corpora = benchmarks("recipes"), benchmarks("corpora")
    (tmp_path / "a.txt").write_text("the DT B-NP\ndog NN I-NP\nruns VBZ B-VP\n\n" * 20)
    steps = {"training.max_steps": 4, "training.eval_frequency": 2, "training.before_to_disk": None}
    system = {"recipe": name, "set": {**steps, "initialize.lookups": None, "training.patience": 2}}
    run = recipes.Run("c", corpora.Corpus("xx", place, "a.txt", "a.txt"), 0, name, system, 0)
    corpora.divide(run.of, tmp_path, 0, recipes.folder_of(tmp_path, run))
    row = recipes.measured(run, tmp_path)
    assert len(row["counts"]) == 10 and 0 <= row["ece"] <= 1 and row["bytes"] > 1000
    assert recipes.scores([row])[0] == 1.0


def test_rows_beside_the_first(benchmarks):
    """Counts are right, found, gold. Seeds are summed; p is two-sided."""
    recipes = benchmarks("recipes")
    keys = [["c", 0, name, seed] for name in ("a", "b") for seed in (0, 1)]
    costs = {"ece": 0.5, "training": 2.0, "prediction": 3.0, "bytes": 1e6}
    right = {"a": [[1, 2, 2]] * 50, "b": [[2, 2, 2]] * 50}
    rows = {str(key): {**costs, "counts": right[key[2]]} for key in keys}
    first, second = recipes.table(keys, rows)
    assert first == ["c: a", "50.00", "50.00, 50.00", "", "", "0.5000", "2 s", "3.0", "1.0"]
    assert second[1:5] == ["100.00", "100.00, 100.00", "+50.00", "< 0.001"]


@pytest.mark.long
def test_a_system_that_needs_no_training(benchmarks, tmp_path):
    tagging = benchmarks("tagging")
    folder = conll(tmp_path, 0) and with_chunks(tmp_path)
    tagging.divide(tagging.CONLL, folder, 0, tmp_path / "corpus")
    tagging.train(tagging.TOKENIZER, tmp_path)
    row = tagging.measure(tagging.TOKENIZER, tmp_path)
    assert row["words"] == 3 and row["new"] > 0 and row["ready"] is None
    cells = tagging.cells_of(tagging.TOKENIZER, row, row)
    assert len(cells) == len(tagging.COLUMNS) and cells[1] == "-" and cells[5] == "1.00x"


def with_chunks(folder):
    (folder / "conll2000").mkdir()
    text = "the DT B-NP\ndog NN I-NP\nruns VBZ B-VP\n\n" * 20
    (folder / "conll2000" / "train.txt").write_text(text)
    return folder


@pytest.mark.long
def test_speed_of_short_texts(benchmarks, tmp_path, monkeypatch):
    """Every row is measured; texts of calls have two words that are new."""
    speed = benchmarks("speed")
    monkeypatch.setattr(speed, "texts_of", lambda *_, size=1: [" ".join(["dog"] * 21 * size)] * 3)
    for row in speed.ROWS:
        measured = speed.read(str(tmp_path), "en", "sentences", row)
        assert all(value > 0 for value in measured.values())
    assert all(value > 0 for value in speed.call(str(tmp_path), "tags").values())
