"""What the benchmarks compute besides measuring, and one measurement of the system that needs no training."""

import gc
import gzip
import time
from itertools import islice
from typing import Any

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from thinc.api import Config


def row(system: str, seconds: float, accuracy: Any, to_best: Any, **others: Any) -> "dict[str, Any]":
    keys = ["unknown_accuracy", "chunk_f", "training_seconds", "load_seconds", "peak_bytes", "model_bytes"]
    row = {"system": system, "version": "1", "accuracy": accuracy, **dict.fromkeys(keys), **others}
    return {**row, "seconds": seconds, "seconds_to_best": to_best, "tokens_per_second": 1000 / seconds}


def test_seconds_to_best(benchmarks):
    history = benchmarks("history")
    assert history.seconds_to_best([(1.0, 0.9), (2.0, 0.9795), (3.0, 0.98), (4.0, 0.97)]) == 2.0
    assert history.seconds_to_best([]) is None


def test_tables_from_csv(benchmarks, tmp_path):
    results, machine = benchmarks("results"), benchmarks("machine").description()
    rows = [
        {**row("spaCy tokenizer", 0.5, None, None, tokens=100, text_seconds=1.0, later_seconds=0.4), **machine},
        {
            **row(
                "hoseq first order", 1.0, 0.985, 4.0, model_bytes=6.2e6, tokens=120, text_seconds=3.0, later_seconds=0.6
            ),
            **machine,
        },
        {**row("crfsuite perceptron", 8.0, 0.98, 20.0, tokens=120, text_seconds=None, later_seconds=None), **machine},
    ]
    results.write_rows(tmp_path / "t.csv", rows)
    page = tmp_path / "page.md"
    marks = [f"<!-- begin {name} -->\n<!-- end {name} -->\n" for name in ("tagging-ratios", "tagging-text")]
    page.write_text("".join(marks), encoding="utf8")
    benchmarks("tagging").publish(results.read_rows(tmp_path / "t.csv"), [page], None)
    found = page.read_text(encoding="utf8")
    assert "| tagger, first order: time over the tokenizer's | 2.00x | <= 2.0x | 1.0x |" in found
    assert "| CRFsuite: time over the tagger's | 8.00x |" in found
    assert "| CRFsuite: training to 0.1 point, perceptron, over the tagger's | 5.00x |" in found
    assert "<!-- begin tagging -->" not in found
    assert "| spaCy tokenizer | 200 | 1.00x | 100 | 1.00x | 250 | 0.00x |\n" in found
    assert "| hoseq first order | 120 | 2.00x | 40 | 3.00x | 200 | 0.50x |\n" in found
    assert "| crfsuite perceptron | " not in found
    cells = results.table_cells(results.read_rows(tmp_path / "t.csv"))
    assert cells[1][:6] == ("hoseq first order", "98.50%", "-", "-", "1,000", "2.00x") and cells[1][-1] == "6.2 MB"


def test_clock_gives_every_moment_to_the_innermost_part(benchmarks, monkeypatch):
    """outer 1, inner 2, outer 4, inner 8 (an error), outer 16, all else 32."""
    training, now = benchmarks("training"), [0.0]
    monkeypatch.setattr(training.time, "process_time", lambda: now[0])

    def spend(seconds: float) -> None:
        now[0] += seconds
        if seconds == 8:
            raise ValueError

    def outer() -> None:
        spend(1)
        inner(2)
        spend(4)
        with pytest.raises(ValueError):
            inner(8)
        spend(16)

    clock = training.Clock()
    inner = clock.timed("inner", spend)
    clock.timed("outer", outer)()
    spend(32)
    clock.stop()
    assert clock.seconds == {"outer": 21, "inner": 10, training.REST: 32}
    assert clock.calls == {"outer": 1, "inner": 2, training.REST: 1}
    assert training.rows_of(clock) == [("all else", "32.00", "51%", "1"), ("all", "63.00", "100%", "")]


