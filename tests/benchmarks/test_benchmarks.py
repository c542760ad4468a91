"""What the benchmarks compute besides measuring, and one measurement of the system that needs no training."""

from itertools import islice

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from thinc.api import Config


def test_seconds_to_best(benchmarks):
    history = benchmarks("history")
    assert history.seconds_to_best([(1.0, 0.9), (2.0, 0.9795), (3.0, 0.98), (4.0, 0.97)]) == 2.0
    assert history.seconds_to_best([]) is None


def test_stream_has_new_words(benchmarks):
    new_words = benchmarks("batch").new_words
    sentences = list(islice(new_words([["w"] * 15], 20), 1000))
    assert sum(map(len, sentences)) == 15_000
    assert len({word for words in sentences for word in words}) == 750  # one in twenty; the first is the word itself


@pytest.mark.long
def test_worker(benchmarks, tmp_path):
    vocab = spacy.blank("xx").vocab
    for part in ("train", "dev", "test"):
        docs = [Doc(vocab, words=["Do", "not", "stop"], tags=["VB", "RB", "VB"])] * 5
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    tagging = benchmarks("tagging")
    data = benchmarks("corpora").Data(tmp_path, tmp_path)
    with tagging.Worker(tagging.command("serve", "spaCy tokenizer", data, tmp_path)) as worker:
        first = worker.answer()
        assert (first["system"], first["tokens"], first["accuracy"]) == ("spaCy tokenizer", 15, None)
        assert 0 < worker.ask("ready")["seconds"] < 60
        assert all(0 < seconds < 60 for seconds in worker.ask("text").values())
        assert worker.ask("calls")["sizes"]["1"]["new"]


def test_text_meets_a_pipeline_that_has_not_seen_it(benchmarks, monkeypatch):
    """Every turn loads anew; the one sentence before is not among those that are timed."""
    worker, now, seen = benchmarks("worker"), [0.0], []

    class System:
        def reader(self, folder):
            loaded = []
            seen.append(loaded)

            def read(texts):
                for text in texts:
                    now[0] += 5 if text == "." else 1
                    loaded.append(text)
                    yield text

            return read

    class Peer:
        def reader(self, folder):
            return None

    monkeypatch.setattr(worker.time, "perf_counter", lambda: now[0])
    words = [["Do", "stop"], ["No"]]
    assert [worker.timed_text(System(), None, words) for _ in range(2)] == [2.0, 2.0]
    assert seen == [[".", "Do stop", "No"]] * 2
    assert worker.timed_text(System(), None, words, [["Go", "on"]]) == 2.0
    assert seen[2] == [".", "Go on", "Do stop", "No"]
    assert worker.timed_text(Peer(), None, words) is None


@pytest.mark.long
def test_networks_are_trained_and_timed(benchmarks, tmp_path):
    neural = benchmarks("neural")
    sentence = [["a", "D"], ["dog", "N"], ["runs", "V"]]
    task = neural.Task("tagger", "en", ("text.txt", ""), 0, (1,))
    for emissions in ("sum", "spaCy"):
        system = neural.System(emissions, epochs=3, rate=0.01)
        row = neural.trained(task, system, [sentence] * 20, [sentence] * 3, tmp_path / emissions)
        assert len(row["scores"]) == 3 and row["scores"][-1][0] > 30 and row["seconds"] > 0
    models = {name: tmp_path / name for name in ("sum", "spaCy")}
    assert all(0 < seconds < 1 for seconds in neural.times(models, task, [sentence] * 3).values())


def test_learners_of_patterns(benchmarks):
    """That of the paper has its features, and no others; both take the same patterns."""
    patterns = benchmarks("patterns")
    components = []
    for settings in patterns.LEARNERS.values():
        sources = {f"{patterns.TAGGER}.model.patterns": patterns.patterns("words", "ud")}
        text = patterns.without_dictionary(patterns.recipe("tagger", "zh")).to_str()
        config = Config().from_str(text, overrides={**settings, **sources})
        nlp = spacy.util.load_model_from_config(config, auto_fill=True)
        components.append(nlp.config["components"]["hoseq_tagger"])
    paper, ours = components
    assert [each["objective"] for each in components] == ["perceptron", "max_margin"]
    assert "length[0]" in paper["model"]["emissions"]["templates"]
    assert ours["model"]["emissions"]["templates"]["name"] == "chinese_pos"
    assert paper["model"]["patterns"] == ours["model"]["patterns"]
    assert patterns.patterns("low order", "ctb") is None
    assert patterns.patterns("rules", "ctb")["*"]["0"]["rules"]["tag_set"] == "ctb"
