"""`python -m spacy hoseq compact`: the report, and what it refuses."""

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_hoseq.pipelines.compaction.weights import counts_of

from ..builders import tagger_of
from ..components.helpers import examples_of, gold, predicted, ready, trained
from ..repository import hoseq


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compact")
    ready().to_disk(path / "model")
    docs = [eg.reference for eg in examples_of(ready())]
    DocBin(docs=docs, attrs=["ORTH", "TAG"]).to_disk(path / "dev.spacy")
    return path


def run(*arguments):
    return hoseq("compact", *arguments)


def test_report(folder, tmp_path):
    arguments = folder / "model", folder / "dev.spacy", "-o", tmp_path / "new"
    code, output = run(*arguments, "--tolerance", "0")
    assert code == 0, output
    fresh = spacy.load(tmp_path / "new")
    n_before, n_after = (counts_of(tagger_of(nlp).model).features for nlp in (ready(), fresh))
    assert n_after < n_before and predicted(fresh) == gold()
    assert f"hoseq_tagger: features {n_before} {n_after} " in output
    assert "tag_acc 1.0000 1.0000 " in output
    paths = folder / "model", tmp_path / "new"
    files = ([p for p in path.rglob("*") if p.is_file()] for path in paths)
    sizes = [sum(p.stat().st_size for p in some) for some in files]
    assert "MB {:.3f} {:.3f} ".format(*(size / 1e6 for size in sizes)) in output
    assert sizes[1] < sizes[0]


def test_the_input_is_replaced_only_when_asked_for(tmp_path, folder):
    trained(n_updates=3).to_disk(tmp_path / "model")
    before = {path: path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()}
    code, output = run(tmp_path / "model", folder / "dev.spacy")
    assert code == 1 and "[HS113]" in output and "Nothing written" in output
    assert all(path.read_bytes() == data for path, data in before.items())
    code, output = run(tmp_path / "model", folder / "dev.spacy", "--force", "--keep-strings")
    assert code == 0, output
    path = tmp_path / "model" / "hoseq_tagger" / "model"
    assert len(path.read_bytes()) < len(before[path])
    assert "sleep" in spacy.load(tmp_path / "model").vocab.strings


@pytest.mark.parametrize(
    "settings, problem", [(["--metric", "las"], "HS161"), (["--tolerance", "-1"], "HS027")]
)
def test_impossible_settings(folder, tmp_path, settings, problem):
    code, output = run(folder / "model", folder / "dev.spacy", "-o", tmp_path / "new", *settings)
    assert code == 1 and f"[{problem}]" in output and not (tmp_path / "new").exists()


def test_what_cannot_be_read(folder, tmp_path):
    code, output = run(tmp_path, folder / "dev.spacy", "-o", tmp_path / "new")
    assert code == 1 and "[HS133]" in output
