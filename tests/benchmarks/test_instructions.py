"""Instructions of each component: on which texts, and the committed table."""

import srsly

import spacy_hoseq


def test_texts_are_always_the_same(benchmarks):
    module = benchmarks("instructions")
    texts = module.texts_of("sentences")
    assert len(texts) == 1_000 and texts == module.texts_of("sentences")
    assert 15 < sum(len(text.split()) for text in texts) / 1_000 < 18
    assert len(module.texts_of("paragraphs")) == 100


def test_the_table_has_every_component(benchmarks):
    table = srsly.read_json(benchmarks("instructions").TABLE)
    names = ["tokenizer", *spacy_hoseq.load("en").pipe_names, "all components"]
    assert {size: [*counts] for size, counts in table.items()} == dict.fromkeys(table, names)
