"""Learning of `hoseq_bidirectional_tagger`: strategies, the contract of `update`, the loss, determinism."""

import math

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam

from spacy_hoseq.decoders.bidirectional.local import OFFSETS

from .bidirectional_helpers import (
    NAME,
    STRATEGIES,
    TEMPLATES,
    blank,
    local,
    of,
    predicted,
    ready,
    tagger_of,
    tags_of,
    train,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, examples_of, gold

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


def model_bytes(nlp):
    return tagger_of(nlp).model.to_bytes()


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns(strategy, order):
    nlp = ready(order, strategy)
    assert predicted(nlp) == gold()
    assert [[t.tag_ for t in doc] for doc in nlp.pipe(text for text, _ in CORPUS)] == gold()


@pytest.mark.long
def test_neighbours_teach_what_words_do_not():
    """x is A after B and B after A, at whichever end the known word is."""
    corpus = [("a x x x", "A B A B"), ("b x", "B A"), ("b x x", "B A B"), ("x b", "A B"), ("x x x a", "B A B A")]
    for order, strategy in [(1, "easiest_first"), (2, "easiest_first"), (1, "full_bidirectional")]:
        model = local(["lower[0]", "label[-1]", "label[1]"], order=order)
        nlp = trained(30, of(corpus), strategy=strategy, model=model)
        assert predicted(nlp, corpus) == gold(corpus)
        assert tags_of(nlp, "x x x x b") == "B A B A B".split() and tags_of(nlp, "b x x x x") == "B A B A B".split()


@pytest.mark.long
@pytest.mark.parametrize("order", [1, 2])
def test_processes_do_not_matter(order):
    """As many bytes, the same ones: with dropout, and with a gradient of two batches."""
    found = set()
    for n_process in (1, 2, 3):
        nlp = blank(n_process=n_process, model=local(order=order))
        nlp.initialize(lambda nlp=nlp: examples_of(nlp))
        losses = [train(nlp, 1, drop=0.3) for _ in range(3)]
        for part in (examples_of(nlp)[:2], examples_of(nlp)[2:]):
            losses.append(tagger_of(nlp).update(part)[NAME])
        tagger_of(nlp).finish_update(None)
        found.add((model_bytes(nlp), tuple(round(loss, 9) for loss in losses)))
    assert len(found) == 1


@pytest.mark.long
def test_loss_falls():
    nlp = blank()
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    losses = [train(nlp, 1, optimizer=optimizer) for _ in range(15)]
    assert losses[0] == pytest.approx(28 * math.log(6)), "zero weights: 28 tokens, 6 labels"
    assert all(b < a for a, b in zip(losses, losses[1:], strict=False)) and losses[-1] < 0.2 * losses[0]


def test_losses_add_up_under_the_name():
    nlp = trained(0)
    losses = {NAME: 5.0, "other": 1.0}
    assert tagger_of(nlp).update(examples_of(nlp), losses=losses) is losses
    assert losses == {NAME: pytest.approx(5 + 28 * math.log(6)), "other": 1.0}
    assert tagger_of(nlp).update(examples_of(nlp)) == {NAME: pytest.approx(28 * math.log(6))}


@pytest.mark.parametrize("sgd", [None, False])
def test_update_waits_for_finish_update(sgd):
    nlp = trained(1)
    before = model_bytes(nlp)
    tagger_of(nlp).update(examples_of(nlp), sgd=sgd)
    assert model_bytes(nlp) == before
    tagger_of(nlp).finish_update(Adam())
    after = model_bytes(nlp)
    assert after != before
    tagger_of(nlp).finish_update(Adam())
    assert model_bytes(nlp) == after, "a gradient is used once"
    tagger_of(nlp).update(examples_of(nlp), sgd=Adam())
    assert model_bytes(nlp) != after


def test_accumulated_batches_are_one_update():
    whole, parts = trained(2), trained(2)
    tagger_of(whole).update(examples_of(whole), sgd=whole.create_optimizer())
    for batch in (slice(0, 2), slice(2, None)):
        tagger_of(parts).update(examples_of(parts)[batch])
    tagger_of(parts).finish_update(None)
    examples = examples_of(whole)
    losses = [tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))[0] for nlp in (whole, parts)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    single = trained(2)
    tagger_of(single).update(examples_of(single)[2:], sgd=single.create_optimizer())
    assert tagger_of(single).get_loss(examples, scores_of(single, examples))[0] > 1.01 * losses[0]


