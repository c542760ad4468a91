"""Ctrl-C while a command is at its long work, and at the very end of it: what was there before stays, nothing is left
behind, and the same command ends well afterwards.

`apply` and `treebank` go on where they stopped: tests of their own.
"""

from pathlib import Path

import pytest
import srsly
from spacy.tokens import DocBin

from spacy_hoseq.cli import model, shared
from spacy_hoseq.pipelines.compaction.pipeline import save_compact

from ..components import chunker_helpers
from ..repository import hoseq

COMMANDS = {  # arguments, and what they write
    "calibrate": (["$model", "$corpus.spacy"], "out"),
    "clusters": (["$pool.jsonl", "-n", "4", "--min-count", "1"], "out.tsv"),
    "compact": (["$words", "$corpus.spacy", "--tolerance", "1"], "out"),
    "convert": (["$corpus.conll"], "out.spacy"),
    "explain": (["$model", "$pool.txt"], "out.html"),
    "inspect": (["$model", "$corpus.spacy"], "out.html"),
    "select": (["$model", "$pool.jsonl"], "out.jsonl"),
    "tag": (["$model", "$pool.txt"], "out.html"),
}
TEXTS = ["the old dog sees a cat .", "a cat sleeps in the old house .", "the dog barks ."]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    nlp = chunker_helpers.trained("marginals", 2)
    nlp.to_disk(folder / "model")
    chunker_helpers.trained("words", 2).to_disk(folder / "words")
    docs = [eg.reference for eg in chunker_helpers.examples_of(nlp)]
    DocBin(docs=docs).to_disk(folder / "corpus.spacy")
    srsly.write_jsonl(folder / "pool.jsonl", [{"text": text} for text in TEXTS])
    (folder / "pool.txt").write_text("\n".join(TEXTS), "utf8")
    sentences = ("\n".join(f"{word} X O" for word in text.split()) for text in TEXTS)
    (folder / "corpus.conll").write_text("\n\n".join(sentences) + "\n", "utf8")
    return folder


def run(name, inputs, output):
    words = [word.replace("$", f"{inputs}/") for word in COMMANDS[name][0]]
    return hoseq(name, *words, "-o", output, "--force")


def files(path):
    """Of a file, or of all in a folder: their bytes."""
    found = [path]
    if not path.is_file():
        found = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {file.relative_to(path): file.read_bytes() for file in found}


class Interrupts:
    """A bar of which the user interrupts what it shows: when it begins, or when it has ended."""

    at_end = False
    seen = 0

    def __init__(self, items=(), **_):
        self.items = items

    def __iter__(self):
        type(self).seen += 1
        if self.at_end:
            yield from self.items
        raise KeyboardInterrupt

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self):
        type(self).seen += 1
        raise KeyboardInterrupt


def interrupted_rename(path, target):
    raise KeyboardInterrupt


SOON = ("calibrate", "convert", "select")


@pytest.mark.parametrize(
    "name",
    [name if name in SOON else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS],
)
def test_what_was_there_stays(name, inputs, tmp_path, monkeypatch):
    output = tmp_path / COMMANDS[name][1]
    code, said = run(name, inputs, output)
    assert code == 0, said
    before = files(output)
    for at_end in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(Interrupts, "at_end", at_end)
            patch.setattr(Interrupts, "seen", 0)
            patch.setattr(shared, "tqdm", Interrupts)
            patch.setattr(model, "tqdm", Interrupts)
            code, said = run(name, inputs, output)
            assert Interrupts.seen == 1, "a bar is shown"
        assert code == 130 and "Interrupted: nothing is written." in said, said
        assert files(output) == before and list(tmp_path.iterdir()) == [output]
    for step in ("replace", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, interrupted_rename)
            code, said = run(name, inputs, output)
        if code != 0:
            assert code == 130, said
            assert files(output) == before and list(tmp_path.iterdir()) == [output]
    code, said = run(name, inputs, output)
    assert code == 0 and files(output) == before, said


def test_between_the_two_steps_in_which_a_pipeline_takes_the_place_of_another(
    inputs, tmp_path, monkeypatch
):
    """The old one is aside already."""
    output = tmp_path / "out"
    assert run("calibrate", inputs, output)[0] == 0
    before = files(output)
    real = Path.rename

    def second_is_interrupted(path, target):
        if path.name == "new":
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", second_is_interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_compact(chunker_helpers.trained("marginals", 2), output, overwrite=True)
    assert files(output) == before and list(tmp_path.iterdir()) == [output]
