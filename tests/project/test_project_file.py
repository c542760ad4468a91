"""project.yml, at the top and of each experiment: what it names is there, scripts and configs take the arguments of its
commands, and the README of each experiment lists them."""

import os
import re
import shlex
import shutil
from functools import cache

import pytest
import srsly
import typer
from typer.main import get_command
from weasel.cli.assets import project_assets
from weasel.cli.document import project_document
from weasel.schemas import ProjectConfigSchema, validate

from ..repository import ROOT, script

FILES = sorted(ROOT.glob("experiments/*/project.yml"))
EXPERIMENTS = [path.parent.relative_to(ROOT).as_posix() for path in FILES]
PROJECTS = {name: srsly.read_yaml(ROOT / name / "project.yml") for name in (".", *EXPERIMENTS)}
STEPS = [(folder, step) for folder, project in PROJECTS.items() for step in project["commands"]]
COMMANDS = {(folder, step["name"]): step for folder, step in STEPS}
WORKFLOWS = [(folder, name) for folder, each in PROJECTS.items() for name in each["workflows"]]
MADE = ("corpus", "training", "metrics", "reports")
MORE_ARGUMENTS = ("common/train", "organisations/rerank")  # overrides of the config
NO_TYPER = ("common/check_assets",)


def path_of(folder, name):
    """Of a file that a project names, from the top of the repository."""
    return os.path.normpath(f"{folder}/{name}")


def scripts_called(folder, command):
    """Name and arguments of each script, variables replaced."""
    for line in command["script"]:
        words = shlex.split(filled(PROJECTS[folder], line))
        if words[0] == "python" and words[1].endswith(".py"):
            name = path_of(folder, words[1]).removeprefix("experiments/").removesuffix(".py")
            yield name, words[2:]


def filled(project, line):
    line = re.sub(r"\$\{vars\.(\w+)\}", lambda match: str(project["vars"][match[1]]), line)
    return re.sub(r"\$\{env\.(\w+)\}", lambda match: project["env"][match[1]] and "", line)


STEPS = [(folder, step) for (folder, _), step in COMMANDS.items()]
CALLS = [(folder, *called) for folder, step in STEPS for called in scripts_called(folder, step)]


@cache
def command_of(name):
    """What reads the script's arguments."""
    module = script(name)
    if hasattr(module, "app"):
        return get_command(module.app)
    app, settings = typer.Typer(), {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(context_settings=settings if name in MORE_ARGUMENTS else {})(module.main)
    return get_command(app)


@pytest.mark.parametrize("folder", PROJECTS)
def test_it_is_a_project(folder):
    assert validate(ProjectConfigSchema, PROJECTS[folder]) == []


@pytest.mark.parametrize("folder", PROJECTS)
def test_commands_of_workflows_exist_and_all_are_used(folder):
    project = PROJECTS[folder]
    names = [command["name"] for command in project["commands"]]
    assert len(set(names)) == len(names)
    expected = {*names} - {"download"}
    assert {name for workflow in project["workflows"].values() for name in workflow} == expected
    for name, workflow in project["workflows"].items():
        assert workflow and len(set(workflow)) == len(workflow), name


@pytest.mark.parametrize(
    "folder", [folder for folder, project in PROJECTS.items() if "assets" in project]
)
def test_assets_that_are_not_downloaded(folder, tmp_path, monkeypatch, capsys):
    """`spacy project assets --extra` needs no network, and says what downloads the corpora, and how to name the folder
    of a licensed treebank."""
    monkeypatch.setattr("weasel.cli.assets.download_file", None)
    shutil.copy(ROOT / folder / "project.yml", tmp_path)
    project_assets(tmp_path, extra=True)
    said = " ".join(capsys.readouterr().out.split())
    assert ("python -m spacy project run" in said) == ("downloads" in PROJECTS[folder])
    for variable in ("ptb_dir", "ctb_dir"):
        found = f"--vars.{variable} FOLDER" in said
        assert found == (variable in PROJECTS[folder].get("vars", {}))


def named_in(folder, command):
    """Scripts, configs and corpora of the repository, and whatever else is no result of a command."""
    words = [word for line in command["script"] for word in shlex.split(line)]
    paths = [word for word in words if re.fullmatch(r"[\w./-]+\.(py|cfg|conll|conllu|txt)", word)]
    return {path_of(folder, path) for path in paths if path.split("/")[0] not in MADE}


@pytest.mark.parametrize("folder, name", COMMANDS)
def test_files_of_the_project_exist(folder, name):
    command = COMMANDS[folder, name]
    deps = [path for path in command.get("deps", []) if path.split("/")[0] not in MADE]
    named = named_in(folder, command) | {path_of(folder, path) for path in deps}
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert command["help"].strip() and command["outputs"]


@pytest.mark.parametrize("folder, name", WORKFLOWS)
def test_what_a_command_depends_on_was_made_before(folder, name):
    made = []
    for command in PROJECTS[folder]["workflows"][name]:
        for dep in COMMANDS[folder, command].get("deps", []):
            near = [other for other in made if dep == other or f"{dep}/".startswith(f"{other}/")
                    or other.startswith(f"{dep}/")]  # fmt: skip
            assert dep.split("/")[0] not in MADE or near, f"{command}: {dep}"
        made += COMMANDS[folder, command]["outputs"]


@pytest.mark.parametrize("name", sorted({name for _, name, _ in CALLS} - set(NO_TYPER)))
def test_arguments_are_those_of_the_script(name):
    for _, _, arguments in (called for called in CALLS if called[1] == name):
        command = command_of(name)
        if commands := getattr(command, "commands", None):
            command, arguments = commands[arguments[0]], arguments[1:]
        context = command.make_context(name, list(arguments))
        assert name in MORE_ARGUMENTS or not context.args


@pytest.mark.parametrize("folder", PROJECTS)
def test_variables_are_known_and_used(folder):
    project = PROJECTS[folder]
    text = " ".join(line for command in project["commands"] for line in command["script"])
    for kind, key in (("vars", "vars"), ("env", "env")):
        assert set(re.findall(rf"\$\{{{kind}\.(\w+)\}}", text)) == set(project[key])


@pytest.mark.parametrize("folder", EXPERIMENTS)
def test_readme_lists_the_commands(folder, tmp_path):
    """`spacy project document --output README.md --no-emoji` would change nothing."""
    readme = (ROOT / folder / "README.md").read_text("utf8")
    shutil.copy(ROOT / folder / "README.md", tmp_path)
    shutil.copy(ROOT / folder / "project.yml", tmp_path)
    project_document(tmp_path, tmp_path / "README.md", no_emoji=True)
    assert (tmp_path / "README.md").read_text("utf8") == readme
    assert not readme.startswith("<!--"), "what it is about comes first"


def with_variables():
    """What pages and READMEs run with variables."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*/README.md")]
    texts = "\n".join(page.read_text("utf8") for page in pages)
    return sorted({*re.findall(r"project run ([^`|\n]+ --vars\.[^`|\n]+)", texts)})


@pytest.mark.parametrize("command", with_variables())
def test_commands_with_variables_name_their_folder(command):
    """Or the first variable would be taken for the folder."""
    workflow, folder, *arguments = command.split()
    project = PROJECTS[folder]
    assert workflow in {*project["workflows"], *(each["name"] for each in project["commands"])}
    named = {word.removeprefix("--vars.") for word in arguments if word.startswith("--")}
    assert named and named <= set(project["vars"])
