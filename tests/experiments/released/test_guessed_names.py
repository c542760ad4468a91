"""Names in a treebank without names, in sentences that are made up here."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span

from ...repository import script

TYPES = ["LOC", "PER"]
TEXT = "Dr./NNP Anna/NNP Berg/NNP left/VBD the/DT Bay/NNP of/IN Oslo/NNP on/IN Monday/NNP"
HEADS = [2, 2, 3, -1, 5, 3, 7, 5, 9, 3]


@pytest.fixture(scope="module")
def module():
    return script("released/guessed_names")


def guess(module, found, types):
    """found: names of the model. types: probabilities of LOC, PER and none, of each run."""
    rows = [
        script("released/convert").Row(
            *pair.rsplit("/", 1)[:1], True, i == 0, pair.rsplit("/", 1)[1], "", "", ""
        )
        for i, pair in enumerate(TEXT.split())
    ]
    sentence = script("released/convert").Sent(rows, HEADS, 0)
    doc = Doc(spacy.blank("en").vocab, sentence.words)
    doc.ents = [Span(doc, first, end, name) for first, end, name in found]
    return module.Guess(
        sentence, doc, list(module.runs_of(sentence)), [np.array(each) for each in types]
    )


def names(module, made):
    doc = module.annotated(made, [module.summed([made])], TYPES)
    return [(span.start, span.end, span.label_) for span in doc.ents], [
        t.i for t in doc if t.ent_iob_ == ""
    ]


def test_runs_of_proper_nouns_without_titles_and_dates(module):
    assert guess(module, [], [[0, 0, 1]] * 3).runs == [(1, 3), (5, 6), (7, 8)]


def test_a_run_has_its_most_probable_type(module):
    """A name of the model that is about the run gives its ends."""
    made = guess(module, [(5, 8, "LOC")], [[0.1, 0.8, 0.1], [0.5, 0.0, 0.5], [0.7, 0.1, 0.2]])
    found, missing = names(module, made)
    assert found[:2] == [(1, 3, "PER"), (5, 8, "LOC")] and not set(missing) & {0, 1, 2, 3, 4}


@pytest.mark.parametrize("types", [[0.2, 0.2, 0.6], [0.05, 0.0, 0.95]])
def test_nothing_is_known_where_the_model_is_not_sure(module, types):
    found, missing = names(module, guess(module, [], [types, [0.9, 0.0, 0.1], [0.9, 0.0, 0.1]]))
    assert missing == [1, 2] and found == [(5, 6, "LOC"), (7, 8, "LOC")]


def test_the_same_string_elsewhere_counts(module):
    """Of this text and of all others, as much as the run itself."""
    made = guess(module, [], [[0.45, 0.55, 0.0], [0.9, 0.0, 0.1], [0.9, 0.0, 0.1]])
    others = {string: np.array([0.0, 1.0, 0.0]) for string in ("anna berg", "bay", "oslo")}
    doc = module.annotated(made, [module.summed([made]), others], TYPES)
    assert [(span.start, span.end, span.label_) for span in doc.ents] == [
        (1, 3, "PER"),
        (5, 6, "LOC"),
        (7, 8, "LOC"),
    ]


def test_types_by_hand(module, tmp_path):
    """Of a string that is not clear, all are alike, so that nothing is known of it."""
    path = tmp_path / "names.txt"
    path.write_text("# Some\n\nPER: Anna Berg;\n  Bay\n-: Oslo\n")
    listed = module.listed(path, TYPES)
    assert {string: p.tolist() for string, p in listed.items()} == {
        "anna berg": [0, 1, 0],
        "bay": [0, 1, 0],
        "oslo": pytest.approx([1 / 3] * 3),
    }
    made = guess(module, [], [listed["anna berg"], listed["bay"], listed["oslo"]])
    assert names(module, made) == ([(1, 3, "PER"), (5, 6, "PER")], [7])
