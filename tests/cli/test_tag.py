"""`python -m spacy hoseq tag` and `package`, and what the group of commands says of itself."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import spacy
from packaging.version import Version
from typer.testing import CliRunner

import spacy_hoseq
from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.cli.text import BLOCK_CHARACTERS, blocks, texts_of

from ..repository import hoseq

pytestmark = pytest.mark.usefixtures("loaded_once")
run = CliRunner()
leaves_files_open = pytest.mark.filterwarnings(  # spaCy does
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
TEXT = "We tag it. Nothing is lost!"


def tagged(*arguments, **settings):
    return run.invoke(hoseq_cli, ["tag", *arguments], **settings)


def rows(output):
    """Rows of the table: word, tag, p, pos."""
    shown = [line for line in output.splitlines() if re.match(r"\S+ +\S+ +[01]\.\d\d ", line)]
    return [line.split()[:4] for line in shown]


def test_a_text():
    result = tagged(TEXT)
    assert result.exit_code == 0, result.output
    words = rows(result.output)
    assert [row[0] for row in words] == ["We", "tag", "it", ".", "Nothing", "is", "lost", "!"]
    assert [row[1] for row in words][:4] == ["PRP", "VBP", "PRP", "."]
    assert all(0 <= float(row[2]) <= 1 for row in words)
    assert re.search(r"PRON +Case=Nom\S+ +[01]\.\d\d +we +[01]\.\d\d +NP [01]\.\d\d", result.output)


def test_what_a_pipe_is_given():
    """No colour, no box, no spaces at the end of lines."""
    output = tagged(f"{TEXT} Why?").output
    assert output.isascii()
    assert not re.search("\x1b| $", output, flags=re.MULTILINE)
    assert "\x1b" not in tagged("xx_nothing", TEXT).output


def test_the_readme_shows_what_is_printed():
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf8")
    shown = re.search(r'hoseq tag "(.+?)"\n```\n\n```text\n(.+?)```', readme, re.DOTALL)
    printed = [line.rstrip() for line in tagged(shown[1]).output.strip().splitlines()]
    assert shown[2].splitlines() == printed[: printed.index("")]


@pytest.mark.long
def test_file_and_standard_input(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, "utf8")
    expected = rows(tagged(TEXT).output)
    assert rows(tagged(str(path)).output) == rows(tagged("-", input=TEXT).output) == expected


NO_WORD, NO_TEXT = "[HS159] There is no word in the text", "[HS172] This cannot be read: "
SAID = {  # arguments, standard input, what is said
    "nothing": ([""], "", NO_WORD),
    "white space": (["en", " \n"], "", NO_WORD),
    "nothing to read": (["-"], "", NO_WORD),
    "the name of a pipeline": (["zh"], "", f'{NO_TEXT}"zh", the name of a pipeline'),
    "Latin-1": (["-"], b"caf\xe9 noir\n", "standard input, with the byte 0xE9. Expected text"),
    "a folder": (["en", "."], "", f"{NO_TEXT}the folder"),
    "no pipeline": (["xx_nothing", TEXT], "", "[HS130]"),
    "bytes of another locale": (["en", "n\udcc3\udca9"], "", f"{NO_TEXT}a text with bytes that"),
}


@pytest.mark.parametrize("case", SAID)
@pytest.mark.parametrize("command", ["tag", "explain"])
def test_what_is_no_text(case, command):
    words, given, said = SAID[case]
    if command == "explain" and len(words) == 1:
        words = ["en", "-"] if words == ["zh"] else ["en", *words]
        said = "[HS159]" if words == ["en", "-"] and not given else said
    result = run.invoke(hoseq_cli, [command, *words], input=given)
    assert result.exit_code == 1 and said in " ".join(result.stderr.split()), result.output


def test_pipes_and_lines_that_do_not_end(tmp_path, monkeypatch):
    """What exists and is no folder is read: `tag en <(echo ...)`."""
    reads, writes = os.pipe()
    os.write(writes, TEXT.encode())
    os.close(writes)
    assert rows(tagged(f"/dev/fd/{reads}").output) == rows(tagged(TEXT).output)
    os.close(reads)
    monkeypatch.setattr("spacy_hoseq.readers.files.MAX_LINE_BYTES", 1000)
    result = tagged("-", input="a " * 1000)
    output = " ".join(result.output.split())
    assert result.exit_code == 1 and "[HS172] This cannot be read: a line of 1,000" in output


def test_page(tmp_path):
    page = tmp_path / "page.html"
    assert tagged("Is <script>alert(1)</script> a word?", "--output", str(page)).exit_code == 0
    html = page.read_text("utf8")
    assert html.count("<script") == 2 and "&lt;" in html
    assert "http" not in html


def test_names_of_files_that_are_none(tmp_path):
    result = tagged("en", "report.txt")
    assert result.exit_code == 1 and f"{NO_TEXT}report.txt: there is no such" in result.stderr
    assert tagged("One word.txt").exit_code == tagged("report").exit_code == 0
    (tmp_path / "text.bin").write_bytes(b"a text\n\xff\n")
    result = tagged(str(tmp_path / "text.bin"))
    output = " ".join(result.output.split())
    assert result.exit_code == 1 and "[HS172]" in output
    assert "with the byte 0xFF. Expected text in utf-8" in output


@leaves_files_open
def test_a_pipeline_with_code_of_its_own(tmp_path):
    code = tmp_path / "code.py"
    component = "@spacy.language.Language.component('of_code')\ndef same(doc):\n    return doc\n"
    code.write_text(f"import spacy\n{component}")
    spacy.blank("en").to_disk(tmp_path / "model")
    config = (tmp_path / "model" / "config.cfg").read_text()
    config = config.replace("pipeline = []", 'pipeline = ["of_code"]').replace(
        "[components]", '[components]\n\n[components.of_code]\nfactory = "of_code"'
    )
    (tmp_path / "model" / "config.cfg").write_text(config)
    assert "--code" in " ".join(tagged(str(tmp_path / "model"), TEXT).output.split())
    assert tagged(str(tmp_path / "model"), TEXT, "--code", str(code)).exit_code == 0
    made = ["package", tmp_path / "model", "-o", tmp_path / "made", "-b", "none"]
    assert hoseq(*made, "--code", code)[0] == 0
    assert list((tmp_path / "made").rglob("code.py")), "it goes into the package"


def test_lines_stay_together_up_to_a_size():
    lines = ["word " * 1000 + "\n"] * 30 + ["\n"] + ["word " * 1000 + "\n"] * 30
    parts = list(blocks(lines))
    assert "".join(parts) == "".join(lines)
    assert max(map(len, parts)) < BLOCK_CHARACTERS + 6000
    assert list(texts_of("x" * 5000)) == ["x" * 5000]  # no name of a file


def process(*arguments, **environment):
    """In a process of its own."""
    command = [sys.executable, "-m", "spacy", "hoseq", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)


@pytest.mark.long
def test_the_group_shows_what_it_can_do():
    output = process().stdout
    for name in ("tag", "apply", "init", "convert", "compact", "package"):
        assert re.search(rf"^ +hoseq {name} ", output, flags=re.MULTILINE), name


@pytest.mark.long
def test_package(tmp_path):
    (tmp_path / "another.whl").touch()
    done = process("package", "en", "-o", str(tmp_path), "-b", "none")  # (spaCy leaves files open)
    assert done.returncode == 0, done.stderr
    (made,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert done.stdout.rstrip().endswith(f"Next: pip install {made}"), "not the other wheel"
    (folder,) = tmp_path.glob("en_hoseq_sm-*/en_hoseq_sm/en_hoseq_sm-*")
    assert [token.tag_ for token in spacy.load(folder)("We tag it.")] == ["PRP", "VBP", "PRP", "."]
    assert "spacy" in (folder.parents[1] / "meta.json").read_text("utf8")


@pytest.mark.long
@pytest.mark.skipif(
    Version(version("setuptools")) < Version("70.1"), reason="older than the package requires"
)
def test_a_pipeline_is_installed_by_name(tmp_path):
    """Without network."""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = process("package", "en", "--install", PIP_TARGET=str(tmp_path), PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith('Next: spacy.load("en_hoseq_sm")')
    use = "import spacy; print(*[token.tag_ for token in spacy.load('en_hoseq_sm')('We tag it.')])"
    env = {**os.environ, "PYTHONPATH": path}
    output = subprocess.check_output([sys.executable, "-c", use], text=True, timeout=300, env=env)
    assert output.split() == ["PRP", "VBP", "PRP", "."]


def test_version():
    assert hoseq("--version") == (0, spacy_hoseq.__version__)


def test_mistyped_names():
    assert "Did you mean 'tag'?" in hoseq("tga", TEXT)[1]
    assert "Did you mean tagger?" in hoseq("init", "tager")[1]


def test_a_package_goes_somewhere():
    code, output = hoseq("package", "en")
    assert code == 1 and "[HS159]" in output and "--install" in output


@leaves_files_open
def test_a_package_of_a_folder(tmp_path):
    nlp = spacy.blank("de")
    nlp.meta |= {"name": "mine", "version": "2.1"}
    nlp.to_disk(tmp_path / "model-best")
    for options in ((), ("--force",)):
        words = ("package", tmp_path / "model-best", "-o", tmp_path / "made", "-b", "none")
        code, output = hoseq(*words, *options)
        assert code == 0 and (tmp_path / "made" / "de_mine-2.1" / "meta.json").is_file(), output


def test_packages_that_cannot_be_made(tmp_path):
    spacy.blank("de").to_disk(tmp_path / "model")
    for damaged in ("{", "[]"):
        (tmp_path / "model" / "meta.json").write_text(damaged)
        code, output = hoseq("package", tmp_path / "model", "-o", tmp_path / "made", "-b", "none")
        assert code == 1 and "[HS133]" in output and "meta.json" in output
    assert not (tmp_path / "made").exists()
