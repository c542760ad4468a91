"""Labels that training never saw: which they are, by the definition; and decoding with them, by enumeration."""

import itertools

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.components.morphology.labels import features_of, label_of, unseen_labels

from . import morphology_helpers as tiny
from .morphology_helpers import NAME


def plain(labels):
    """Of every label that can be made of features seen with its part of speech: the features of which a change leads
    to a seen label, as often as there are such labels."""
    seen = [features_of(label) for label in labels]
    result = {}
    for pos in {of_label["POS"] for of_label in seen}:
        values = {}
        for of_label in seen:
            if of_label["POS"] == pos:
                for name, value in of_label.items():
                    values.setdefault(name, {None}).add(value)
        values["POS"] = {pos}
        for choice in itertools.product(*values.values()):
            features = {name: value for name, value in zip(values, choice, strict=True) if value is not None}
            differences = [
                {name for name in {**features, **other} if features.get(name) != other.get(name)} for other in seen
            ]
            changes = [name for names in differences if len(names) == 1 for name in names]
            if features not in seen and len(set(changes)) > 1:
                pos = features.pop("POS")
                result[label_of(pos, "|".join(f"{k}={v}" for k, v in features.items()))] = changes
                features["POS"] = pos
    return result


@pytest.mark.parametrize("seed", range(10))
def test_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    names = {"Case": ["Nom", "Gen", "Ine"], "Number": ["Sing", "Plur"], "Mood": ["Ind"]}
    labels = set()
    for _ in range(8):
        features = {name: str(rng.choice(values)) for name, values in names.items() if rng.random() < 0.7}
        labels.add(label_of(str(rng.choice(["NOUN", "ADJ"])), "|".join(f"{k}={v}" for k, v in features.items())))
    expected = plain(sorted(labels))
    answer = unseen_labels(sorted(labels), 10_000)
    assert sorted(answer) == sorted(expected)
    ranks = [(-len(set(expected[label])), -len(expected[label]), label) for label in answer]
    assert ranks == sorted(ranks)
    assert unseen_labels(sorted(labels), 3) == answer[:3]


def test_one_feature_does_not_speak_for_a_label():
    seen = ["Case=Nom|Number=Sing|POS=NOUN", "Case=Ine|Number=Sing|POS=NOUN", "Case=Nom|Number=Plur|POS=NOUN"]
    assert unseen_labels(seen, 10) == ["Case=Ine|Number=Plur|POS=NOUN"]
    assert unseen_labels(seen[:2], 10) == [] and unseen_labels([], 10) == []
    assert unseen_labels(["POS=NOUN|TAG=a", "POS=VERB|TAG=b"], 10) == unseen_labels(["_", "POS=X", "A=b"], 10) == []


@pytest.mark.parametrize("objective", ["max_margin", "log_likelihood"])
def test_the_best_labelling_with_unseen_labels_is_that_of_enumeration(objective):
    nlp, seen = tiny.trained(8, objective=objective, unseen_labels=2), tiny.trained(0).get_pipe(NAME).labels
    pipe = nlp.get_pipe(NAME)
    labels = pipe.labels
    assert labels[: len(seen)] == seen and len(labels) == len(seen) + 2
    assert "Case=Acc|Number=Plur|POS=ADJ" in labels[len(seen) :]
    doc = Doc(nlp.vocab, words=["magnas", "urbes", "videt"])
    _, potentials = pipe.potentials([doc])
    scores, trans = potentials.scores.astype(float), potentials.trans
    score_of = {
        y: sum(scores[t, k] for t, k in enumerate(y)) + sum(trans[a, b] for a, b in itertools.pairwise(y))
        for y in itertools.product(range(len(labels)), repeat=len(doc))
    }
    best = max(score_of, key=score_of.__getitem__)
    assert pipe.top_k([doc], 1)[0][0].labels == [labels[k] for k in best]
    if objective == "log_likelihood":
        total = sum(map(np.exp, score_of.values()))
        of_label = sum(np.exp(score) for y, score in score_of.items() if "Case=Acc" in labels[y[0]])
        assert pipe.feature_probabilities([doc])[0][0]["Case=Acc"] == pytest.approx(of_label / total, abs=1e-6)


def test_a_label_that_was_never_seen_is_found():
    """The ending of a plural, and the beginning of a genitive: no noun has both in training."""
    corpus = [
        "xa|N|NOUN|Case=Nom|Number=Plur ya|N|NOUN|Case=Nom|Number=Plur za|N|NOUN|Case=Nom|Number=Plur",
        "xo|N|NOUN|Case=Nom|Number=Sing yo|N|NOUN|Case=Nom|Number=Sing lo|N|NOUN|Case=Gen|Number=Sing",
        "lato|N|NOUN|Case=Gen|Number=Sing lino|N|NOUN|Case=Gen|Number=Sing lono|N|NOUN|Case=Gen|Number=Sing",
    ]
    templates = ["prefix1[0]", "suffix1[0]"]
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": templates}
    parts = {"@misc": "spacy_hoseq.morphological_parts.v1", "min_whole": 0}
    model = {"@architectures": "spacy_hoseq.HigherOrderTagger.v1", "label_pairs": False, "parts": parts}
    found = {}
    for most in (0, 5):
        nlp = tiny.trained(50, corpus, unseen_labels=most, model={**model, "emissions": emissions})
        found[most] = [str(nlp(Doc(nlp.vocab, words=[word]))[0].morph) for word in ("lata", "xa", "lono")]
    assert found[5] == ["Case=Gen|Number=Plur", "Case=Nom|Number=Plur", "Case=Gen|Number=Sing"]
    assert found[0][0] != found[5][0] and found[0][1:] == found[5][1:]
    data = nlp.get_pipe(NAME).to_bytes()
    again = tiny.blank(unseen_labels=5, model={**model, "emissions": emissions})
    again.get_pipe(NAME).from_bytes(data)
    assert str(again(Doc(again.vocab, words=["lata"]))[0].morph) == found[5][0]
    n_labels = len(nlp.get_pipe(NAME).labels)
    nlp.initialize(lambda: tiny.examples_of(nlp, corpus))  # again: they are the same labels
    assert len(nlp.get_pipe(NAME).labels) == n_labels == 4


def test_training_goes_on_without_unseen_labels_after_loading():
    """They would count as wrong, if a component that is read did not know which they are."""
    nlp, again = tiny.trained(8, unseen_labels=2), tiny.blank(unseen_labels=2)
    pipe, other = nlp.get_pipe(NAME), again.get_pipe(NAME)
    other.from_bytes(pipe.to_bytes())
    assert other.cfg["n_seen"] == pipe.cfg["n_seen"] == len(pipe.labels) - 2
    for each in (nlp, again):
        each.get_pipe(NAME).update(tiny.examples_of(each))
    assert other.to_bytes() == pipe.to_bytes()


def test_a_list_of_labels_has_those_that_were_seen_alone():
    pipe, other = tiny.trained(8, unseen_labels=2).get_pipe(NAME), tiny.blank(unseen_labels=2)
    assert len(pipe.label_data["morph"]) == len(pipe.labels) - 2
    other.initialize(lambda: tiny.examples_of(other))
    from_list = tiny.blank(unseen_labels=2)
    from_list.get_pipe(NAME).initialize(lambda: tiny.examples_of(from_list), nlp=from_list, labels=pipe.label_data)
    found = [each.get_pipe(NAME) for each in (other, from_list)]
    assert [each.labels for each in found] == [pipe.labels] * 2
    assert {each.cfg["n_seen"] for each in found} == {len(pipe.labels) - 2}
