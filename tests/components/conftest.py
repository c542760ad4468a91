"""Each kind of component (kinds.py), trained once a session."""

from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train

from .kinds import config_of, examples_of, write_corpus


class Corpus(NamedTuple):
    """folder: of train.spacy and dev.spacy."""

    folder: Path
    models: dict[str, Path]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    write_corpus(folder)
    return Corpus(folder, {})


@pytest.fixture
def model(corpus, kind) -> Path:
    """The folder of a trained pipeline of this component."""
    if kind.name not in corpus.models:
        folder = corpus.folder / kind.name
        folder.mkdir(exist_ok=True)
        config = config_of(kind, corpus.folder)
        config.to_disk(folder / "config.cfg")
        train(init_nlp(config), folder, stdout=StringIO(), stderr=StringIO())
        corpus.models[kind.name] = folder / "model-best"
    return corpus.models[kind.name]


@pytest.fixture
def nlp(model) -> Language:
    return spacy.load(model)


@pytest.fixture
def gold(corpus, nlp) -> list[Example]:
    return examples_of(nlp, corpus.folder)
