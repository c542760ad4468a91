"""Lexicons of word forms, as features and as constraints."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_hoseq.features.attributes import lexical_attribute
from spacy_hoseq.features.form_lexicons import lemma_lexicon, tag_lexicon
from spacy_hoseq.features.word_classes import read_forms, word_classes

LINES = "flies\tVBZ\nflies\tNNS\nsleeps\tVBZ\nParis\tNNP\nzzz\tODD\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "forms.tsv"
    file.write_text(LINES, "utf8")
    return file


@pytest.fixture
def train(tmp_path):
    nlp = spacy.blank("xx")
    docs = [
        Doc(nlp.vocab, words=["the", "flies", "sleeps"], tags=["DT", "JJ", "VBZ"]),
        Doc(nlp.vocab, words=["Paris", "time"], tags=["", "NNS"]),
    ]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def test_forms_and_features(path):
    path.write_text("Häuser\tNOUN\tNumber=Plur|Case=Nom\nHäuser\tNOUN\t_\nzu\tADP\n", "utf8")
    assert read_forms(path) == {"Häuser": ["NOUN", "NOUN|Number=Plur|Case=Nom"], "zu": ["ADP"]}


@pytest.mark.parametrize("read, lines", [
    (tag_lexicon, ["flies", "\tNN", "flies\t", "flies\tNOUN\t_\t_", ""]),
    (lemma_lexicon, ["", "saw", "\tsee", "saw\t\tVERB"]),
])  # fmt: skip
def test_lines_that_cannot_be(read, lines, path):
    for line in lines:
        path.write_text(f"a\tDT\n{line}\n", "utf8")
        with pytest.raises(ValueError, match=r"\[HS073\].*line 2"):
            read(path)
    with pytest.raises(ValueError, match="E913"):
        read(None)
    path.write_bytes("\ufeffthe\tDT\r\n".encode())
    assert read(path) == {"the": ["DT"]}, "a byte order mark is no part of a word"


@pytest.mark.parametrize("read", [tag_lexicon, lemma_lexicon, word_classes])
def test_bytes(read, path):
    path.write_bytes("\ufeffthe\tDT\n".encode() + b"caf\xe9\tNN\n")
    message = r"\[HS073\].*forms.tsv, line 2: found the byte 0xE9.*words in utf-8"
    with pytest.raises(ValueError, match=message):
        read(path)


def test_dictionary(path, train):
    known = {"flies": ["NNS", "VBZ"], "sleeps": ["VBZ"], "Paris": ["NNP"], "zzz": ["ODD"]}
    assert tag_lexicon(path) == known
    assert tag_lexicon(path, train) == {"flies": ["JJ", "NNS", "VBZ"], "sleeps": ["VBZ"]}


def test_column_after_clusters(path, tmp_path):
    clusters = tmp_path / "clusters.tsv"
    clusters.write_text("flies\t7\ncat\t8\n", "utf8")
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes(clusters, path)
    values = {
        word: [lexical_attribute(f"word_class{i}").value(vocab[word]) for i in (1, 2)]
        for word in ("flies", "cat", "Sleeps", "dog")
    }
    known = {"flies": ["7", "NNS VBZ"], "cat": ["8", ""]}
    assert values == {**known, "Sleeps": ["", "VBZ"], "dog": ["", ""]}
    vocab.lookups = word_classes(lexicon=path)
    assert lexical_attribute("word_class1").value(vocab["flies"]) == "NNS VBZ"


def test_too_many_columns_with_a_lexicon(path, tmp_path):
    clusters = tmp_path / "clusters.tsv"
    clusters.write_text("flies" + "\t1" * 16 + "\n", "utf8")
    with pytest.raises(ValueError, match=r"\[HS073\].*17 columns"):
        word_classes(clusters, path)


def test_known_words_get_the_tags_of_the_lexicon(path, train):
    nlp = spacy.blank("xx")
    nlp.add_pipe("hoseq_tagger")
    of_tagger = {"@misc": "spacy_hoseq.tag_lexicon.v1", "path": str(path), "train": str(train)}
    nlp.config["initialize"]["components"] = {"hoseq_tagger": {"tag_dictionary": of_tagger}}
    examples = [Example(doc.copy(), doc) for doc in DocBin().from_disk(train).get_docs(nlp.vocab)]
    nlp.initialize(lambda: examples)
    tagger = nlp.get_pipe("hoseq_tagger")
    for doc in nlp.pipe(["flies flies", "time sleeps sleeps"]):
        for scored in tagger.top_k([doc.copy()], 100)[0]:
            for token, label in zip(doc, scored.labels, strict=True):
                known = {"flies": ("JJ", "NNS", "VBZ"), "sleeps": ("VBZ",)}
                assert label in known.get(token.text, tagger.labels)
    best = tagger.top_k([nlp.make_doc("flies")], 100)[0]
    assert {scored.labels[0] for scored in best} == {"JJ", "NNS", "VBZ"}


def test_parts_of_speech_and_features_of_the_lexicon(tmp_path):
    """In any order, for a morphologizer; a form that training saw has what it was there, too."""
    nlp = spacy.blank("la")
    urbs = {"pos": ["NOUN", "ADJ"], "morphs": ["Case=Nom|Number=Sing"] * 2}
    urbes = {"pos": ["ADV", "NOUN"], "morphs": ["", "Case=Acc|Number=Plur"]}
    gold = [Doc(nlp.vocab, words=["urbs", "magna"], **urbs)]
    gold += [Doc(nlp.vocab, words=["ibi", "urbes"], **urbes)]
    DocBin(docs=gold).to_disk(tmp_path / "train.spacy")
    lines = "urbes\tNOUN\tNumber=Sing|Case=Nom\nmagna\tADV\nmagna\tNOUN\tCase=Abl\nxxx\tNOUN\tCase=Abl\n"
    (tmp_path / "forms.tsv").write_text(lines, "utf8")
    dictionary = tag_lexicon(tmp_path / "forms.tsv", tmp_path / "train.spacy")
    assert dictionary == {
        "urbes": ["NOUN|Case=Acc|Number=Plur", "NOUN|Case=Nom|Number=Sing"],
        "magna": ["ADJ|Case=Nom|Number=Sing", "ADV"],
    }
    pipe = nlp.add_pipe("hoseq_morphologizer")
    pipe.initialize(lambda: [Example(doc.copy(), doc) for doc in gold], tag_dictionary=dictionary)
    best = pipe.top_k([Doc(nlp.vocab, words=["urbes", "magna"])], 100)[0]
    assert {tuple(scored.labels) for scored in best} == {
        (f"{features}|POS=NOUN", other)
        for features in ("Case=Acc|Number=Plur", "Case=Nom|Number=Sing")
        for other in ("Case=Nom|Number=Sing|POS=ADJ", "POS=ADV")
    }


def test_lemmas(tmp_path):
    path = tmp_path / "lemmas.tsv"
    path.write_text("saw\tsee\tVERB\nsaw\tsaw\nmice\tmouse\n", "utf8")
    assert lemma_lexicon(path) == {"saw": ["saw", "see"], "mice": ["mouse"]}
