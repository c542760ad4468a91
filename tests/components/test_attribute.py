"""Labels in other places than `token.tag`, and their scores."""

import pytest
import spacy
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..builders import doc_of, learn, tagger_of
from .helpers import CORPUS, blank, examples_of, reloaded, sparse, tagger_model

POS = {"D": "DET", "A": "ADJ", "N": "NOUN", "V": "VERB", "R": "ADV", ".": "PUNCT"}


@pytest.fixture
def label():
    yield "_.test_label"
    Token.remove_extension("test_label")


def pos_examples(nlp):
    corpus = [(doc_of(nlp, text), [POS[tag] for tag in tags.split()]) for text, tags in CORPUS]
    return [Example.from_dict(doc, {"pos": pos}) for doc, pos in corpus]


def label_examples(nlp, name="test_label"):
    examples = []
    for text, tags in CORPUS:
        reference = doc_of(nlp, text)
        for token, tag in zip(reference, tags.split(), strict=True):
            setattr(token._, name, tag.lower())
        examples.append(Example(doc_of(nlp, text), reference))
    return examples


def fit(nlp, examples, n=25):
    nlp.config["training"]["score_weights"] = {"pos_acc": 0.5, "test_label_acc": 0.5}
    return learn(nlp, examples(nlp), n)


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_part_of_speech(objective):
    nlp = fit(blank(attribute="pos", objective=objective), pos_examples)
    assert tagger_of(nlp).labels == ("ADJ", "ADV", "DET", "NOUN", "PUNCT", "VERB")
    for pipeline in (nlp, reloaded(nlp)):
        doc = tagger_of(pipeline)(doc_of(pipeline, CORPUS[0][0]))
        assert [token.pos_ for token in doc] == [POS[tag] for tag in CORPUS[0][1].split()]
        assert [token.tag_ for token in doc] == [""] * len(doc)
    assert nlp.evaluate(pos_examples(nlp))["pos_acc"] == 1.0
    assert "tag_acc" not in nlp.evaluate(pos_examples(nlp))


def test_part_of_speech_that_does_not_exist():
    """spaCy's parts of speech are a closed list; another one on a token would break `token.pos_`."""
    nlp = blank(attribute="pos")
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong label of pos: 'NOUN-ISH'.*NOUN"):
        tagger_of(nlp).add_label("NOUN-ISH")
    assert tagger_of(nlp).labels == ()


def test_extension_that_holds_no_string(label):
    nlp = fit(blank(attribute=label), label_examples)
    doc = doc_of(nlp, "a b")
    doc[1]._.test_label = 3
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong value of _.test_label: 3"):
        tagger_of(nlp)(doc)


def test_extension_that_is_preset(label):
    nlp = fit(blank(attribute=label), label_examples)
    doc = doc_of(nlp, CORPUS[0][0])
    doc[2]._.test_label = "v"
    doc[4]._.test_label = "something else"
    tagger_of(nlp)(doc)
    assert [token._.test_label for token in doc] == ["d", "a", "v", "v", "something else", "n", "."]
    nlp = fit(blank(attribute=label, overwrite=True), label_examples)
    assert [token._.test_label for token in tagger_of(nlp)(doc)] == CORPUS[0][1].lower().split()


@pytest.mark.parametrize("kind", ["hoseq_tagger", "hoseq_bidirectional_tagger"])
def test_default_of_an_extension_is_not_preset(kind):
    """Who registers the extension may give it a default that is a label: it constrains nothing, and is replaced."""
    Token.set_extension("test_label", default="n")
    try:
        nlp = spacy.blank("xx")
        pipe = nlp.add_pipe(kind, config={"attribute": "_.test_label"})
        fit(nlp, label_examples)
        doc = pipe(doc_of(nlp, CORPUS[0][0]))
        assert [token._.test_label for token in doc] == CORPUS[0][1].lower().split()
        doc = Doc(nlp.vocab, words=["\n", *CORPUS[0][0].split()])
        doc[3]._.test_label = "v"
        assert [token._.test_label for token in pipe(doc)][1:4:2] == ["d", "v"]
    finally:
        Token.remove_extension("test_label")


@pytest.mark.parametrize("computed", [{"getter": str}, {"method": str}])
def test_extension_that_is_computed(computed):
    """spaCy would take what is written, and never show it."""
    Token.set_extension("test_label", **computed)
    try:
        with pytest.raises(ValueError, match=r"\[HS027\] Wrong attribute: '_.test_label'"):
            blank(attribute="_.test_label")
    finally:
        Token.remove_extension("test_label")


def test_extension_with_a_setter(label):
    """It keeps labels where it wants, here by token of the whole Doc."""

    def write(token, value):
        token.doc.user_data["test", token.i] = value

    Token.set_extension(
        "test_label", getter=lambda t: t.doc.user_data.get(("test", t.i), ""), setter=write
    )
    nlp = fit(blank(attribute=label), label_examples)
    found = []
    for words in (CORPUS[0][0].split(), ["\n", *CORPUS[0][0].split()]):
        doc = Doc(nlp.vocab, words=words)
        doc[len(words) - 4]._.test_label = "n"
        found.append([token._.test_label for token in tagger_of(nlp)(doc) if not token.is_space])
    assert found[0] == found[1] and found[0][2:5] == ["n", "n", "d"]


@pytest.mark.parametrize(
    "attribute", ["dep", "TAG", "lemma", "", "_.", "_.two words", "label", "ent_type"]
)
def test_attribute_that_cannot_be_written(attribute):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong attribute: '{attribute}'"):
        blank(attribute=attribute)


def test_extension_that_reads_the_whole_doc():
    """A long text is cut between sentences, unless a getter may look beyond them, here by place in the Doc."""
    name = "test_by_place"
    Token.set_extension(name, getter=lambda t: t.doc.user_data.get("hints", {}).get(t.i, ""))
    try:
        nlp = blank(model=tagger_model(sparse([f"_.{name}[0]"])))
        examples = examples_of(nlp)
        for eg in examples:
            hints = {t.i: t.tag_ for t in eg.reference}
            eg.predicted.user_data["hints"] = eg.reference.user_data["hints"] = hints
        learn(nlp, examples, 10)
        tags = "D N V . N V . N V R . D A N .".split()
        doc = Doc(nlp.vocab, words=["x"] * 15, sent_starts=[i in (0, 4, 7, 11) for i in range(15)])
        doc.user_data["hints"] = dict(enumerate(tags))
        tagger_of(nlp).label_cells = 2 * len(tagger_of(nlp).labels)
        assert [token.tag_ for token in tagger_of(nlp)(doc)] == tags
    finally:
        Token.remove_extension(name)
