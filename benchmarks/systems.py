"""The systems that are compared, by name. Each trains on the same files and labels the same sentences."""

import shutil
from functools import partial
from importlib.util import find_spec
from typing import Callable, Dict, NamedTuple

from .peers import Crfsuite, CrfsuiteOfRecipe, Nltk, Wapiti
from .spacy_pipelines import Compacted, Pipeline, Tokenizer
from .system import System


class Entry(NamedTuple):
    """needs: the package without which the system is left out; program: the same for a program on the PATH."""

    make: Callable[[], System]
    needs: str = ""
    program: str = ""

    @property
    def missing(self) -> str:
        """What must be installed first; "" if nothing."""
        if self.program and shutil.which(self.program) is None:
            return self.program
        return self.needs if self.needs and find_spec(self.needs) is None else ""


ORDER = "components__hoseq_bidirectional_tagger__model__order"
TOKENIZER, FIRST, HIGHER = "spaCy tokenizer", "hoseq first order", "hoseq higher order"
EASIEST, COMPACTED = "hoseq easiest first, order 1", "hoseq first order, compacted"
CHUNKS = "hoseq tagger + chunker"
CRFSUITE, CRFSUITE_LBFGS = "crfsuite perceptron", "crfsuite L-BFGS"
CRFSUITE_OURS = "crfsuite perceptron, our features"
CNN, NER, PERCEPTRON, WAPITI = "spaCy CNN tagger", "spaCy CNN ner", "NLTK perceptron", "Wapiti"

SYSTEMS: Dict[str, Entry] = {
    TOKENIZER: Entry(Tokenizer),
    FIRST: Entry(partial(Pipeline, "tagger")),
    COMPACTED: Entry(partial(Compacted, FIRST, partial(Pipeline, "tagger"))),
    HIGHER: Entry(partial(Pipeline, "higher-order")),
    EASIEST: Entry(partial(Pipeline, "bidirectional", **{ORDER: 1})),
    CHUNKS: Entry(partial(Pipeline, "pipeline", chunks="spans")),
    CRFSUITE: Entry(partial(Crfsuite, "ap"), needs="pycrfsuite"),
    CRFSUITE_OURS: Entry(partial(CrfsuiteOfRecipe, "ap"), needs="pycrfsuite"),
    CRFSUITE_LBFGS: Entry(partial(Crfsuite, "lbfgs"), needs="pycrfsuite"),
    CNN: Entry(partial(Pipeline, "tagger", package="spacy")),
    NER: Entry(partial(Pipeline, "ner", chunks="ents", tags=False, package="spacy")),
    PERCEPTRON: Entry(Nltk, needs="nltk"),
    WAPITI: Entry(Wapiti, program="wapiti"),
}
