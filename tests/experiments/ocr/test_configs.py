"""The configs of handwriting: complete, and they learn."""

import inspect
import re
from io import StringIO

import pytest
import spacy
from handwriting import PixelConvolutions, letter_corpus
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_model_from_config

from ...repository import ROOT
from .toy import toy_file

CONFIGS = ROOT / "experiments" / "ocr" / "configs"
OCR = {"ocr.cfg": "max_margin", "ocr_neural.cfg": "log_likelihood"}


@pytest.mark.parametrize("name", OCR)
def test_config_is_complete_and_can_be_made(name):
    config = load_config(CONFIGS / name, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == ["hoseq_tagger"] == config["nlp"]["pipeline"]
    assert nlp.get_pipe("hoseq_tagger").model.attrs["source"] is not None
    filled = load_model_from_config(config, auto_fill=True, validate=True)
    settings = config["components"]["hoseq_tagger"]
    assert filled.get_pipe_config("hoseq_tagger") == nlp.get_pipe_config("hoseq_tagger") == settings
    training = spacy.registry.resolve({"training": config["training"]})["training"]
    assert callable(training["optimizer"]) and callable(training["batcher"])


@pytest.mark.long
@pytest.mark.parametrize("name", OCR)
def test_handwriting_is_learnt(name, tmp_path):
    """As `spacy train` does it, with the corpora of the config."""
    path = toy_file(tmp_path / "letter.data.gz")
    changes = {"paths.letters": str(path), "training.max_steps": 12, "training.eval_frequency": 4}
    changes |= {
        "training.logger.progress_bar": None,
        "components.hoseq_tagger.model.patterns.min_count": 2,
    }
    config = load_config(CONFIGS / name, overrides=changes, interpolate=False)
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


def test_settings_and_defaults_of_the_readme():
    page = (CONFIGS.parent / "README.md").read_text(encoding="utf8")
    tables = re.findall(r"\| Name \| Type \| Default \|.*\n\|[- |:]+\n((?:\|.*\n)+)", page)
    for table, function in zip(tables, (letter_corpus, PixelConvolutions), strict=True):
        rows = [[cell.strip(" `") for cell in row.split("|")[1:4]] for row in table.splitlines()]
        parameters = inspect.signature(function).parameters
        assert [name for name, _, _ in rows] == list(parameters)
        for name, _, default in rows:
            expected = {"required": inspect.Parameter.empty, "null": None}
            assert parameters[name].default == (
                expected[default] if default in expected else int(default)
            )
