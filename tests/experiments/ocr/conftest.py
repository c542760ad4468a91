"""What the configs of the experiment need is loaded as by `--code`; tests elsewhere do not see what that registers."""

import catalogue
import pytest
from spacy.cli._util import import_code
from spacy.util import registry

from spacy_hoseq.features.attributes import WORD_ATTRIBUTES

from ...repository import ROOT

NAMES = [
    (registry.readers, "spacy_hoseq.letter_corpus.v1"),
    (registry.misc, "spacy_hoseq.pixel_templates.v1"),
    (registry.misc, "spacy_hoseq.lexicon_transitions.v1"),
    (registry.architectures, "spacy_hoseq.PixelConvolutions.v1"),
]


def taken_out():
    """What the code has registered, which is not registered any more."""
    functions = [(names, name, names.get(name)) for names, name in NAMES]
    for names, name in NAMES:
        del catalogue.REGISTRY[(*names.namespace, name)]
    return functions, WORD_ATTRIBUTES.pop("pixelN")


import_code(ROOT / "experiments" / "ocr" / "register.py")
FUNCTIONS, PIXEL = taken_out()


def put_back():
    for names, name, function in FUNCTIONS:
        names.register(name, func=function)
    WORD_ATTRIBUTES["pixelN"] = PIXEL


@pytest.fixture(scope="module", autouse=True)
def code():
    put_back()
    yield
    taken_out()
