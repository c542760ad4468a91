"""Every config of the project: complete, and what it describes can be made; those of handwriting also learn."""

from io import StringIO

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_model_from_config

from ..readers.toy import toy_file
from .files import ROOT

CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))
OCR = {"ocr.cfg": "max_margin", "ocr_neural.cfg": "log_likelihood"}
TAGGER, BIDIRECTIONAL = "hoseq_tagger", "hoseq_bidirectional_tagger"
COMPONENT = {
    "bidirectional.cfg": BIDIRECTIONAL,
    "bidirectional_chunks.cfg": BIDIRECTIONAL,
    "ocr.cfg": TAGGER,
    "ocr_neural.cfg": TAGGER,
    "tagger.cfg": TAGGER,
    "tagger_crf.cfg": TAGGER,
    "tagger_ho.cfg": TAGGER,
}


def test_all_configs_are_tested():
    assert [path.name for path in CONFIGS] == sorted(COMPONENT)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_config_is_complete_and_can_be_made(path):
    config, name = load_config(path, interpolate=True), COMPONENT[path.name]
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == [name] == config["nlp"]["pipeline"]
    component, settings = nlp.get_pipe(name), config["components"][name]
    assert component.cfg["attribute"] == settings["attribute"]
    if name == TAGGER:
        assert component.model.name == "higher_order_tagger"
        assert (component.model.attrs["source"] is None) == (settings["model"]["patterns"] is None)
    else:
        assert component.model.name == "local_classifiers" and component.model.attrs["order"] == 2
        assert component.cfg["representation"] == settings["representation"]
    filled = load_model_from_config(config, auto_fill=True, validate=True)
    assert filled.get_pipe_config(name) == nlp.get_pipe_config(name) == settings
    training = spacy.registry.resolve({"training": config["training"]})["training"]
    assert callable(training["optimizer"]) and callable(training["batcher"])


def test_bidirectional_config_has_the_settings_of_a_bare_pipe():
    """But for features of a single token, which a corpus of usual size has too many of."""
    settings = load_config(ROOT / "configs" / "bidirectional.cfg", interpolate=True)["components"][BIDIRECTIONAL]
    nlp = spacy.blank("en")
    nlp.add_pipe(BIDIRECTIONAL)
    bare = nlp.get_pipe_config(BIDIRECTIONAL)
    assert (settings["model"].pop("min_count"), bare["model"].pop("min_count")) == (2, 1)
    assert settings == bare


@pytest.mark.parametrize("part", ["train", "dev"])
def test_chunk_config_reads_tags_and_chunks(part, tmp_path):
    """spaCy's `gold_preproc` cuts docs into sentences, and span groups get lost."""
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, ["She", "left", "."], tags=["PRP", "VBD", "."], sent_starts=[True, False, False])
    doc.spans["chunks"] = [Span(doc, 0, 1, "NP"), Span(doc, 1, 2, "VP")]
    DocBin(docs=[doc]).to_disk(tmp_path / "one.spacy")
    changes = {"paths.train": str(tmp_path / "one.spacy"), "paths.dev": str(tmp_path / "one.spacy")}
    config = load_config(ROOT / "configs" / "bidirectional_chunks.cfg", overrides=changes, interpolate=True)
    (example,) = spacy.registry.resolve({"corpora": config["corpora"]})["corpora"][part](nlp)
    assert [token.tag_ for token in example.predicted] == ["PRP", "VBD", "."] and not example.predicted.spans
    assert [(span.text, span.label_) for span in example.reference.spans["chunks"]] == [("She", "NP"), ("left", "VP")]


@pytest.mark.parametrize("name", OCR)
def test_handwriting_configs(name):
    config = load_config(ROOT / "configs" / name, interpolate=True)
    assert config["components"]["hoseq_tagger"]["objective"] == OCR[name]
    assert config["components"]["hoseq_tagger"]["model"]["patterns"]["max_order"] == 7
    assert config["corpora"]["train"]["@readers"] == config["corpora"]["dev"]["@readers"]
    assert config["corpora"]["train"]["folds"] == [0] and config["corpora"]["dev"]["folds"] == [1]


@pytest.mark.parametrize("name", OCR)
def test_handwriting_is_learnt(name, tmp_path):
    """As `spacy train` does it, with the corpora of the config."""
    path = toy_file(tmp_path / "letter.data.gz")
    changes = {"paths.letters": str(path), "training.max_steps": 12, "training.eval_frequency": 4}
    changes |= {"training.logger.progress_bar": None, "components.hoseq_tagger.model.patterns.min_count": 2}
    config = load_config(ROOT / "configs" / name, overrides=changes, interpolate=False)
    nlp = init_nlp(config)
    assert nlp.get_pipe("hoseq_tagger").labels == tuple("abcde")
    output = StringIO()
    (tmp_path / "output").mkdir()
    trained, _ = train(nlp, tmp_path / "output", use_gpu=-1, stdout=output, stderr=output)
    lines = [line.split() for line in output.getvalue().splitlines()]
    rows = [[float(cell) for cell in line] for line in lines if line and line[0].isdigit()]
    assert [row[1] for row in rows] == [0, 4, 8, 12]
    assert rows[-1][3] > rows[0][3] and rows[-1][3] > 40, "accuracy on the development fold"
    loaded = spacy.load(tmp_path / "output" / "model-last")
    assert loaded.get_pipe("hoseq_tagger").labels == tuple("abcde")
    assert trained.config["components"] == loaded.config["components"]


def test_handwriting_without_a_file():
    with pytest.raises(ValueError, match="E913"):
        init_nlp(load_config(ROOT / "configs" / "ocr.cfg", interpolate=False))
