"""Features of what earlier components wrote: tags as features, extensions as features."""

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from .helpers import blank, reloaded, sparse, tagger_model

WORDS = {"N": "ant bee cow".split(), "V": "dig eat fly".split()}
# The label (B: first of a run of equal tags, I: inside) depends on the tags and on nothing else.
CORPUS = [("ant bee dig", "N N V"), ("dig eat cow", "V V N")]
CORPUS += [("cow fly bee", "N V N"), ("fly dig ant cow", "V V N N")]
UNSEEN = [("bee ant cow eat", "N N N V"), ("eat dig bee", "V V N"), ("ant fly eat", "N V V")]


def labels_of(tags):
    tags = tags.split()
    return ["B" if i == 0 or tags[i - 1] != tag else "I" for i, tag in enumerate(tags)]


@Language.component("tests_hoseq_word_tagger")
def word_tagger(doc):
    """A component that needs no training: it looks words up."""
    tag_of = {word: tag for tag, words in WORDS.items() for word in words}
    for token in doc:
        token.tag_ = tag_of.get(token.text, "")
        token._.test_kind = tag_of.get(token.text)
    return doc


@pytest.fixture(autouse=True)
def extensions():
    Token.set_extension("test_kind", default=None)
    Token.set_extension("test_run", default="")
    yield
    Token.remove_extension("test_kind")
    Token.remove_extension("test_run")


def examples_of(nlp, corpus=CORPUS):
    """Gold labels in an extension; nothing is annotated on the predicted docs, as spaCy's corpus readers make them."""
    examples = []
    for text, tags in corpus:
        reference = Doc(nlp.vocab, words=text.split(), tags=tags.split())
        for token, label in zip(reference, labels_of(tags), strict=True):
            token._.test_run = label
        examples.append(Example(Doc(nlp.vocab, words=text.split()), reference))
    return examples


def fitted(templates, **settings):
    nlp = spacy.blank("xx")
    nlp.add_pipe("tests_hoseq_word_tagger")
    model = tagger_model(sparse(templates, **settings))
    nlp.add_pipe("hoseq_tagger", config={"attribute": "_.test_run", "model": model})
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(30):
        settings = {"sgd": optimizer, "losses": {}, "annotates": ["tests_hoseq_word_tagger"]}
        nlp.update(examples_of(nlp), **settings)
    return nlp


def runs(nlp, corpus):
    return [[t._.test_run for t in nlp(Doc(nlp.vocab, words=text.split()))] for text, _ in corpus]


@pytest.mark.long
@pytest.mark.parametrize(
    "templates",
    [
        ["tag[-1]+tag[0]", "tag[0]"],
        ["bias", "_.test_kind[-1]+_.test_kind[0]"],
        ["bias", "tag[-1]+_.test_kind[0]"],
    ],
    ids=["tags", "extension", "both"],
)
def test_tags_of_an_annotating_component_are_features(templates):
    nlp = fitted(templates)
    for corpus in (CORPUS, UNSEEN):
        assert runs(nlp, corpus) == [labels_of(tags) for _, tags in corpus]
        assert runs(reloaded(nlp), corpus) == runs(nlp, corpus)


@pytest.mark.parametrize(
    "templates, code",
    [([], "HS027"), (["lower[0"], "HS010"), (["bias", "bias"], "HS027"), (["lowr[0]"], "HS013")],
)
def test_mistakes_in_templates_are_found_when_the_pipe_is_made(templates, code):
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        blank(model=tagger_model(sparse(templates)))
