"""Learning of `hoseq_bidirectional_tagger`: strategies, the contract of `update`, the loss, determinism."""

import math

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.decoders.bidirectional.local import OFFSETS

from .bidirectional_helpers import (
    NAME,
    local,
    of,
    predicted,
    tagger_of,
    tags_of,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, gold

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


def model_bytes(nlp):
    return tagger_of(nlp).model.to_bytes()


@pytest.mark.long
def test_neighbours_teach_what_words_do_not():
    """x is A after B and B after A, at whichever end the known word is."""
    corpus = [("a x x x", "A B A B"), ("b x", "B A"), ("b x x", "B A B"), ("x b", "A B"), ("x x x a", "B A B A")]
    for order, strategy in [(1, "easiest_first"), (2, "easiest_first"), (1, "full_bidirectional")]:
        model = local(["lower[0]", "label[-1]", "label[1]"], order=order)
        nlp = trained(30, of(corpus), strategy=strategy, model=model)
        assert predicted(nlp, corpus) == gold(corpus)
        assert tags_of(nlp, "x x x x b") == "B A B A B".split() and tags_of(nlp, "b x x x x") == "B A B A B".split()


PARTIAL = [*CORPUS, ("the zebra sleeps .", "D N _ ."), ("a zebra runs here", "D N V _"), ("zebra sleeps .", "N V _")]


def partial(nlp):
    tags = [[tag.replace("_", "") for tag in tags.split()] for _, tags in PARTIAL]
    return [Example.from_dict(doc_of(nlp, PARTIAL[i][0]), {"tags": known}) for i, known in enumerate(tags)]


@pytest.mark.parametrize("order", [1, 2])
def test_partial_annotation_is_learnt(order):
    nlp = trained(20, partial, model=local(order=order))
    assert tagger_of(nlp).labels == LABELS
    assert predicted(nlp) == gold()
    assert tags_of(nlp, "the zebra runs") == ["D", "N", "V"] and tags_of(nlp, "zebra sleeps")[0] == "N"


@pytest.mark.filterwarnings("ignore:.*HW010")
def test_negative_annotation_counts_as_unknown():
    def missing(nlp):
        return [Example.from_dict(doc_of(nlp, text), {"tags": tags}) for text, tags in
                [("cat dog", ["N", ""]), ("x", [""]), ("runs cat", ["V", "N"]), ("x x", ["A", ""])]]  # fmt: skip

    negative = of([("cat dog", "N !N"), ("x", "!V"), ("runs cat", "V N"), ("x x", "A !A")])
    first, second = trained(5, missing), trained(5, negative)
    assert tagger_of(second).labels == ("A", "N", "V")
    assert model_bytes(first) == model_bytes(second)


def scores_of(nlp, examples):
    return tagger_of(nlp).model.predict([eg.predicted for eg in examples])


def defined_loss(nlp, examples, masks):
    """- sum of log p(gold | gold neighbours), over tokens whose label and neighbours are known; mean of classifiers."""
    scores, order, labels = scores_of(nlp, examples), tagger_of(nlp).model.attrs["order"], tagger_of(nlp).labels
    total, start = 0.0, 0
    for sentence in [list(sent) for eg in examples for sent in eg.reference.sents]:
        names = [token.tag_ for token in sentence]
        for i, name in enumerate(names):
            beyond = {j: len(labels) + (j > 0) for j in OFFSETS[order] if not 0 <= i + j < len(names)}
            around = [beyond[j] if j in beyond else names[i + j] for j in OFFSETS[order]]
            for mask in masks if name else []:
                seen = [label for slot, label in enumerate(around) if mask >> slot & 1]
                if "" in seen:
                    continue
                context = [labels.index(label) if label in labels else label or 0 for label in around]
                row = scores(np.array([start + i]), np.array([mask]), np.zeros(1, int), np.array([context]))[0]
                total += math.log(sum(math.exp(float(s)) for s in row)) - float(row[labels.index(name)])
        start += len(names)
    return total / len(masks)


@pytest.mark.parametrize("order, masks", [(1, range(4)), (2, range(16))])
def test_loss_is_that_of_the_definition(order, masks):
    nlp = trained(4, model=local(order=order), strategy="easiest_first")
    words, starts = "the old dog sees a cat . she runs".split(), [1, 0, 0, 0, 0, 0, 0, 1, 0]
    for tags in ("D A N V D N . N V".split(), ["D", "", "N", "V", "", "", ".", "", "V"]):
        docs = [Doc(nlp.vocab, words=words, sent_starts=starts, tags=t) for t in (None, tags)]
        examples = [Example(*docs), Example(doc_of(nlp, "runs"), doc_of(nlp, "runs", "V", sent_starts=[1]))]
        expected = defined_loss(nlp, examples, masks)
        loss, gradient = tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))
        assert loss == pytest.approx(expected, rel=1e-5) and gradient is None and loss > 1
        assert tagger_of(nlp).update(examples)[NAME] == pytest.approx(expected, rel=2e-3), "weights before rounding"
