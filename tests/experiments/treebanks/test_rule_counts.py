"""How often the Chinese rules match real corpora, if there are some below HOSEQ_CORPORA: as the rules say."""

import gzip
import os
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hoseq.patterns.chinese import chinese_pos_rules

from ...repository import script

FOLDER = Path(os.environ.get("HOSEQ_CORPORA") or "/nowhere")
CORPORA: dict[str, tuple[str, int, int]] = {  # file, columns of words and tags
    "ud": ("zh_ud_gsd/train.conllu", 1, 4),
    "ctb": ("zh_ctb_sdp/train.tsv", 0, 1),
}


def text_of(file: str) -> str:
    path = FOLDER / file
    if not path.exists():
        path = path.with_name(f"{path.name}.gz")
    if not path.exists():
        pytest.skip(f"HOSEQ_CORPORA names no folder with {file}")
    data = path.read_bytes()
    return (
        (gzip.decompress(data) if path.suffix == ".gz" else data)
        .decode("utf8")
        .replace("\r\n", "\n")
    )


@pytest.mark.long
@pytest.mark.parametrize("tag_set", CORPORA)
def test_counts_are_those_of_the_training_data(tag_set: str, tmp_path: Path):
    file, word, tag = CORPORA[tag_set]
    vocab, docs = Vocab(), DocBin()
    for block in text_of(file).strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        docs.add(Doc(vocab, words=[row[word] for row in rows], tags=[row[tag] for row in rows]))
    docs.to_disk(tmp_path / "train.spacy")
    rules = chinese_pos_rules(tag_set)
    found = script("treebanks/count_rules").count(rules, tmp_path / "train.spacy")
    assert {rule["name"]: pair for rule, pair in zip(rules, found, strict=True)} == {
        rule["name"]: tuple(rule["count"]) for rule in rules
    }
