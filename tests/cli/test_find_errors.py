"""`python -m spacy hoseq find-errors` and `correct`."""

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)

from ..chunk_corpus import QUICK, corpus_file, sentences


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def docs_of(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


@pytest.mark.long
def test_a_planted_error_is_found_and_corrected(tmp_path):
    texts = sentences()[:40]
    texts[7] = texts[7].replace(". . O", ". NN O")
    corpus = corpus_file(tmp_path / "corpus.spacy", texts)
    quick = [part for name, value in QUICK.items() for part in (f"--{name}", srsly.json_dumps(value))]
    code, output = run("find-errors", "crf", corpus, "-o", tmp_path / "out", "-k", "2", *quick)
    assert code == 0, output
    tasks = list(srsly.read_jsonl(tmp_path / "out" / "findings.jsonl"))
    assert tasks[0]["finding"]["doc"] == 7 and tasks[0]["finding"]["alternatives"][0][0][0][2] == "."
    assert "<mark>.</mark>" in (tmp_path / "out" / "findings.html").read_text(encoding="utf8")
    assert len(docs_of(tmp_path / "out" / "findings.spacy")[7].spans["findings"]) == 1
    tasks[0]["accept"] = ["1"]
    srsly.write_jsonl(tmp_path / "answers.jsonl", tasks)
    code, output = run("correct", corpus, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy")
    assert code == 0 and "1 corrections" in output
    before, after = docs_of(corpus), docs_of(tmp_path / "new.spacy")
    assert after[7][-1].tag_ == "." and before[7][-1].tag_ == "NN"
    assert [[t.tag_ for t in doc] for i, doc in enumerate(after) if i != 7] == [
        [t.tag_ for t in doc] for i, doc in enumerate(before) if i != 7
    ]
    assert [len(doc.spans["chunks"]) for doc in after] == [len(doc.spans["chunks"]) for doc in before]


def test_what_cannot_be_done(tmp_path):
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:3])
    code, output = run("find-errors", "no-such-recipe", corpus, "-o", tmp_path / "out")
    assert code == 1 and "[HS116]" in output
    code, output = run("find-errors", "crf", corpus, "-o", tmp_path / "out", "-k", "9")
    assert code == 1 and "[HS150]" in output and not (tmp_path / "out").exists()
    srsly.write_jsonl(tmp_path / "answers.jsonl", [{"accept": ["1"]}])
    code, output = run("correct", corpus, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy")
    assert code == 1 and "[HS153]" in output and not (tmp_path / "new.spacy").exists()
