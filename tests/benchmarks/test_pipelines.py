"""What a pipeline takes on raw text: rows, ratios, and the texts that they are measured on."""

import gzip

import pytest

from ..repository import ROOT

TURNS = [
    {
        "tokenizer": {"new": 2.0, "again": 1.0},
        "all": {"new": 7.0 + more, "again": 5.0, "ready": 4.0},
        "one call": {"new": 2.0, "again": 1.0},
    }
    for more in (0.0, 2.0, 1.0)
]


def test_rows_are_in_times_of_the_tokenizer(benchmarks):
    rows = benchmarks("pipelines").table_rows(TURNS)
    assert rows == [
        ["tokenizer", "2.00 µs", "1.00 µs", "-"],
        ["all", "4.00 x", "5.00 x", "4.00 x"],
        ["one call", "2.00 ms", "1.00 ms", "-"],
    ]


def test_versions_are_compared_turn_by_turn(benchmarks):
    halves = [{name: {key: value / 2 for key, value in times.items()} for name, times in turn.items()} for turn in TURNS]
    rows = benchmarks("pipelines").compared(TURNS, halves)
    assert [row[1] for row in rows] == ["0.50 (0.50-0.50)"] * 3


def test_texts_are_paragraphs_and_sentences(benchmarks, tmp_path):
    path = tmp_path / "one.conllu.gz"
    lines = ["# newdoc", "# text = One two.", "1\tOne", "", "# text = Three.", "", "# newpar", "# text = Four.", ""]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    paragraphs = benchmarks("pipelines").paragraphs
    assert list(paragraphs(path)) == ["One two. Three.", "Four."]
    assert list(paragraphs(path, whole=False)) == ["One two.", "Three.", "Four."]


@pytest.mark.long
def test_every_row_is_measured(benchmarks):
    rows = benchmarks("pipelines").ROWS
    texts = ["The old dog sees a cat.", "It runs."]
    job = {"model": "spacy_hoseq/pipelines/en_hoseq_sm", "before": texts, "new": texts, "calls": texts, "rows": rows}
    found = benchmarks("pipelines_worker").measured(job, ROOT)
    assert [*found] == [*rows, "one call"]
    assert all(value > 0 for times in found.values() for value in times.values())
    assert all(("ready" in times) == (name not in ("tokenizer", "one call")) for name, times in found.items())
