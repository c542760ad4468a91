"""What a pipeline takes on raw text: rows, ratios, and the texts that they are measured on."""


import pytest

from spacy_hoseq.pipelines import embedded_path

from ..repository import ROOT

TURNS = [
    {
        "all": {
            "tokenizer": 2.0,
            "tokenizer again": 1.0,
            "new": 7.0 + more,
            "again": 5.0,
            "ready": 4.0,
            "call": 3.0,
            "call again": 1.5,
        }
    }
    for more in (0.0, 2.0, 1.0)
]


def test_versions_are_compared_turn_by_turn(benchmarks):
    halves = [{"all": {key: value / 2 for key, value in turn["all"].items()}} for turn in TURNS]
    half = "0.50 (0.50-0.50)"
    assert benchmarks("pipelines").compared(TURNS, halves) == [
        ["all", half, half, half],
        ["one call of all", half, half, "-"],
    ]


@pytest.mark.long
def test_every_row_is_measured(benchmarks):
    rows = benchmarks("pipelines").ROWS
    texts = ["The old dog sees a cat.", "It runs."]
    job = {"model": str(embedded_path("en")), "before": texts, "new": texts, "calls": texts, "rows": rows}
    for name, components in rows.items():
        found = benchmarks("pipelines_worker").measured(job, ROOT, name)
        calls = ["call", "call again"] if components is None else []
        assert [*found] == ["tokenizer", "tokenizer again", "new", "again", "ready", *calls]
        assert all(value > 0 for value in found.values())
