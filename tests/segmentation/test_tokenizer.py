"""The tokenizer: texts stay what they are, batches do not matter, and it is saved with its pipeline."""

import pickle

import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.compaction import save_compact
from spacy_hoseq.segmentation.tokenizer import CharacterTokenizer

from .helpers import SENTENCES, TEXTS, new_segmenter, pipeline, saved_words, segmenter

ODD = ["", " ", "\n", "  我们喝茶 \n\n 学校。", "👩\u200d👩\u200d👧喝茶👍🏽", "привет мир"]
ODD += ["e\u0301te\u0301\u200b", "Ａ，Ｂ", "12喝iPhone"]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return saved_words(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def nlp(words):
    return pipeline(words)


def cut(doc):
    return [(token.text, token.whitespace_, token.is_sent_start) for token in doc]


@pytest.mark.parametrize("kinds", ["", "tag"])
def test_words_of_the_corpus(words, kinds):
    for doc, sentence in zip(pipeline(words, kinds).pipe(TEXTS), SENTENCES, strict=True):
        assert [token.text for token in doc] == [word for word, _ in sentence]
        assert not doc.has_annotation("TAG")


def test_traditional_characters_and_addresses(words):
    """They are cut as simplified ones are, and stay as they are written."""
    nlp = pipeline(words)
    text = TEXTS[0] + "info@example.org"
    traditional = text.translate(str.maketrans("们学书", "們學書"))
    assert traditional != text
    nlp.tokenizer.simplified = nlp.tokenizer.addresses = True
    docs = list(nlp.pipe([text, traditional]))
    assert [len(token) for token in docs[0]] == [len(token) for token in docs[1]]
    assert [doc.text for doc in docs] == [text, traditional]
    assert [doc[-1].text for doc in docs] == ["info@example.org"] * 2


@given(st.text(alphabet="我们喝茶。a1 \n\t\u3000\u0301👍🏽", max_size=15))
def test_white_space_is_that_of_spacy(nlp, text):
    """Where spaCy's own tokenizer, which cuts at white space alone, has white space, there ours has the same."""
    doc, other = nlp.make_doc(text), Tokenizer(nlp.vocab)(text)
    assert doc.text == text

    def spaces(doc):
        tokens = [(t.idx, t.text) for t in doc if t.is_space]
        return tokens, {t.idx + len(t.text) for t in doc if t.whitespace_}

    assert spaces(doc) == spaces(other)


def test_sentences(nlp):
    doc = nlp(" \n我们喝茶。\n他们在学校学习。 我买了3.14茶")
    texts = [sentence.text.strip() for sentence in doc.sents]
    assert texts == ["我们喝茶。", "他们在学校学习。", "我买了3.14茶"]


def test_batches_do_not_matter(nlp):
    texts = [*TEXTS, *ODD, "。".join(TEXTS) * 30, *TEXTS]
    singly = [cut(nlp.tokenizer(text)) for text in texts]
    assert [nlp(text).text for text in texts] == texts
    assert all(tokens[0][2] for tokens in singly if tokens), "the first token begins a sentence"
    for size in (1, 3, 1000):
        assert [cut(doc) for doc in nlp.tokenizer.pipe(iter(texts), batch_size=size)] == singly
    assert [cut(doc) for doc in nlp.pipe(nlp.tokenizer.pipe(texts))] == singly
    assert list(nlp.tokenizer.pipe([])) == []


@pytest.mark.long
@pytest.mark.parametrize("part", ["我们喝茶", "a", "1", " ", "。", "👍🏽"])
def test_one_very_long_line(nlp, part):
    text = part * 20_000
    assert nlp.make_doc(text).text == text


def test_a_memory_zone_is_one_of_the_segmenter(nlp):
    with nlp.memory_zone():
        inside = cut(nlp("我们喝龘茶。"))
    assert cut(nlp("我们喝龘茶。")) == inside


def saved_by(how, nlp, folder):
    """Another pipeline with what was saved."""
    tokenizer = CharacterTokenizer(spacy.blank("zh").vocab)
    if how == "bytes":
        return tokenizer.from_bytes(nlp.tokenizer.to_bytes())
    if how == "disk":
        nlp.tokenizer.to_disk(folder)
        return tokenizer.from_disk(folder)
    return pickle.loads(pickle.dumps(nlp)).tokenizer


@pytest.mark.parametrize("how", ["bytes", "disk", "pickle"])
def test_saved_and_read(how, nlp, tmp_path):
    other = saved_by(how, nlp, tmp_path)
    found = [cut(other(text)) for text in [*TEXTS, *ODD]]
    assert found == [cut(nlp.tokenizer(text)) for text in [*TEXTS, *ODD]]
    assert other.to_bytes() == nlp.tokenizer.to_bytes()


def test_needs_no_strings_of_words(nlp, tmp_path):
    save_compact(nlp, tmp_path / "small")
    folder = tmp_path / "small" / "tokenizer" / "segmenter"
    strings = srsly.read_json(folder / "vocab" / "strings.json")
    assert strings == sorted(nlp.tokenizer.segmenter.get_pipe("hoseq_tagger").labels)
    found = [cut(doc) for doc in spacy.load(tmp_path / "small").pipe(TEXTS)]
    assert found == [cut(doc) for doc in nlp.pipe(TEXTS)]


def test_saved_with_the_pipeline_by_its_registered_name(words, tmp_path):
    segmenter(words).to_disk(tmp_path / "segmenter")
    settings = {"nlp": {"tokenizer": {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}}}
    settings["initialize"] = {"tokenizer": {"segmenter": str(tmp_path / "segmenter")}}
    nlp = spacy.blank("zh", config=settings)
    nlp.initialize()
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    copied = spacy.blank("zh", config=settings).from_bytes(nlp.to_bytes())
    for other in (nlp, loaded, copied):
        assert [token.text for token in other("我们喝茶。")] == ["我们", "喝", "茶", "。"]


def test_not_trained_yet():
    tokenizer = CharacterTokenizer(spacy.blank("zh").vocab)
    for act in (lambda: tokenizer("茶"), tokenizer.initialize):
        with pytest.raises(ValueError, match="HS120"):
            act()
    assert CharacterTokenizer(tokenizer.vocab).from_bytes(tokenizer.to_bytes()).segmenter is None


def test_pipelines_that_cannot_cut():
    other = new_segmenter()
    other.get_pipe("hoseq_tagger").add_label("NN")
    for nlp in (spacy.blank("zh"), new_segmenter(), other):
        with pytest.raises(ValueError, match="HS121"):
            CharacterTokenizer(nlp.vocab).use(nlp)


def test_damaged_bytes(nlp):
    whole = nlp.tokenizer.to_bytes()
    parts = srsly.msgpack_loads(whole)
    damaged = [whole[:-20], b"no msgpack", srsly.msgpack_dumps({"config": parts["config"]})]
    damaged.append(srsly.msgpack_dumps({**parts, "pipeline": parts["pipeline"][:-300]}))
    for data in damaged:
        with pytest.raises(ValueError, match="HS064"):
            CharacterTokenizer(nlp.vocab).from_bytes(data)


@pytest.mark.parametrize(
    "file", ["config.cfg", "hoseq_tagger/model", "hoseq_tagger/cfg", "meta.json"]
)
def test_damaged_folder(nlp, tmp_path, file):
    nlp.tokenizer.to_disk(tmp_path)
    path = tmp_path / "segmenter" / file
    path.write_bytes(path.read_bytes()[:10])
    with pytest.raises(ValueError, match="HS064"):
        CharacterTokenizer(nlp.vocab).from_disk(tmp_path)
    with pytest.raises(ValueError, match="HS064"):
        CharacterTokenizer(nlp.vocab).from_disk(tmp_path / "nowhere")


def test_scores(nlp):
    gold = [*([word for word, _ in sentence] for sentence in SENTENCES[:2]), ["学", "校"]]
    docs = [Doc(nlp.vocab, words, [False] * len(words)) for words in gold]
    scores = nlp.tokenizer.score([Example(nlp.make_doc(doc.text), doc) for doc in docs])
    assert scores["token_p"] == pytest.approx(9 / 10) and scores["token_r"] == pytest.approx(9 / 11)
