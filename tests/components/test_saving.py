"""What is saved of a component, and what the config says of it; weights of another pipeline (`weights_from`)."""

import shutil

import pytest
import spacy
import srsly
from spacy.lookups import Lookups
from spacy.tokens import Token

from spacy_hoseq.components.saving import digest_of
from spacy_hoseq.features.known_tags import KNOWN_TAGS_TABLE as KNOWN_TAGS
from spacy_hoseq.features.known_words import KNOWN_WORDS_TABLE as KNOWN_WORDS
from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE as CLASSES
from spacy_hoseq.features.word_classes import word_classes
from spacy_hoseq.inspection import calibrate
from spacy_hoseq.segmentation.corpus import known_words

from ..builders import layer, tagger_of
from ..segmentation import helpers as characters
from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from .helpers import (
    ADDITIVE,
    CORPUS,
    LABELS,
    blank,
    examples_of,
    ready,
    reloaded,
    tagger_model,
    train,
    trained,
)

TAGGER, CHUNKER = chunks.TAGGER, chunks.NAME
REFUSED = r"(?s)\[HS064\] The component \"{}\" cannot be read.*{}"


@pytest.mark.parametrize("calibrated", [False, True])
def test_settings_and_labels_that_are_excluded_in_loading(calibrated, tmp_path):
    """The component keeps its own: weights have to be of these labels."""
    nlp = trained()
    tagger = tagger_of(nlp)
    if calibrated:
        tagger.cfg["temperature"] = 2.0
        tagger.cfg["conformal"] = {"labels": [0.1, 0.2]}
    tagger.to_disk(tmp_path)
    other = reloaded(nlp)
    train(other, 3, CORPUS[:2])
    tagger_of(other).cfg.update(tagger.cfg)
    before = dict(tagger_of(other).cfg)
    tagger_of(other).from_bytes(tagger.to_bytes(exclude=["cfg"]), exclude=["cfg"])
    assert tagger_of(other).to_bytes() == tagger.to_bytes() and tagger_of(other).cfg == before
    tagger_of(other).from_disk(tmp_path, exclude=["cfg"])
    assert tagger_of(other).to_bytes() == tagger.to_bytes()
    tagger_of(other).cfg["labels"] = [*LABELS[::-1]]
    with pytest.raises(ValueError, match=r"\[HS064\]"):
        tagger_of(other).from_disk(tmp_path, exclude=["cfg"])


@pytest.mark.parametrize("attribute", ["pos", "sent_start"])
def test_attribute_of_the_config_that_cannot_have_the_labels(attribute, tmp_path):
    """As a part of speech, "D" would be a number that stands for nothing; no label would begin a sentence."""
    ready().to_disk(tmp_path)
    config = {"components": {"hoseq_tagger": {"attribute": attribute}}}
    with pytest.raises(ValueError, match=rf"\[HS064\].*HS027\] Wrong label of {attribute}"):
        spacy.load(tmp_path, config=config)
    config["components"]["hoseq_tagger"]["attribute"] = "_.test_of_loading"
    assert spacy.load(tmp_path, config=config)("the")[0]._.test_of_loading == "D"
    Token.remove_extension("test_of_loading")


def test_representation_of_the_config(tmp_path):
    """Its tags have to be those of the weights."""
    chunks.ready().to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        spacy.load(tmp_path, config={"components": {CHUNKER: {"representation": "iob2"}}})
    nlp = spacy.load(tmp_path, config={"components": {CHUNKER: {"representation": "start_end"}}})
    assert chunks.through(nlp) == chunks.through(chunks.ready()), "the same letters by other names"


# Files that do not belong together


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    chunks.ready("joint").to_disk(path)
    return path


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "pipeline")


WRONG = (["NP"], ["NP", "VP", "PP"], ["NP", "NP"], ["VP", "NP"], "NP", [1, 2], None, {"NP": 1})
CFG = [{"labels": labels} for labels in WRONG]


@pytest.mark.parametrize("change", CFG)
def test_labels_that_do_not_fit(folder, change):
    path = folder / CHUNKER / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), **change})
    with pytest.raises(ValueError, match=REFUSED.format(CHUNKER, "")):
        spacy.load(folder)


