"""What used to happen without a word: settings that do not fit together, training that goes nowhere."""

import warnings

import numpy as np
import pytest
import spacy

from spacy_hoseq.learning import parameter
from spacy_hoseq.learning.parameter import Parameter

from ..builders import learn, tagger_of
from . import chunker_helpers as chunks
from . import helpers as tags
from .helpers import blank, examples_of, reloaded, tags_of, train, trained

CRF, MARGIN = {"objective": "log_likelihood"}, {"objective": "max_margin"}


def initialized(nlp, examples):
    nlp.initialize(lambda: examples(nlp))
    return nlp


# Gold annotation under another name


@pytest.mark.parametrize(
    "setting, looked", [({}, "spans.np;"), ({"annotate_ents": True}, "spans.np, ents;")]
)
def test_chunker_without_gold_spans(setting, looked):
    nlp = chunks.blank(spans_key="np", **setting)
    there = r"have: .*spans\.chunks\."
    looked_in = rf'\[HS069\] .* "hoseq_chunker": looked in spans\.np.*{there}'
    with pytest.raises(ValueError, match=looked_in) as error:
        initialized(nlp, chunks.examples_of)
    assert looked in str(error.value)


def test_chunker_whose_gold_spans_are_entities():
    nlp = chunks.blank()

    def examples(nlp):
        found = chunks.examples_of(nlp, key="other")
        for example in found[:2]:
            example.reference.set_ents(list(example.reference.spans["other"]))
        found[2].reference.spans["chunks"] = []
        return found

    there = r"spans\.chunks, spans\.other, ents"
    with pytest.raises(ValueError, match=rf"\[HS069\].*{there}"):
        initialized(nlp, examples)


# Scores that do not count in training


def evaluated(nlp, examples, weights=None, dev=None):
    """The warnings of two evaluations after `initialize`."""
    if weights is not None:
        nlp.config["training"]["score_weights"] = weights
    initialized(nlp, examples)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scores = [nlp.evaluate((dev or examples)(nlp)) for _ in range(2)]
    assert scores[0].keys() == scores[1].keys()
    return [str(warning.message) for warning in seen]


def with_pos(nlp):
    found = examples_of(nlp)
    for example in found:
        for token in example.reference:
            token.pos_ = {"N": "NOUN", "V": "VERB"}.get(token.tag_, "X")
    return found


def test_attribute_whose_score_does_not_count():
    (warning,) = evaluated(tags.blank(attribute="pos"), with_pos)
    expected = '[HW004] None of the scores of the component "hoseq_tagger" (pos_acc)'
    assert warning.startswith(expected)
    assert "(tag_acc = 1.0)" in warning, "said once"


@pytest.mark.parametrize("weights", [{"tag_acc": 1, "pos_acc": 0}, {"tag_acc": 1, "pos_acc": None}])
def test_weight_of_zero(weights):
    assert len(evaluated(tags.blank(attribute="pos"), with_pos, weights)) == 1


def without_labels(examples):
    """The same examples, with words and sentences alone."""
    return lambda nlp: [type(each)(each.predicted, each.predicted.copy()) for each in examples(nlp)]


@pytest.mark.parametrize("make, examples, score", [(tags.blank, examples_of, "tag_acc"),
                                                   (chunks.blank, chunks.examples_of, "spans_chunks_f")])  # fmt: skip
def test_a_dev_part_without_gold_labels(make, examples, score):
    (warning,) = evaluated(make(), examples, dev=without_labels(examples))
    assert warning.startswith("[HW004]") and score in warning
    assert "a dev part that has these labels" in warning


def test_scores_that_count():
    assert evaluated(tags.blank(), examples_of) == []
    assert evaluated(tags.blank(attribute="pos"), with_pos, {"pos_acc": 1.0}) == []
    assert evaluated(tags.blank(attribute="pos", scorer=None), with_pos) == []
    assert evaluated(chunks.blank(), chunks.examples_of) == []
    weights = {"tag_acc": 0.1, "spans_chunks_r": 0.5}
    assert evaluated(chunks.blank("joint"), chunks.examples_of, weights) == []