def test_label_sets(benchmarks):
    labels_for = benchmarks("label_sets").labels_for
    pairs = [("NN", "ing")] * 4 + [("NN", "ion")] * 3 + [("VB", "ate")] * 2 + [("DT", "the")]
    few, more = labels_for(pairs, 2), labels_for(pairs, 5)
    assert [few(pair) for pair in (("NN", "ion"), ("VB", "ate"), ("XX", "new"))] == ["NN", "REST", "REST"]
    assert sorted({more(pair) for pair in pairs}) == ["DT", "NN|ing", "NN|ion", "VB"]


def test_stream_has_new_words(benchmarks):
    new_words = benchmarks("batch").new_words
    sentences = list(islice(new_words([["w"] * 15], 20), 1000))
    assert sum(map(len, sentences)) == 15_000
    assert len({word for words in sentences for word in words}) == 750  # one in twenty; the first is the word itself


@pytest.fixture
def collections():
    """One item for each full collection of garbage; what is there already is not looked through."""
    seen = []

    def note(phase, info):
        if phase == "start" and info["generation"] == 2:
            seen.append(info)

    gc.freeze()
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()


@pytest.mark.long
@pytest.mark.parametrize("pass_seconds", [0.02, 0.0005])
def test_garbage_is_collected_between_passes_that_leave_some(benchmarks, collections, pass_seconds):
    """Before every pass of 20 ms, but not before each of many short ones."""
    passes = []

    class System:
        def prepare(self, words):
            return words

        def tag(self, words):
            passes.append(words)
            time.sleep(pass_seconds)

    mean = benchmarks("worker").timed(System(), [])
    assert mean >= pass_seconds and 0.5 <= mean * len(passes) < 2
    if pass_seconds == 0.02:
        assert len(collections) >= len(passes)
    else:
        assert 5 < len(collections) < len(passes) / 2


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


def test_sentences_before_are_of_so_many_tokens(benchmarks, tmp_path):
    vocab = spacy.blank("xx").vocab
    docs = [Doc(vocab, words=["Do", "stop"]), Doc(vocab, words=["No"]), Doc(vocab, words=["Go", "on"])]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    first = [benchmarks("worker").first_sentences(tmp_path / "train.spacy", n) for n in (0, 1, 2, 3, 9)]
    assert [len(sentences) for sentences in first] == [0, 1, 1, 2, 3]
    assert first[3] == [["Do", "stop"], ["No"]]


def test_calls_are_of_new_texts_and_then_of_the_same_again(benchmarks, monkeypatch):
    worker, called = benchmarks("worker"), []

    class System:
        def caller(self, folder):
            return called.append

    class Peer:
        def caller(self, folder):
            return None

    monkeypatch.setattr(worker, "CALLED", (2, 3))
    monkeypatch.setattr(worker, "CALLS", 2)
    found = worker.timed_calls(System(), None, [list("abcde"), list("fghijkl")])
    assert called == ["a b", "a b", "c d", "e f", "c d", "e f", "g h i", "j k l", "g h i", "j k l"]
    assert {size: {kind: len(calls) for kind, calls in of.items()} for size, of in found["sizes"].items()} == {
        2: {"new": 2, "again": 2},
        3: {"new": 2, "again": 2},
    }
    assert worker.timed_calls(Peer(), None, []) is None


def test_latency_table(benchmarks):
    latency = benchmarks("latency")
    keys = ("new", "new_95", "again", "again_95", "first", "second")
    rows = [
        {"system": "a", "size": size, **{key: size + number for number, key in enumerate(keys)}}
        for size in (1.0, 23.0, 230.0, 1000.0, 10000.0)
    ]
    expected = ("a", "27.00", "28.00", "23.00", "24.00", "25.00", "26.00", "1.00", "230.00", "1000.00", "10000.00")
    assert latency.table_cells(rows) == [expected]


