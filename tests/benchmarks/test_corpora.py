"""What is measured has not been trained on, and has not chosen anything."""


import pytest
import srsly
from spacy.tokens import DocBin
from spacy.vocab import Vocab

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks import ablations, sizes  # noqa: E402
from benchmarks.sizes_corpora import TASKS, prepared  # noqa: E402


def conll(folder, n):
    """CoNLL-2000 of n sentences, each of one word of its own."""
    (folder / "conll2000").mkdir()
    text = "".join(f"word{i} NN B-NP\n\n" for i in range(n))
    (folder / "conll2000" / "train.txt").write_text(text, encoding="utf8")
    return folder


def words(part):
    return {row[0] for sentence in part for row in sentence}


@pytest.mark.parametrize("name", [name for name in ablations.TASKS if "tenth" in name])
def test_a_tenth_that_is_measured_does_not_train(name, tmp_path):
    training, held_out = ablations.corpora(name, conll(tmp_path, 53))
    assert len(held_out) in (5, 6) and len(training) + len(held_out) == 53
    assert not words(training) & words(held_out)


def test_tenths_are_different_ones(tmp_path):
    folder = conll(tmp_path, 50)
    parts = [words(ablations.corpora(f"CoNLL-2000, tenth {i + 1}", folder)[1]) for i in range(10)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 50


def test_sizes_are_measured_on_the_half_that_did_not_choose(tmp_path):
    numbers = prepared(TASKS["English, chunks"], conll(tmp_path, 400), 100, tmp_path / "corpus")
    assert numbers == {"sentences": 100, "words": 100, "labels": 1}
    parts = {}
    for part in ("train", "dev", "test"):
        docs = DocBin().from_disk(tmp_path / "corpus" / f"{part}.spacy").get_docs(Vocab())
        parts[part] = {token.text for doc in docs for token in doc}
    assert {part: len(found) for part, found in parts.items()} == {"train": 100, "dev": 20, "test": 20}
    assert len(set().union(*parts.values())) == 140


def test_training_stops_by_dev_and_both_halves_are_evaluated(tmp_path, monkeypatch):
    """What `spacy train` is given as its development part is not what the table shows."""
    asked = {}

    def train(config, output, overrides):
        asked.update(overrides)
        raise InterruptedError

    monkeypatch.setattr(sizes, "train", train)
    with pytest.raises(InterruptedError):
        sizes.trained_scores(TASKS["English, Penn tags"], tmp_path, tmp_path / "model", sizes.RECIPE)
    assert asked["paths.train"] == str(tmp_path / "train.spacy")
    assert asked["paths.dev"] == str(tmp_path / "dev.spacy")
    assert srsly.json_dumps(asked).count("test.spacy") == 0
