"""What is made of the labels follows them: a component that is used, and then reads or learns other ones."""

import pytest

from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from . import helpers as tags


def renamed(labels):
    return " ".join(f"x{label}" for label in labels.split())


def test_labels_of_another_model():
    other = [(text, renamed(labels)) for text, labels in tags.CORPUS]
    for helpers in (tags, bidirectional):
        of_other = {"corpus": other} if helpers is tags else {"examples": bidirectional.of(other)}
        source, nlp = helpers.trained(**of_other), helpers.trained()
        assert helpers.predicted(nlp) == tags.gold()
        helpers.tagger_of(nlp).from_bytes(helpers.tagger_of(source).to_bytes())
        assert helpers.predicted(nlp) == tags.gold(other) == helpers.predicted(source)


def test_types_of_another_model():
    other = [(text, t, [(first, end, f"x{name}") for first, end, name in spans]) for text, t, spans in chunks.CORPUS]
    source, nlp = chunks.trained(examples=lambda nlp: chunks.examples_of(nlp, other)), chunks.trained()
    assert chunks.through(nlp)[0] == chunks.gold()
    chunks.chunker_of(nlp).from_bytes(chunks.chunker_of(source).to_bytes())
    assert chunks.through(nlp)[0] == chunks.gold(other) == chunks.through(source)[0]
    assert chunks.chunker_of(nlp).tags[1] == "U-xNP"


@pytest.mark.long
@pytest.mark.parametrize("helpers", [tags, bidirectional])
def test_another_dictionary(helpers):
    nlp = helpers.trained()
    assert helpers.tags_of(nlp, "the cat") == ["D", "N"]
    tagger = helpers.tagger_of(nlp)
    for entries in ({"cat": ["V"]}, {"cat": ["A"]}, None):
        tagger.initialize(lambda: tags.examples_of(nlp), nlp=nlp, tag_dictionary=entries)
        helpers.train(nlp)
        assert helpers.tags_of(nlp, "the cat")[1] == (entries["cat"][0] if entries else "N")
