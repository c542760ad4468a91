"""All commands say the same thing in the same way: letters, order of arguments, the next step."""

import re
from pathlib import Path

import pytest
from spacy.cli._util import app
from spacy.util import load_meta
from typer.core import TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.pipelines import embedded_path

from ..repository import hoseq

COMMANDS = get_command(hoseq_cli).commands
LETTERS = {
    "-F": "--force", "-S": "--keep-strings", "-a": "--against", "-b": "--build", "-c": "--code", "-d": "--doubtful",
    "-e": "--encoding", "-f": "--format", "-i": "--sweeps", "-j": "--n-process", "-k": "--folds", "-l": "--lang",
    "-m": "--model", "-n": "--number", "-o": "--output", "-p": "--port", "-s": "--split", "-sk": "--spans-key",
    "-t": "--token", "-tk": "--text-key", "-w": "--whole",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("loaded_once")


def options_of(name):
    options = [param for param in COMMANDS[name].params if isinstance(param, TyperOption)]
    return [param for param in options if param.name != "help"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_letter_means_one_thing(name):
    for option in options_of(name):
        longs = [word for word in option.opts if word.startswith("--")]
        shorts = [word for word in option.opts if not word.startswith("--")]
        assert len(longs) == 1 and len(shorts) <= 1, "one name, and one letter"
        assert [LETTERS[word] for word in shorts] == longs[: len(shorts)]
        if longs[0] in LETTERS.values():
            assert shorts, f"{longs[0]} has a letter in other commands"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_screen_with_examples_first(name):
    words = ["hoseq", *filter(None, [name]), "--help"]
    text = CliRunner().invoke(app, words, env={"COLUMNS": "120"}).output
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[4].startswith(f"    hoseq {name or 'tag'} "), text
    assert "..." not in text.partition("Commands:")[2], "a sentence says it all"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_given_in_some_test(name):
    files = [path.read_text("utf8") for path in Path(__file__).parents[1].rglob("*.py")]
    tests = "\n".join(text for text in files if re.search(f'"{name}[" ]', text))
    for option in options_of(name):
        words = [*option.opts, *option.secondary_opts]
        assert re.search(rf"(?<![\w-])({'|'.join(words)})(?![\w-])", tests), option.opts


def test_a_switch_is_one_everywhere():
    kinds = {}
    for name in COMMANDS:
        for option in options_of(name):
            kinds.setdefault(option.opts[0], set()).add(option.is_flag)
    several = {name for name, found in kinds.items() if len(found) > 1}
    assert several == {"--words"}, (
        "of distil it is a number: how many words its teacher may annotate"
    )
    assert kinds["--force"] == {True} and kinds["--output"] == {False}


WRITES = {  # arguments, and what an earlier run has written below the folder
    "adapt": (["en", "$dev", "-o", "$out"], "out/meta.json"),
    "calibrate": (["en", "$dev", "-o", "$out"], "out/meta.json"), "clusters": (["$dev", "-o", "$out"], "out"),
    "compact": (["$model", "$dev", "-o", "$out"], "out/meta.json"),
    "convert": (["$dev", "-o", "$out.spacy"], "out.spacy"),
    "correct": (["$dev", "$dev", "-o", "$out"], "out"),
    "distil": (["en", "$dev", "-o", "$out"], "out/meta.json"), "explain": (["en", "text", "-o", "$out"], "out"),
    "find-errors": (["crf", "$dev", "-o", "$out"], "out/findings.jsonl"), "init": (["tagger", "-o", "$out"], "out"),
    "inspect": (["en", "-o", "$out"], "out"), "package": (["en", "-o", "$out", "-b", "none"], "out/$package"),
    "report": (["en", "$dev", "-o", "$out"], "out/report.html"),
    "select": (["en", "$dev", "-o", "$out.jsonl"], "out.jsonl"),
    "tag": (["text", "-o", "$out"], "out"), "treebank": (["$model", "-o", "$out"], "out/meta.json"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name != "apply"]
)  # it goes on: tests/batch
def test_nothing_is_replaced_without_force(name, tmp_path):
    writes = any(option.opts[0] == "--output" for option in options_of(name))
    assert writes == (name in WRITES)
    assert (name in WRITES) == any(option.opts[0] == "--force" for option in options_of(name))
    if not writes:
        return
    words, path = WRITES[name]
    package = f"en_hoseq_sm-{load_meta(embedded_path('en') / 'meta.json')['version']}/meta.json"
    earlier = tmp_path / path.replace("$package", package)
    earlier.parent.mkdir(parents=True, exist_ok=True)
    earlier.write_text("earlier", "utf8")
    (tmp_path / "dev").touch()
    (tmp_path / "model").mkdir()
    told = [word.replace("$", f"{tmp_path}/") for word in words]
    code, output = hoseq(name, *told)
    assert code == 1 and re.search(r"\[HS11[35]\]", output), output
    assert earlier.read_text("utf8") == "earlier"
    assert {file for file in tmp_path.rglob("*") if file.is_file()} == {earlier, tmp_path / "dev"}


@pytest.mark.parametrize("name", WRITES)
def test_an_output_below_a_file_is_refused_before_any_work(name, tmp_path):
    (tmp_path / "dev").write_text("no text", "utf8")
    (tmp_path / "model").mkdir()
    below = tmp_path / "dev" / "new" / "x.spacy"
    words = [re.sub(r"\$out\.(jsonl|spacy)", "$out", word) for word in WRITES[name][0]]
    told = [str(below) if word == "$out" else word.replace("$", f"{tmp_path}/") for word in words]
    code, output = hoseq(name, *told)
    assert code == 1 and f"[HS113] Nothing is written to {below}" in output, output


@pytest.mark.parametrize("text", ["raise KeyError('x')", "a b", None])
@pytest.mark.parametrize("command", ["explain", "calibrate"])
def test_errors_of_code_are_told(command, text, tmp_path):
    """As `apply` does: with the file, and the kind of the error."""
    path = tmp_path / "code.py"
    if text is not None:
        path.write_text(text, "utf8")
    (tmp_path / "model").mkdir()
    (tmp_path / "dev.spacy").touch()
    rest = {
        "explain": ["en", "a text"],
        "calibrate": [tmp_path / "model", tmp_path / "dev.spacy", "-o", tmp_path / "out"],
    }[command]
    code, output = hoseq(command, *rest, "--code", path)
    kind = {None: "FileNotFoundError", "a b": "SyntaxError"}.get(text, "KeyError")
    assert code == 1 and "[HS172]" in output and kind in output, output
