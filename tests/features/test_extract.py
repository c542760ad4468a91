"""Feature keys against their definition in plain Python."""

import numpy as np
import pytest
import spacy
from spacy.strings import hash_string
from spacy.tokens import Doc, Token

from spacy_hoseq.features import extract
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.sequences import sequence_lengths, words_of
from spacy_hoseq.features.templates import parse_templates

MASK = 2**64 - 1

VALUE_OF = {
    "orth": lambda token: token.orth,
    "lower": lambda token: token.lower,
    "is_title": lambda token: int(token.is_title),
    "suffix2": lambda token: hash_string(token.text[-2:]) if len(token.text) >= 2 else 0,
    "length": lambda token: len(token.text),
    "tag": lambda token: token.tag,
    "_.mark": lambda token: hash_string(token._.mark) if token._.mark else 0,
}
TEMPLATES = [
    "bias", "orth[0]", "lower[-2..2]", "suffix2[0]", "suffix2[-1..1]+lower[0]", "is_title[0]", "tag[-1]+tag[0]",
    "tag[1]", "_.mark[0]", "_.mark[-3]+length[3]", "bias+is_title[1]",
]  # fmt: skip
LEXICAL = [text for text in TEMPLATES if "tag" not in text and "_." not in text]


def plain_mix(state, value):
    mixed = state ^ value
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    return ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK


def plain_sentences(doc):
    sentences = []
    for token in doc:
        if token.i == 0 or token.is_sent_start:
            sentences.append([])
        sentences[-1].append(token)
    return sentences


def plain_keys(texts, docs):
    """The definition: one key for each template and token."""
    sentences = [sentence for doc in docs for sentence in plain_sentences(doc)]
    return [
        [plain_key(template, sentence, i) for sentence in sentences for i in range(len(sentence))]
        for template in parse_templates(texts)
    ]


def plain_key(template, sentence, i):
    key = hash_string(str(template))
    for name, offset in template.parts:
        at = i + offset
        if name == "bias":
            value = 1
        elif at < 0 or at >= len(sentence):
            value = hash_string("<s>" if at < 0 else "</s>")
        else:
            value = VALUE_OF[name](sentence[at])
        if value == 0:
            return 0
        key = plain_mix(key, value)
    return key


@pytest.fixture(scope="module", autouse=True)
def mark():
    Token.set_extension("mark", default=None)
    yield
    Token.remove_extension("mark")


@pytest.fixture(scope="module")
def docs():
    en, zh = spacy.blank("xx").vocab, spacy.blank("zh").vocab
    anna = Doc(en, "Anna saw it . Then Ben left .".split(), sent_starts=[1, 0, 0, 0, 1, 0, 0, 0])
    cat = Doc(en, ["A", "cat", "\n", "and", "  ", "TIME", "flies"], tags=[*"DNS", "", *"SNV"])
    made = [anna, cat, Doc(en, words=["One"], tags=["N"]), Doc(en)]
    made.append(Doc(en, words=[*"abcd"], sent_starts=[1, 1, 1, 1], tags=["T"] * 4))
    made.append(Doc(en, words=["No", "boundaries", ".", "Here"]))
    words = ["他", "高兴", "\n", "地", "笑", "。", "试试"]
    made.append(Doc(zh, words=words, sent_starts=[1, 0, 0, 0, 0, 0, 1]))
    for doc in made:
        for token in list(doc)[::2]:
            token._.mark = f"m{token.i % 3}"
    return made


def extractor_of(texts=TEMPLATES):
    return FeatureExtractor(parse_templates(texts))


@pytest.mark.parametrize(
    "texts", [TEMPLATES, ["lower[-9..9]"], ["bias"], ["orth[2]"], ["orth[-2]+orth[2]"]]
)
def test_keys_are_the_plain_ones(docs, texts):
    for english in (docs[:-1], docs[-1:]):
        assert extractor_of(texts).keys(english).tolist() == plain_keys(texts, english)


def test_no_tokens(docs):
    empty = docs[3]
    assert extractor_of().keys([empty]).shape == extractor_of().keys([]).shape == (17, 0)
    alone = extractor_of().keys([docs[2]])
    assert np.array_equal(extractor_of().keys([empty, docs[2], empty]), alone)


