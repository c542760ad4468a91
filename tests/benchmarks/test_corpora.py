"""What is measured has not been trained on, and has not chosen anything."""

import gzip

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks import ablations, peers, sizes  # noqa: E402
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


def test_web_text_is_measured_on_its_dev_part(tmp_path):
    (tmp_path / "en_ewt").mkdir()
    for part in ("train", "dev"):
        lines = "".join(f"1\t{part}{i}\t_\t_\tNN\t_\t0\troot\t_\t_\n\n" for i in range(600))
        (tmp_path / "en_ewt" / f"{part}.conllu.gz").write_bytes(gzip.compress(lines.encode()))
    training, held_out = ablations.corpora("English web, 100 sentences", tmp_path)
    assert (len(training), len(held_out)) == (100, 600)
    assert {row[1][:3] for sentence in held_out for row in sentence} == {"dev"}
    assert {row[1][:5] for sentence in training for row in sentence} == {"train"}


def test_sizes_are_measured_on_the_half_that_did_not_choose(tmp_path):
    numbers = prepared(TASKS["English, chunks"], conll(tmp_path, 400), 100, tmp_path / "corpus")
    assert numbers == {"sentences": 100, "words": 100, "labels": 1}
    parts = {}
    for part in ("train", "dev", "test"):
        docs = DocBin().from_disk(tmp_path / "corpus" / f"{part}.spacy").get_docs(Vocab())
        parts[part] = {token.text for doc in docs for token in doc}
    assert {part: len(found) for part, found in parts.items()} == {"train": 100, "dev": 20, "test": 20}
    assert len(set().union(*parts.values())) == 140


def test_a_search_is_chosen_on_dev_and_shown_on_test(tmp_path):
    """The best on dev is not the best on test."""
    page = tmp_path / "page.md"
    page.write_text("<!-- begin sizes -->\n<!-- end sizes -->\n")
    task = next(iter(sizes.TASKS))
    same = {"task": task, "size": 100, "sentences": 100, "words": 900, "labels": 9, "updates": 10, "seconds": 1.0}
    scores = {sizes.RECIPE: (0.5, 0.5), "dropout 0": (0.7, 0.6), "dropout 0.4": (0.6, 0.7)}
    scores |= {"crfsuite ap": (0.4, 0.3), "crfsuite lbfgs": (0.3, 0.4), "crfsuite ap, no classes": (0.2, 0.1)}
    rows = [{**same, "system": system, "dev": dev, "test": test} for system, (dev, test) in scores.items()]
    sizes.publish(rows, page)
    (row,) = [line for line in page.read_text().splitlines() if "100" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[4:9] == ["50.00", "60.00 (dropout 0)", "-10.00", "30.00", "10.00"]
    assert sizes.cells_of(task, {sizes.RECIPE: rows[0]})[5:9] == ("-", "-", "-", "-"), "nothing beside it"


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


def test_features_of_the_recipe_for_crfsuite(tmp_path):
    """Those that this package computes, known tags among them: another text for training, other features."""
    features = []
    for tags in (["NN", "VBZ"], ["NN", "NN"]):
        vocab = spacy.blank("xx").vocab
        DocBin(docs=[Doc(vocab, words=["time", "flies"], tags=tags)] * 30).to_disk(tmp_path / "train.spacy")
        features.append(peers.RecipeFeatures(tmp_path / "train.spacy").features(["time", "flies"]))
    (time, flies), (_, other) = ([set(word) for word in each] for each in features)
    assert len(time) > 10 and len(flies & other) > 10
    assert flies != other and time != flies
