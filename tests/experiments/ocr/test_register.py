"""experiments/ocr/register.py as users give it: `--code`, in training and to annotate in two processes."""

import pytest
from handwriting.letters import read_letters
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ...repository import ROOT, run
from .toy import toy_file

FOLDER = ROOT / "experiments" / "ocr"
CODE = ["--code", FOLDER / "register.py"]
NEEDED = {"ocr.cfg": "pixel_templates", "ocr_neural.cfg": "PixelConvolutions"}


@pytest.mark.long
@pytest.mark.parametrize("name", NEEDED)
def test_train_and_annotate_in_other_processes(name, tmp_path):
    letters = toy_file(tmp_path / "letter.data.gz")
    steps = ["--training.max_steps", "12", "--training.eval_frequency", "6"]
    arguments = [
        FOLDER / "configs" / name,
        "--output",
        tmp_path,
        "--paths.letters",
        letters,
        *steps,
    ]
    process = run("-m", "spacy", "train", *arguments, *CODE, folder=tmp_path)
    assert process.returncode == 0, process.stdout
    words = [[image for image, _ in word] for word, _ in read_letters(letters)]
    vocab = Vocab()
    DocBin(docs=[Doc(vocab, words=images) for images in words]).to_disk(tmp_path / "words.spacy")
    arguments = [tmp_path / "model-last", tmp_path / "words.spacy", "-o", tmp_path / "tagged"]
    arguments += ["--n-process", "2", "--format", "spacy"]
    process = run("-m", "spacy", "hoseq", "apply", *arguments, folder=tmp_path)
    assert process.returncode == 1 and f"spacy_hoseq.{NEEDED[name]}.v1" in process.stdout, (
        "not without the code"
    )
    process = run("-m", "spacy", "hoseq", "apply", *arguments, *CODE, folder=tmp_path)
    assert process.returncode == 0, process.stdout
    files = sorted((tmp_path / "tagged" / "parts").iterdir())
    docs = [doc for file in files for doc in DocBin().from_disk(file).get_docs(vocab)]
    assert [[token.text for token in doc] for doc in docs] == words
    gold = [name for word, _ in read_letters(letters) for _, name in word]
    tags = [token.tag_ for doc in docs for token in doc]
    assert sum(a == b for a, b in zip(tags, gold, strict=True)) > 0.4 * len(gold)
