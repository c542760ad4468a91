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

pytestmark = pytest.mark.usefixtures("loaded_once")
run = CliRunner()
TEXT = "We tag it. Nothing is lost!"


def tagged(*arguments, **settings):
    return run.invoke(hoseq_cli, ["tag", *arguments], **settings)


def rows(output):
    """Rows of the table: word, tag, p, pos."""
    return [
        line.split()[:4] for line in output.splitlines() if re.match(r"\S+ +\S+ +[01]\.\d\d ", line)
    ]


def test_a_text():
    result = tagged(TEXT)
    assert result.exit_code == 0, result.output
    words = rows(result.output)
    assert [row[0] for row in words] == ["We", "tag", "it", ".", "Nothing", "is", "lost", "!"]
    assert [row[1] for row in words][:4] == ["PRP", "VBP", "PRP", "."]
    assert all(0 <= float(row[2]) <= 1 for row in words)
    assert re.search(r"PRON +Case=Nom\S+ +[01]\.\d\d +we +[01]\.\d\d +NP [01]\.\d\d", result.output)


def test_the_readme_shows_what_is_printed():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf8")
    shown = re.search(r'hoseq tag "(.+?)"\n```\n\n```text\n(.+?)```', readme, re.DOTALL)
    printed = [line.rstrip() for line in tagged(shown[1]).output.strip().splitlines()]
    assert shown[2].splitlines() == printed[: printed.index("")]


