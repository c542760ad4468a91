"""Tags that words had in the training data: the table, and the attribute that reads it."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import load_model_from_config
from spacy.vocab import Vocab

from spacy_hoseq.features.attributes import lexical_attribute, numbers_of
from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE, MAX_KNOWN_TAGS, known_tags

from ..builders import layer
from .values import value_of

SENTENCES = [("the run was long", "D N V A"), ("dogs run", "N V"), ("The run", "D N"), ("", "")]
# A, D, N, V
NUMBERS = {"the": [1], "The": [1], "run": [2, 3], "was": [3], "long": [0], "dogs": [2]}


def docs_of(vocab, sentences=SENTENCES):
    return [Doc(vocab, words=text.split(), tags=tags.split()) for text, tags in sentences]


def file_of(path, docs):
    DocBin(docs=docs, store_user_data=False).to_disk(path)
    return path


@pytest.fixture
def corpus(tmp_path):
    return file_of(tmp_path / "train.spacy", docs_of(Vocab()))


def vocab_with(path):
    vocab = Vocab()
    vocab.lookups = known_tags(path)
    return vocab


def values(vocab, word, n=5):
    """Of known_tag0, known_tag1, ..."""
    return [value_of(f"known_tag{i}", vocab[word]) for i in range(n)]


def test_table_has_the_tags_of_every_word_in_sorted_order(corpus):
    lookups = known_tags(corpus)
    assert lookups.tables == [KNOWN_TAGS_TABLE]
    table = lookups.get_table(KNOWN_TAGS_TABLE)
    assert {word: table[word] for word in NUMBERS} == NUMBERS and len(table) == len(NUMBERS)
    assert known_tags(str(corpus)).get_table(KNOWN_TAGS_TABLE).to_bytes() == table.to_bytes()


def test_numbers_do_not_depend_on_the_order_of_the_texts(corpus, tmp_path):
    """Not even the bytes that are saved."""
    other = file_of(tmp_path / "other.spacy", docs_of(Vocab(), SENTENCES[::-1] + SENTENCES))
    assert known_tags(other).to_bytes() == known_tags(corpus).to_bytes()


def test_values(corpus):
    vocab = vocab_with(corpus)
    for word, numbers in NUMBERS.items():
        assert values(vocab, word) == [int(i in numbers) for i in range(5)], word
    for word in ("cat", "Run", "RUN", "", "1", "\n"):
        assert values(vocab, word) == [0] * 5, word


@pytest.mark.parametrize("sentences", [[], [("", "")]])
def test_nothing_in_the_file(sentences, tmp_path):
    vocab = vocab_with(file_of(tmp_path / "empty.spacy", docs_of(Vocab(), sentences)))
    assert len(vocab.lookups.get_table(KNOWN_TAGS_TABLE)) == 0 and values(vocab, "a") == [0] * 5


def test_no_table():
    assert values(Vocab(), "run") == [0] * 5
    vocab = Vocab()
    vocab.lookups.add_table("other", {"run": [0, 1]})
    assert values(vocab, "run") == [0] * 5


def test_limit_on_the_number_of_tags(tmp_path):
    assert numbers_of("known_tag") == range(MAX_KNOWN_TAGS), "templates can name all of them"
    for n in (MAX_KNOWN_TAGS, MAX_KNOWN_TAGS + 1):
        doc = Doc(Vocab(), words=["a"] * n, tags=[f"T{i:03}" for i in range(n)])
        path = file_of(tmp_path / f"{n}.spacy", [doc])
        vocab = Vocab()
        vocab.lookups = known_tags(path)
        assert vocab.lookups.get_table(KNOWN_TAGS_TABLE)["a"] == list(range(n))
        assert lexical_attribute("known_tags").value(vocab["a"]) == " ".join(map(str, range(n)))
        if n == MAX_KNOWN_TAGS:
            assert lexical_attribute("known_tag127").value(vocab["a"])
        else:
            with pytest.raises(ValueError, match=r"\[HS009\].* 129 different tags or more.* 128"):
                lexical_attribute("known_tag127").value(vocab["a"])


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A tagger whose only feature says what tags a word had, trained as a config would have it."""
    path = file_of(tmp_path_factory.mktemp("known") / "train.spacy", docs_of(Vocab()))
    config = spacy.blank("xx").config
    config["nlp"]["pipeline"] = ["hoseq_tagger"]
    emissions = layer("SparseLinear", templates=["known_tag0..3[0]", "known_tag1[-1]"])
    model = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1", "emissions": emissions}
    config["components"] = {"hoseq_tagger": {"factory": "hoseq_tagger", "model": model}}
    config["initialize"]["lookups"] = {"@misc": "spacy_hoseq.known_tags.v1", "path": str(path)}
    nlp = load_model_from_config(config, auto_fill=True)

    def examples():
        docs = docs_of(nlp.vocab)[:3]
        return [spacy.training.Example(nlp.make_doc(doc.text), doc) for doc in docs]

    optimizer = nlp.initialize(examples)
    for _ in range(20):
        nlp.update(examples(), sgd=optimizer)
    return nlp


