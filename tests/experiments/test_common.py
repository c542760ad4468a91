"""Scripts that several projects run: assets, downloads, parts of corpora, a training, CRFsuite."""

import hashlib
import os
from pathlib import Path

import pytest
import spacy
import srsly
import typer
from spacy.tokens import Doc
from spacy.training import Example

from ..repository import ROOT, call, config_of, run, script, tagged_docs, tagged_file

CORPUS = Path(os.environ.get("HOSEQ_CORPORA") or "/nowhere") / "conll2000" / "train.txt"
QUICK = "--training.max_epochs 3 --training.eval_frequency 100 --training.logger.progress_bar null"


def test_assets_are_in_order():
    process = run(ROOT / "experiments" / "common" / "check_assets.py", ROOT / "assets")
    assert process.returncode == 0 and "No problems found" in process.stdout, process.stdout


def test_downloads_are_compared_with_their_checksums(tmp_path, capsys):
    (tmp_path / "good.txt").write_text("good")
    sums = {"good": hashlib.md5(b"good").hexdigest(), "other": "0" * 32}
    url = (tmp_path / "good.txt").as_uri()
    listed = [{"dest": f"assets/{name}", "url": url, "checksum": sums[name]} for name in sums]
    srsly.write_yaml(tmp_path / "project.yml", {"downloads": listed})
    with pytest.raises(typer.Exit):
        script("common/download").main(tmp_path)
    assert (tmp_path / "assets" / "good").read_text() == "good"
    assert "other: not the file" in " ".join(capsys.readouterr().out.split())


def test_parts_of_a_corpus(tmp_path):
    parts = {"train": "茶\tNN\n\n喝\tVV\n", "dev": "碗\tNN\n\n\n\n", "test": "桥\tNN"}
    for part, text in parts.items():
        (tmp_path / f"{part}.tsv").write_text(text, "utf8")
    names = ("tsv", "semeval", "zh_ctb_sdp")
    parts = script("common/corpus_parts")
    assert call(parts, tmp_path / "out", *names, "--folder", tmp_path)[0] == 0
    made = [(tmp_path / "out" / f"{part}.tsv").read_text("utf8") for part in ("train", "dev")]
    assert made == ["茶\tNN\n\n喝\tVV\n\n", "碗\tNN\n\n"]
    (tmp_path / "dev.tsv").unlink()
    code, output = call(parts, tmp_path / "more", *names, "--folder", tmp_path)
    assert code == 1 and "No *dev.tsv" in output and not (tmp_path / "more").exists()


def test_crfsuite_is_measured(tmp_path):
    pytest.importorskip("pycrfsuite")
    texts = ["茶/NN 很/AD 香/VA 。/PU", "桥/NN 很/AD 长/VA 。/PU"]
    train = tagged_file(tmp_path / "train.spacy", *texts * 5)
    test = tagged_file(tmp_path / "test.spacy", "茶/NN 很/AD 长/VA 。/PU", "海/NN 很/VV 长/VA")
    config_of("tagger/zh").to_disk(tmp_path / "config.cfg")
    settings = tmp_path / "config.cfg", train, test, tmp_path / "out"
    code, _ = call(script("common/crfsuite"), *settings)
    (layer,) = srsly.read_json(tmp_path / "out" / "report.json")["layers"]
    assert code == 0 and layer["right"] == "1111" + "101"


@pytest.mark.long
@pytest.mark.skipif(not CORPUS.exists(), reason="HOSEQ_CORPORA has no conll2000/train.txt")
@pytest.mark.parametrize(
    ("config", "floor"),
    [
        ("tagger", 0.92),
        ("higher-order", 0.92),
        pytest.param("bidirectional", 0.905, marks=pytest.mark.slow),
    ],
)
def test_accuracy_after_training_on_every_thirtieth_sentence(config, floor, tmp_path):
    """Measured: 0.928, 0.927, 0.914."""
    blocks = CORPUS.read_text("utf8").strip().split("\n\n")
    pairs = [["/".join(row.split(" ")[:2]) for row in block.split("\n")] for block in blocks]
    texts = [" ".join(pair) for pair in pairs]
    train = tagged_file(tmp_path / "train.spacy", *texts[::30])
    dev = tagged_file(tmp_path / "dev.spacy", *texts[1:2000:20])
    files = [train, dev, tmp_path / "out"]
    process = run(ROOT / "experiments" / "common" / "train.py", config, *files, *QUICK.split())
    assert process.returncode == 0, process.stdout
    nlp = spacy.load(tmp_path / "out" / "model-best")
    gold = tagged_docs(texts[5::20], nlp.vocab)
    examples = [Example(Doc(nlp.vocab, [token.text for token in doc]), doc) for doc in gold]
    assert nlp.evaluate(examples)["tag_acc"] > floor
