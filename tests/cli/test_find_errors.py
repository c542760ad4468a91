"""`python -m spacy hoseq find-errors` and `correct`."""

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.cli.app import INTERRUPTED
from spacy_hoseq.curation import folds

from ..chunk_corpus import QUICK, config_of, corpus_file, sentences


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def docs_of(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


def interrupted_at(monkeypatch, n):
    """Whoever trains for the nth time is interrupted in the middle of it. RETURNS what was trained."""
    made = []

    def train(nlp, *arguments, **settings):
        made.append(nlp)
        step = nlp.update
        if len(made) == n:
            nlp.update = lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        try:
            return real(nlp, *arguments, **settings)
        finally:
            nlp.update = step

    real = folds.train
    monkeypatch.setattr(folds, "train", train)
    return made


@pytest.mark.long
@pytest.mark.parametrize("command", ["find-errors", "report"])
def test_an_interrupted_run_goes_on_where_it_was(command, tmp_path, monkeypatch):
    """The same findings and curve as without the interruption, and no training twice."""
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:24])
    quick = [part for name, value in QUICK.items() for part in (f"--{name}", srsly.json_dumps(value))]
    nlp = folds.trained(config_of("crf", QUICK), docs_of(corpus), tmp_path / "first")
    nlp.to_disk(tmp_path / "model")
    arguments = {
        "find-errors": ["crf", corpus, "-k", "3", *quick],
        "report": [tmp_path / "model", corpus, "--train", corpus, "--curve"],
    }[command]
    n_trainings, told = {"find-errors": (3, "findings.jsonl"), "report": (4, "report.json")}[command]
    with monkeypatch.context() as patch:
        made = interrupted_at(patch, 3)
        code, output = run(command, *arguments, "-o", tmp_path / "out")
        assert code == INTERRUPTED and "goes on with the training that it was at" in output, output
        assert len(made) == 3 and not (tmp_path / "out" / told).exists()
    with monkeypatch.context() as patch:
        made = interrupted_at(patch, 0)
        code, output = run(command, *arguments, "-o", tmp_path / "out")
        assert code == 0, output
        assert len(made) == n_trainings - 2, "two were done"
    assert not (tmp_path / "out" / "trainings").exists()
    assert run(command, *arguments, "-o", tmp_path / "whole")[0] == 0
    files = [tmp_path / folder / told for folder in ("out", "whole")]
    if command == "find-errors":
        assert files[0].read_bytes() == files[1].read_bytes()
    else:
        curves = [srsly.read_json(file)["curve"] for file in files]
        assert curves[0] == curves[1] and len(curves[0]) == 4


def test_what_cannot_be_done(tmp_path):
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:3])
    code, output = run("find-errors", "no-such-recipe", corpus, "-o", tmp_path / "out")
    assert code == 1 and "[HS161]" in output
    for number, text in enumerate(["", "[nlp]\npipeline = []\n", '[nlp]\nlang = "qq"\n']):
        (tmp_path / f"{number}.cfg").write_text(text, encoding="utf8")
        code, output = run("find-errors", tmp_path / f"{number}.cfg", corpus, "-o", tmp_path / "out")
        assert code == 1 and "[HS027]" in output, output
    code, output = run("find-errors", "crf", corpus, "-o", tmp_path / "out", "-k", "9")
    assert code == 1 and "[HS150]" in output and not (tmp_path / "out").exists()
    for accepted in (["1"], 1):
        srsly.write_jsonl(tmp_path / "answers.jsonl", [{"accept": accepted}])
        code, output = run("correct", corpus, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy")
        assert code == 1 and "[HS172]" in output and not (tmp_path / "new.spacy").exists()


@pytest.mark.parametrize(
    "line, said",
    [
        (b'{"accept": ["1"]', "answers.jsonl, line 2: "),
        (b'["1"]', 'answers.jsonl, line 2: ["1"]. Expected a line of findings.jsonl'),
        (b'{"accept": ["1"], "note": "caf\xe9"}', "answers.jsonl, line 2: the byte 0xE9. Expected"),
    ],
)
def test_answers_that_cannot_be_read(line, said, tmp_path):
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:3])
    (tmp_path / "answers.jsonl").write_bytes(b'{"accept": []}\n' + line + b"\n")
    code, output = run("correct", corpus, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy")
    assert code == 1 and "[HS172]" in output and not (tmp_path / "new.spacy").exists()
    assert said in output


def test_words_are_not_searched(tmp_path):
    """The recipe cuts texts into words: there are no labels to doubt."""
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:4])
    code, output = run("find-errors", "words", corpus, "-o", tmp_path / "out", "-k", "2")
    assert code == 1 and "[HS107]" in output and "units.v1" in output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text, said", [
    ("[nlp\nlang = 'en'\n", r"[HS172] This cannot be read: {path}: Config validation error"),
    ('[nlp]\nlang = "en"\npipeline = []\n[components]\n[initialize]\ncomponents = {}\n', "[HS159] There is no path"),
    (None, "{path}"),
])  # fmt: skip
def test_a_broken_config(text, said, tmp_path):
    """Its file is named."""
    path = tmp_path / "broken.cfg"
    if text is not None:
        path.write_text(text, encoding="utf8")
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:4])
    code, output = run("find-errors", path, corpus, "-o", tmp_path / "out", "-k", "2")
    assert code == 1 and said.format(path=path).replace(" ", "") in output.replace(" ", ""), output
