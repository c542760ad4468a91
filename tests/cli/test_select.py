"""`python -m spacy hoseq select`."""

import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)

from ..components import helpers

TEXTS = ["she runs home .", "zebra under quince <b>", "a cat runs ."]


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", "select", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def prepared(folder):
    helpers.ready("log_likelihood").to_disk(folder / "model")
    srsly.write_jsonl(folder / "pool.jsonl", [{"text": text, "id": i} for i, text in enumerate(TEXTS)])
    return folder / "pool.jsonl", folder / "model"


def test_texts_of_lines(tmp_path):
    pool, model = prepared(tmp_path)
    code, output = run(model, pool, "-n", 2, "-o", tmp_path / "out.jsonl", "-d", "0.3")
    assert code == 0 and "2 of 3 texts" in output, output
    first, second = srsly.read_jsonl(tmp_path / "out.jsonl")
    assert first["text"] == TEXTS[1] and first["meta"]["id"] == 1 and first["meta"]["doubt"] > second["meta"]["doubt"]
    assert [t["text"] for t in first["tokens"]][:2] == ["zebra", "under"]
    assert first["doubtful"] and all(0.3 < word["doubt"] < 1 for word in first["doubtful"])


def test_docs(tmp_path):
    pool, model = prepared(tmp_path)
    nlp = spacy.blank("xx")
    DocBin(docs=[helpers.doc_of(nlp, text) for text in TEXTS]).to_disk(tmp_path / "pool.spacy")
    code, output = run(model, tmp_path / "pool.spacy", "-n", 1, "-o", tmp_path / "out.spacy", "--by", "margin")
    assert code == 0, output
    (doc,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(nlp.vocab)
    assert len(doc.spans["doubtful"]) == len(doc.spans["doubtful"].attrs["scores"]) > 0


def test_what_cannot_be_done(tmp_path):
    pool, model = prepared(tmp_path)
    code, output = run(model, pool, "-o", tmp_path / "out.txt")
    assert code == 1 and "[HS027]" in output
    code, output = run(model, pool, "-o", tmp_path / "out.jsonl", "--by", "luck")
    assert code == 1 and "[HS161]" in output and not (tmp_path / "out.jsonl").exists()
    (tmp_path / "pool.jsonl").write_text('{"text": "a cat"}\n{"no": 1}\n')
    code, output = run(model, pool, "-o", tmp_path / "out.jsonl")
    assert code == 1 and "pool.jsonl" in output and len(list(srsly.read_jsonl(tmp_path / "out.jsonl"))) == 1


def test_folders(tmp_path):
    """Of a folder, files of texts are read; without a text there is nothing to write."""
    _, model = prepared(tmp_path)
    pool = tmp_path / "pool"
    pool.mkdir()
    (pool / "README.md").write_text("No text.\n", encoding="utf8")
    code, output = run(model, pool, "-o", tmp_path / "out.jsonl")
    assert code == 1 and "HS074" in output and ".jsonl" in output
    (pool / "a.txt").write_bytes(b"\xe9\n")
    code, output = run(model, pool, "-o", tmp_path / "out.jsonl")
    assert code == 1 and "HS159" in output and not (tmp_path / "out.jsonl").exists()
    (pool / "b.txt").write_text(TEXTS[0], encoding="utf8")
    code, output = run(model, pool, "-o", tmp_path / "out.jsonl")
    assert code == 1 and "1 of 1 texts" in output and "README" not in output


def test_lines_of_a_text_file(tmp_path):
    _, model = prepared(tmp_path)
    (tmp_path / "pool.txt").write_text("\n\n".join(TEXTS), encoding="utf8")
    code, output = run(model, tmp_path / "pool.txt", "-n", 2, "-o", tmp_path / "out.jsonl")
    assert code == 0 and "2 of 3 texts" in output, output
