"""Labels and initialization of `hoseq_bidirectional_tagger` (ecosystem.md, section 13, rows 2 to 7, 10, 11)."""

import pytest
import srsly
from spacy.training import Example
from thinc.api import ConfigValidationError

from .bidirectional_helpers import (
    NAME,
    blank,
    chunker,
    of,
    predicted,
    tagger_of,
    tags_of,
    train,
    trained,
)
from .helpers import CORPUS, LABELS, doc_of, examples_of, gold


@pytest.mark.parametrize("label", [9, None, 1.5, b"N", ["N"]])
def test_labels_are_strings(label):
    with pytest.raises(ValueError, match="E187"):
        tagger_of(blank()).add_label(label)
    nlp = blank()
    with pytest.raises(ValueError, match="E187"):
        tagger_of(nlp).initialize(lambda: examples_of(nlp), labels=["N", label])


def test_adding_labels():
    tagger = tagger_of(blank())
    assert tagger.labels == tagger.label_data == ()
    assert [tagger.add_label(label) for label in ("N", "V", "N", "A")] == [1, 1, 0, 1]
    assert tagger.labels == tagger.label_data == ("N", "V", "A")
    assert "A" in tagger.vocab.strings


def test_labels_of_chunks_are_tags():
    tagger = tagger_of(blank(representation="iob2"))
    assert [tagger.add_label(label) for label in ("O", "B-NP", "O")] == [1, 1, 0]
    for wrong in ("NP", "B", "X-NP"):
        with pytest.raises(ValueError, match=r"\[HS080\]"):
            tagger.add_label(wrong)
    assert chunker(n_updates=1).get_pipe(NAME).labels == ("B-NP", "B-VP", "I-NP", "O")


def test_no_labels_after_initialization():
    nlp = trained(n_updates=0)
    assert tagger_of(nlp).add_label("N") == 0
    with pytest.raises(ValueError, match="E922"):
        tagger_of(nlp).add_label("NEW")
    with pytest.raises(ValueError, match="E922"):
        nlp.initialize(lambda: examples_of(nlp, [("a b", "NEW N")]))
    assert tagger_of(nlp).labels == LABELS


def test_initialization_without_labels():
    nlp = blank()
    for get_examples in (None, lambda: [Example.from_dict(doc_of(nlp, "no gold at all"), {})]):
        with pytest.raises(ValueError, match=r"\[HS069\].*looked in token.tag; .* have: nothing"):
            nlp.initialize(get_examples)


def test_use_without_labels():
    nlp = blank()
    with pytest.raises(ValueError, match="E143"):
        nlp("some text")
    with pytest.raises(ValueError, match="E143"):
        tagger_of(nlp).update(examples_of(nlp))


def test_use_without_initialization():
    nlp = blank()
    tagger_of(nlp).add_label("N")
    with pytest.raises(ValueError, match="HS052"):
        nlp("some text")
    with pytest.raises(ValueError, match="HS052"):
        tagger_of(nlp).update(examples_of(nlp, [("cat", "N")]))


def test_given_labels_keep_their_order():
    nlp = blank()
    tagger_of(nlp).add_label("N")
    tagger_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=["V", "N", "D", "A", "R", ".", "UNUSED"])
    assert tagger_of(nlp).labels == ("N", "V", "D", "A", "R", ".", "UNUSED")
    train(nlp)
    assert predicted(nlp) == gold()


def test_label_data_restores_the_labels(tmp_path):
    path = tmp_path / "labels.json"
    srsly.write_json(path, tagger_of(trained(0)).label_data)
    other = blank()
    labels = {"@readers": "spacy.read_labels.v1", "path": str(path)}
    other.config["initialize"]["components"][NAME] = {"labels": labels}
    other.initialize(lambda: [Example.from_dict(doc_of(other, text), {}) for text, _ in CORPUS])
    assert tagger_of(other).labels == LABELS


@pytest.mark.parametrize("settings", [{"nonsense": 1}, {"labels": 3}, {"tag_dictionary": ["the"]}])
def test_settings_of_initialization_are_checked(settings):
    nlp = blank()
    nlp.config["initialize"]["components"][NAME] = settings
    with pytest.raises(ConfigValidationError):
        nlp.initialize(lambda: examples_of(nlp))


def test_examples_of_a_wrong_type():
    nlp = blank()
    tagger_of(nlp).add_label("N")
    for get_examples in (lambda: None, lambda: examples_of(nlp)[0], list, examples_of(nlp)):
        with pytest.raises(TypeError):
            nlp.initialize(get_examples)
        with pytest.raises(TypeError):
            tagger_of(nlp).initialize(get_examples)


def test_initialization_without_data_after_adding_labels():
    nlp = blank()
    for label in LABELS:
        tagger_of(nlp).add_label(label)
    nlp.initialize()
    assert tags_of(nlp, "x y z") == ["."] * 3, "all scores are equal: the first label"
    train(nlp, 5)
    assert {tag for tags in predicted(nlp) for tag in tags} > {"."}


def test_initialization_twice():
    nlp, found = blank(), []
    for _ in range(2):
        train(nlp, 5, optimizer=nlp.initialize(lambda: examples_of(nlp)))
        found.append(tagger_of(nlp).model.to_bytes())
    assert tagger_of(nlp).labels == LABELS
    assert found[0] == found[1], "everything is learnt anew, in the same way"


def test_initialization_does_not_touch_the_docs():
    nlp = blank()
    examples = examples_of(nlp)
    before = [(eg.predicted.to_bytes(), eg.reference.to_bytes()) for eg in examples]
    nlp.initialize(lambda: examples)
    assert [(eg.predicted.to_bytes(), eg.reference.to_bytes()) for eg in examples] == before


def test_all_examples_count_not_only_a_sample():
    nlp = trained(30, of(CORPUS * 4 + [("zebras", "Z")]))
    assert tags_of(nlp, "zebras") == ["Z"]


def test_features_that_are_rare_have_no_weight():
    nlp = blank(model={"@architectures": "spacy_hoseq.LocalClassifiers.v1", "templates": ["lower[0]"], "min_count": 2})
    nlp.initialize(lambda: examples_of(nlp, [("x y", "A A"), ("x z", "B B"), ("z q", "B A")]))
    train(nlp, 30, of([("q", "B"), ("x", "A"), ("z", "B")]))
    assert [tags_of(nlp, word) for word in ("z", "q")] == [["B"], ["A"]], "q was seen once: the first label"
