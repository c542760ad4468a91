"""What people write on the web, put into sentences of treebanks."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from ...repository import script

SENTENCE = [
    ("She", "PRP"),
    ("bought", "VBD"),
    ("a", "DT"),
    ("lamp", "NN"),
    (",", ","),
    ("today", "NN"),
    (".", "."),
]


@pytest.fixture(scope="module")
def module():
    return script("released/web_texts")


def test_the_same_file_gives_the_same_bytes(module, tmp_path):
    vocab = spacy.blank("en").vocab
    words, tags = map(list, zip(*SENTENCE, strict=True))
    docs = [
        Doc(
            vocab,
            words * 2,
            tags=tags * 2,
            sent_starts=[i % len(words) == 0 for i in range(2 * len(words))],
        )
    ] * 20
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    for name in ("one", "other"):
        module.main(tmp_path / f"{name}.spacy", tmp_path / "train.spacy")
    assert (tmp_path / "one.spacy").read_bytes() == (tmp_path / "other.spacy").read_bytes()
    made = list(DocBin().from_disk(tmp_path / "one.spacy").get_docs(vocab))
    assert len(made) == 8 and len({doc.text for doc in made}) > 4


def test_tokenizer_keeps_hashtags_and_html_whole():
    nlp = spacy.blank("en")
    script("released/assemble").keep_whole(nlp)
    for text, words in (
        ("<p>Big <b>red</b> lamps.</p>", "<p> Big <b> red </b> lamps . </p>"),
        ("#lamps! #1 C#", "#lamps ! # 1 C #"),
        ("&euro;20 AT&T; <a@b.example> <3", "&euro; 20 AT&T ; < a@b.example > <3"),
    ):
        assert [token.text for token in nlp.tokenizer(text)] == words.split(), text
