"""Silly values in configs: each is refused with a code, or by spaCy's check of types, or it works."""

import random

import pytest
from catalogue import RegistryError
from confection import ConfigValidationError
from spacy.training import Example
from spacy.util import load_model_from_config, registry
from thinc.api import Config

from ..chunk_corpus import doc_of, sentences
from ..repository import config_of

NAMES = ["tagger", "crf", "higher-order", "chunker", "bidirectional", "entities", "morphologizer"]
SILLY = [-1, 0, 1, -0.5, 1.5, 10**12, 1e30, float("nan"), float("inf")]
SILLY += ["", "x", "../x", None, [], {}, True, False]


def settings_of(block, path=(), ours=False):
    """Paths of all settings of functions and components of this package."""
    names = [value for key, value in block.items() if key[:1] == "@" or key == "factory"]
    ours = ours or any("hoseq" in str(name) for name in names)
    for key, value in block.items():
        if isinstance(value, dict):
            yield from settings_of(value, (*path, key), ours)
        elif ours and key[:1] != "@" and key != "factory":
            yield (*path, key)


def changed(config, path, value):
    config = Config().from_str(config.to_str(), interpolate=False)
    block = config
    for key in path[:-1]:
        block = block[key]
    block[path[-1]] = value
    return config


def use(config):
    """As training does, for one update."""
    nlp = load_model_from_config(config.interpolate(), auto_fill=True)
    docs = [doc_of(nlp.vocab, text) for text in sentences()[:12]]
    for doc in docs:
        for token in doc:
            token.pos_ = "NOUN"
            token.set_morph("Number=Sing")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    batcher = registry.resolve({"batcher": config.interpolate()["training"]["batcher"]})["batcher"]
    nlp.initialize(lambda: examples)
    for batch in list(batcher(examples))[:1]:
        nlp.update(batch)
    nlp(docs[0].text)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_silly_values(name):
    rng = random.Random(name)
    config = config_of(name)
    use(config)
    blocks = {part: config[part] for part in ("components", "training", "initialize")}
    paths = list(settings_of(blocks))
    for _ in range(38):
        path = rng.choice(paths)
        value = rng.choice(SILLY)
        try:
            use(changed(config, path, value))
        except (ConfigValidationError, RegistryError):
            continue
        except (ImportError, OSError, ValueError) as error:
            # the last is thinc's, of a width that the corpus does not have
            codes = ("[HS", "[E", "Attempt to change dimension")
            assert str(error).startswith(codes), (path, value, error)
