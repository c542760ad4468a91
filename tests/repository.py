"""The repository's project files, and how to run what is in them."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.util import load_config
from spacy.vocab import Vocab
from thinc.api import Config
from typer.testing import CliRunner

from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.recipes import recipe

ROOT = Path(__file__).parents[1]


UPSTREAM = "components.hoseq_chunker.model.emissions.second.upstream"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {  # of a recipe: with these settings
    "pipeline-joint": ("pipeline", {f"{UPSTREAM}.grad_factor": 1.0})
}


def config_of(name: str, overrides: dict[str, Any] | None = None) -> Config:
    """Of configs/NAME.cfg, of a config that only an experiment has ("multilayer/..."), or of a recipe: "tagger",
    "tagger/zh", or one of VARIANTS. Variables stay as they are."""
    base, settings = VARIANTS.get(name, (name, {}))
    settings = {**settings, **(overrides or {})}
    if name.endswith(".cfg"):
        folder = ROOT if (ROOT / "configs" / name).exists() else ROOT / "experiments" / "conll2000"
        return load_config(folder / "configs" / name, overrides=settings, interpolate=False)
    return Config().from_str(recipe(*base.split("/")), overrides=settings, interpolate=False)


def quicker(project: Path, settings: str, start: str) -> None:
    """Give these overrides to the trainings of a copy of a project, in the commands whose names begin so."""
    path = project / "project.yml"
    content: dict[str, Any] = srsly.read_yaml(path)
    for command in content["commands"]:
        if command["name"].startswith(start):
            command["script"] = [f"{line} {settings}" for line in command["script"]]
    srsly.write_yaml(path, content)


def run_workflow(name: str, *arguments: Any, folder: Path) -> subprocess.CompletedProcess[str]:
    """`spacy project run NAME ARGUMENTS` in a folder."""
    return run("-m", "spacy", "project", "run", name, *arguments, folder=folder)


def copy_of_project(folder: Path) -> Path:
    """The files that the workflows need."""
    made = shutil.ignore_patterns("corpus", "training", "metrics", "reports", "__pycache__")
    for name in ("assets", "configs", "experiments"):
        shutil.copytree(ROOT / name, folder / name, ignore=made)
    shutil.copy(ROOT / "project.yml", folder)
    return folder


def script(name: str) -> ModuleType:
    """experiments/NAME.py as a module, to call its functions without the costs of another process."""
    path = ROOT / "experiments" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # some import another one beside them
    with mock.patch.object(sys, "path", [str(path.parent), *sys.path]):
        spec.loader.exec_module(module)
    return module


def call(module: ModuleType, *arguments: Any) -> tuple[int, str]:
    """`python SCRIPT.py ARGUMENTS` in this process. RETURNS exit status, output in one line without colours."""
    app = typer.Typer()
    app.command()(module.main)
    return invoked(app, arguments)


def hoseq(*arguments: Any) -> tuple[int, str]:
    """`python -m spacy hoseq ARGUMENTS` in this process. RETURNS exit status, output in one line without colours."""
    return invoked(hoseq_cli, arguments)


def invoked(app: typer.Typer, arguments: Sequence[Any]) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "300"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(re.sub(r"\x1b\[[0-9;]*m", "", result.output).split())


def tagged_docs(texts: Sequence[str], vocab: Vocab | None = None) -> list[Doc]:
    """Of "word/TAG word/TAG" each; " | " begins a sentence."""
    docs = []
    for text in texts:
        sentences = [[pair.rsplit("/", 1) for pair in part.split()] for part in text.split(" | ")]
        pairs = [pair for sentence in sentences for pair in sentence]
        starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
        words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
        annotation: dict[str, Any] = {"sent_starts": starts} if len(sentences) > 1 else {}
        own = Vocab() if vocab is None else vocab  # (an empty one is false)
        docs.append(Doc(own, words=words, tags=tags, **annotation))
    return docs


def tagged_file(path: Path, *texts: str) -> Path:
    """As `tagged_docs`."""
    DocBin(docs=tagged_docs(texts, Vocab())).to_disk(path)
    return path


def run(*command: Any, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python COMMAND` in a folder. Standard output and errors come as one text."""
    settings = {"HOSEQ_CORPORA": "", "PYTHONIOENCODING": "utf8", **environment}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf8"}
    command = [sys.executable, *map(str, command)]
    return subprocess.run(command, cwd=folder, env={**os.environ, **settings}, **output)
