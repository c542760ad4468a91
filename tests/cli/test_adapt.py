"""`python -m spacy hoseq adapt`: what it prints and saves, and what it refuses."""

import re

import pytest
import spacy

from ..pipelines.adaptation.test_adaptation import NEW, OLD, base, names_in, texts
from ..repository import hoseq


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a pipeline, and texts."""
    path = tmp_path_factory.mktemp("adapt")
    nlp = base()
    nlp.to_disk(path / "old")
    for name, names in {"new": NEW, "before": OLD}.items():
        docs = [example.reference for example in texts(nlp, names)][::3]
        spacy.tokens.DocBin(docs=docs).to_disk(path / f"{name}.spacy")
    (path / "labels.tsv").write_text("THING\tproduct\n\nPER\tperson\n", "utf8")
    return path


@pytest.mark.long
def test_what_is_won_and_lost(folder):
    files = folder / "old", folder / "new.spacy", "-o", folder / "mine"
    options = ["--old", folder / "before.spacy", "--labels", folder / "labels.tsv"]
    options += ["--components", "hoseq_ner", "--name", "chats"]
    saved = []
    for _ in range(2):
        code, output = hoseq("adapt", *files, *options, "--force")
        assert code == 0, output
        paths = sorted(path for path in (folder / "mine").rglob("*") if path.is_file())
        saved.append([path.read_bytes() for path in paths])
    assert saved[0] == saved[1]
    shown = " ".join(output.split())
    for text in ("new text", "old text", "new labels: product", "no text has LOC", "in 5 parts"):
        assert text in shown, text
    nlp = spacy.load(folder / "mine")
    assert nlp.meta["name"] == "chats" and list(nlp.meta["performance"]) == ["hoseq_ner"]
    assert names_in(nlp, "Zed likes Gizmo .") == [("Zed", "person"), ("Gizmo", "product")]
    card = (folder / "mine" / "README.md").read_text("utf8")
    table = [row.split(" | ") for row in card.splitlines() if row.startswith("| person")]
    assert len(table) == 2 and table[0][1] == table[0][1].strip()
    assert float(table[0][3]) >= float(table[0][2])


def test_texts_of_ones_own_to_measure(folder):
    """With code that the pipeline needs."""
    (folder / "code.py").write_text("", "utf8")
    files = (
        folder / "old",
        folder / "new.spacy",
        "-o",
        folder / "held",
        "--dev",
        folder / "new.spacy",
    )
    code, output = hoseq("adapt", *files, "--hold", 10, "--seed", 1, "--code", folder / "code.py")
    assert code == 0 and "34 texts; measured on 34 that were kept apart" in " ".join(output.split())


WRONG = {
    "no corpus": (["old", "none.spacy"], "HS074"),
    "no pipeline": (["nowhere", "new.spacy"], "HS130"),
    "component": (["old", "new.spacy", "--components", "ner"], "HS161"),
    "labels": (["old", "new.spacy", "--labels", "new.spacy"], "HS172|codec"),
    "columns": (["old", "new.spacy", "--labels", "wrong.tsv"], r"HS172.*wrong.tsv:1"),
    "output": (["old", "new.spacy", "-o", "old"], "HS113"),
}


@pytest.mark.parametrize("arguments, message", WRONG.values(), ids=WRONG)
def test_wrong_input(arguments, message, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "wrong.tsv").write_text("PER person\n", "utf8")
    code, output = hoseq("adapt", *arguments, *([] if "-o" in arguments else ["-o", "never"]))
    assert code == 1 and re.search(message, output.replace("\n", " ")), output
    assert not (folder / "never").exists()