def test_spans_whose_score_does_not_count():
    nlp = chunks.blank(spans_key="np")
    (warning,) = evaluated(nlp, lambda nlp: chunks.examples_of(nlp, key="np"))
    assert "spans_np_f" in warning and "spans_chunks_f = 1.0" in warning
    assert "per_type" not in warning


def test_nothing_is_said_of_a_model_that_is_not_trained_here():
    nlp = reloaded(trained(save_marginals=False))
    assert "tag_acc" in nlp.evaluate(examples_of(nlp))
    tagger_of(nlp).cfg["attribute"] = "pos"
    assert "pos_acc" in nlp.evaluate(with_pos(nlp))


# Probabilities that are none


@pytest.mark.parametrize("objective", ["perceptron", "max_margin"])
def test_marginals_of_an_objective_without_probabilities(objective):
    expected = rf'\[HW003\] .*"hoseq_tagger" .*"{objective}".*`save_marginals`.*`objective = "log_likelihood"`'
    with pytest.warns(UserWarning, match=expected) as seen:
        nlp = trained(objective, save_marginals=True)
    assert len(seen) == 1, "said once"
    assert tags_of(nlp, "a cat runs .") == ["D", "N", "V", "."]
    with pytest.warns(UserWarning, match=rf'HW003.*"hoseq_chunker" .*"{objective}"'):
        initialized(chunks.blank(objective=objective, save_marginals=True), chunks.examples_of)


@pytest.mark.parametrize("kind", ["marginals", "joint"])
def test_listener_to_an_objective_without_probabilities(kind):
    expected = r'\[HW003\] .*"hoseq_tagger" .*"max_margin".*asked for by "hoseq_chunker", .* threshold 0.01'
    with pytest.warns(UserWarning, match=expected) as seen:
        initialized(chunks.blank(kind, tagger=MARGIN), chunks.examples_of)
    assert len(seen) == 1


def test_probabilities_that_are_calibrated_or_not_asked_for():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        initialized(tags.blank("log_likelihood", save_marginals=True), examples_of)
        tagger = {**CRF, "save_marginals": True}
        initialized(chunks.blank("joint", tagger=tagger, save_marginals=True), chunks.examples_of)
        nlp = chunks.blank(chunks.listening_model(threshold=0.0), tagger=MARGIN)
        initialized(nlp, chunks.examples_of)
    assert not [warning for warning in seen if "HW003" in str(warning.message)]


# Settings and weights


@pytest.mark.parametrize("objective", ["perceptron", "max_margin", "log_likelihood"])
def test_weights_that_have_run_away(objective):
    rule = {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 2e6}
    nlp = tags.blank(objective=objective, update_rule=rule)
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    tags.train(nlp, 1, optimizer=optimizer)
    message = r'\[HS042\] .*"hoseq_tagger" .*learning rate .* which is 2000000'
    with pytest.raises(ValueError, match=message):
        tags.train(nlp, 1, optimizer=optimizer)


def test_loss_that_is_not_finite():
    nlp = tags.blank()
    nlp.initialize(lambda: examples_of(nlp))
    tagger_of(nlp).objective = lambda *args: (float("nan"), None)
    with pytest.raises(ValueError, match=r"\[E910\] .*hoseq_tagger"):
        tags.train(nlp, 1)


def test_large_weights_that_have_not():
    rule = {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1e4}
    assert tags.predicted(trained("perceptron", update_rule=rule)) == tags.gold()


@pytest.mark.parametrize("beside", [{"labels": ["A"]}, {"tag_dictionary": {"a": ["D"]}}, {}])
def test_what_is_given_beside_weights(beside, tmp_path):
    trained().to_disk(tmp_path)
    nlp = tags.blank()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        settings = {"weights_from": str(tmp_path), **beside}
        tagger_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, **settings)
    assert tagger_of(nlp).labels == tags.LABELS and tagger_of(nlp).cfg["tag_dictionary"] == {}
    assert ["[HW006]" in str(warning.message) for warning in seen] == [True] * bool(beside)