def test_table_of_networks(benchmarks, tmp_path):
    """Of rows that are there already: the best of all epochs, and times over spaCy's."""
    neural, path, page = benchmarks("neural"), tmp_path / "neural.jsonl", tmp_path / "page.md"
    page.write_text("<!-- begin neural -->\n<!-- end neural -->\n<!-- begin speed -->\n<!-- end speed -->\n")
    name, times = "English web, tags", {"sum, Adam 0.002": 1.0, "spaCy": 2.0}
    scores = [[91.0, None], [93.0, 92.0], [92.5, 92.75]]
    rows = [{"task": name, "system": each, "scores": scores, "seconds": 60.4} for each in (*times, "sparse")]
    for row, seconds in zip(rows, times.values(), strict=False):
        row["speed"] = {"seconds": seconds, "words": 3000}
    srsly.write_jsonl(path, rows)
    neural.publish(list(srsly.read_jsonl(path)), page)
    written = page.read_text()
    assert "| English web, tags: sparse | 92.50 | 92.75 | 93.00 | 3 | 60 s |" in written
    assert "| English web, tags: spaCy | 1,500 | 1.00 |" in written
    assert "| English web, tags: sum, Adam 0.002 | 3,000 | 0.50 |" in written


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


def test_table_of_ablations(benchmarks):
    """A system beside the recipe on the same tasks."""
    ablations = benchmarks("ablations")
    seconds = {"seed": 0, "known": "0011", "training": 4.0, "tagging": 2.0}
    rows = [
        {"task": name, "system": ablations.BASE, "right": "0011", **seconds}
        for name in (*ablations.TASKS[:2], "English web")
    ]
    rows += [{"task": ablations.TASKS[0], "system": "accurate", "right": "1110", **seconds, "tagging": 3.0}]
    assert list(ablations.table(rows)) == [
        [f"CoNLL-2000, 2 of 4 tenths: {ablations.BASE}", "50.00%", "4", "", "", "", "0.0%", "1.00x", "1.00x"],
        ["CoNLL-2000, 1 of 4 tenths: accurate", "75.00%", "1", "-50.0%", "+2 -1", "1", "100.0%", "1.00x", "1.50x"],
        [f"English web: {ablations.BASE}", "50.00%", "2", "", "", "", "0.0%", "1.00x", "1.00x"],
    ]


def test_table_of_changes_of_accurate(benchmarks):
    """With all seeds."""
    ablations = benchmarks("ablations")
    same = {"task": ablations.GENRES, "training": 4.0, "tagging": 2.0}
    rights = {"accurate": ["0011", "0111"], "accurate, other cases": ["1110", "0111"]}
    rows = [
        {**same, "system": system, "seed": seed, "right": right}
        for system, found in rights.items()
        for seed, right in enumerate(found)
    ]
    assert list(ablations.table_of_accurate(rows)) == [
        ["New genres: accurate", "62.50%", "2, 1", "", "", "", "1.00x", "1.00x"],
        ["New genres: accurate, other cases", "75.00%", "1, 1", "-33.3%", "+2 -1", "1", "1.00x", "1.00x"],
    ]


def test_sentences_of_genres(benchmarks, tmp_path):
    path = tmp_path / "a.conllu.gz"
    sentence = "# sent_id = GUM_{}_one-1\n# text = Go\n1\tGo\tgo\tVERB\tVB\n\n"
    path.write_bytes(gzip.compress("".join(map(sentence.format, ("vlog", "bio"))).encode("utf8")))
    pairs = benchmarks("ablations").genres_of(path)
    assert [(genre, rows[0][1]) for genre, rows in pairs] == [("vlog", "Go"), ("bio", "Go")]


def test_searches_change_one_setting_of_the_recipe(benchmarks):
    sizes = benchmarks("sizes")
    config = sizes.Config().from_str(sizes.recipe("tagger", "en"))
    rate = config["components"]["hoseq_tagger"]["update_rule"]["learn_rate"]
    found = {system: sizes.changes(system, "hoseq_tagger", config) for system in ("recipe", *sizes.SEARCH)}
    assert [len(changed) for changed in found.values()] == [0, 1, 1, 1, 1, 1]
    name = "components.hoseq_tagger.update_rule.learn_rate"
    assert found["a third of the learn rate"][name] < rate < found["three times the learn rate"][name]
    assert found["dropout 0"] == {"training.dropout": 0.0}
    assert found["another objective"] == {"components.hoseq_tagger.objective": "log_likelihood"}


