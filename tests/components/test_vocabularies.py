"""Docs and gold annotation of other vocabularies than the pipeline's."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example

from . import chunker_helpers as chunks
from . import helpers as tags
from . import lemma_helpers as lemmas
from . import morphology_helpers as morphology

BIDIRECTIONAL = {"@architectures": "spacy_hoseq.LocalClassifiers.v1", "templates": ["lower[0]"], "order": 1}


@pytest.mark.parametrize("kind", ["hoseq_tagger", "hoseq_bidirectional_tagger"])
@pytest.mark.parametrize("attribute", ["tag", "_.test_of_vocabulary"])
def test_labels_on_a_doc_of_another_vocabulary(kind, attribute):
    """Its strings are those of the labels, too."""
    nlp = spacy.blank("xx")
    model = tags.tagger_model() if kind == "hoseq_tagger" else BIDIRECTIONAL
    pipe = nlp.add_pipe(kind, config={"model": model, "attribute": attribute})
    pipe.add_label("a label of this test")
    examples = tags.examples_of(nlp)
    nlp.initialize(lambda: examples)
    doc = pipe(Doc(spacy.blank("xx").vocab, words=["the", "\n", "cat"]))
    found = [token.tag_ if attribute == "tag" else token._.test_of_vocabulary for token in doc]
    assert {found[0], found[2]} <= {*pipe.labels}
    if attribute != "tag":
        Token.remove_extension("test_of_vocabulary")


@pytest.mark.parametrize("helper", [tags, morphology, chunks])
def test_gold_annotation_of_several_vocabularies(helper):
    """Labels, and what is learnt, are as with one vocabulary."""
    learnt = []
    for several in (False, True):
        nlp = helper.blank()
        examples = helper.examples_of(nlp)
        vocabs = [spacy.blank("xx").vocab if several else nlp.vocab for _ in examples]
        read = [next(DocBin(docs=[eg.reference]).get_docs(vocab)) for eg, vocab in zip(examples, vocabs, strict=True)]
        examples = [Example(eg.predicted, reference) for eg, reference in zip(examples, read, strict=True)]
        nlp.initialize(lambda examples=examples: examples)
        losses = [nlp.update(examples, losses={}) for _ in range(3)]
        learnt.append((nlp.get_pipe(nlp.pipe_names[0]).labels, losses))
    assert learnt[0] == learnt[1]


@pytest.mark.parametrize("helper", [tags, morphology, lemmas, chunks])
def test_a_batch_of_several_vocabularies_is_refused(helper):
    nlp = helper.trained(n_updates=1)
    known = Doc(nlp.vocab, words=["cats"])
    other = Doc(spacy.blank("xx").vocab, words=["unheard-of"])
    with pytest.raises(ValueError, match=r"\[HS008\] The Doc 'unheard-of '"):
        nlp.get_pipe(nlp.pipe_names[0]).predict([known, other])