def test_settings_of_the_optimizer_do_not_matter():
    first, second = trained(0), trained(0)
    train(first, 3, optimizer=Adam(0.001))
    train(second, 3, optimizer=Adam(10.0, L2=0.5, use_averages=True))
    assert model_bytes(first) == model_bytes(second) != model_bytes(trained(0))


def test_settings_of_the_component_matter():
    plain = model_bytes(trained(3))
    assert plain != model_bytes(trained(3, width=0.5))
    assert len(model_bytes(trained(3, width=5.0))) < len(plain), "wide constraints leave most weights zero"


@pytest.mark.long
def test_same_seed_and_data_give_the_same_bytes():
    first = trained(4, drop=0.4)
    fix_random_seed(12345)
    second = trained(4, drop=0.4)
    assert first.to_bytes() == second.to_bytes(), "global random numbers are not used"
    assert model_bytes(trained(4, drop=0.4, seed=1)) != model_bytes(first) != model_bytes(trained(4))
    assert model_bytes(trained(4, seed=1)) == model_bytes(trained(4)), "no dropout, no chance"


def test_update_takes_examples():
    nlp = trained(0)
    for wrong in ([doc_of(nlp, "a b")], [examples_of(nlp)[0], "text"], None):
        with pytest.raises(TypeError):
            tagger_of(nlp).update(wrong)
    with pytest.raises(TypeError):
        tagger_of(nlp).get_loss([doc_of(nlp, "a b")], None)


def test_nothing_to_learn_from():
    nlp = trained(2)
    before = model_bytes(nlp)
    empty = [Example.from_dict(doc_of(nlp, ""), {})] * 2
    raw = [Example.from_dict(doc_of(nlp, "the cat runs"), {})] * 2
    for examples in ([], empty, raw):
        assert tagger_of(nlp).update(examples, sgd=nlp.create_optimizer()) == {NAME: 0.0}
    assert model_bytes(nlp) == before


def test_empty_docs_among_others():
    corpus = [("", ""), ("the cat runs", "D N V"), ("", ""), ("a dog", "D N"), ("", "")]
    assert model_bytes(trained(3, of(corpus))) == model_bytes(trained(3, of([corpus[1], corpus[3]])))


def test_an_empty_doc_among_texts_seen_before():
    """Nothing but the empty doc is new, and has to be searched for features."""
    nlp = trained(2)
    examples = [*examples_of(nlp), Example.from_dict(doc_of(nlp, ""), {})]
    found = [tagger_of(nlp).update(batch)[NAME] for batch in (examples, examples[:-1])]
    assert found[0] == found[1] > 0


def test_one_token_and_whitespace():
    nlp = trained(20, of([("a", "X"), ("b", "Y")]))
    assert [tags_of(nlp, word) for word in "ab"] == [["X"], ["Y"]]
    nlp = trained(20, of([("a", "X"), ("b c", "X X")]))
    assert tags_of(nlp, "a") == ["X"] and tags_of(nlp, "other words") == ["X"] * 2
    spaced = [Example(Doc(nlp.vocab, words=["a", "\n", " "]), Doc(nlp.vocab, words=["a", "\n", " "], tags=["X"] * 3))]
    tagger_of(nlp).update(spaced, sgd=nlp.create_optimizer())
    assert [t.tag_ for t in nlp("a \n b")] == ["X", "_SP", "X"]


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


def test_unknown_labels_count_as_missing():
    nlp = trained(2)
    before = model_bytes(nlp)
    with pytest.warns(UserWarning, match=r"\[HW001\] 2 tokens .*\(UNHEARD\)"):
        losses = nlp.update(examples_of(nlp, [("the cat", "UNHEARD UNHEARD")]), losses={})
    assert losses == {NAME: 0.0} and model_bytes(nlp) == before