@pytest.mark.long
def test_file_and_standard_input(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf8")
    assert (
        rows(tagged(str(path)).output)
        == rows(tagged("-", input=TEXT).output)
        == rows(tagged(TEXT).output)
    )


SAID = {  # arguments, standard input, what is said
    "nothing": ([""], "", "[HS159] There is no word in the text"),
    "white space": (["en", " \n"], "", "[HS159] There is no word in the text"),
    "nothing to read": (["-"], "", "[HS159] There is no word in the text"),
    "the name of a pipeline": (
        ["zh"],
        "",
        '[HS172] This cannot be read: "zh", the name of a pipeline',
    ),
    "Latin-1": (
        ["-"],
        b"caf\xe9 noir\n",
        "standard input, with the byte 0xE9. Expected text in utf-8",
    ),
    "a folder": (["en", "."], "", "[HS172] This cannot be read: the folder"),
    "no pipeline": (["xx_nothing", TEXT], "", "[HS130]"),
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


def test_page(tmp_path):
    page = tmp_path / "page.html"
    assert tagged("Is <script>alert(1)</script> a word?", "--output", str(page)).exit_code == 0
    html = page.read_text(encoding="utf8")
    assert html.count("<script") == 2 and "&lt;" in html
    assert "http" not in html


def test_names_of_files_that_are_none(tmp_path):
    result = tagged("report.txt")
    assert result.exit_code == 0 and '[HW012] There is no file "report.txt"' in result.stderr
    assert "HW012" not in tagged("One word.").stderr
    (tmp_path / "text.bin").write_bytes(b"a text\n\xff\n")
    result = tagged(str(tmp_path / "text.bin"))
    output = " ".join(result.output.split())
    assert result.exit_code == 1 and "[HS172]" in output
    assert "with the byte 0xFF. Expected text in utf-8" in output


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # spaCy leaves files open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_pipeline_with_code_of_its_own(tmp_path):
    code = tmp_path / "code.py"
    code.write_text(
        "import spacy\n@spacy.language.Language.component('of_code')\ndef same(doc):\n    return doc\n"
    )
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path / "model")
    config = (tmp_path / "model" / "config.cfg").read_text()
    config = config.replace("pipeline = []", 'pipeline = ["of_code"]').replace(
        "[components]", '[components]\n\n[components.of_code]\nfactory = "of_code"'
    )
    (tmp_path / "model" / "config.cfg").write_text(config)
    assert "--code" in " ".join(tagged(str(tmp_path / "model"), TEXT).output.split())
    assert tagged(str(tmp_path / "model"), TEXT, "--code", str(code)).exit_code == 0
    made = ["package", str(tmp_path / "model"), "-o", str(tmp_path / "made"), "-b", "none"]
    assert run.invoke(hoseq_cli, [*made, "--code", str(code)]).exit_code == 0
    assert list((tmp_path / "made").rglob("code.py")), "it goes into the package"


def test_lines_stay_together_up_to_a_size():
    lines = ["word " * 1000 + "\n"] * 30 + ["\n"] + ["word " * 1000 + "\n"] * 30
    parts = list(blocks(lines))
    assert "".join(parts) == "".join(lines)
    assert max(map(len, parts)) < BLOCK_CHARACTERS + 6000
    assert list(texts_of("x" * 5000)) == ["x" * 5000]  # no name of a file


@pytest.mark.long
def test_the_group_shows_what_it_can_do():
    command = [sys.executable, "-m", "spacy", "hoseq"]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    for name in ("tag", "apply", "init", "convert", "compact", "package"):
        assert re.search(rf"^ +hoseq {name} ", output, flags=re.MULTILINE), name


@pytest.mark.long
def test_package(tmp_path):
    command = [
        sys.executable,
        "-m",
        "spacy",
        "hoseq",
        "package",
        "en",
        "-o",
        str(tmp_path),
        "-b",
        "none",
    ]
    (tmp_path / "another.whl").touch()
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300
    )  # (spaCy leaves files open)
    assert done.returncode == 0, done.stderr
    (made,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert done.stdout.rstrip().endswith(f"Next: pip install {made}"), (
        "not another one in the same folder"
    )
    (folder,) = tmp_path.glob("en_hoseq_sm-*/en_hoseq_sm/en_hoseq_sm-*")
    assert [token.tag_ for token in spacy.load(folder)("We tag it.")] == ["PRP", "VBP", "PRP", "."]
    setup = (folder.parents[1] / "meta.json").read_text(encoding="utf8")
    assert "spacy" in setup
    assert run.invoke(hoseq_cli, ["package", "xx", "-o", str(tmp_path)]).exit_code == 1


@pytest.mark.long
@pytest.mark.skipif(
    Version(version("setuptools")) < Version("70.1"), reason="older than the package requires"
)
def test_a_pipeline_is_installed_by_name(tmp_path):
    """Without network."""
    places = {
        **os.environ,
        "PIP_TARGET": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    command = [sys.executable, "-m", "spacy", "hoseq", "package", "en", "--install"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=places)
    assert done.returncode == 0 and done.stdout.rstrip().endswith(
        'Next: spacy.load("en_hoseq_sm")'
    ), done.stderr
    use = "import spacy; print(*[token.tag_ for token in spacy.load('en_hoseq_sm')('We tag it.')])"
    done = subprocess.run(
        [sys.executable, "-c", use], capture_output=True, text=True, timeout=300, env=places
    )
    assert done.stdout.split() == ["PRP", "VBP", "PRP", "."], done.stderr


def test_version():
    assert run.invoke(hoseq_cli, ["--version"]).output == f"{spacy_hoseq.__version__}\n"


def test_mistyped_names():
    assert "Did you mean 'tag'?" in run.invoke(hoseq_cli, ["tga", TEXT]).output
    assert "Did you mean tagger?" in " ".join(
        run.invoke(hoseq_cli, ["init", "tager"]).output.split()
    )


def test_a_package_goes_somewhere():
    result = run.invoke(hoseq_cli, ["package", "en"])
    assert result.exit_code == 1 and "[HS159]" in result.output and "--install" in result.output


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # spaCy leaves files open
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_package_of_a_folder(tmp_path):
    nlp = spacy.blank("de")
    nlp.meta |= {"name": "mine", "version": "2.1"}
    nlp.to_disk(tmp_path / "model-best")
    arguments = [
        "package",
        str(tmp_path / "model-best"),
        "-o",
        str(tmp_path / "made"),
        "-b",
        "none",
    ]
    result = run.invoke(hoseq_cli, arguments)
    assert result.exit_code == 0 and (tmp_path / "made" / "de_mine-2.1" / "meta.json").is_file(), (
        result.output
    )
    assert "[HS113]" in run.invoke(hoseq_cli, arguments).output
    assert run.invoke(hoseq_cli, [*arguments, "--force"]).exit_code == 0


def test_packages_that_cannot_be_made(tmp_path):
    nlp = spacy.blank("de")
    nlp.meta |= {"name": "a b/c", "version": "2.1"}
    nlp.to_disk(tmp_path / "model")
    arguments = ["package", str(tmp_path / "model"), "-o", str(tmp_path / "made"), "--build"]
    assert "[HS027]" in run.invoke(hoseq_cli, [*arguments, "none"]).output
    for damaged in ("{", "[]"):
        (tmp_path / "model" / "meta.json").write_text(damaged)
        result = run.invoke(hoseq_cli, [*arguments, "none"])
        assert result.exit_code == 1 and "[HS133]" in result.output and "meta.json" in result.output
    assert not (tmp_path / "made").exists()
