"""Features with label sets and gaps in the component: learning, prediction, n-best, batches, storage."""

import itertools

import numpy as np
import pytest
import spacy

from spacy_hoseq.decoders.problem import path_score
from spacy_hoseq.layers.shim import weights_of
from spacy_hoseq.patterns.sources import PatternFeatures

from .decoding import SKIP_CORPUS, SKIP_PAIRS, SKIP_RULE, SPANS, skip_settings
from .helpers import (
    LABELS,
    blank,
    doc_of,
    examples_of,
    gold,
    predicted,
    random_docs,
    reloaded,
    tagger_model,
    tagger_of,
    tags_of,
    train,
    trained,
)

NAMES = ("Ford", "Lund", "Zabc", "Qdef")  # the last two are unknown


def weights(nlp):
    return weights_of(tagger_of(nlp).model).values("patterns", is_train=False)


@pytest.mark.long
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("patterns", [SKIP_PAIRS, SKIP_RULE], ids=["pairs", "rule"])
@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_only_the_skip_chain_can_tell(objective, patterns, nonnegative):
    settings = skip_settings(patterns, objective=objective)
    settings["model"]["nonnegative"] = nonnegative
    nlp = trained(corpus=SKIP_CORPUS, n_updates=40, **settings)
    assert predicted(nlp, SKIP_CORPUS) == gold(SKIP_CORPUS)
    for word in NAMES:
        assert tags_of(nlp, f"mr {word} and met {word}") == "O P O O P".split()
        assert tags_of(nlp, f"in {word} met {word}") == "O L O L".split()
    assert weights(nlp).min() > 0.1
    if patterns is SKIP_PAIRS:
        far = tags_of(nlp, "mr Ford and then and then met Ford"), tags_of(nlp, "in Ford and then and then met Ford")
        assert far[0][-1] == far[1][-1], "out of reach"
        apart = [tags_of(nlp, f"{w} Ford met Ford", sent_starts=[1, 0, 1, 0])[3] for w in ("mr", "in")]
        assert apart[0] == apart[1], "in another sentence"


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_without_the_skip_chain_nothing_tells(objective):
    plain = trained(corpus=SKIP_CORPUS, n_updates=40, **skip_settings(None, objective=objective))
    last = [tags[-1] for tags in predicted(plain, SKIP_CORPUS)]
    assert last[0] == last[1] and last[2] == last[3]


@pytest.mark.long
@pytest.mark.parametrize("objective", ["perceptron", "max_margin", "log_likelihood"])
def test_weights_move(objective):
    nlp = blank(objective=objective, model=tagger_model(patterns=SPANS))
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    assert not weights(nlp).any()
    losses = [train(nlp, 1, optimizer=optimizer) for _ in range(20)]
    assert predicted(nlp) == gold()
    assert min(losses) >= 0 and losses[-1] < 0.5 * max(losses[:3])
    features = PatternFeatures.from_arrays(weights_of(tagger_of(nlp).model).extra["patterns"])
    moved = weights(nlp)[features.weight_of[features.is_span]]
    assert moved.max() > 0.01 and moved.min() >= 0


def test_labels_do_not_depend_on_the_batch():
    nlp = trained(n_updates=3, model=tagger_model(patterns=SPANS))
    n = len(random_docs(nlp, 50))
    fired = tagger_of(nlp).model.predict(random_docs(nlp, 50)).configurations
    assert len(fired.first) > 5

    def labels_of(order, batch_size):
        docs = random_docs(nlp, 50)
        list(tagger_of(nlp).pipe((docs[i] for i in order), batch_size=batch_size))
        return [[token.tag_ for token in doc] for doc in docs]

    expected = labels_of(range(n), 1)
    assert {tag for tags in expected for tag in tags} == set(LABELS)
    for batch_size in (2, 7, 1000):
        assert labels_of(range(n), batch_size) == expected
    assert labels_of(np.random.default_rng(0).permutation(n).tolist(), 13) == expected
    nlp.to_bytes()
    fresh = reloaded(nlp)
    docs = [spacy.tokens.Doc(fresh.vocab).from_bytes(doc.to_bytes()) for doc in random_docs(nlp, 50)]
    assert [[token.tag_ for token in doc] for doc in tagger_of(fresh).pipe(docs, batch_size=9)] == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "text, starts", [("old the old .", None), ("the cat the cat", [1, 0, 1, 0]), ("a a a a", None)]
)
def test_best_of_all_labellings(text, starts):
    nlp = trained(n_updates=3, model=tagger_model(patterns=SPANS))
    doc = doc_of(nlp, text, sent_starts=starts)
    potentials = tagger_of(nlp).model.predict([doc])
    table = {
        y: float(path_score(potentials, np.array(y, np.int32)).sum())
        for y in itertools.product(range(len(LABELS)), repeat=len(doc))
    }
    best = tagger_of(nlp).top_k([doc], 25)[0]
    assert [scored.score for scored in best] == pytest.approx(sorted(table.values(), reverse=True)[:25], abs=1e-6)
    assert len({tuple(scored.labels) for scored in best}) == 25
    for labels, score in best:
        assert table[tuple(map(LABELS.index, labels))] == pytest.approx(score, abs=1e-6)
    assert starts is None or potentials.configurations is None, "no rule looks into another sentence"


def test_constraints_and_spans():
    """A label that is set decides the other mention too."""
    nlp = trained(corpus=SKIP_CORPUS, n_updates=40, **skip_settings(SKIP_PAIRS))
    for tag in ("P", "L"):
        doc = doc_of(nlp, "x Ford met Ford")
        doc[3].tag_ = tag
        assert [token.tag_ for token in tagger_of(nlp)(doc)] == ["O", tag, "O", tag]
        best = tagger_of(nlp).top_k([doc_of(nlp, "x Ford met Ford", f"O {tag} O {tag}")], 3)[0]
        assert [scored.labels for scored in best] == [["O", tag, "O", tag]]


def test_label_that_nobody_has():
    nlp = blank(**skip_settings(SKIP_PAIRS))
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"same_word_pairs\": the label \"L\" is unknown"):
        nlp.initialize(lambda: examples_of(nlp, SKIP_CORPUS[:1]))


def test_saved_weights_of_any_sign(tmp_path):
    nlp = trained(n_updates=6, objective="log_likelihood", model={**tagger_model(patterns=SPANS), "nonnegative": False})
    assert weights(nlp).min() < 0 < weights(nlp).max()
    nlp.to_disk(tmp_path)
    fresh = spacy.load(tmp_path)
    assert np.array_equal(weights(fresh), weights(nlp))
    assert predicted(fresh) == predicted(nlp)
    train(fresh, 1)
    assert weights(fresh).min() < 0, "still of any sign in further training"