TEXTS = ["the run was long", "the dogs", "dogs run", "unknown run"] * 3


def tags(docs):
    return [" ".join(token.tag_ for token in doc) for doc in docs]


def test_pipeline_reads_the_table_when_it_is_trained(pipeline):
    assert pipeline.vocab.lookups.has_table(KNOWN_TAGS_TABLE)
    assert values(pipeline.vocab, "run", 4) == [0, 0, 1, 1]
    assert tags(pipeline.pipe(TEXTS))[:3] == ["D N V A", "D N", "N V"]


def test_table_is_saved_with_the_vocabulary(pipeline, tmp_path, corpus):
    pipeline.to_disk(tmp_path / "nlp")
    corpus.unlink()  # the table is not made again
    expected = tags(pipeline.pipe(TEXTS))
    assert tags(spacy.load(tmp_path / "nlp").pipe(TEXTS)) == expected
    fresh = load_model_from_config(pipeline.config).from_bytes(pipeline.to_bytes())
    assert tags(fresh.pipe(TEXTS)) == expected
    without = spacy.load(tmp_path / "nlp")
    without.vocab.lookups.remove_table(KNOWN_TAGS_TABLE)
    for _, pipe in without.pipeline:
        pipe.tables.forget()  # it would bring its table back
    assert tags(without.pipe(TEXTS)) != expected, "the tags do come from the table"


def test_words_and_tags_that_are_rare_are_left_out(tmp_path):
    """a: 3 X, 1 Y; b: 2 X; c: 1 Y."""
    docs = docs_of(Vocab(), [("a a a a", "X X X Y"), ("b b c", "X X Y")])
    path = file_of(tmp_path / "some.spacy", docs)

    def table(**settings):
        found = known_tags(path, **settings).get_table(KNOWN_TAGS_TABLE)
        return {word: found[word] for word in "abc" if word in found}

    assert table() == table(min_count=1, min_share=0.25) == {"a": [0, 1], "b": [0], "c": [1]}
    assert table(min_share=0.26) == {"a": [0], "b": [0], "c": [1]}
    assert table(min_count=2) == {"a": [0, 1], "b": [0]}
    assert table(min_count=3, min_share=0.5) == {"a": [0]}
    assert table(min_count=5) == {}


def test_a_folder_is_read_as_its_files(tmp_path):
    for i, sentences in enumerate((SENTENCES[:2], SENTENCES[2:])):
        file_of(tmp_path / f"{i}.spacy", docs_of(Vocab(), sentences))
    table = known_tags(tmp_path).get_table(KNOWN_TAGS_TABLE)
    assert {word: table[word] for word in NUMBERS} == NUMBERS


def test_all_tags_of_a_word_are_one_value(corpus):
    vocab = spacy.blank("xx").vocab
    vocab.lookups = known_tags(corpus)
    words = (*NUMBERS, "RUN", "Was", "cat", "")
    classes = {word: value_of("known_tags", vocab[word]) for word in words}
    pairs = (("the", "The"), ("run", "RUN"), ("was", "Was"))
    assert all(classes[one] == classes[other] for one, other in pairs)
    # D, NV, V, A, N, nothing
    assert classes["cat"] == classes[""] == 0 and len(set(classes.values())) == 6


def test_missing_table_is_refused():
    message = r"\[HS007\] .* known_tags.* hoseq_known_tags has 0 columns"
    with pytest.raises(ValueError, match=message):
        value_of("known_tags", Vocab()["run"])
