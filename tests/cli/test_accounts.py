"""Each command shows what became of the files in a folder: one good, one unreadable, one foreign, one vanished."""

import os

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from ..readers.unreadable import unreadable
from ..repository import hoseq

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
pytestmark = pytest.mark.usefixtures("loaded_once")

TEXT = "They tag it at once.\nNothing is missing.\n"


@pytest.fixture
def folder(tmp_path):
    texts = tmp_path / "texts"
    (texts / "shut").mkdir(parents=True)
    for name in ("good.txt", "shut/other.txt", "foreign.md"):
        (texts / name).write_text(TEXT)
    (texts / "vanished.txt").symlink_to("nowhere")
    with unreadable(texts / "shut"):
        yield texts


ACCOUNT = "Files 4 not readable 2 shut, vanished.txt of other endings 1 foreign.md read 1"
COMMANDS = [
    (("apply", "en"), "annotated", ("-f", "jsonl"), "Parts 1 Texts 2 Tokens 10 Errors 2"),
    (("select", "en"), "next.jsonl", (), "Texts 2 Selected 2"),
    (("clusters",), "clusters.tsv", ("-n", "2", "--min-count", "1"), "Texts 2 Pairs of neighbours"),
]


@pytest.mark.parametrize("command, output, options, counts", COMMANDS)
def test_account(command, output, options, counts, folder):
    out = folder.parent / output
    code, printed = hoseq(*command, folder, "-o", out, *options)
    assert code == 1, printed
    assert f"{ACCOUNT} {counts}" in printed
    assert out.exists(), "what could be read is done"
    if command[0] == "apply":
        errors = list(srsly.read_jsonl(out / "errors.jsonl"))
        assert [os.path.basename(error["id"]) for error in errors] == ["shut", "vanished.txt"]
    else:
        assert "Permission denied" in printed and "No such file" in printed


@pytest.mark.parametrize("command, output", [("find-errors", "doubts"), ("correct", "new.spacy")])
def test_a_corpus_whose_docs_are_numbered_is_read_whole(command, output, folder):
    """Findings would be of other Docs."""
    DocBin(docs=[Doc(spacy.blank("en").vocab, words=["a"])]).to_disk(folder / "a.spacy")
    (folder.parent / "answers.jsonl").write_text("")
    answers = folder.parent / "answers.jsonl"
    arguments = {"find-errors": ["crf", folder], "correct": [folder, answers]}
    code, printed = hoseq(command, *arguments[command], "-o", folder.parent / output)
    assert code == 1 and "HS172" in printed and "shut" in printed
    assert not (folder.parent / output).exists()
