"""Tables about the chunker are those of the code, excerpts are of configs (test_pages.py has what all pages share)."""

import inspect
import json
from pathlib import Path

import pytest
from thinc.api import Config

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.pipelines.recipes import RECIPES

from ..repository import VARIANTS, config_of
from .pages import PAGES, ROOT, blocks, made_tables, table, with_parents

CONFIGS = ROOT / "configs"
NAME = "hoseq_chunker"
CHUNKS, PIPELINES = "docs/tasks/names.md", "docs/tasks/pipelines.md"


def test_values_of_a_setting():
    """The type of a choice has its values."""
    values = inspect.signature(HoseqChunker).parameters["representation"].annotation.__args__
    (kind,) = [row[1] for row in made_tables().settings(NAME) if row[0] == "`representation`"]
    assert {json.loads(value) for value in kind.split(", ")} == {*values}


def listeners_in(settings):
    found = [settings] if settings.get("@architectures", "").endswith("MarginalListener.v1") else []
    for value in settings.values():
        found += listeners_in(value) if isinstance(value, dict) else []
    return found


@pytest.mark.parametrize(
    "row", table("| System | `grad_factor`"), ids=lambda row: row[2].strip("`")
)
def test_systems_table(row):
    """Its settings are those of the listeners in the recipe with them, and in the config."""
    _, grad_factor, file = [cell.strip("`") for cell in row]
    recipes = {"1best": "pipeline_1best.cfg", "marginal": "pipeline", "joint": "pipeline-joint"}
    recipe = recipes[Path(file).stem]
    for name in (recipe, file):
        config = config_of(name)
        factors = {listener["grad_factor"] for listener in listeners_in(config["components"][NAME])}
        assert factors == (set() if grad_factor == "no listener" else {float(grad_factor)})
        assert factors or config["training"]["annotating_components"] == ["hoseq_tagger"]


def is_part(shown, whole):
    if not isinstance(shown, dict):
        return shown == whole
    known = whole if isinstance(whole, dict) else {}
    return all(name in known and is_part(value, known[name]) for name, value in shown.items())


def test_excerpts_are_parts_of_configs():
    paths = [*CONFIGS.rglob("*.cfg"), *(ROOT / "experiments").rglob("*.cfg")]
    wholes = [Config().from_disk(path, interpolate=False) for path in paths]
    wholes += [config_of(name) for name in (*RECIPES, *VARIANTS)]
    part = PAGES[PIPELINES].partition("\n## A chunker on a tagger\n")[2].partition("\n## ")[0]
    excerpts = [block for block in blocks(PIPELINES, "ini") if block in part]
    assert len(excerpts) >= 2
    for block in excerpts:
        shown = Config().from_str(with_parents(block), interpolate=False)
        assert any(is_part(shown, whole) for whole in wholes), block
