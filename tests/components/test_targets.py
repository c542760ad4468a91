"""What every tool may ask of a component: where its labels stand, and what it made of some Docs."""


import numpy as np
import pytest
from spacy.tokens import Doc, Token
from spacy.training import Example

from spacy_hoseq.components.targets.places import target_at
from spacy_hoseq.components.targets.target import Target

from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from . import helpers as tags
from . import lemma_helpers as lemmas
from . import morphology_helpers as morphology

pytestmark = pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # lemmas without parts of speech
TEXT = "the old \n dog sees a cat ."
WORDS = [0, 1, 3, 4, 5, 6, 7]  # tokens that are no white space


def text_doc(nlp):
    return Doc(nlp.vocab, words=TEXT.split(" "))


def component_of(kind):
    """A trained component of each kind, with the pipeline that it is in."""
    if kind == "chunker":
        nlp = chunks.ready()
        return nlp, chunks.chunker_of(nlp)
    if kind == "entities":
        nlp = chunks.random_chunker("patterns", 2, annotate_ents=True)
        return nlp, chunks.chunker_of(nlp)
    if kind == "morphologizer":
        nlp = morphology.trained(2)
        return nlp, nlp.get_pipe(morphology.NAME)
    if kind == "lemmatizer":
        nlp = lemmas.trained(3)
        return nlp, nlp.get_pipe(lemmas.NAME)
    if kind == "tagger":
        nlp = tags.ready("log_likelihood")
        return nlp, tags.tagger_of(nlp)
    nlp = bidirectional.chunker() if kind == "chunks" else bidirectional.ready(2, kind)
    return nlp, bidirectional.tagger_of(nlp)


EXACT = ["tagger", "morphologizer", "lemmatizer", "chunker", "entities"]
GREEDY = ["easiest_first", "easiest_last", "chunks"]
OTHERS = ["left_to_right", "right_to_left", "dependency_network", "full_bidirectional"]
PLACES = {
    "tagger": ("tag",),
    "morphologizer": ("morph", "pos"),
    "lemmatizer": ("lemma",),
    "chunker": ("spans.chunks",),
    "entities": ("spans.chunks", "ents"),
    "chunks": ("spans.chunks",),
}


@pytest.mark.parametrize("kind", EXACT + GREEDY + OTHERS)
def test_target(kind):
    nlp, component = component_of(kind)
    target = component.target
    places = PLACES.get(kind, ("tag",))
    assert target.places == places and target.place == places[0]
    assert target.of_spans == (places[0] == "spans.chunks") == (component.continues is not None or kind == "chunks")
    assert not target.finds_sentences
    doc = component(text_doc(nlp))
    items = target.items(doc)
    same = target_at(target.place)
    assert Target in type(same).__mro__ and same.items(doc) == items
    if target.of_spans:
        assert all(first < end and label for first, end, label in items)
    else:
        assert [first for first, _, _ in items] == WORDS and all(label for *_, label in items)


@pytest.mark.parametrize("kind", EXACT + GREEDY + OTHERS)
def test_reading_is_what_is_written(kind):
    nlp, component = component_of(kind)
    docs = [text_doc(nlp), Doc(nlp.vocab), Doc(nlp.vocab, words=["dogs", "run"])]
    before = [doc.to_bytes() for doc in docs]
    reading = component.read(docs)
    assert [doc.to_bytes() for doc in docs] == before, "docs are not touched"
    assert reading.labels == component.tags
    assert len(reading.best) == sum(map(len, reading.docs)) == 9
    assert [ids.tolist() for ids in reading.label_ids] == [
        [*reading.best[:2], -1, *reading.best[2:7]],
        [],
        reading.best[7:].tolist(),
    ]
    component.set_annotations(docs, reading)
    again = [text_doc(nlp), Doc(nlp.vocab), Doc(nlp.vocab, words=["dogs", "run"])]
    expected = [component.target.items(doc) for doc in component.pipe(again)]
    assert [component.target.items(doc) for doc in docs] == expected


