"""Names of corpora in columns, in texts that are made up here."""

import gzip
import sys

import pytest
import spacy
from spacy.tokens import DocBin

from ...repository import ROOT, script


@pytest.fixture(scope="module")
def module():
    """It imports its neighbour."""
    sys.path.insert(0, str(ROOT / "experiments" / "released"))
    yield script("released/name_texts")
    sys.path.pop(0)


def written(path, texts):
    """texts: "word/TAG word", O where there is no tag."""
    blocks = (
        "".join("\t".join((*word.split("/"), "O")[:2]) + "\n" for word in text.split())
        for text in texts
    )
    path.write_bytes(gzip.compress("\n".join(blocks).encode()))
    return path


def read(path):
    return [
        (
            [t.text for t in doc],
            [(e.start, e.end, e.label_) for e in doc.ents],
            [t.i for t in doc if t.ent_iob_ == ""],
        )
        for doc in DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
    ]


def test_types_of_wnut(module, tmp_path):
    module.wnut(
        tmp_path / "a.spacy",
        written(tmp_path / "a.gz", ["Ann/B-person likes Saab/B-corporation 9/B-product"]),
    )
    assert read(tmp_path / "a.spacy")[0][1] == [(0, 1, "PER"), (2, 3, "ORG"), (3, 4, "MISC")]


def test_a_tenth_of_articles_is_for_development(module, tmp_path):
    path = written(tmp_path / "a.gz", [f"Oslo/B-LOC is {number}" for number in range(205)])
    module.wikigold(tmp_path / "a.spacy", path, tmp_path / "dev.spacy")
    train, dev = read(tmp_path / "a.spacy"), read(tmp_path / "dev.spacy")
    assert (len(train), len(dev)) == (19, 2) and dev[0][0][2::3] == [
        str(number) for number in range(90, 100)
    ]
    (doc, *_) = DocBin().from_disk(tmp_path / "dev.spacy").get_docs(spacy.blank("en").vocab)
    assert len(list(doc.sents)) == 10


def test_names_of_users_are_none_and_of_labelled_hashtags_nothing_is_known(module, tmp_path):
    path = written(
        tmp_path / "a.gz", ["@/B-PER ann/I-PER saw # oslo/B-LOC and Al/I-PER '\"'", "# fun at"]
    )
    module.btc(tmp_path / "a.spacy", path, None)
    tweet, other = read(tmp_path / "a.spacy")
    assert tweet == (["@ann", "saw", "#oslo", "and", "Al", '"'], [(4, 5, "PER")], [2])
    assert other == (["#fun", "at"], [], [])


def test_of_proper_nouns_outside_of_names_nothing_is_known(module, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("attribute_ruler").add([[{"TEXT": {"REGEX": "^@?[A-Z]"}}]], {"TAG": "NNP"})
    nlp.to_disk(tmp_path / "tagger")
    path = written(tmp_path / "a.gz", ["@ Ann saw Hamlet in Oslo/B-LOC"])
    module.btc(tmp_path / "a.spacy", path, tmp_path / "tagger")
    assert read(tmp_path / "a.spacy") == [
        (["@Ann", "saw", "Hamlet", "in", "Oslo"], [(4, 5, "LOC")], [2])
    ]
