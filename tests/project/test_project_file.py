"""project.yml: what it names is there, and scripts and configs take the arguments that they are given."""

import re
import shlex
from functools import cache

import pytest
import srsly
import typer
from spacy.cli._util import parse_config_overrides
from spacy.util import load_config
from typer.main import get_command
from weasel.schemas import ProjectConfigSchema, validate

from .files import ROOT, call, script

PROJECT = srsly.read_yaml(ROOT / "project.yml")
COMMANDS = {command["name"]: command for command in PROJECT["commands"]}
MADE = ("corpus", "training", "metrics", "reports")
MORE_ARGUMENTS = ("train", "org_reranking")  # overrides of the config
SCRIPTS = sorted({name for command in PROJECT["commands"] for line in command["script"]
                  for name in re.findall(r"^python scripts/(\w+)\.py ", line)} - {"check_assets"})  # fmt: skip


def calls_of(name):
    """Arguments of each call of a script, variables replaced."""
    lines = [line for command in PROJECT["commands"] for line in command["script"]]
    words = [shlex.split(filled(line)) for line in lines if line.startswith(f"python scripts/{name}.py ")]
    return [line[2:] for line in words]


def filled(line):
    line = re.sub(r"\$\{vars\.(\w+)\}", lambda found: str(PROJECT["vars"][found[1]]), line)
    return re.sub(r"\$\{env\.(\w+)\}", lambda found: PROJECT["env"][found[1]] and "", line)


@cache
def command_of(name):
    """What reads the script's arguments."""
    app, settings = typer.Typer(), {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(context_settings=settings if name in MORE_ARGUMENTS else {})(script(name).main)
    return get_command(app)


def test_it_is_a_project():
    assert validate(ProjectConfigSchema, PROJECT) == []


def test_commands_of_workflows_exist_and_all_are_used():
    used = [name for workflow in PROJECT["workflows"].values() for name in workflow]
    assert len(COMMANDS) == len(PROJECT["commands"]) and set(used) == set(COMMANDS)
    for name, workflow in PROJECT["workflows"].items():
        assert workflow and len(set(workflow)) == len(workflow), name


def named_in(command):
    """Scripts, configs and corpora of the repository."""
    return set(re.findall(r"(?<![\w/])(?:scripts|configs|assets/en|assets/zh)/[\w./]+", " ".join(command["script"])))


@pytest.mark.parametrize("name", COMMANDS)
def test_files_of_the_project_exist(name):
    command = COMMANDS[name]
    paths = [path for path in [*named_in(command), *command.get("deps", [])] if path.split("/")[0] not in MADE]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert command["help"].strip() and command["outputs"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_runs_again_when_its_configs_change(name):
    deps = COMMANDS[name].get("deps", [])
    configs = {path for path in named_in(COMMANDS[name]) if path.startswith("configs/")}
    assert {path for path in configs if not any(f"{path}/".startswith(f"{dep}/") for dep in deps)} == set()


@pytest.mark.parametrize("name", PROJECT["workflows"])
def test_what_a_command_depends_on_was_made_before(name):
    made = []
    for command in PROJECT["workflows"][name]:
        for dep in COMMANDS[command].get("deps", []):
            near = [other for other in made if dep == other or f"{dep}/".startswith(f"{other}/")
                    or other.startswith(f"{dep}/")]  # fmt: skip
            assert dep.split("/")[0] not in MADE or near, f"{command}: {dep}"
        made += COMMANDS[command]["outputs"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_arguments_are_those_of_the_script(name):
    for arguments in calls_of(name):
        context = command_of(name).make_context(name, list(arguments))
        assert name in MORE_ARGUMENTS or not context.args


def test_variables_are_known_and_used():
    text = " ".join(line for command in PROJECT["commands"] for line in command["script"])
    for kind, key in (("vars", "vars"), ("env", "env")):
        assert set(re.findall(rf"\$\{{{kind}\.(\w+)\}}", text)) == set(PROJECT[key])


@pytest.mark.parametrize("name", MORE_ARGUMENTS)
def test_configs_have_what_is_overridden(name):
    checked = set()
    for arguments in calls_of(name):
        extra = command_of(name).make_context(name, list(arguments)).args
        overrides = parse_config_overrides(list(extra), env_var=None) if extra else {}
        load_config(ROOT / arguments[0], overrides=overrides, interpolate=False)
        checked |= set(overrides)
    assert checked >= {"components.hoseq_chunker.model.emissions.templates.@misc"}
    assert name != "train" or "components.hoseq_tagger.model.patterns.rules.tag_set" in checked


@pytest.mark.parametrize("workflow, name", [("ptb", "the Penn Treebank"), ("ctb", "the Chinese Treebank")])
def test_a_licensed_treebank_without_its_folder(workflow, name, tmp_path, monkeypatch):
    """The first thing that the workflow does fails, and says what to do."""
    monkeypatch.chdir(tmp_path)
    line = shlex.split(filled(COMMANDS[PROJECT["workflows"][workflow][0]]["script"][0]))
    assert line[:2] == ["python", "scripts/treebank.py"]
    code, output = call(script("treebank"), *line[2:])
    assert code == 1 and f"No folder with {name} is named" in output
    assert "licensed" in output and f"--vars.{workflow}_dir" in output.replace("(ctb: ", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("workflow", ["ctb_sdp", "ud_chinese"])
def test_a_public_corpus_without_its_folder(workflow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = shlex.split(filled(COMMANDS[PROJECT["workflows"][workflow][0]]["script"][0]))
    assert line[:2] == ["python", "scripts/corpus_parts.py"]
    code, output = call(script("corpus_parts"), *line[2:])
    assert code == 1 and f"--vars.{workflow} FOLDER" in output and not list(tmp_path.iterdir())
    assert workflow in PROJECT["vars"] and ("project assets" in output) == (workflow == "ud_chinese")
