"""The registered readers: what examples they give, their settings, the first problem as an error."""

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_hoseq.readers.formats.recognised import FORMATS

from ..docs.pages import blocks
from ..repository import hoseq

ENGLISH = spacy.blank("en")
TREES = """( (S (NP-SBJ (DT the) (NN fox) ) (VP (VBZ runs) (PRT (RP away) )) (. .) ))
( (FRAG (-NONE- *)) )
( (NP (-LRB- -LRB-) (NN rain) (-RRB- -RRB-)) )
"""
COLUMNS = "Ann NNP B-PER\nsang VBD O\n\nyes UH O\n"


def reader(format, path, *args, attributes=None, limit=0, **options):
    made = spacy.registry.misc.get("spacy_hoseq.corpus_options.v1")(*args, **options)
    read = spacy.registry.readers.get("spacy_hoseq.corpus.v1")
    return read(path, format, attributes, limit, options=made)


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


def test_predicted_words_have_what_is_given(tmp_path):
    path = file_of(tmp_path, TREES, "wsj_0001.mrg")
    for attributes, tags in ((None, ["", ""]), (["tag"], ["DT", "NN"])):
        example = next(iter(reader("trees", path, attributes=attributes)(ENGLISH)))
        assert [token.tag_ for token in example.predicted][:2] == tags
        assert example.predicted is not example.reference and not example.predicted.spans
        found = [token.is_sent_start for token in example.predicted]
        assert found == [i == 0 for i in range(len(example.reference))]
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


@pytest.mark.parametrize("name", ["auto", *FORMATS])
def test_paths_and_encodings(name, tmp_path):
    for nowhere in (None, ""):
        with pytest.raises(ValueError, match="E913"):
            reader(name, nowhere)
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong limit: -1"):
        reader(name, tmp_path, limit=-1)
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


def test_a_format_of_your_own(tmp_path):
    """By its name, by a block of the config, and by the command."""
    path = file_of(tmp_path, "Ann#naps\nyes\n", "a.hash")
    (block,) = [block for block in blocks("docs/tasks/extend.md", "python") if "Format(" in block]
    code = file_of(tmp_path, block, "hashes.py")
    assert len(block.splitlines()) <= 15
    out = tmp_path / "out.spacy"
    status, output = hoseq("convert", tmp_path, "-o", out, "-f", "hashes.v1", "--code", code)
    assert status == 0 and "words between hashes" in output
    (doc,) = DocBin().from_disk(out).get_docs(ENGLISH.vocab)
    assert doc.text == "Ann naps yes "
    for format in ("hashes.v1", {"@misc": "hashes.v1"}):
        block = {"@readers": "spacy_hoseq.corpus.v1", "path": str(tmp_path / "a.hash")}
        examples = spacy.registry.resolve({"train": {**block, "format": format}})["train"]
        assert [text for text, _, _ in shown(examples)] == ["Ann/ naps/", "yes/"]
    with pytest.raises(ValueError, match=r"\[HS161\].*klingon.*peoples-daily.*hashes.v1"):
        reader("klingon", path)
    with pytest.raises(ValueError, match=r"\[HS161\].*frequent_transitions"):
        reader("spacy_hoseq.frequent_transitions.v1", path)


@pytest.mark.parametrize("name", FORMATS)
def test_registered_formats(name):
    """The short names are those of registered functions."""
    registered = spacy.registry.misc.get(f"spacy_hoseq.{name.replace('-', '_')}_format.v1")
    assert registered is FORMATS[name] and registered().endings


@pytest.mark.filterwarnings("ignore:.*W090")  # spaCy's, of the same
def test_docs_come_before_other_files(tmp_path):
    """Of a folder with both; of other formats if they are named."""
    file_of(tmp_path, COLUMNS, "a.conll")
    docs = [spacy.tokens.Doc(ENGLISH.vocab, words=["a", "b"]) for _ in range(3)]
    (tmp_path / "b").mkdir()
    spacy.tokens.DocBin(docs=docs).to_disk(tmp_path / "b" / "b.spacy")
    assert [text for text, _, _ in shown(reader("auto", tmp_path))] == ["a/ b/"] * 3
    assert len(shown(reader("auto", tmp_path, limit=2))) == 2
    texts = [text for text, _, _ in shown(reader("columns", tmp_path))]
    assert texts == ["Ann/NNP sang/VBD", "yes/UH"]
    with pytest.raises(ValueError, match=r"\[HS074\].*spacy"):
        list(reader("spacy", tmp_path / "a.conll")(ENGLISH))