@pytest.mark.parametrize("kind", EXACT)
def test_confidences_are_marginals(kind):
    nlp, component = component_of(kind)
    reading = component.read([text_doc(nlp)])
    nodes = reading.posterior.nodes
    assert nodes.sum(axis=1) == pytest.approx(np.ones(7), abs=1e-6)
    assert reading.confidences() == pytest.approx(nodes[np.arange(7), reading.best], abs=1e-6)
    (rows,) = reading.of_tokens(nodes)
    assert rows.shape == (8, len(component.tags)) and not rows[2].any()


@pytest.mark.parametrize("kind", GREEDY)
def test_confidences_are_those_of_decisions(kind):
    nlp, component = component_of(kind)
    component.cfg["save_decisions"] = True
    reading = component.predict([text_doc(nlp)])
    (doc,) = component.pipe([text_doc(nlp)])
    component.cfg["save_decisions"] = False
    kept = doc._.hoseq_decisions[component.name]
    assert reading.confidences() == pytest.approx(kept["probabilities"][WORDS], abs=1e-6)
    assert ((reading.confidences() > 0) & (reading.confidences() <= 1)).all()
    with pytest.raises(ValueError, match=r"\[HS105\].*has no `p\(y \| x\)`: labels are decided one by one"):
        assert reading.posterior is None


@pytest.mark.parametrize("kind", OTHERS)
def test_no_confidences(kind):
    nlp, component = component_of(kind)
    for docs in ([text_doc(nlp)], [Doc(nlp.vocab)]):
        with pytest.raises(ValueError, match=rf'\[HS105\].*has no `p\(y \| x\)`: the strategy "{kind}"'):
            component.predict(docs).confidences()


@pytest.mark.parametrize("kind", EXACT + GREEDY)
def test_labels_that_are_put_are_gold(kind):
    """`put` on an empty Doc, item by item, gives what `items` reads and `gold` permits."""
    nlp, component = component_of(kind)
    doc = component(text_doc(nlp))
    items = component.target.items(doc)
    copied = text_doc(nlp)
    if component.target.of_spans:
        copied.spans["chunks"] = []
    for first, end, label in items:
        component.target.put(copied, first, end, [(first, end, label)])
    assert component.target.items(copied) == items
    permitted = component.gold([Example(text_doc(nlp), copied)])
    best = component.read([text_doc(nlp)]).best
    assert permitted.sum(axis=1).tolist() == [1] * 7 and permitted[np.arange(7), best].all()


def test_put_corrects():
    nlp = tags.blank()
    doc = Doc(nlp.vocab, words=["a", "b", "c"], tags=["A", "B", "C"])
    target_at("tag").put(doc, 1, 2, [(1, 2, "X")])
    target_at("pos").put(doc, 0, 1, [(0, 1, "NOUN")])
    target_at("sent_start").put(doc, 1, 2, [(1, 2, "S")])
    target_at("_.contract_label").put(doc, 2, 3, [(2, 3, "Y")])
    assert [token.tag_ for token in doc] == ["A", "X", "C"] and doc[0].pos_ == "NOUN" and doc[1].is_sent_start
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
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(2, 3, "Z"), (3, 4, "Y"), (5, 6, "X")]
    assert [token.ent_iob_ for token in doc] == ["O", "O", "B", "B", "", "B"]
    assert target_at("spans.names").items(doc) == target_at("ents").items(doc)
    doc.spans["names"] = [doc[0:2]]
    target_at("spans.names").put(doc, 0, 1, [(0, 1, "W")])
    assert target_at("spans.names").items(doc) == [(0, 1, "W")]
    assert [(ent.start, ent.label_) for ent in doc.ents] == [(0, "W"), (2, "Z"), (3, "Y"), (5, "X")]


def test_unknown_place():
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        target_at("shape")
