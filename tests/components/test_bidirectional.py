"""Prediction of `hoseq_bidirectional_tagger`: constraints, sentences, batches, decisions."""

import math

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.decoders.bidirectional.decompositions import decode_decompositions
from spacy_hoseq.decoders.bidirectional.easiest_first import decision_order, decode_easiest_first
from spacy_hoseq.decoders.bidirectional.local import OFFSETS
from spacy_hoseq.features.sequences import sequence_lengths

from ..builders import doc_of
from .bidirectional_helpers import (
    NAME,
    STRATEGIES,
    blank,
    local,
    of,
    ready,
    tagger_of,
    train,
    trained,
)
from .helpers import examples_of, random_docs

CHAIN = [("a x", "A B"), ("b x", "B A"), ("a x x x", "A B A B"), ("b x x", "B A B"), ("x x b", "B A B"),
         ("x x x a", "B A B A")]  # fmt: skip


def with_gaps(nlp, text, tags):
    return Doc(nlp.vocab, words=text.split(), tags=[tag.replace("_", "") for tag in tags.split()])


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_preset_tags_stay_and_constrain_their_neighbours(strategy):
    model = local(["lower[0]", "label[-1]", "label[1]"], order=1)
    nlp = trained(30, of(CHAIN), strategy=strategy, model=model)
    hears = {"left_to_right": ["B _", "A _"], "right_to_left": ["_ A", "_ B"], "easiest_last": []}
    # the end of the sentence can tell more than a neighbour
    hears["full_bidirectional"] = ["A _", "_ A"]
    for given, expected in [("B _", "B A"), ("A _", "A B"), ("_ A", "B A"), ("_ B", "A B")]:
        found = [t.tag_ for t in tagger_of(nlp)(with_gaps(nlp, "x x", given))]
        assert given in (f"{found[0]} _", f"_ {found[1]}")
        if given in hears.get(strategy, [given]):
            assert found == expected.split()


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_are_those_of_the_decoder(strategy, order):
    nlp = ready(order, strategy)
    docs = random_docs(nlp)
    before = [doc.to_bytes() for doc in docs]
    scores, lengths = tagger_of(nlp).model.predict(docs), sequence_lengths(docs)
    if strategy.startswith("easiest"):
        hardest = strategy == "easiest_last"
        expected = decode_easiest_first(scores, lengths, order, hardest=hardest).labels
    else:
        expected = decode_decompositions(scores, lengths, order, strategy, prune=0.01).labels
    found = tagger_of(nlp).predict(docs)
    assert np.concatenate(found.label_ids).tolist() == expected.tolist()
    assert set(expected.tolist()) == set(range(6))
    assert [len(labels) for labels in found.label_ids] == [len(doc) for doc in docs]
    assert [doc.to_bytes() for doc in docs] == before, "docs are not touched"


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", ["easiest_first", "easiest_last"])
def test_decisions(strategy, order):
    nlp = trained(strategy=strategy, save_decisions=True, model=local(order=order))
    docs = random_docs(nlp)
    lengths = sequence_lengths(docs)
    hardest = strategy == "easiest_last"
    path = decode_easiest_first(tagger_of(nlp).model.predict(docs), lengths, order, hardest=hardest)
    expected = decision_order(path, hardest=hardest)
    found = [doc._.hoseq_decisions[NAME] for doc in tagger_of(nlp).pipe(docs, batch_size=7)]
    both = [np.concatenate([doc[key] for doc in found]) for key in ("order", "probabilities")]
    order_, probabilities = both
    assert order_.tolist() == expected.tolist()
    assert probabilities == pytest.approx(np.exp(path.log_probabilities), rel=1e-5)
    assert probabilities.dtype == np.float32 and 0 < probabilities.min() <= probabilities.max() <= 1
    for sentence in np.split(order_, np.cumsum(lengths)[:-1]):
        assert sorted(sentence.tolist()) == list(range(1, len(sentence) + 1))
    assert [len(each["order"]) for each in found] == [len(doc) for doc in docs]
    assert order_.tolist() != [i + 1 for length in lengths for i in range(length)]


