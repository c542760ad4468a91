"""pytest plugin: where spaCy's own tests make a span categorizer or an entity recognizer, they get our chunker.

    HOSEQ_CONFORMANCE=ASKED.json python -m pytest -p hoseq_as_chunker --pyargs spacy.tests.pipeline.test_spancat

Reports say how many chunkers each test made (property `made`), so that tests of other things can be told apart.

ASKED.json: {"settings": changes to our defaults, "deselected": [test]}.
"""

import functools
from dataclasses import replace
from typing import Any

import hooks
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.components.factories import make_hoseq_chunker

NER = {"annotate_ents": True, "spans_key": "ner", "scorer": {"@scorers": "spacy.ner_scorer.v1"}}
FACTORIES = {"spancat": {"spans_key": "sc"}, "ner": NER}


@functools.wraps(make_hoseq_chunker)
def make_chunker(*args: Any, **settings: Any) -> HoseqChunker:
    hooks.made += 1
    return make_hoseq_chunker(*args, **settings)


def pytest_configure() -> None:
    meta = Language.get_factory_meta("hoseq_chunker")
    for name, own in FACTORIES.items():
        defaults = Config(meta.default_config).merge(own).merge(hooks.asked["settings"])
        Language.set_factory_meta(name, replace(meta, factory=name, default_config=defaults))
        registry.factories.register(name, func=make_chunker)
    # names that spaCy's component has
    HoseqChunker.key = property(lambda self: self.cfg["spans_key"])
    HoseqChunker._n_labels = property(lambda self: len(self.tags))
