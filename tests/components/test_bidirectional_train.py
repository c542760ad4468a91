"""Features of `hoseq_bidirectional_tagger` about annotation."""

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from .bidirectional_helpers import NAME, blank, chunked_doc, local, tagger_of

WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "run"], "V": ["sees", "runs"]}


@spacy.Language.component("tests_hoseq_lookup_tagger")
def lookup_tagger(doc):
    for token in doc:
        token.tag_ = next((tag for tag, words in WORDS.items() if token.text in words), "")
    return doc


def rows_of_keys(nlp):
    return len(tagger_of(nlp).model.shims[0].known["keys"][0])


def test_features_of_gold_tags_and_of_earlier_components():
    """Numbered as the gold annotation has them, and as the components before this one write them."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("tests_hoseq_lookup_tagger")
    nlp.add_pipe(NAME, config={"model": local(["tag[0]"]), "representation": "iob2"})
    nlp.add_pipe("tests_hoseq_lookup_tagger", name="later")
    reference = chunked_doc(nlp, "the dog odd", [(0, 2, "NP")], tags=["GOLD", "N", "N"])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(nlp) == 3, "GOLD, N, and D; no tag for `odd`"
    alone = blank(model=local(["tag[0]"]), representation="iob2")
    alone.initialize(lambda: [Example(Doc(alone.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(alone) == 2, "GOLD and N"
    words = blank(model=local(["orth[0]"]), representation="iob2")
    words.initialize(lambda: [Example(Doc(words.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(words) == 3
