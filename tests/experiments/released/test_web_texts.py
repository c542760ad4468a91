"""What people write on the web, put into sentences of treebanks."""

import random

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from ...repository import script

NAMES = ["harbour", "lamp", "ticket"]
SENTENCE = [("She", "PRP"), ("bought", "VBD"), ("a", "DT"), ("lamp", "NN"), (",", ","), ("today", "NN"), (".", ".")]


@pytest.fixture(scope="module")
def module():
    return script("released/web_texts")


def test_what_is_added_has_its_tag_and_the_others_keep_theirs(module):
    """Whatever is put in: the words of the sentence that are left are in their order, with their tags."""
    text = [module.Word(*pair) for pair in SENTENCE]
    for change in module.CHANGES:
        for seed in range(40):
            made = change(text, NAMES, random.Random(seed))
            pairs = [(word.text, word.tag) for word in made]
            left = [pair for pair in SENTENCE if pair in pairs]
            assert [pair for pair in pairs if pair in SENTENCE] == left and len(left) >= len(SENTENCE) - 1
            others = {tag for pair in pairs if pair not in SENTENCE for tag in pair[1:]}
            assert others <= {"NFP", "ADD", "SYM", "CD", "NN", "NNP", "``", "''"}, (change, made)


def test_the_same_file_gives_the_same_bytes(module, tmp_path):
    vocab = spacy.blank("en").vocab
    words, tags = map(list, zip(*SENTENCE, strict=True))
    docs = [Doc(vocab, words * 2, tags=tags * 2, sent_starts=[i % len(words) == 0 for i in range(2 * len(words))])] * 20
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
