"""Gold annotation: partial, negative, on another tokenization, of unknown labels."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Token
from spacy.training import Example

from spacy_hoseq.components.targets.target import LabelTable
from spacy_hoseq.components.targets.token_labels import TokenLabels

from ..builders import doc_of, layer, tagger_of
from . import chunker_helpers as chunks
from . import helpers as tags
from . import lemma_helpers as lemmas
from . import morphology_helpers as morphology
from .helpers import blank, examples_of, gold, predicted, train, trained

NLP = blank()
TABLE = LabelTable(["A", "B", "C"], NLP.vocab.strings, "!")
TAGS = TokenLabels("tag", "!")


def example(predicted, reference, tags):
    reference = Doc(NLP.vocab, words=reference, tags=tags, spaces=[False] * len(reference))
    return Example(Doc(NLP.vocab, words=predicted, spaces=[False] * len(predicted)), reference)


def names(values):
    return [NLP.vocab.strings[int(value)] if value else "" for value in values]


def permitted(examples):
    return TABLE.masks[TAGS.gold_rows(examples, TABLE)]


TOKENIZATIONS = [
    (["ab", "cd"], ["ab", "cd"], ["A", "B"], ["A", "B"]),
    (["ab", "cd"], ["ab", "cd"], ["A", ""], ["A", ""]),
    (["a", "b", "cd"], ["ab", "cd"], ["A", "B"], ["A", "A", "B"]),
    (["abcd"], ["ab", "cd"], ["A", "B"], [""]),
    (["abcd"], ["ab", "cd"], ["A", "A"], ["A"]),
    (["abcd"], ["ab", "cd"], ["A", ""], [""]),
    (["abc", "d"], ["ab", "cd"], ["A", "B"], ["", "B"]),
    (["ab", " ", "cd"], ["ab", "cd"], ["A", "B"], ["A", "", "B"]),
    ([], [], [], []),
    (["ab", "cd"], ["ab", " ", "cd"], ["A", "C", "B"], ["A", "B"]),
    (["AB", "cd"], ["ab", "cd"], ["A", "B"], ["A", "B"]),
]


@pytest.mark.parametrize("predicted, reference, tags, expected", TOKENIZATIONS)
def test_gold_on_another_tokenization(predicted, reference, tags, expected):
    eg = example(predicted, reference, tags)
    assert names(TAGS.aligned(eg)) == expected
    aligned = [tag or "" for tag in eg.get_aligned("TAG", as_string=True)]
    assert aligned == expected, "as spaCy's own components see it"


def test_gold_of_random_tokenizations():
    rng = np.random.default_rng(0)
    for _ in range(50):
        text = "".join(rng.choice(list("xyz"), size=12))
        cuts = [sorted(set([0, 12, *rng.integers(1, 12, size=4).tolist()])) for _ in range(2)]
        words = [[text[a:b] for a, b in zip(cut, cut[1:], strict=False)] for cut in cuts]
        tags = rng.choice(["A", "B", ""], size=len(words[1])).tolist()
        eg = example(words[0], words[1], tags)
        expected = [tag or "" for tag in eg.get_aligned("TAG", as_string=True)]
        assert names(TAGS.aligned(eg)) == expected


def test_gold_of_an_extension_is_aligned_too():
    tagger_of(blank(attribute="_.gold_label"))
    eg = example(["a", "b", "cd", "ef"], ["ab", "c", "d", "ef"], None)
    for token, label in zip(eg.reference, ["A", "B", "C", ""], strict=True):
        token._.gold_label = label
    assert names(TokenLabels("_.gold_label", "!").aligned(eg)) == ["A", "A", "", ""]


def test_masks_of_annotation():
    eg = example(["a", "b", "c", "d"], ["a", "b", "c", "d"], ["B", "", "!A", "C"])
    both = permitted([eg, eg]).astype(int).tolist()
    assert both == [[0, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]] * 2


def test_unknown_labels_count_as_missing():
    eg = example(["a", "b", "c", "d"], ["a", "b", "c", "d"], ["B", "UNHEARD", "!UNSEEN", "UNHEARD"])
    with pytest.warns(UserWarning, match=r"\[HW001\] 3 tokens .*\(!UNSEEN, UNHEARD\)"):
        mask = permitted([eg])
    assert mask.astype(int).tolist() == [[0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]


def test_no_prefix_for_negative_annotation():
    table = LabelTable(["A", "!A"], NLP.vocab.strings, "")
    values = np.array([NLP.vocab.strings.add(name) for name in ("!A", "A", "!!A")] + [0], np.uint64)
    assert table.masks[table.rows(values)].astype(int).tolist() == [[0, 1], [1, 0], [1, 1], [1, 1]]


def test_unknown_labels_of_another_vocabulary():
    nlp, other = trained(n_updates=2), spacy.blank("xx")
    reference = Doc(other.vocab, words=["the", "cat"], tags=["UNHEARD", "N"])
    with pytest.warns(UserWarning, match=r"HW001.* \(UNHEARD\)"):
        nlp.update([*examples_of(nlp), Example(doc_of(nlp, "the cat"), reference)])


def test_a_warning_names_five_unknown_labels_and_counts_the_others():
    words = [f"w{i}" for i in range(8)]
    with pytest.warns(UserWarning, match=r"\[HW001\] 8 tokens .*\(L0, L1, L2, L3, L4, 3 others\)"):
        permitted([example(words, words, [f"L{i}" for i in range(8)])])


# Labels and initialization: ecosystem.md, sections 4 and 13 (rows 2 to 7, 10, 11)


@pytest.mark.filterwarnings("ignore:.*HW010")
def test_labels_with_negative_prefix_are_the_labels():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X !Y !X")]))
    assert tagger_of(nlp).labels == ("X", "Y")
    nlp = blank(neg_prefix="")
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X !Y !X")]))
    assert tagger_of(nlp).labels == ("!X", "!Y", "X")
    nlp = blank(neg_prefix="not-")
    nlp.initialize(lambda: examples_of(nlp, [("a b c", "X not-Y !X")]))
    assert tagger_of(nlp).labels == ("!X", "X", "Y")


def test_given_labels_keep_their_order():
    nlp = blank()
    labels = ["V", "N", "D", "A", "R", ".", "UNUSED"]
    tagger_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=labels)
    assert list(tagger_of(nlp).labels) == labels
    train(nlp)
    assert predicted(nlp) == gold()


def test_initialization_with_other_labels_is_refused():
    nlp = blank()
    nlp.initialize(lambda: examples_of(nlp))
    with pytest.raises(ValueError, match="E922"):
        nlp.initialize(lambda: examples_of(nlp, [("a b", "NEW N")]))


@pytest.mark.filterwarnings("ignore:.*HW001")
@pytest.mark.parametrize("tag", ["!", "!A"])
def test_labels_that_are_read_as_negative_annotation(tag):
    nlp = blank()
    examples = [Example.from_dict(doc_of(nlp, "a b"), {"tags": ["A", tag]})]
    with pytest.warns(UserWarning, match=rf"\[HW010\].*\({tag}\).*neg_prefix"):
        nlp.initialize(lambda: examples)
    assert tagger_of(nlp).labels == ("A",)
    plain = blank(neg_prefix="")
    examples = [Example.from_dict(doc_of(plain, "a b"), {"tags": ["A", tag]})]
    plain.initialize(lambda: examples)
    assert tagger_of(plain).labels == (tag, "A")


# Docs and gold annotation of other vocabularies than the pipeline's


BIDIRECTIONAL = layer("LocalClassifiers", templates=["lower[0]"], order=1)


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
        pairs = zip(examples, vocabs, strict=True)
        read = [next(DocBin(docs=[eg.reference]).get_docs(vocab)) for eg, vocab in pairs]
        examples = [Example(eg.predicted, doc) for eg, doc in zip(examples, read, strict=True)]
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
