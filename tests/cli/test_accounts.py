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
    (("convert",), "corpus.spacy", ("-f", "tagged"), "Docs 1 Sentences 2 Tokens 10 Problems 2"),
]


@pytest.mark.parametrize("command, output, options, counts", COMMANDS)
def test_account(command, output, options, counts, folder):
    out = folder.parent / output
    if command == ("convert",):
        words = TEXT.replace(".", " .").replace(" ", "/X ").replace("\n", "/X\n")
        (folder / "good.txt").write_text(words)
    code, printed = hoseq(*command, folder, "-o", out, *options)
    assert code == 1, printed
    assert f"{ACCOUNT} {counts}" in printed, printed
    assert out.exists(), "what could be read is done"
    if command[0] == "apply":
        errors = list(srsly.read_jsonl(out / "errors.jsonl"))
        assert [os.path.basename(error["id"]) for error in errors] == ["shut", "vanished.txt"]
    else:
        assert "shut [Errno 13] Permission denied" in printed and "No such file" in printed


SHUT = {"find-errors": "HS172", "adapt": "HS172", "correct": "HS172", "treebank": "HS191"}
MODELS = {"find-errors": "crf", "adapt": "en", "compact": "en", "report": "en", "calibrate": "en"}
WHOLE = [*MODELS, "correct", "treebank"]


@pytest.mark.parametrize(
    "command, name", [*((name, "shut") for name in SHUT), *((name, "vanished") for name in WHOLE)]
)
def test_a_corpus_that_is_read_whole_or_not_at_all(command, name, folder, tmp_path):
    """Findings would be of other Docs, parts of other sentences, and scores of less text."""
    DocBin(docs=[Doc(spacy.blank("en").vocab, words=["a"])]).to_disk(folder / "good.spacy")
    (folder / "good.conllu").write_text("1\ta\ta\tDET\tDT\t_\t0\troot\t_\t_\n\n")
    (tmp_path / "answers").touch()
    if name == "vanished":
        (folder / "shut").rename(tmp_path / "elsewhere")
        for ending in (".spacy", ".conllu"):
            (folder / f"vanished{ending}").symlink_to("nowhere")
    more = [tmp_path / "answers"] if command == "correct" else []
    before = [MODELS[command]] if command in MODELS else []
    code, printed = hoseq(command, *before, folder, *more, "-o", tmp_path / "new")
    expected = SHUT[command] if name == "shut" else "HS116"
    assert code == 1 and expected in printed and name in printed, printed
    assert not (tmp_path / "new").exists()


def test_a_working_directory_that_is_gone(folder, tmp_path, monkeypatch):
    """What needs none is done; a name that is relative to it is refused with a code."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert hoseq("tag", "They tag it.")[0] == 0
    assert hoseq("apply", "en", folder / "good.txt", "-o", tmp_path / "out")[0] == 0
    for command in ("apply en $ -o out", "select en $ -o out.jsonl", "distil en $ -o out"):
        words = [word.replace("$", str(folder / "good.txt")) for word in command.split()]
        code, printed = hoseq(*words)
        assert code == 1 and "[HS" in printed, printed
