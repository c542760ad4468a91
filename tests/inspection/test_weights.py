"""What a pipeline has learnt: against the weights themselves, with names from a corpus."""

import json

import numpy as np
import pytest
from spacy.strings import get_string_id
from spacy.tokens import DocBin

from spacy_hoseq.features.keys import mix
from spacy_hoseq.inspection.weights import NAMES_FILE, inspected, names_in
from spacy_hoseq.reporting.inspection import inspection_page, inspection_text

from ..builders import doc_of, tagger_of
from ..components import bidirectional_helpers, chunker_helpers, helpers
from ..components.helpers import CORPUS
from ..repository import hoseq


@pytest.fixture(scope="module")
def nlp():
    nlp = helpers.blank("all patterns")
    helpers.train(nlp, 5, optimizer=nlp.initialize(lambda: helpers.examples_of(nlp)))
    return nlp


@pytest.fixture(scope="module")
def docs(nlp):
    return list(nlp.pipe(doc_of(nlp, text) for text, _ in CORPUS))


def test_strongest_features_have_their_names(nlp, docs):
    """Of each label the largest and the smallest weights; the key of "lower[0] = cat" is made by hand. Names that were
    kept need no corpus."""
    (found,) = inspected(nlp, docs, top=3)
    shim = tagger_of(nlp).model.layers[0].shims[0]
    keys, table = shim.extra["keys"], shim.values("table", is_train=False)[:-1]
    for y, label in enumerate(found["labels"]):
        rows, ordered = found["strongest"][label], np.sort(table[:, y].astype(float))
        n = min(3, int((ordered > 0).sum()))
        assert [row["weight"] for row in rows[:n]] == ordered[::-1][:n].tolist()
        assert all(row["name"] for row in rows), "all of them fire in the corpus"
    for key, name, _, weight in (
        row.values() for rows in found["strongest"].values() for row in rows
    ):
        template, _, value = name.partition(" = ")
        if "+" not in name and value and not value.startswith("<"):
            state = np.array([get_string_id(template)], np.uint64)
            made = mix(state, np.array([get_string_id(value)], np.uint64))
            assert f"{int(made[0]):016x}" == key and weight in table[keys == made[0]][0], name
    (without,), (named,) = inspected(nlp, top=3), inspected(nlp, top=3, names=names_in([found]))
    assert not any(row["name"] for rows in without["strongest"].values() for row in rows)
    assert named["strongest"] == found["strongest"] and sum(named["counts"].values()) == 0


def test_labels_transitions_patterns_and_sizes(nlp, docs):
    (found,) = inspected(nlp, docs)
    pipe = tagger_of(nlp)
    tags = [token.tag_ for doc in docs for token in doc]
    assert found["counts"] == {label: tags.count(label) for label in pipe.labels}
    trans = pipe.model.shims[0].values("trans", is_train=False)
    assert np.array(found["transitions"]) == pytest.approx(trans, abs=1e-4)
    assert any(pattern["rule"] >= 0 for pattern in found["patterns"])
    weights = [abs(pattern["weight"]) for pattern in found["patterns"]]
    assert weights == sorted(weights, reverse=True)
    for pattern in found["patterns"]:
        n = len(pattern["labels"])
        runs = [doc[i : i + n] for doc in docs for i in range(len(doc) - n + 1)]
        matched = [run for run in runs if [token.tag_ for token in run] == pattern["labels"]]
        labelled = [[token.text for token in run] for run in matched]
        assert pattern["example"].split() == next(iter(labelled), [])
    shims = [shim for node in pipe.model.walk() for shim in node.shims]
    assert sum(found["sizes"].values()) == sum(len(shim.to_bytes()) for shim in shims)
    assert found["n_features"] == len(pipe.model.layers[0].shims[0].extra["keys"])


def test_other_components():
    """Chunkers that listen, whose features are tags of the tagger; bidirectional taggers, without names."""
    nlp = chunker_helpers.trained("marginals", 6)
    docs = list(nlp.pipe(chunker_helpers.doc_of(nlp, text) for text in chunker_helpers.TEXTS))
    tagger, chunker = inspected(nlp, docs)
    names = {s["name"] for rows in chunker["strongest"].values() for s in rows}
    assert any(name.startswith("upstream[") for name in names) and "" not in names
    assert tagger["name"] == "hoseq_tagger" and chunker["labels"][0] == "O"
    (easiest,) = inspected(bidirectional_helpers.ready())
    assert easiest["n_weights"] > 0 and easiest["transitions"] is None and easiest["patterns"] == []
    assert inspection_text(easiest) and inspection_page([easiest], title="Easiest")


def test_text_and_page(nlp, docs):
    components = inspected(nlp, docs)
    text = inspection_text(components[0])
    assert ' is "' in text and "transition" in text and "as in" in text
    page = inspection_page(components, title="<Inside>")
    assert (
        "<title>&lt;Inside&gt;</title>" in page
        and page.count("<td class=p") + page.count("<td class=m") > 9
    )


def test_command(nlp, docs, tmp_path):
    model, corpus, page = tmp_path / "model", tmp_path / "corpus.spacy", tmp_path / "page.html"
    nlp.to_disk(model)
    DocBin(docs=docs).to_disk(corpus)
    code, output = hoseq("inspect", model)
    assert code == 0 and "lower[0]" not in output and "give a corpus in which they fire" in output
    code, output = hoseq("inspect", model, corpus, "--keep-names", "-o", page)
    assert code == 0 and page.exists() and (model / NAMES_FILE).exists()
    code, output = hoseq("inspect", model, "--json", "-n", 1)
    assert code == 0 and json.loads(output)[0]["strongest"]["V"][0]["name"]
    code, output = hoseq("inspect", tmp_path / "nothing")
    assert code == 1 and "[HS130]" in output