# What spaCy offers


def test_what_a_chunker_requires():
    analysis = chunks.blank("joint").analyze_pipes()
    assert analysis["summary"]["hoseq_chunker"]["requires"] == ["token.tag"]
    assert analysis["problems"] == {"hoseq_tagger": [], "hoseq_chunker": []}
    assert chunks.blank().analyze_pipes()["problems"] == {"hoseq_chunker": ["token.tag"]}


# Updates that no evaluation follows


def saved_after(
    folder, n_before, n_behind, *, evaluates=True, blank=tags.blank, examples=examples_of
):
    """The warnings of saving a component after so many updates before and behind an evaluation."""
    nlp = initialized(blank(), examples)
    data = examples(nlp)
    for n_updates, is_followed in ((n_before, evaluates), (n_behind, False)):
        for _ in range(n_updates):
            nlp.update(data)
        if is_followed:
            nlp.evaluate(data)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nlp.to_disk(folder)
    return [str(warning.message) for warning in seen]


def test_training_that_ends_before_it_is_evaluated_again(tmp_path):
    """As with an `eval_frequency` of more updates than there are: `model-best` is the model after the first one."""
    (warning,) = saved_after(tmp_path, 1, 9)
    expected = '[HW008] The last 9 of the 10 updates of the component "hoseq_tagger"'
    assert warning.startswith(expected)
    (warning,) = saved_after(tmp_path, 7, 3, blank=chunks.blank, examples=chunks.examples_of)
    expected = '[HW008] The last 3 of the 10 updates of the component "hoseq_chunker"'
    assert warning.startswith(expected)


@pytest.mark.parametrize(
    "n_before, n_behind, evaluates", [(10, 0, 1), (8, 2, 1), (0, 10, 0), (0, 0, 1)]
)
def test_training_that_is_evaluated_or_never_was(n_before, n_behind, evaluates, tmp_path):
    """A loop in Python need not evaluate at all."""
    assert saved_after(tmp_path, n_before, n_behind, evaluates=evaluates) == []


def test_updates_of_an_earlier_training_do_not_count(tmp_path):
    saved_after(tmp_path, 1, 9)
    nlp = spacy.load(tmp_path)
    nlp.evaluate(examples_of(nlp))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.to_disk(tmp_path)
    assert not [warning for warning in caught if "HW008" in str(warning.message)]


@pytest.mark.parametrize("what", ["marginals", "decisions"])
def test_what_no_component_keeps_is_asked_for(what):
    doc = spacy.blank("xx")("a b")
    with pytest.warns(UserWarning, match=rf"\[HW007\] .*hoseq_{what}.*save_{what}"):
        assert doc._.get(f"hoseq_{what}") is None


# Learning: the contract of `update`, and that every objective learns


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def damage(nlp, name, value):
    for node in tagger_of(nlp).model.walk():
        shim = node.shims[0]
        if name in shim.parameters:
            values = np.array(shim.parameters[name].values)
            values[0] = value
            shim.set(Parameter(name, values))


@pytest.mark.long
@pytest.mark.parametrize("variant", ["max_margin", "log_likelihood", "frequent"])
@pytest.mark.parametrize("name, code", [("table", "HS020"), ("trans", "HS020")])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_damaged_weights_give_an_error(variant, name, code, value):
    nlp = trained(variant, 0)
    damage(nlp, name, value)
    with pytest.raises(ValueError, match=rf"\[{code}\].*learn_rate"):
        train(nlp, 1)
    with pytest.raises(ValueError, match=rf"\[{code}\].*weights are damaged"):
        tags_of(nlp, "the cat runs")


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_weights_are_updated_in_blocks(objective, monkeypatch):
    """Some rows of transitions at a time, with the same result."""

    def transitions():
        nlp = blank(objective)
        learn(nlp, examples_of(nlp), 3)
        return tagger_of(nlp).model.shims[0].values("trans", is_train=True)

    expected = transitions()
    monkeypatch.setattr(parameter, "WEIGHTS_PER_STEP", 7)
    assert np.array_equal(transitions(), expected) and expected.any()
