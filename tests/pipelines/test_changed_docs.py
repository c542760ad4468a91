"""Components in a row share what they have read: not beyond a change of a Doc between them."""

import pytest
from spacy.attrs import DEP, ENT_IOB, ENT_TYPE, LEMMA, MORPH, POS, SENT_START, TAG
from spacy.language import Language

import spacy_hoseq
from spacy_hoseq.features.lexicon import lexicon_of

from ..builders import spans_of

TEXTS = [
    "He saw the old man by the river. The dogs barked at her, and she left for New York.",
    "Prices rose in Berlin. The dogs barked at her, and she left.",
    "Two\nlines, the\nold dogs.",
]
WRITTEN = [TAG, POS, MORPH, LEMMA, SENT_START, DEP, ENT_IOB, ENT_TYPE]


@Language.component("changes_docs")
def changes_docs(doc):
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3], attrs={"TAG": "NNS"})
    doc[4].tag_ = "VB"
    doc[-1].is_sent_start = True
    return doc


def said(doc):
    spans = {key: spans_of(group) for key, group in doc.spans.items()}
    return doc.to_array(WRITTEN).tolist(), spans


@pytest.mark.parametrize("after", ["hoseq_sentences", "hoseq_tagger", "hoseq_lemmatizer"])
def test_a_component_in_between_changes_docs(after):
    nlp = spacy_hoseq.load("en")
    nlp.add_pipe("changes_docs", after=after)
    together = [said(doc) for doc in nlp.pipe(TEXTS)]
    docs = [*map(nlp.make_doc, TEXTS)]
    for name, pipe in nlp.pipeline:
        lexicon_of(nlp.vocab.lookups).clear()
        docs = [*map(pipe, docs)] if name == "changes_docs" else [*pipe.pipe(docs)]
    assert together == [*map(said, docs)]
    assert together == [said(nlp(text)) for text in TEXTS]