def test_configs_of_other_models():
    network = {"@architectures": "spacy.HashEmbedCNN.v2"}
    network |= {"width": 8, "depth": 1, "embed_size": 20, "window_size": 1}
    network.update(maxout_pieces=2, subword_features=False, pretrained_vectors=None)
    other = blank(model=tagger_model(layer("Tok2VecLinear", tok2vec=network)))
    with pytest.raises(ValueError, match="HS064"):
        tagger_of(other).from_bytes(tagger_of(ready()).to_bytes(exclude=["vocab"]))
    data = bidirectional.tagger_of(bidirectional.ready()).to_bytes(exclude=["vocab"])
    for model in (bidirectional.local(order=1), bidirectional.local(["bias", "label[-1]"])):
        with pytest.raises(ValueError, match=r"HS064.*HS05[01]"):
            bidirectional.tagger_of(bidirectional.blank(model=model)).from_bytes(data)


# Weights of a trained pipeline


@pytest.mark.parametrize("model", ["words", "joint"])
def test_weights_of_a_trained_pipeline(model, tmp_path):
    nlp = chunks.ready(model)
    nlp.to_disk(tmp_path)
    settings = {"objective": "perceptron", "update_rule": ADDITIVE, "average": False}
    other = chunks.blank(model, overwrite=True, **settings)
    for name in other.pipe_names:
        other.config["initialize"]["components"][name] = {"weights_from": str(tmp_path)}
    corpus = [("x y", "N V", [(0, 1, "XP")])]
    optimizer = other.initialize(lambda: chunks.examples_of(other, corpus))
    assert chunks.through(other) == chunks.through(nlp)
    assert chunks.chunker_of(other).labels == chunks.TYPES
    assert chunks.chunker_of(other).cfg["overwrite"] is True
    shutil.rmtree(tmp_path)  # not needed any more
    new = [*chunks.CORPUS, ("fish swim .", "N V .", [(0, 2, "VP")])]
    chunks.train(other, 15, lambda nlp: chunks.examples_of(nlp, new), optimizer)
    assert chunks.through(other, [text for text, _, _ in new])[0] == chunks.gold(new)
    assert chunks.through(reloaded(other)) == chunks.through(other)


def test_tagger_of_a_trained_pipeline_and_a_new_chunker(tmp_path):
    chunks.ready("joint").to_disk(tmp_path)
    nlp = chunks.blank("joint")
    nlp.config["initialize"]["components"][TAGGER] = {"weights_from": str(tmp_path)}
    optimizer = nlp.initialize(lambda: chunks.examples_of(nlp, gold_tags=False))
    assert [t.tag_ for t in nlp(chunks.TEXTS[0])] == "D A N V D N .".split()
    assert nlp.get_pipe(TAGGER).labels == chunks.ready("joint").get_pipe(TAGGER).labels
    chunks.train(nlp, 15, lambda nlp: chunks.examples_of(nlp, gold_tags=False), optimizer)
    assert chunks.through(nlp)[0] == chunks.gold()


def test_weights_from_nowhere(tmp_path):
    chunks.ready("joint").to_disk(tmp_path)
    nowhere = tmp_path / "nowhere"
    for component, path in ((TAGGER, nowhere), (CHUNKER, nowhere), ("renamed", tmp_path)):
        nlp = chunks.blank("joint", name="renamed" if component == "renamed" else CHUNKER)
        nlp.config["initialize"]["components"][component] = {"weights_from": str(path)}
        with pytest.raises(ValueError, match=rf"\[HS159\].*no component \"{component}\""):
            nlp.initialize(lambda nlp=nlp: chunks.examples_of(nlp))


@pytest.mark.parametrize("component", [TAGGER, CHUNKER])
def test_weights_of_another_model(component, tmp_path):
    chunks.ready("words").to_disk(tmp_path)
    shutil.copytree(tmp_path / CHUNKER, tmp_path / TAGGER)
    nlp = chunks.blank("patterns" if component == CHUNKER else "joint")
    nlp.config["initialize"]["components"][component] = {"weights_from": str(tmp_path)}
    if component == CHUNKER:  # no pattern weights there: none are used
        nlp.initialize(lambda: chunks.examples_of(nlp))
        assert chunks.through(nlp) == chunks.through(chunks.ready("words"))
    else:  # a chunker's weights for a tagger: as many columns as there are tags, not labels
        with pytest.raises(ValueError, match=r"\[HS064\]"):
            nlp.initialize(lambda: chunks.examples_of(nlp))


# The digest of a saved component


