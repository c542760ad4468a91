"""`hoseq_morphologizer`. First spaCy's own tests of its morphologizer (spacy/tests/pipeline/test_morphologizer.py), for
our factory; left out is test_label_smoothing, a setting that ours has not. Then what ours says of itself."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.lang.xx import MultiLanguage
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.components.targets.morphology import analysis_of, costs_of, label_of, normalized
from spacy_hoseq.features.sequences import words_of

from ..builders import doc_of
from . import morphology_helpers as tiny
from .morphology_helpers import NAME

GREEN = {"morphs": ["Feat=N", "Feat=V", "Feat=J", "Feat=N"], "pos": "NOUN VERB ADJ NOUN".split()}
BLUE = {"morphs": ["Feat=V", "", ""], "pos": ["", "ADJ", ""]}
TRAIN_DATA = [("I like green eggs", GREEN), ("Eat blue ham", BLUE)]  # combinations of both


def examples_of(nlp):
    return [Example.from_dict(nlp.make_doc(text), annotation) for text, annotation in TRAIN_DATA]


def learn(nlp, examples, optimizer):
    for _ in range(50):
        losses = {}
        nlp.update(examples, sgd=optimizer, losses=losses)
    return losses[NAME]


def said(doc):
    return [str(token.morph) for token in doc], [token.pos_ for token in doc]


@pytest.fixture
def without_pos():
    nlp = MultiLanguage()
    nlp.add_pipe(NAME)
    examples = examples_of(nlp)
    for example in examples:
        for token in example.reference:
            token.pos_ = ""
    assert learn(nlp, examples, nlp.initialize(get_examples=lambda: examples)) < 0.00001
    return nlp


A, AB = "Feat=A|That=A|This=A", "That=B"
# "" is unset, "_" is set and empty
NOTHING = (False, False, "blue ham like", ["Feat=V", "Feat=N", "_"], ["Feat=V", "Feat=N", ""])
BOTH = (True, True, "I like", [A, ""], ["Feat=N|That=A|This=A", "Feat=V"])
EXTEND = (False, True, "I like", [A, AB], [A, "Feat=V|That=B"])
OVERWRITE = (True, False, "I like", [A, ""], ["Feat=N", "Feat=V"])
WAYS = [NOTHING, BOTH, EXTEND, OVERWRITE]


@pytest.mark.parametrize("overwrite, extend, text, morphs, expected", WAYS)
def test_overwrite_and_extend(without_pos, overwrite, extend, text, morphs, expected):
    morphologizer = without_pos.get_pipe(NAME)
    morphologizer.cfg["overwrite"] = overwrite
    morphologizer.target.extend = extend
    doc = morphologizer(doc_of(without_pos, text, morphs=morphs))
    assert said(doc) == (expected, [""] * len(doc))


# What ours says of itself


def test_tags_as_a_part_of_labels():
    nlp = tiny.trained(with_tag=True)
    assert "Case=Nom|Number=Sing|POS=ADJ|TAG=A%3DNOM" in nlp.get_pipe(NAME).labels
    assert "Case=Acc|Number=Plur|POS=NOUN|TAG=N%7Cacc" in nlp.get_pipe(NAME).labels
    for line in tiny.CORPUS:
        words, *expected = tiny.rows_of(line)
        assert tiny.said(nlp(Doc(nlp.vocab, words=words))) == tuple(expected)


@pytest.mark.parametrize("with_tag", [False, True])
def test_a_label_is_its_analysis(with_tag):
    analyses = [("NOUN", "Case=Gen|Number=Sing", "NN|x=1,%"), ("", "", "")]
    for pos, morph, tag in [*analyses, ("PUNCT", "", ","), ("", "A=b", "")]:
        tag = tag if with_tag else ""
        assert analysis_of(label_of(pos, morph, tag)) == (pos, morph, tag)
    assert label_of("", "", "") == "_" and label_of("X", "_") == "POS=X"
    assert normalized("POS=NOUN|Gender=Masc,Fem|Case=Gen") == "Case=Gen|Gender=Fem,Masc|POS=NOUN"


@pytest.mark.parametrize("label", ["NOUN", "POS=NOPE", "A=b=c", "A=b|"])
def test_what_is_no_label(label):
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        tiny.blank().get_pipe(NAME).add_label(label)


def test_labels_of_spacy_and_of_ours_are_the_same():
    theirs, ours = spacy.blank("xx"), tiny.trained(0)
    morphologizer = theirs.add_pipe(
        "morphologizer",
        config={"model": {"tok2vec": {"encode": {"width": 8}, "embed": {"width": 8}}}},
    )
    theirs.initialize(lambda: tiny.examples_of(theirs))
    data = ours.get_pipe(NAME).label_data
    known = morphologizer.label_data.items()
    assert data == {kind: dict(sorted(labels.items())) for kind, labels in known}
    again = tiny.blank()
    labels = morphologizer.label_data
    again.get_pipe(NAME).initialize(lambda: tiny.examples_of(again), labels=labels)
    assert again.get_pipe(NAME).labels == morphologizer.labels


def test_what_is_set_constrains_its_neighbours():
    nlp = tiny.trained(overwrite=False)
    words = ["urbes", "videt", "."]
    free = nlp(Doc(nlp.vocab, words=words))
    doc = nlp(Doc(nlp.vocab, words=words, pos=["VERB", "", ""]))
    assert free[0].pos_ == "NOUN" and doc[0].pos_ == "VERB"
    assert str(doc[0].morph).startswith("Number=")
    doc = nlp(Doc(nlp.vocab, words=words, morphs=["Case=Acc|Number=Sing", "", ""]))
    assert doc[0].pos_ in ("NOUN", "ADJ") and str(doc[0].morph) == "Case=Acc|Number=Sing"
    doc = nlp(Doc(nlp.vocab, words=words, morphs=["Case=Abl", "", ""]))  # which no label has
    assert (doc[0].pos_, str(doc[0].morph)) == ("NOUN", "Case=Abl")
    nlp.get_pipe(NAME).target.extend = True
    doc = nlp(Doc(nlp.vocab, words=words, morphs=["Case=Acc", "", ""]))
    assert "Case=Acc" in str(doc[0].morph) and "Number=" in str(doc[0].morph)


def test_probabilities_of_features_are_those_of_enumeration():
    nlp = tiny.trained(4, objective="log_likelihood")
    pipe = nlp.get_pipe(NAME)
    texts = ["urbes", "magnam", "new"], [], ["videt"]
    docs = [Doc(nlp.vocab, words=words) for words in texts]
    found = pipe.feature_probabilities(docs, least=0.0)
    labels = pipe.labels
    for doc, of_tokens in zip(docs, found, strict=True):
        assert len(of_tokens) == len(doc)
        if not len(doc):
            continue
        potentials = pipe.read([doc]).potentials
        scores, trans = potentials.scores.astype(float), potentials.trans
        every = list(itertools.product(range(len(labels)), repeat=len(doc)))
        weights = []
        for y in every:
            transitions = sum(trans[a, b] for a, b in itertools.pairwise(y))
            weights.append(np.exp(sum(scores[t, k] for t, k in enumerate(y)) + transitions))
        for t, probabilities in enumerate(of_tokens):
            names = {feature for label in labels for feature in label.split("|")}
            for name in names:
                pairs = zip(every, weights, strict=True)
                expected = sum(w for y, w in pairs if name in labels[y[t]].split("|"))
                assert probabilities[name] == pytest.approx(expected / sum(weights), abs=1e-6)
    assert list(found[0][0].values()) == sorted(found[0][0].values(), reverse=True)
    (few,) = pipe.feature_probabilities(docs[:1], least=0.5)
    (white,) = pipe.feature_probabilities([nlp("\n")])
    assert few[0] == {name: p for name, p in found[0][0].items() if p >= 0.5} and white == [{}]


def test_costs_worked_out_by_hand():
    labels = "Case=Nom|Number=Sing|POS=NOUN Case=Gen|Number=Sing|POS=NOUN Number=Sing|POS=NOUN"
    labels = f"{labels} POS=VERB _".split()
    expected = [[0, 1, 0.75, 1.5, 1.25], [1, 0, 0.75, 1.5, 1.25], [0.75, 0.75, 0, 1.25, 1]]
    expected += [[1.5, 1.5, 1.25, 0, 0.75], [1.25, 1.25, 1, 0.75, 0]]
    assert costs_of(tuple(labels)).tolist() == expected
    far = ["A=a|B=b|C=c|D=d|POS=VERB", "E=e|F=f|G=g|POS=NOUN"]
    assert costs_of(tuple(far)).tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("label_cells", [1, 40, 200])
@pytest.mark.parametrize("with_space", [False, True])
def test_a_long_doc_is_decoded_some_sentences_at_a_time(label_cells, with_space):
    nlp = tiny.trained(5)
    between = [" "] if with_space else []
    sentences = [["magna", "urbs", "ardet", "."], ["magnae", *between, "urbes"], ["urbem", "."]] * 4
    words = [word for sentence in sentences for word in sentence]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    doc = Doc(nlp.vocab, words=words, sent_starts=starts)
    pipe = nlp.get_pipe(NAME)
    whole = pipe.read([doc]).best
    pipe.label_cells = label_cells
    assert np.array_equal(pipe.read([doc]).best, whole)
    lengths = [len(part) for docs in pipe._parts(words_of([doc])) for part in docs]
    assert sum(lengths) == len(whole) and (len(lengths) > 1) == (label_cells < 200)


@pytest.mark.parametrize("label_cells", [1, 40, 200])
def test_docs_are_decoded_some_at_a_time(label_cells):
    nlp = tiny.trained(5)
    texts = [["urbs"], [], ["magna", "urbs", "ardet", "."], ["magnae", " ", "urbes"], ["urbem"], []]
    docs = words_of([Doc(nlp.vocab, words=text) for text in texts])
    pipe = nlp.get_pipe(NAME)
    pipe.label_cells = label_cells
    reading = pipe.read(docs, labels_alone=True)
    assert np.array_equal(reading.best, pipe.read(docs).best)
    assert len(reading.best) == sum(map(len, docs))
    if label_cells < 200:  # in parts
        with pytest.raises(ValueError, match=r"\[HS105\].*labels alone were asked for"):
            reading.confidences()


def test_what_is_preset_goes_before_the_dictionary():
    """ "magna" is a full stop by the dictionary; where it is an adjective already, the dictionary says nothing."""
    nlp = tiny.blank(overwrite=False)
    pipe = nlp.get_pipe(NAME)
    dictionary = {"magna": ["PUNCT"], "urbs": ["NOUN|Case=Nom|Number=Sing", "PUNCT"]}
    pipe.initialize(lambda: tiny.examples_of(nlp), nlp=nlp, tag_dictionary=dictionary)
    for _ in range(10):
        nlp.update(tiny.examples_of(nlp))
    doc = Doc(nlp.vocab, words=["magna", "magna", "urbs"], pos=["ADJ", "", "NOUN"])
    potentials = pipe.read([doc]).potentials
    labels = np.array(pipe.labels)
    permitted = [labels[row].tolist() for row in potentials.allowed]
    adjectives = [label for label in pipe.labels if "POS=ADJ" in label]
    assert permitted == [adjectives, ["POS=PUNCT"], ["Case=Nom|Number=Sing|POS=NOUN"]]
    assert [token.pos_ for token in pipe(doc)] == ["ADJ", "PUNCT", "NOUN"]


@pytest.mark.parametrize("tag", ["N|acc", "N|nom", "unknown"])
def test_preset_tag(tag):
    """It is a part of the label, which fits it; one that no label has constrains nothing. Both stay."""
    nlp = tiny.trained(with_tag=True, overwrite=False)
    pipe = nlp.get_pipe(NAME)
    doc = Doc(nlp.vocab, words=["urbes", "videt", "."], tags=[tag, "", ""])
    potentials = pipe.read([doc]).potentials
    permitted = {*np.array(pipe.labels)[potentials.allowed[0]].tolist()}
    expected = {label for label in pipe.labels if analysis_of(label).tag == tag}
    assert permitted == (expected or {*pipe.labels})
    pipe(doc)
    morphs = {analysis_of(label).morph for label in permitted}
    assert doc[0].tag_ == tag and str(doc[0].morph) in morphs


READS_TAGS = {
    "model": {"emissions": {"templates": ["bias", "lower[0]", "tag[0]", "tag[0]+lower[0]"]}}
}


def tagged(nlp, line):
    words, tags, *_ = tiny.rows_of(line)
    return Doc(nlp.vocab, words=words, tags=tags)


def tagged_examples(nlp):
    return [Example(tagged(nlp, line), tiny.gold_doc(nlp, line)) for line in tiny.CORPUS]


@pytest.fixture(scope="module")
def by_tag():
    """It has learnt, from tags that are right, which labels each tag has."""
    nlp = tiny.blank(**READS_TAGS)
    nlp.initialize(lambda: tagged_examples(nlp))
    for _ in range(5):
        nlp.update(tagged_examples(nlp))
    return nlp


def test_labels_are_those_that_training_saw_with_the_tag(by_tag):
    """One by one in whatever way they are found: they alone scored, or all of them and their probabilities."""
    pipe = by_tag.get_pipe(NAME)
    candidates = pipe.cfg["candidates"]
    assert len(candidates["V"]) == 2 and len(candidates[","]) == 1 and len(candidates) == 6
    tags = [*candidates, "unknown", ""]
    doc = Doc(by_tag.vocab, words=["videt"] * len(tags), tags=tags)
    nodes = pipe.read([doc]).posterior.nodes
    alone = pipe.read([doc], labels_alone=True).best
    for tag, label_id, p in zip(tags, alone.tolist(), nodes, strict=True):
        expected = candidates.get(tag, [*pipe.labels])
        assert {pipe.labels[y] for y in np.flatnonzero(p)} == set(expected)
        assert p[label_id] == p.max() and p.sum() == pytest.approx(1)


def test_gold_labels_outside_of_the_candidates_are_learnt(by_tag):
    nlp = spacy.blank("xx")
    pipe = nlp.add_pipe(NAME, config=READS_TAGS).from_bytes(by_tag.get_pipe(NAME).to_bytes())
    doc = Doc(nlp.vocab, words=["urbs"], tags=["V"])
    gold = Doc(nlp.vocab, words=["urbs"], tags=["V"], pos=["NOUN"], morphs=["Case=Nom|Number=Sing"])
    loss, _ = pipe.get_loss([Example(doc, gold)], pipe.model.predict([doc]))
    assert np.isfinite(loss) and loss > 0


def test_models_without_candidates_have_all_labels(by_tag):
    """As those of older versions."""
    old, nlp = tiny.blank(**READS_TAGS).get_pipe(NAME), tiny.blank(**READS_TAGS)
    new = by_tag.get_pipe(NAME)
    old.from_bytes(new.to_bytes())
    old.cfg["candidates"] = {}
    old.labels_changed()
    data = old.to_bytes()
    pipe = nlp.get_pipe(NAME).from_bytes(new.to_bytes())
    assert (
        pipe.cfg["candidates"] and pipe.fitting(words_of([Doc(nlp.vocab, words=["a"])])) is not None
    )
    pipe.from_bytes(data)
    assert pipe.fitting(words_of([Doc(nlp.vocab, words=["a"])])) is None