def test_keys_do_not_depend_on_the_batch(docs):
    docs = docs[:-1]
    extractor = extractor_of()
    single = {i: extractor.keys([doc]) for i, doc in enumerate(docs)}
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(docs))
        batch = extractor.keys([docs[i] for i in order])
        assert np.array_equal(batch, np.concatenate([single[i] for i in order], axis=1))


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_blocks_are_the_whole(monkeypatch, docs, size):
    extractor = extractor_of()
    columns = extractor.columns(docs[:-1])
    firsts = range(0, columns.n_tokens, size)
    blocks = [extractor.keys_between(columns, first, first + size) for first in firsts]
    assert np.array_equal(np.concatenate(blocks, axis=1), extractor.keys(docs[:-1]))
    monkeypatch.setattr(extract, "KEY_TOKENS", size)
    blocks = np.concatenate([*extractor.key_blocks(columns)], axis=1)
    assert np.array_equal(blocks, extractor.keys(docs[:-1]))
    assert extractor.keys_between(columns, 4, 4).shape == (17, 0)


def test_sentences_of_a_doc_do_not_see_each_other():
    vocab = spacy.blank("xx").vocab
    together = Doc(vocab, words=["a", "b", "c", "d", "e"], sent_starts=[1, 0, 1, 0, 0])
    apart = [Doc(vocab, words=["a", "b"]), Doc(vocab, words=["c", "d", "e"])]
    unknown = Doc(vocab, words=["a", "b", "c", "d", "e"])
    extractor = extractor_of(LEXICAL)
    assert np.array_equal(extractor.keys([together]), extractor.keys(apart))
    assert not np.array_equal(extractor.keys([together]), extractor.keys([unknown]))
    assert sequence_lengths([together, *apart, unknown]).tolist() == [2, 3, 2, 3, 5]


def test_annotation_is_read_anew_each_time():
    doc = Doc(spacy.blank("xx").vocab, words=["a", "b", "c"])
    extractor = extractor_of(["tag[-1]", "tag[0]", "tag[-1]+lower[0]"])
    assert not extractor.is_lexical
    before = extractor.keys([doc])
    assert before[:, 1:].tolist() == [[0, 0]] * 3, "no tag, no feature"
    doc[1].tag_ = "N"
    after = extractor.keys([doc])
    expected = [[False, False, True], [False, True, False], [False, False, True]]
    assert (before != after).tolist() == expected
    assert after.tolist() == plain_keys(["tag[-1]", "tag[0]", "tag[-1]+lower[0]"], [doc])


def test_words_are_read_anew_each_time():
    """Those of the last batch are kept: not beyond a change of the same Docs."""
    doc = Doc(spacy.blank("xx").vocab, words=["a", "b", "c", "d"], tags=["T"] * 4)
    texts = ["lower[-1]", "lower[0]+tag[1]", "tag[0]+lower[0]"]
    extractors = [extractor_of(texts), extractor_of(texts[:1]), extractor_of(texts)]

    def check():
        for extractor in extractors:
            expected = plain_keys([*map(str, extractor.templates)], [doc])
            assert extractor.keys([doc]).tolist() == expected

    check()
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2], attrs={"TAG": "M"})
    check()
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[0], ["a ", "b"], heads=[doc[0], doc[0]])
    check()
    doc[1].tag_ = "N"
    check()


def test_heads_and_what_extensions_compute_in_text_with_white_space():
    """As in the same text without it: a getter may follow the tree, or look up what lies with the Doc by token."""
    Token.set_extension("test_of_head", getter=lambda token: token.head.text)
    Token.set_extension("test_by_place", getter=lambda t: t.doc.user_data["values"][t.i])
    try:
        templates = ["head[0]", "head[-1]", "_.test_of_head[0]", "_.test_by_place[0..1]"]
        extractor = extractor_of(templates)
        vocab = spacy.blank("xx").vocab
        plain = Doc(vocab, words=["She", "saw", "the", "dog"], heads=[1, 1, 3, 1], deps=["d"] * 4)
        plain.user_data["values"] = ["a", "b", "c", "d"]
        words = ["\n", "She", "saw", "\n", " ", "the", "dog"]
        wrapped = Doc(vocab, words=words, heads=[1, 2, 2, 2, 2, 6, 2], deps=["d"] * 7)
        wrapped.user_data["values"] = ["x", "a", "b", "x", "x", "c", "d"]
        keys = extractor.keys(words_of([plain]))
        assert keys.tolist() == extractor.keys(words_of([wrapped])).tolist()
        assert (keys[2] != keys[2][0]).any()
    finally:
        Token.remove_extension("test_of_head")
        Token.remove_extension("test_by_place")
