"""Features with label sets and gaps in the component: learning, prediction, n-best, batches, storage."""


import pytest

from spacy_hoseq.layers.shim import weights_of

from .decoding import SKIP_CORPUS, SKIP_PAIRS, SKIP_RULE, skip_settings
from .helpers import (
    doc_of,
    gold,
    predicted,
    tagger_of,
    tags_of,
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


def test_constraints_and_spans():
    """A label that is set decides the other mention too."""
    nlp = trained(corpus=SKIP_CORPUS, n_updates=40, **skip_settings(SKIP_PAIRS))
    for tag in ("P", "L"):
        doc = doc_of(nlp, "x Ford met Ford")
        doc[3].tag_ = tag
        assert [token.tag_ for token in tagger_of(nlp)(doc)] == ["O", tag, "O", tag]
        best = tagger_of(nlp).top_k([doc_of(nlp, "x Ford met Ford", f"O {tag} O {tag}")], 3)[0]
        assert [scored.labels for scored in best] == [["O", tag, "O", tag]]