def test_table_of_chunks(benchmarks):
    """F of all tenths together, from counts of right, found and gold chunks in each sentence."""
    ablations = benchmarks("ablations")
    tenths = [name for name in ablations.TASKS if name.startswith("Chunks")][:2]
    same = {"seed": 0, "right": "0111", "training": 4.0}
    counts = {ablations.BASE_CHUNKS: [[1, 2, 2], [1, 2, 2]], "pipeline": [[2, 2, 2], [1, 1, 2]]}
    rows = [
        {**same, "task": name, "system": system, "chunks": chunks, "tagging": 2.0 + (system == "pipeline")}
        for name in tenths
        for system, chunks in counts.items()
    ]
    assert list(ablations.table_of_chunks(rows)) == [
        ["pipeline, no classes", "50.00", "50.00, 50.00", "", "", "75.00%", "1.00x", "1.00x"],
        ["pipeline", "85.71", "85.71, 85.71", "+35.71", "0", "75.00%", "1.00x", "1.50x"],
    ]
    assert not list(ablations.table(rows))
    again = [{**row, "seed": 1} for row in rows]
    assert [cells[2] for cells in ablations.table_of_chunks(rows + again)] == ["50.00, 50.00", "85.71, 85.71"]


def test_systems_of_ablations_differ_in_what_they_say(benchmarks):
    ablations = benchmarks("ablations")
    configs = {name: ablations.config_of(system, "train.spacy") for name, system in ablations.SYSTEMS.items()}
    components = {name: config["components"]["hoseq_tagger"] for name, config in configs.items()}
    of = {name: set(each["model"]["emissions"]["templates"]) for name, each in components.items()}
    assert of[ablations.BASE] < of["recipe, no classes"] < of["recipe"]
    assert of["recipe"] - of["recipe, no classes"] == of["accurate"] - of["accurate, no classes"]
    assert not any("known" in template or "class" in template for template in of[ablations.BASE])
    more = ablations.config_of(ablations.CHANGES["accurate, GUM, too"], "train.spacy")
    assert more == configs["accurate"], "text is no setting"
    assert components["recipe, no classes, patterns of words"]["model"]["patterns"] == ablations.WORDS
    for name, config in configs.items():
        assert (config["initialize"]["lookups"] is None) == ("no classes" in name), name


def test_table_of_patterns(benchmarks):
    """Each against the low order of the same learner, corpus and seed, whatever the order of the rows."""
    patterns = benchmarks("patterns")
    paper, ours = patterns.LEARNERS
    seconds, slower, faster = ({"training": t, "tagging": u} for t, u in ((4.0, 2.0), (6.0, 5.0), (2.0, 1.0)))
    rows = [
        {"learner": ours, "task": "ud", "system": "words", "seed": 1, "right": "1101", **slower},
        {"learner": ours, "task": "ud", "system": "low order", "seed": 1, "right": "0011", **seconds},
        {"learner": ours, "task": "ctb", "system": "low order", "seed": 1, "right": "00", **seconds},
        {"learner": ours, "task": "ctb", "system": "words", "seed": 1, "right": "01", **faster},
        {"learner": paper, "task": "ctb", "system": "low order", "seed": 0, "right": "00", **seconds},
        {"learner": paper, "task": "ud", "system": "low order", "seed": 0, "right": "0000", **seconds},
        {"learner": paper, "task": "ud", "system": "low order", "seed": 1, "right": "0111", **seconds},
    ]
    assert list(patterns.table(rows, ["ctb", "ud"])) == [
        [f"{paper}: low order", "2", "", "4, 1", "", "", "", "", "1.00x", "1.00x"],
        [f"{ours}: low order", "2", "", "2", "", "", "", "", "1.00x", "1.00x"],
        [f"{ours}: words", "1", "-50.0%", "1", "-50.0%", "-50.0%", "+3 -1", "0.62", "1.00x", "1.50x"],
    ]


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
