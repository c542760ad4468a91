"""CoNLL-2000 in three parts that are apart, and what each strategy finds."""

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from ...repository import script

conll = script("papers/conll")
priors = script("papers/priors")
strategies = script("papers/strategies")
SENTENCE = "Ann NNP B-NP\nsaw VBD B-VP\nthe DT B-NP\nferry NN I-NP\n. . O"


def test_parts_are_apart():
    whole = [str(i) for i in range(20)]
    without = conll.divided(whole, [])
    assert without == {"train": whole[:16], "dev": whole[16:18], "test": whole[18:]}
    assert conll.divided(whole, ["x"]) == {"train": whole[:18], "dev": whole[18:], "test": ["x"]}


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "conll2000").mkdir()
    text = "\n\n".join([SENTENCE] * 20)
    (tmp_path / "conll2000" / "train.txt").write_text(text, encoding="utf8")
    conll.main(tmp_path / "corpus", environment=str(tmp_path))
    vocab = spacy.blank("xx").vocab
    assert len(list(DocBin().from_disk(tmp_path / "corpus" / "test.spacy").get_docs(vocab))) == 2
    return tmp_path / "corpus"


@pytest.mark.long
@pytest.mark.parametrize("representation", ["", "start_end"])
def test_every_model_is_a_row_and_is_made_once(corpus, tmp_path, monkeypatch, representation):
    output = tmp_path / "x.jsonl"
    settings = {"orders": "1", "seeds": "0", "representations": representation, "sentences": 10}
    strategies.main(output, corpus, **settings)
    (row,) = srsly.read_jsonl(output)
    right = [[3, 3, 3]] * 2 if representation else [[5, 5]] * 2
    combined = () if representation else (strategies.VOTING, strategies.SUM)
    assert row["test"] == dict.fromkeys([*strategies.STRATEGIES, *combined], right)
    assert row["dev"]["easiest_first"] == [sum(column) for column in zip(*right, strict=True)]
    monkeypatch.setattr(strategies, "measured", None)
    strategies.main(output, corpus, **settings)


@pytest.mark.long
def test_batch_learning_ends_at_a_smaller_objective(corpus, tmp_path):
    priors.main(tmp_path / "x.jsonl", corpus, widths="0.5", variances="1")
    online, component, batch, gaussian = srsly.read_jsonl(tmp_path / "x.jsonl")
    assert batch["objective"] < online["objective"] and batch["nonzero"] < gaussian["nonzero"]
    assert component["objective"] == pytest.approx(batch["objective"], rel=1e-3)
    assert batch["test"] == gaussian["test"] == [[5, 5]] * 2


def test_batch_learning_finds_the_minimum():
    """Of |w - a|^2 / 2 + l1 |w|: a, moved towards zero by l1."""
    a = np.array([3.0, -2.0, 0.5, -0.1])
    found = priors.owl_qn(lambda w: (((w - a) ** 2).sum() / 2, w - a), np.zeros(4), 1.0, 50)
    assert found == pytest.approx([2, -1, 0, 0])
