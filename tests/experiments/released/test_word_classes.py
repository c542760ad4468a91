"""The classes of words of the released pipelines, from packages of a few words that are made up here."""

import gzip
import sys
from types import ModuleType

import pytest
import srsly

from ...repository import call, script

INFLECTED = """\
dog,noun,dogs
walk,verb,walked,,walking,walks
see,verb,saw,seen,seeing,sees
small,adj,smaller,smallest
dive,verb,dived/dove,,diving,dives
"""
LEMMAS = """\
fast,adv,fast
can,aux,can
data,noun,datum
quick,adj,quick/quicker
"""
PATHS = {
    "dog": 0b1011_0110_0101,
    "cat": 0b11_0110_0101,
    "walk": 0b1,
    "rare": 0b111,
    " ": 0b11,
    "none": 0,
}
LOG_P = {"dog": -3.0, "cat": -5.0, "walk": -4.0, "rare": -20.0}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The script, with packages that have these files only."""
    for name in ("lemminflect", "spacy_lookups_data"):
        folder = tmp_path / name
        (folder / "resources").mkdir(parents=True)
        (folder / "data").mkdir()
        (folder / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, name, raising=False)
    files = {"infl_lu.csv.gz": INFLECTED, "lemma_lu.csv.gz": LEMMAS}
    for name, text in files.items():
        (tmp_path / "lemminflect" / "resources" / name).write_bytes(gzip.compress(text.encode()))
    for name, table in {"cluster": PATHS, "prob": LOG_P}.items():
        path = tmp_path / "spacy_lookups_data" / "data" / f"en_lexeme_{name}.json.gz"
        path.write_bytes(gzip.compress(srsly.json_dumps(table).encode()))
    monkeypatch.syspath_prepend(tmp_path)
    yield script("released/word_classes")
    for name in ("lemminflect", "spacy_lookups_data"):
        sys.modules.pop(name, None)


def test_tags_of_forms(module: ModuleType):
    """The participle is as the past where it has no form of its own; each spelling of a form has the tag."""
    assert {form: sorted(tags) for form, tags in module.read_lexicon().items()} == {
        "dog": ["NN"], "dogs": ["NNS"], "can": ["MD"],
        "walk": ["VB"], "walked": ["VBD", "VBN"], "walking": ["VBG"], "walks": ["VBZ"],
        "see": ["VB"], "saw": ["VBD"], "seen": ["VBN"], "seeing": ["VBG"], "sees": ["VBZ"],
        "dive": ["VB"], "dived": ["VBD", "VBN"], "dove": ["VBD", "VBN"], "diving": ["VBG"], "dives": ["VBZ"],
        "small": ["JJ"], "smaller": ["JJR"], "smallest": ["JJS"],
        "fast": ["RB"], "quick": ["JJ"],
    }  # fmt: skip


def test_clusters_are_of_the_most_frequent_words(module, monkeypatch):
    """In the order of their probability; white space and words without a cluster have none."""
    assert module.read_clusters() == {word: PATHS[word] for word in ("dog", "walk", "cat", "rare")}
    for n, words in ((1, ["dog"]), (2, ["dog", "walk"]), (3, ["cat", "dog", "walk"])):
        monkeypatch.setattr(module, "N_CLUSTERED", n)
        assert sorted(module.read_clusters()) == words


def test_columns(module, tmp_path):
    """The whole path, its first 6 and 10 steps (the lowest bits), and tags: a column is empty if nothing is known."""
    status, output = call(module, tmp_path / "made" / "classes.tsv")
    assert status == 0 and "4 words with a cluster, 22 in the lexicon" in output
    lines = (tmp_path / "made" / "classes.tsv").read_text().splitlines()
    columns = {word: rest for word, *rest in (line.split("\t") for line in lines)}
    assert list(columns) == sorted(columns) and len(columns) == len(lines) == 24
    assert columns["dog"] == [str(0b1011_0110_0101), str(0b10_0101), str(0b11_0110_0101), "NN"]
    assert columns["cat"] == [str(0b11_0110_0101), str(0b10_0101), str(0b11_0110_0101), ""]
    assert columns["walk"] == ["1", "1", "1", "VB"]
    assert columns["walked"] == ["", "", "", "VBD|VBN"]
