"""A treebank without its test part."""

import pytest
import spacy
from spacy.tokens import DocBin

from ...repository import script


@pytest.mark.long
def test_dev_part_is_for_testing_and_the_last_tenth_for_development(tmp_path):
    tree = "( (S (NP (NN tea{})) (VP (VBZ sells))) )\n"
    (tmp_path / "train.mrg").write_text("".join(tree.format(i) for i in range(20)), encoding="utf8")
    (tmp_path / "dev.mrg").write_text(tree.format("s"), encoding="utf8")
    script("papers/divide").main(
        tmp_path / "out", train=tmp_path / "train.mrg", test=tmp_path / "dev.mrg", tenths=1
    )
    vocab = spacy.blank("xx").vocab
    docs = {
        p.stem: list(DocBin().from_disk(p).get_docs(vocab))
        for p in (tmp_path / "out").glob("*.spacy")
    }
    assert {part: [doc[0].text for doc in some] for part, some in docs.items()} == {
        "train": [f"tea{i}" for i in range(18)],
        "dev": ["tea18", "tea19"],
        "test": ["teas"],
    }
    assert [(s.text, s.label_) for s in docs["dev"][0].spans["chunks"]] == [
        ("tea18", "NP"),
        ("sells", "VP"),
    ]
