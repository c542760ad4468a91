"""Tables of the vocabulary, weights and labels of different trainings are told apart, whatever the labels."""

import shutil

import pytest
import spacy
import srsly
from spacy.lookups import Lookups
from spacy.training import Example

from spacy_hoseq.components.base import digest_of
from spacy_hoseq.features.known_tags import TABLE as KNOWN_TAGS
from spacy_hoseq.features.known_words import TABLE as KNOWN_WORDS
from spacy_hoseq.features.word_classes import TABLE as CLASSES
from spacy_hoseq.features.word_classes import word_classes
from spacy_hoseq.inspection import calibrate
from spacy_hoseq.segmentation.corpus import known_words

from ..segmentation import helpers as characters
from .helpers import CORPUS, blank, doc_of, tagger_model, tagger_of, trained

NAME = "hoseq_tagger"


def with_tables(folder):
    """A pipeline whose features read all three tables."""
    classes = folder / "classes.tsv"
    classes.write_text("the\tx\nold\ty\n", encoding="utf8")
    templates = ["lower[0]", "known_tags[0]", "word_class1[0]", "known_begins[0]"]
    nlp = blank(model=tagger_model({"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": templates}))
    nlp.vocab.lookups.set_table(CLASSES, word_classes(classes).get_table(CLASSES))
    known = known_words(characters.saved_words(folder)).get_table(KNOWN_WORDS)
    nlp.vocab.lookups.set_table(KNOWN_WORDS, known)
    examples = [Example.from_dict(doc_of(nlp, text), {"tags": tags.split()}) for text, tags in CORPUS for _ in range(5)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    return nlp


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with_tables(folder).to_disk(folder / "pipeline")
    return folder / "pipeline"


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


def other_entry(table):
    key = next(iter(table))
    table[key] = table.get("rows", b"")[:-1] + b"?" if "columns" in table else [7]


def fewer_entries(table):
    table.pop(next(iter(table)))


def more_entries(table):
    table[12345] = [0]


@pytest.mark.parametrize("change", [None, other_entry, fewer_entries, more_entries])
@pytest.mark.parametrize("name", [KNOWN_TAGS, CLASSES, KNOWN_WORDS])
def test_another_table_is_refused(copy, name, change):
    lookups = Lookups().from_disk(copy / "vocab")
    if change is None:
        lookups.remove_table(name)
    else:
        change(lookups.get_table(name))
    lookups.to_disk(copy / "vocab")
    with pytest.raises(ValueError, match=rf"\[HS064\].*tables of the vocabulary \(.*{name}"):
        spacy.load(copy)


def test_tables_in_another_order_are_the_same(copy):
    lookups = Lookups().from_disk(copy / "vocab")
    for name in lookups.tables:
        entries = [*lookups.get_table(name).items()]
        lookups.remove_table(name)
        lookups.add_table(name, dict(reversed(entries)))
    lookups.to_disk(copy / "vocab")
    assert spacy.load(copy)("the old cat")[0].tag_
    assert digest_of(None) is None


def test_component_that_is_taken_over_brings_its_tables(saved, tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=spacy.load(saved))
    nlp("the old cat")  # now they are lent
    nlp.to_disk(tmp_path)
    assert [token.tag_ for token in spacy.load(tmp_path)("the old cat")] == [t.tag_ for t in nlp("the old cat")]
    config = {"components": {NAME: {"source": str(saved)}}, "nlp": {"lang": "xx", "pipeline": [NAME]}}
    assert spacy.blank("xx").from_config(config)("the old cat")[0].tag_
    spacy.blank("xx").from_config(config).to_disk(tmp_path / "assembled")  # as `spacy assemble` does: it was never used
    assert spacy.load(tmp_path / "assembled")("the old cat")[0].tag_ == nlp("the old cat")[0].tag_


def test_calibration_is_of_the_weights_it_was_made_for(tmp_path):
    nlp = trained(objective="log_likelihood")
    nlp.to_disk(tmp_path / "before")
    examples = [Example.from_dict(doc_of(nlp, text), {"tags": tags.split()}) for text, tags in CORPUS for _ in range(9)]
    calibrate(nlp, examples)
    assert "conformal" in tagger_of(nlp).cfg
    nlp.to_disk(tmp_path / "after")
    assert tagger_of(spacy.load(tmp_path / "after")).cfg["conformal"] == tagger_of(nlp).cfg["conformal"]
    mixed = shutil.copytree(tmp_path / "after", tmp_path / "mixed")
    shutil.copy(tmp_path / "before" / NAME / "model", mixed / NAME / "model")
    with pytest.raises(ValueError, match=r"\[HS064\]"):
        spacy.load(mixed)
    path = shutil.copytree(tmp_path / "after", tmp_path / "numbers") / NAME / "cfg"
    cfg = srsly.read_json(path)
    cfg["conformal"]["labels"]["n"] += 1
    srsly.write_json(path, cfg)
    with pytest.raises(ValueError, match=r"\[HS064\]"):
        spacy.load(tmp_path / "numbers")