# Learning of `hoseq_bidirectional_tagger`: strategies, the contract of `update`, the loss, determinism


pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


def model_bytes(nlp):
    return tagger_of(nlp).model.to_bytes()


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
    pipe = tagger_of(nlp)
    scores, order, labels = scores_of(nlp, examples), pipe.model.attrs["order"], pipe.labels
    total, start = 0.0, 0
    for sentence in [list(sent) for eg in examples for sent in eg.reference.sents]:
        names = [token.tag_ for token in sentence]
        for i, name in enumerate(names):
            outside = [j for j in OFFSETS[order] if not 0 <= i + j < len(names)]
            beyond = {j: len(labels) + (j > 0) for j in outside}
            around = [beyond[j] if j in beyond else names[i + j] for j in OFFSETS[order]]
            for mask in masks if name else []:
                seen = [label for slot, label in enumerate(around) if mask >> slot & 1]
                if "" in seen:
                    continue
                known = {label: i for i, label in enumerate(labels)}
                context = [known.get(label, label or 0) for label in around]
                row = scores(*map(np.array, ([start + i], [mask], [0], [context])))[0]
                total += math.log(np.exp(row, dtype=float).sum()) - float(row[labels.index(name)])
        start += len(names)
    return total / len(masks)


@pytest.mark.parametrize("order, masks", [(1, range(4)), (2, range(16))])
def test_loss_is_that_of_the_definition(order, masks):
    nlp = trained(4, model=local(order=order), strategy="easiest_first")
    words, starts = "the old dog sees a cat . she runs".split(), [1, 0, 0, 0, 0, 0, 0, 1, 0]
    for tags in ("D A N V D N . N V".split(), ["D", "", "N", "V", "", "", ".", "", "V"]):
        docs = [Doc(nlp.vocab, words=words, sent_starts=starts, tags=t) for t in (None, tags)]
        runs = doc_of(nlp, "runs"), doc_of(nlp, "runs", "V", sent_starts=[1])
        examples = [Example(*docs), Example(*runs)]
        expected = defined_loss(nlp, examples, masks)
        loss, gradient = tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))
        assert loss == pytest.approx(expected, rel=1e-5) and gradient is None and loss > 1
        assert tagger_of(nlp).update(examples)[NAME] == pytest.approx(expected, rel=2e-3)


def objective(nlp):
    """Loss + width * sum |w|, mean of the classifiers."""
    examples = examples_of(nlp)
    loss, _ = tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))
    tables = tagger_of(nlp).model.shims[0].feature_weights()
    return loss + np.mean([np.abs(table.values).sum() for table in tables])


def test_with_passes_one_update_goes_to_the_optimum():
    """Which thirty updates of online learning do not reach, and which another one does not leave."""
    online, batch = trained(30, width=1.0), trained(1, width=1.0, passes=100)
    optimum = objective(batch)
    assert optimum < 0.95 * objective(online)
    train(batch, 1)
    assert objective(batch) == pytest.approx(optimum, rel=1e-4)
    for wrong in (-1, 10**12):
        with pytest.raises(ValueError, match=r"\[HS027\] Wrong passes"):
            blank(passes=wrong)


# Features of `hoseq_bidirectional_tagger` about annotation


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
    reference = doc_of(nlp, "the dog odd", "GOLD N N", [(0, 2, "NP")])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(nlp) == 3, "GOLD, N, and D; no tag for `odd`"
    alone = blank(model=local(["tag[0]"]), representation="iob2")
    alone.initialize(lambda: [Example(Doc(alone.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(alone) == 2, "GOLD and N"
    words = blank(model=local(["orth[0]"]), representation="iob2")
    words.initialize(lambda: [Example(Doc(words.vocab, words=["the", "dog", "odd"]), reference)])
    assert rows_of_keys(words) == 3