def test_gold_on_other_tokens():
    def misaligned(nlp):
        predicted_docs = [doc_of(nlp, "thecat runs"), doc_of(nlp, "a dog s leeps")]
        reference = [doc_of(nlp, "the cat runs", "D N V"), doc_of(nlp, "a dog sleeps", "D N V")]
        return [Example(p, r) for p, r in zip(predicted_docs, reference, strict=True)]

    nlp = trained(20, misaligned)
    assert tags_of(nlp, "thecat runs")[1] == "V" and tags_of(nlp, "a dog s leeps") == ["D", "N", "V", "V"]

    def aligned(nlp):
        return [Example.from_dict(doc_of(nlp, "thecat runs"), {"tags": ["", "V"]}),
                Example.from_dict(doc_of(nlp, "a dog s leeps"), {"tags": "D N V V".split()})]  # fmt: skip

    assert model_bytes(trained(5, aligned)) == model_bytes(trained(5, misaligned))


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


@pytest.mark.parametrize(
    "order, train_for, masks",
    [(1, None, range(4)), (2, None, range(16)), (2, ["left_to_right"], [0, 3]), (1, ["right_to_left"], [0, 2])],
)
def test_loss_is_that_of_the_definition(order, train_for, masks):
    nlp = trained(4, model=local(order=order, train_for=train_for), strategy="easiest_first")
    words, starts = "the old dog sees a cat . she runs".split(), [1, 0, 0, 0, 0, 0, 0, 1, 0]
    for tags in ("D A N V D N . N V".split(), ["D", "", "N", "V", "", "", ".", "", "V"]):
        docs = [Doc(nlp.vocab, words=words, sent_starts=starts, tags=t) for t in (None, tags)]
        examples = [Example(*docs), Example(doc_of(nlp, "runs"), doc_of(nlp, "runs", "V", sent_starts=[1]))]
        expected = defined_loss(nlp, examples, masks)
        loss, gradient = tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))
        assert loss == pytest.approx(expected, rel=1e-5) and gradient is None and loss > 1
        assert tagger_of(nlp).update(examples)[NAME] == pytest.approx(expected, rel=2e-3), "weights before rounding"


@pytest.mark.long
@pytest.mark.parametrize("given, tags", [(None, "N V D A"), (None, "D A D N"), ("V V N N", "D A N V")])
def test_texts_seen_before_with_other_annotation(given, tags):
    """Features are kept between epochs, those of the same words with the same annotation only."""
    losses = []
    for is_first in (True, False):
        nlp = trained(4, model=local([*TEMPLATES, "tag[0]"]))
        for pair in [("cat sees the dog", "N V D N"), ("old dog", "A N")]:
            tagger_of(nlp).update([Example(doc_of(nlp, *pair), doc_of(nlp, *pair))], sgd=nlp.create_optimizer())
        before = Example(doc_of(nlp, "the old dog sees", "D A N V"), doc_of(nlp, "the old dog sees", "D A N V"))
        if is_first:
            tagger_of(nlp).update([before])
        again = Example(doc_of(nlp, "the old dog sees", given or "D A N V"), doc_of(nlp, "the old dog sees", tags))
        losses.append(tagger_of(nlp).update([again])[NAME])
    assert losses[0] == losses[1]


def test_saving_and_predicting_do_not_disturb_training():
    plain, saved = trained(0), trained(0)
    for _ in range(6):
        train(plain, 1)
        train(saved, 1)
        saved.to_bytes()
        predicted(saved)
    examples = examples_of(plain)
    losses = [tagger_of(nlp).get_loss(examples, scores_of(nlp, examples))[0] for nlp in (plain, saved)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert predicted(plain) == predicted(saved)


@pytest.mark.long
def test_labels_during_training_are_those_of_the_saved_model():
    nlp = blank()
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(4):
        train(nlp, 1, optimizer=optimizer)
        now = predicted(nlp)
        saved = blank()
        tagger_of(saved).from_bytes(tagger_of(nlp).to_bytes())
        assert predicted(saved) == now
    assert {tag for tags in now for tag in tags} == set(LABELS)
