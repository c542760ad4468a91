"""The registered readers: what examples they give, their settings, the first problem as an error."""

import pytest
import spacy

from spacy_hoseq.readers.formats.recognised import FORMATS

ENGLISH, CHINESE = spacy.blank("en"), spacy.blank("zh")
TREES = """( (S (NP-SBJ (DT the) (NN fox) ) (VP (VBZ runs) (PRT (RP away) )) (. .) ))
( (FRAG (-NONE- *)) )
( (NP (-LRB- -LRB-) (NN rain) (-RRB- -RRB-)) )
"""
COLUMNS = "Ann NNP B-PER\nsang VBD O\n\nyes UH O\n"


def reader(format, path, *args, attributes=None, limit=0, **options):
    made = spacy.registry.misc.get("spacy_hoseq.corpus_options.v1")(*args, **options)
    return spacy.registry.readers.get("spacy_hoseq.corpus.v1")(path, format, attributes, limit, options=made)


def file_of(folder, text, name="a.txt", encoding="utf-8"):
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def shown(examples, nlp=ENGLISH):
    """Words with tags, entities and spans of the references."""
    docs = [eg.reference for eg in examples(nlp)]
    return [
        (" ".join(f"{token.text}/{token.tag_}" for token in doc), [(e.text, e.label_) for e in doc.ents],
         {key: [(span.text, span.label_) for span in group] for key, group in doc.spans.items()})
        for doc in docs
    ]  # fmt: skip


def test_trees(tmp_path):
    path = file_of(tmp_path, TREES, "wsj_0001.mrg")
    chunks = [("the fox", "NP"), ("runs", "VP"), ("away", "PRT")]
    first = "the/DT fox/NN runs/VBZ away/RP ./."
    expected = [(first, [], {"chunks": chunks}), ("(/( rain/NN )/)", [], {"chunks": [("( rain", "NP")]})]
    for _ in range(2):
        assert shown(reader("trees", path)) == expected
    corpus = reader("trees", str(tmp_path))
    assert shown(corpus) == shown(corpus) == expected, "it can be read again"
    settings = {"chunks": False, "unescape": False}
    assert shown(reader("trees", path, **settings)) == [(first, [], {}), ("-LRB-/( rain/NN -RRB-/)", [], {})]
    assert shown(reader("trees", path, limit=1)) == [(first, [], {"chunks": chunks})]


def test_predicted_words_have_what_is_given(tmp_path):
    path = file_of(tmp_path, TREES, "wsj_0001.mrg")
    for attributes, tags in ((None, ["", ""]), (["tag"], ["DT", "NN"])):
        example = next(iter(reader("trees", path, attributes=attributes)(ENGLISH)))
        assert [token.tag_ for token in example.predicted][:2] == tags
        assert example.predicted is not example.reference and not example.predicted.spans
        assert [token.is_sent_start for token in example.predicted] == [
            i == 0 for i in range(len(example.reference))
        ]
    with pytest.raises(ValueError, match=r"\[HS161\].*dep"):
        reader("trees", path, attributes=["dep"])


def test_parts_of_splits(tmp_path):
    for section in (14, 15, 18, 20, 21):
        file_of(tmp_path, f"( (X (CD {section})) )", f"{section}/wsj_{section}01.mrg")
    texts = {part: [text for text, _, _ in shown(reader("trees", tmp_path, "wsj-chunking", part))]
             for part in ("train", "dev", "test")}  # fmt: skip
    assert texts == {"train": ["15/CD", "18/CD"], "dev": ["21/CD"], "test": ["20/CD"]}
    with pytest.raises(ValueError, match=r"\[HS161\]"):
        reader("trees", tmp_path, "wsj-chunking", "training")
    with pytest.raises(ValueError, match=r"\[HS079\]"):
        list(reader("trees", tmp_path, "ctb5", "train")(ENGLISH))


def test_chinese_pipelines(tmp_path):
    path = file_of(tmp_path, "( (IP (NN 雨) (VV 来)) )", "chtb_001.fid", "gb18030")
    for chunks, keys in ((None, []), (False, []), (True, ["chunks"])):
        (example,) = reader("trees", path, chunks=chunks)(CHINESE)
        assert list(example.reference.spans) == keys
    assert example.reference.text == example.predicted.text == "雨来" and len(example.predicted) == 2
    with pytest.raises(ValueError, match=rf"\[HS073\] Cannot read .*{path.name}, line 1: found the byte 0x"):
        list(reader("trees", path)(ENGLISH))
    assert [len(eg.reference) for eg in reader("trees", path, encoding="gbk")(ENGLISH)] == [2]


def test_tagged_text(tmp_path):
    path = file_of(tmp_path, "it_PRP rains_VBZ\nyes_UH\n")
    assert shown(reader("tagged", path, separator="_")) == [("it/PRP rains/VBZ", [], {}), ("yes/UH", [], {})]
    assert len(shown(reader("tagged", path, separator="_", limit=1))) == 1
    file_of(tmp_path, "no_NO", "chtb_0001.nw.pos")
    file_of(tmp_path, "<S ID=1>\nrain_NN\n</S>", "chtb_0300.nw.pos")
    assert shown(reader("tagged", tmp_path, "ctb5", "test", separator="_")) == [("rain/NN", [], {})]
    message = r'\[HS073\].*a\.txt, line 1: found "it_PRP", expected a word, "/" and its tag\.'
    with pytest.raises(ValueError, match=message):
        list(reader("tagged", path, separator="/")(ENGLISH))
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        list(reader("tagged", path, separator=" ")(ENGLISH))