def test_every_bit_counts():
    pipe = tagger_of(ready())
    data = pipe._model_to_bytes()
    fresh = tagger_of(blank())
    fresh.from_bytes(pipe.to_bytes(exclude=["vocab"]))
    fresh._read_model(data)
    n = len(data)
    for i in [*range(9), *range(9, n - 9, n // 50), *range(n - 50, n)]:
        for damaged in (data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :], data[:i]):
            with pytest.raises(ValueError, match="HS064"), fresh._reading("bytes"):
                fresh._read_model(damaged)


def test_models_of_version_1_0_can_be_read():
    """Their digest is the last entry of thinc's own map."""
    pipe = tagger_of(ready())
    model = pipe.model.to_bytes()
    body = bytes([model[0] + 1]) + model[1:] + b"\xa6digest\xc4\x20"
    data = body + pipe._digest(body, pipe.vocab.lookups)
    fresh = tagger_of(blank())
    fresh.from_bytes(pipe.to_bytes(exclude=["vocab"]))
    fresh._read_model(data)
    with pytest.raises(ValueError, match="damaged"):
        fresh._read_model(data[:40] + bytes([data[40] ^ 1]) + data[41:])


def test_model_whose_digest_was_taken_away(tmp_path):
    tagger_of(ready()).to_disk(tmp_path, exclude=["vocab"])
    (tmp_path / "model").write_bytes(tagger_of(ready()).model.to_bytes())
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        tagger_of(blank()).from_disk(tmp_path, exclude=["vocab"])


def test_another_representation_of_the_bidirectional_tagger(tmp_path):
    """The same names of tags."""
    bidirectional.chunker("iob2", n_updates=1).to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"\[HS064\].*not of one training"):
        representation = "components.hoseq_bidirectional_tagger.representation"
        spacy.load(tmp_path, config={representation: "iob1"})


# Tables of the vocabulary, weights and labels of different trainings are told apart, whatever the labels


NAME = "hoseq_tagger"


def with_tables(folder):
    """A pipeline whose features read all three tables."""
    classes = folder / "classes.tsv"
    classes.write_text("the\tx\nold\ty\n", "utf8")
    templates = ["lower[0]", "known_tags[0]", "word_class1[0]", "known_begins[0]"]
    nlp = blank(model=tagger_model(layer("SparseLinear", templates=templates)))
    nlp.vocab.lookups.set_table(CLASSES, word_classes(classes).get_table(CLASSES))
    known = known_words(characters.saved_words(folder)).get_table(KNOWN_WORDS)
    nlp.vocab.lookups.set_table(KNOWN_WORDS, known)
    examples = examples_of(nlp, [pair for pair in CORPUS for _ in range(5)])
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    return nlp


@pytest.fixture(scope="module")
def with_own_tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with_tables(folder).to_disk(folder / "pipeline")
    return folder / "pipeline"


@pytest.fixture
def copy(with_own_tables, tmp_path):
    return shutil.copytree(with_own_tables, tmp_path / "pipeline")


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


@pytest.mark.parametrize("is_used", [False, True])
def test_component_that_is_sourced_brings_its_tables(with_own_tables, tmp_path, is_used):
    """Also if it is saved at once, or its own pipeline goes on."""
    source = spacy.load(with_own_tables)
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=source)
    if is_used:
        nlp("the old cat")
    nlp.to_disk(tmp_path)
    copy = spacy.blank("xx").from_config(nlp.config).from_bytes(nlp.to_bytes())
    expected = [token.tag_ for token in source("the old cat")]
    for loaded in (spacy.load(tmp_path), copy, nlp):
        assert [token.tag_ for token in loaded("the old cat")] == expected
    source = {NAME: {"source": str(with_own_tables)}}
    config = {"components": source, "nlp": {"lang": "xx", "pipeline": [NAME]}}
    assert spacy.blank("xx").from_config(config)("the old cat")[0].tag_
    # as `spacy assemble` does: it was never used
    spacy.blank("xx").from_config(config).to_disk(tmp_path / "assembled")
    assert spacy.load(tmp_path / "assembled")("the old cat")[0].tag_ == nlp("the old cat")[0].tag_


def test_calibration_is_of_the_weights_it_was_made_for(tmp_path):
    nlp = trained(objective="log_likelihood")
    nlp.to_disk(tmp_path / "before")
    calibrate(nlp, examples_of(nlp, [pair for pair in CORPUS for _ in range(9)]))
    assert "conformal" in tagger_of(nlp).cfg
    nlp.to_disk(tmp_path / "after")
    after = tagger_of(spacy.load(tmp_path / "after"))
    assert after.cfg["conformal"] == tagger_of(nlp).cfg["conformal"]
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
