"""All measurements: every table of the pages has its command, and is as it was written."""

import re

import pytest
import srsly

from ..repository import ROOT

TABLES = ROOT / "docs" / "measurements" / "tables"
MARKED = r"<!-- begin (.+?) -->\n(.*?)\n?<!-- end \1 -->"


def marked():
    """(name, text) of all tables between marks."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = [page.read_text("utf8") for page in pages]
    return [found for text in texts for found in re.findall(MARKED, text, re.DOTALL)]


def test_every_table_has_its_step(benchmarks):
    """And each step says of its tables what a reader must know."""
    said = benchmarks("page").SAID
    names = {name for name, _ in marked()}
    assert len(names) > 25 and names == set(said)
    for each in said.values():
        assert set(each) == {"recipe", "settings", "text", "docs"} and all(each.values())


def test_commands_exist(benchmarks):
    """Every benchmark that is started has a `main` with these options; what a project is to run stands in it."""
    for name, step in benchmarks("page").STEPS.items():
        assert step.run, name
        for command in step.run:
            assert command.startswith("python -m "), command
            module, *words = command.split()[2:]
            if module.startswith("benchmarks."):
                source = (ROOT / f"{module.replace('.', '/')}.py").read_text("utf8")
                options = re.findall(r"--([a-z-]+)", command)
                names = [option.replace("-", "_") for option in options]
                assert all(re.search(rf"\b{name}: ", source) for name in names), command
            elif words[:2] == ["project", "run"]:
                folder = ROOT / (words[3] if len(words) > 3 else ".")
                project = srsly.read_yaml(folder / "project.yml")
                names = {*project["workflows"], *(each["name"] for each in project["commands"])}
                assert words[2] in names, command


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.json")), ids=lambda path: path.stem)
def test_pages_say_what_was_measured(path, benchmarks):
    """No number of a table was typed."""
    texts = [text for name, text in marked() if name.replace(" ", "-") == path.stem]
    assert texts and set(texts) == {benchmarks("page").markdown(srsly.read_json(path))}


def test_goes_on_where_it_stopped(benchmarks, tmp_path, monkeypatch):
    """A step that is done at this commit is not done again, one that fails is, and is said."""
    module, page = benchmarks("all"), benchmarks("page")
    fails = tmp_path / "fails"
    fails.touch()
    path = fails.as_posix()
    program = f'import pathlib, sys; print(1); sys.exit(pathlib.Path("{path}").exists())'
    lines = {"one": "print(1)", "two": program}
    steps = {name: page.Step([f"python -c '{line}'"]) for name, line in lines.items()}
    monkeypatch.setattr(module, "STEPS", steps)
    monkeypatch.setattr(module, "is_changed", lambda: False)
    with pytest.raises(SystemExit):
        module.main(tmp_path, None, tmp_path, False, False)
    fails.unlink()
    module.main(tmp_path, None, tmp_path, False, False)
    module.main(tmp_path, None, tmp_path, False, False)
    (state,) = tmp_path.glob("*/all.jsonl")
    assert [row["step"] for row in srsly.read_jsonl(state)] == ["one", "two"]
    assert (state.parent / "logs" / "one.log").read_text().count("$ python") == 1
    assert (state.parent / "logs" / "two.log").read_text().count("$ python") == 2


def test_claims_name_steps_and_commands(benchmarks):
    """What is not a command by itself is a step of all.yml, and each step with a table on its pages stands there."""
    page = (ROOT / "docs" / "measurements" / "index.md").read_text("utf8")
    rows = page.partition("\n## Claims\n")[2].split("\n| ")[3:]
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split(" | ")[1])}
    steps = benchmarks("page").STEPS
    assert len(rows) > 8 and named == {name for name, step in steps.items() if step.tables}
