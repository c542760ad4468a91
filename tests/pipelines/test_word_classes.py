"""The classes of words that a trained pipeline knows."""

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

import spacy_hoseq
from spacy_hoseq.features.attributes import lend_tables, lexical_attribute
from spacy_hoseq.pipelines.word_classes import word_classes_of
from spacy_hoseq.recipes import recipe

from ..builders import learn


def classes(vocab, word):
    return [lexical_attribute(f"word_class{number}").value(vocab[word]) for number in range(1, 5)]


def test_classes_of_the_english_pipeline(tmp_path):
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes_of("en")
    assert vocab.lookups.tables == ["hoseq_word_classes", "hoseq_sources", "hoseq_class_words"]
    nlp = spacy_hoseq.load("en", enable=[])
    for word in ("dog", "Running", "zyzzyvas"):
        assert classes(vocab, word) == classes(nlp.vocab, word)
    assert [classes(vocab, word)[3] for word in ("dogs", "the")] == ["NNS|VBZ", ""]
    nlp.to_disk(tmp_path / "copy")
    assert word_classes_of(tmp_path / "copy").to_bytes() == vocab.lookups.to_bytes()


def test_words_of_a_chinese_dictionary():
    vocab = spacy.blank("zh").vocab
    vocab.lookups = word_classes_of("zh")
    value = lexical_attribute("word_class1").value
    assert [value(vocab[word]) for word in ("北京", "苏州", "研究", "猫")] == "ns ns vn n".split()
    assert value(vocab["魑魅魍魉队"]) == ""
    (source,) = vocab.lookups.get_table("hoseq_sources")["hoseq_word_classes"]
    assert source["license"] == "MIT"


def test_lists_of_names():
    """Their column comes after those of the pipeline, and a model names the makers of both."""
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes_of("en", ["en_names"])
    alone = spacy.blank("xx").vocab
    alone.lookups = word_classes_of("en")
    for word in ("dog", "Running", "Shirley"):
        assert classes(vocab, word) == classes(alone, word)
    value = lexical_attribute("word_class5").value
    lists = {"Shirley": "first|last|town", "MUMBAI": "city|city_goes_on"}
    lists |= {"spain": "country|rare_last", "zyzzyvas": ""}
    assert {word: value(vocab[word]) for word in lists} == lists
    with pytest.raises(ValueError, match=r"\[HS007\].* 5 "):
        lexical_attribute("word_class6").value(vocab["dog"])
    makers = vocab.lookups.get_table("hoseq_sources")["hoseq_word_classes"]
    assert [maker["license"] for maker in makers] == ["MIT", "MIT", "public domain", "CC BY 4.0"]
    again = spacy.blank("xx").vocab.from_bytes(vocab.to_bytes())
    assert value(again["Mumbai"]) == lists["MUMBAI"]
    assert classes(again, "dog") == classes(alone, "dog")


def test_a_folder_comes_before_a_pipeline_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spacy.blank("xx").to_disk(tmp_path / "zh")
    with pytest.raises(ValueError, match=r"\[HS159\] There is no class of words in .*zh"):
        word_classes_of("zh")


def test_no_such_pipeline_or_no_classes(tmp_path):
    with pytest.raises(ValueError, match=r'\[HS130\] There is no pipeline "xy"'):
        word_classes_of("xy")
    spacy.blank("xx").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match=r"\[HS159\] There is no class of words in .*blank"):
        word_classes_of(tmp_path / "blank")


def test_damaged_files(tmp_path):
    nlp = spacy.blank("xx")
    nlp.vocab.lookups.add_table("hoseq_word_classes", {"words": b"abc"})
    nlp.to_disk(tmp_path)
    path = tmp_path / "vocab" / "lookups.bin"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match=r"\[HS133\] .* because of vocab/lookups.bin"):
        word_classes_of(tmp_path)


def test_a_recipe_knows_words_that_training_has_not_seen():
    """What tells a plural from a verb here is the lexicon alone: the words share no affix."""
    nlp = load_model_from_config(Config().from_str(recipe("tagger", "en")).interpolate())
    words, tags = ["mice", "dogs", "geese", "ran", "went", "took"], ["NNS"] * 3 + ["VBD"] * 3
    example = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
    learn(nlp, [example], 10)
    found = [nlp(word)[0].tag_ for word in ("oxen", "broke", "feet", "sold")]
    assert found == "NNS VBD NNS VBD".split()


def test_words_of_organizations():
    """Further tables of the pipeline itself are left out."""
    vocab = spacy.blank("xx").vocab
    vocab.lookups = word_classes_of("en", ["en_organizations"])
    value = lexical_attribute("word_class5").value
    assert [value(vocab[word]) for word in ("Google", "inc", "walked")] == ["company", "of_org", ""]
    assert "more" not in word_classes_of("en").get_table("hoseq_word_classes")


def test_components_share_a_table_that_one_has_with_further_columns():
    """Whichever comes first: the other one finds its own columns there."""
    table = "hoseq_word_classes"
    for first, second in ((None, ["en_names"]), (["en_names"], None)):
        owner, borrower = word_classes_of("en", first), word_classes_of("en", second)
        assert lend_tables(owner, borrower, [table])
        assert len(borrower.get_table(table)["more"]) == 1
    longer = word_classes_of("en", ["en_names"])
    assert not lend_tables(longer, word_classes_of("en", ["en_organizations"]), [table])


def test_a_model_names_who_made_its_classes_of_words(tmp_path):
    """So do models that are trained with the classes of that model, and those that do not read them name nobody."""
    nlp = load_model_from_config(Config().from_str(recipe("crf", "en")).interpolate())
    nlp.add_pipe("hoseq_chunker")
    gold = Doc(nlp.vocab, words=["It", "works"], tags=["PRP", "VBZ"])
    gold.spans["chunks"] = [Span(gold, 0, 1, "NP")]
    example = Example(Doc(nlp.vocab, words=["It", "works"]), gold)
    nlp.initialize(lambda: [example])
    nlp.to_disk(tmp_path / "model")
    sources = spacy.load(tmp_path / "model").meta["sources"]
    assert [source["license"] for source in sources] == ["MIT", "MIT"]
    assert [source["name"].split()[0] for source in sources] == ["Word", "SPECIALIST"]
    again = word_classes_of(tmp_path / "model").get_table("hoseq_sources")
    assert dict(again) == dict(word_classes_of("en").get_table("hoseq_sources"))
    plain = spacy.blank("xx")
    plain.add_pipe("hoseq_tagger")
    plain.initialize(lambda: [Example.from_dict(Doc(plain.vocab, words=["It"]), {"tags": ["PRP"]})])
    assert "sources" not in plain.meta