def test_peoples_daily(tmp_path):
    path = file_of(
        tmp_path, "19990101-01-001-001/m [小/a 书社/n]nt 在/p 北村/ns 。/w 好/a\n", encoding="gb18030"
    )
    words = "小/a 书社/n 在/p 北村/ns 。/w"
    assert shown(reader("peoples-daily", path), CHINESE) == [
        (words, [("小书社", "ORG")], {}),
        ("好/a", [], {}),
    ]
    names = {"nt": "O", "ns": "L"}
    ((text, entities, spans),) = shown(
        reader("peoples-daily", path, groups=names, split_sentences=False, spans_key="names"), CHINESE
    )
    assert (text, entities) == (words + " 好/a", [])
    assert spans == {"names": [("小书社", "O"), ("北村", "L")]}


def test_columns(tmp_path):
    path = file_of(tmp_path, COLUMNS)
    assert shown(reader("columns", path, entity_column=0)) == [
        ("Ann/NNP sang/VBD", [], {}),
        ("yes/UH", [], {}),
    ]
    with_names = [("Ann/NNP sang/VBD", [("Ann", "PER")], {}), ("yes/UH", [], {})]
    assert shown(reader("columns", path, entity_column=3)) == shown(reader("auto", path)) == with_names
    spans = [spans for _, _, spans in shown(reader("columns", path, entity_column=-1, spans_key="chunks"))]
    assert spans == [{"chunks": [("Ann", "PER")]}, {"chunks": []}]
    assert shown(reader("columns", path, word_column=2, tag_column=1, entity_column=0, limit=1)) == [
        ("NNP/Ann VBD/sang", [], {})
    ]
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        reader("columns", path, word_column=0)


def test_characters(tmp_path):
    path = file_of(tmp_path, "a B-X\nb E-X\nc O\n\nd S-Y\n")
    examples = list(reader("characters", path)(ENGLISH))
    assert [eg.reference.text for eg in examples] == [eg.predicted.text for eg in examples] == ["abc", "d"]
    assert [[(e.text, e.label_) for e in eg.reference.ents] for eg in examples] == [
        [("ab", "X")],
        [("d", "Y")],
    ]
    with pytest.raises(ValueError, match=r"\[HS161\]"):
        reader("characters", path, representation="bmes")


@pytest.mark.parametrize("name", ["auto", *FORMATS])
def test_paths_and_encodings(name, tmp_path):
    with pytest.raises(ValueError, match="E913"):
        reader(name, None)
    with pytest.raises(ValueError, match=r"\[HS027\].*klingon"):
        reader(name, tmp_path, encoding="klingon")
    with pytest.raises(ValueError, match=r"\[HS074\]"):
        list(reader(name, tmp_path)(ENGLISH))
    with pytest.raises(ValueError, match=r"\[HS161\].*klingon"):
        reader("klingon", tmp_path)


def test_reader_in_a_config(tmp_path):
    """As `spacy train` resolves it: unknown settings and values of other types are refused."""
    path = file_of(tmp_path, TREES, "wsj_0001.mrg")
    block = {"@readers": "spacy_hoseq.corpus.v1", "path": str(path), "attributes": ["tag"]}
    assert len(list(spacy.registry.resolve({"train": block})["train"](ENGLISH))) == 2
    options = {"@misc": "spacy_hoseq.corpus_options.v1", "chunks": False}
    resolved = spacy.registry.resolve({"train": {**block, "options": options}})
    assert not any(eg.reference.spans for eg in resolved["train"](ENGLISH))
    for wrong in ({"chunks": "many"}, {"sections": [1]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            spacy.registry.resolve({"train": {**block, "options": {**options, **wrong}}})


@pytest.mark.filterwarnings("ignore:.*W090")  # spaCy's, of the same
def test_docs_come_before_other_files(tmp_path):
    """Of a folder with both; of other formats if they are named."""
    file_of(tmp_path, COLUMNS, "a.conll")
    docs = [spacy.tokens.Doc(ENGLISH.vocab, words=["a", "b"]) for _ in range(3)]
    (tmp_path / "b").mkdir()
    spacy.tokens.DocBin(docs=docs).to_disk(tmp_path / "b" / "b.spacy")
    assert [text for text, _, _ in shown(reader("auto", tmp_path))] == ["a/ b/"] * 3
    assert len(shown(reader("auto", tmp_path, limit=2))) == 2
    assert [text for text, _, _ in shown(reader("columns", tmp_path))] == ["Ann/NNP sang/VBD", "yes/UH"]
    with pytest.raises(ValueError, match=r"\[HS074\].*spacy"):
        list(reader("spacy", tmp_path / "a.conll")(ENGLISH))


def test_suffixes_of_the_chinese_treebank(tmp_path):
    for suffix in (".nw", ".mz", ".bn", ".fid", ".mrg", ".parse", ".bracketed"):
        file_of(tmp_path, "(X (A a))", f"chtb_0001{suffix}")
    assert len(shown(reader("trees", tmp_path))) == 7
    assert {".mrg", ".fid", ".nw", ".parse", ".bracketed"} <= set(FORMATS["trees"].endings)
