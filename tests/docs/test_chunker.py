"""Tables about the chunker are those of the code, excerpts are of configs (test_pages.py has what all pages share)."""

import inspect
import json
import re
from pathlib import Path

import pytest
import spacy
from spacy.cli import evaluate
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from thinc.api import Config

from spacy_hoseq.components.chunker import HoseqChunker
from spacy_hoseq.layers.listener import MarginalListener
from spacy_hoseq.pipelines.recipes import RECIPES

from ..builders import learn
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
    assert len(excerpts) >= 3
    for block in excerpts:
        shown = Config().from_str(with_parents(block), interpolate=False)
        assert any(is_part(shown, whole) for whole in wholes), block


def test_excerpt_of_the_model_is_one():
    (block,) = [block for block in blocks(PIPELINES, "ini") if "SumEmissions" in block]
    shown = Config().from_str(with_parents(block))["components"][NAME]
    nlp = spacy.blank("en")
    nlp.add_pipe("hoseq_tagger")
    chunker = nlp.add_pipe(NAME, config=shown)
    (listener,) = [node for node in chunker.model.walk() if isinstance(node, MarginalListener)]
    assert (listener.grad_factor, listener.threshold) == (0.0, 0.05)


def gold_doc(nlp, n_sentences, *, spaces=None):
    """Half of its chunks are not what the chunker has learnt."""
    words = ["she", "reads", "old", "books"] * n_sentences
    starts = [i % 4 == 0 for i in range(len(words))]
    doc = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
    ends = [i for i in range(len(words)) if i % 4 in (0, 3)]
    doc.spans["chunks"] = [Span(doc, i, i + 1, "NP") for i in ends]
    return doc


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME)
    chunks = {"spans": {"chunks": [(0, 3, "NP"), (10, 19, "NP")]}}
    learn(nlp, [Example.from_dict(nlp.make_doc("she reads old books"), chunks)], 10)
    path = tmp_path_factory.mktemp("trained")
    (path / "training").mkdir()
    nlp.to_disk(path / "training" / "model-best")
    return path


@pytest.mark.long
def test_evaluating(trained, monkeypatch, capsys):
    """What is said of `spacy evaluate`, and the code beside it."""
    indented = re.findall(r"(?:^    .+\n|^\n)+", PAGES[CHUNKS], flags=re.MULTILINE)
    (code,) = [block for block in indented if "    import spacy\n" in block]
    monkeypatch.chdir(trained)
    nlp = spacy.load("training/model-best")
    DocBin(docs=[gold_doc(nlp, 1)]).to_disk("dev.spacy")
    settings = {"spans_key": "chunks", "silent": True}
    with_unknown_spaces = evaluate("training/model-best", "dev.spacy", **settings)
    assert with_unknown_spaces["spans_chunks_f"] == pytest.approx(0.5)
    scores = evaluate("training/model-best", "dev.spacy", gold_preproc=True, **settings)
    assert scores["spans_chunks_f"] is None
    for n in (1, 3):
        DocBin(docs=[gold_doc(nlp, n, spaces=[True] * 4 * n)]).to_disk("dev.spacy")
        exec(inspect.cleandoc("\n" + code), {})
        assert float(capsys.readouterr().out) == pytest.approx(0.5)
