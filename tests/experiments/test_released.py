"""What makes the released pipelines, and how they are measured from raw text, on made-up corpora."""

import gzip
import sys

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from ..repository import ROOT, call, script, tagged_file
from ..segmentation.helpers import pipeline, saved_words

INFLECTED = "dog,noun,dogs\nwalk,verb,walked,,walking,walks\nsee,verb,saw,seen,seeing,sees\n"
LEMMAS = "fast,adv,fast\ncan,aux,can\nquick,adj,quick/quicker\n"
PATHS = {"dog": 0b1011_0110_0101, "cat": 0b11_0110_0101, "walk": 1, "rare": 7, " ": 3, "none": 0}
LOG_P = {"dog": -3.0, "cat": -5.0, "walk": -4.0, "rare": -20.0}
# words with tags, heads, mentions, and their names
MENTIONS = [
    (
        "The/DT University/NNP of/IN Oslo/NNP ,/, Norway/NNP",
        [1, -1, 3, 1, 5, 1],
        [(0, 6, "organization", ""), (3, 4, "place", ""), (5, 6, "place", "Norway")],
        [(1, 4, "ORG"), (5, 6, "LOC")],
    ),
    (
        "President/NNP Anna/NNP Berg/NNP 's/POS",
        [1, -1, 1, 1],
        [(0, 4, "person", "")],
        [(1, 3, "PER")],
    ),
    ("the/DT Norwegians/NNPS", [1, -1], [(0, 2, "person", "")], [(1, 2, "MISC")]),
    ("Hamlet/NNP", [-1], [(0, 1, "abstract", "")], []),
]


def test_words_and_sentences_are_aligned_by_characters():
    """我们|喝|。 is right but for 喝。 in one, and one sentence of three is there if all is one."""
    nlp = spacy.blank("zh")
    found = {"words": ["我们", "喝。", "iPhone", "X"], "sent_starts": [True, False, False, False]}
    nlp.tokenizer = lambda text: Doc(nlp.vocab, spaces=[False] * 4, **found)
    starts = [True, False, False, True, False]
    words, spaces = ["我们", "喝", "。", "iPhone", "X"], [False, False, False, True, False]
    doc = Doc(nlp.vocab, words, spaces, sent_starts=starts)
    measure = script("released/measure_text")
    texts = measure.raw_texts([doc], 1, unspaced=True)
    scores = measure.from_raw_text(nlp, texts, {"我们", "喝", "。", "X"})
    assert scores["words"] == pytest.approx({"p": 3 / 4, "r": 3 / 5, "f": 6 / 9})
    assert scores["sentences"] == {"p": 0, "r": 0, "f": 0}
    assert (scores["unknown_words"], scores["unknown_recall"]) == (1, 1)


def test_finished_pipeline_is_the_same_again_without_its_words(tmp_path):
    nlp = pipeline(saved_words(tmp_path))
    text = "我们在学校喝茶。"
    nlp.to_disk(tmp_path / "model")
    srsly.write_json(tmp_path / "meta.json", {"name": "tea", "license": "CC BY-SA 4.0"})
    made = []
    for name in ("one", "two"):
        arguments = (tmp_path / "model", tmp_path / "meta.json", tmp_path / name)
        assert call(script("released/finish"), *arguments)[0] == 0
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        made.append([path.read_bytes() for path in files])
    assert made[0] == made[1]
    loaded = spacy.load(tmp_path / "one")
    assert loaded.meta["name"] == "tea" and "学" not in loaded.tokenizer.segmenter.vocab.strings
    assert [token.text for token in loaded(text)] == [token.text for token in nlp(text)]


def test_new_words_are_those_that_training_has_not_seen(tmp_path):
    """Not those that the dev part has not: it has all of them."""
    train = tagged_file(tmp_path / "train.spacy", "the/D dog/N sees/V", "the/D cat/N runs/V")
    dev = tagged_file(tmp_path / "dev.spacy", "the/D dog/N | flies/V", "the/D zebra/N | sees/N")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    tags = {"D": "the", "N": "dog cat zebra", "V": "sees runs", "X": "flies"}
    for tag, words in tags.items():
        ruler.add([[{"ORTH": word}] for word in words.split()], {"TAG": tag})
    nlp.to_disk(tmp_path / "model")
    measure = script("released/measure_text")
    measure.calibration_errors = lambda *_: {}  # the ruler has no probabilities
    assert call(measure, tmp_path / "model", train, dev, tmp_path / "found.json")[0] == 0
    found = srsly.read_json(tmp_path / "found.json")
    assert found["tokens"] == 6 and found["gold_words"]["tag"] == pytest.approx(4 / 6)
    assert found["gold_words"]["new_tag"] == pytest.approx(1 / 2), "of flies and zebra"
    assert found["unknown_words"] == 2


def test_classes_of_words(tmp_path, monkeypatch):
    """From packages that have these files only. A participle without a form of its own is as the
    past; the most frequent words have clusters."""
    packages = {"lemminflect": "resources", "spacy_lookups_data": "data"}
    for name, folder in packages.items():
        (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, text in (("infl", INFLECTED), ("lemma", LEMMAS)):
        path = tmp_path / "lemminflect" / "resources" / f"{name}_lu.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    for name, table in (("cluster", PATHS), ("prob", LOG_P)):
        path = tmp_path / "spacy_lookups_data" / "data" / f"en_lexeme_{name}.json.gz"
        path.write_bytes(gzip.compress(srsly.json_dumps(table).encode()))
    monkeypatch.syspath_prepend(tmp_path)
    module = script("released/word_classes")
    status, output = call(module, tmp_path / "made" / "classes.tsv")
    assert status == 0 and "4 words with a cluster, 14 in the lexicon" in output
    lines = (tmp_path / "made" / "classes.tsv").read_text().splitlines()
    columns = {word: rest for word, *rest in (line.split("\t") for line in lines)}
    assert list(columns) == sorted(columns)
    assert columns["dog"] == [str(0b1011_0110_0101), str(0b10_0101), str(0b11_0110_0101), "NN"]
    assert columns["walked"][3] == "VBD|VBN" and columns["seen"][3] == "VBN"
    for n, words in ((1, ["dog"]), (2, ["dog", "walk"]), (3, ["cat", "dog", "walk"])):
        monkeypatch.setattr(module, "N_CLUSTERED", n)
        assert sorted(module.read_clusters()) == words
    for name in packages:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("text", "heads", "mentions", "expected"), MENTIONS)
def test_names_of_a_sentence(text, heads, mentions, expected):
    module = script("released/names")
    words, tags = zip(*(token.rsplit("/", 1) for token in text.split()), strict=True)
    found = module.names_among([module.Mention(*each) for each in mentions], words, tags, heads)
    assert [tuple(name) for name in found] == expected


def test_names_of_corpora_in_columns(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "experiments" / "released")  # it imports its neighbour
    rows = ["Ann\tB-person", "likes\tO", "Saab\tB-corporation", "9\tB-product"]
    (tmp_path / "a.gz").write_bytes(gzip.compress("\n".join([*rows, ""]).encode()))
    script("released/name_texts").wnut(tmp_path / "a.spacy", tmp_path / "a.gz")
    (doc,) = DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.blank("en").vocab)
    ents = [(ent.text, ent.label_) for ent in doc.ents]
    assert ents == [("Ann", "PER"), ("Saab", "ORG"), ("9", "MISC")]
