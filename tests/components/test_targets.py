"""Labels that tools put where a component would write them."""

import pytest
from spacy.tokens import Doc, Token

from spacy_hoseq.components.targets.places import target_at

from ..builders import spans_of
from . import helpers as tags


def test_put_corrects():
    doc = Doc(tags.blank().vocab, words=["a", "b", "c"], tags=["A", "B", "C"])
    target_at("tag").put(doc, 1, 2, [(1, 2, "X")])
    target_at("pos").put(doc, 0, 1, [(0, 1, "NOUN")])
    target_at("sent_start").put(doc, 1, 2, [(1, 2, "S")])
    target_at("_.contract_label").put(doc, 2, 3, [(2, 3, "Y")])
    assert [token.tag_ for token in doc] == ["A", "X", "C"]
    assert doc[0].pos_ == "NOUN" and doc[1].is_sent_start
    assert doc[2]._.contract_label == "Y"
    target_at("morph").put(doc, 0, 1, [(0, 1, "Case=Gen|POS=VERB")])
    assert (doc[0].pos_, str(doc[0].morph)) == ("VERB", "Case=Gen") and doc[0].tag_ == "A"
    target_at("morph").put(doc, 0, 1, [(0, 1, "POS=VERB|TAG=V")])
    assert str(doc[0].morph) == "" and doc[0].tag_ == "V"
    Token.remove_extension("contract_label")


def test_put_entities():
    """Into entities alone where there is no span group; what is not annotated stays so."""
    nlp = tags.blank()
    doc = Doc(nlp.vocab, words=list("abcdef"), ents=["B-X", "I-X", "O", "B-Y", "", "B-X"])
    doc.set_ents([], missing=[doc[4:5]], default="unmodified")
    target_at("ents").put(doc, 1, 3, [(2, 3, "Z")])
    assert spans_of(doc.ents) == [(2, 3, "Z"), (3, 4, "Y"), (5, 6, "X")]
    assert [token.ent_iob_ for token in doc] == ["O", "O", "B", "B", "", "B"]
    assert target_at("spans.names").items(doc) == target_at("ents").items(doc)
    doc.spans["names"] = [doc[0:2]]
    target_at("spans.names").put(doc, 0, 1, [(0, 1, "W")])
    assert target_at("spans.names").items(doc) == [(0, 1, "W")]
    assert [(ent.start, ent.label_) for ent in doc.ents] == [(0, "W"), (2, "Z"), (3, "Y"), (5, "X")]


def test_unknown_place():
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        target_at("shape")
