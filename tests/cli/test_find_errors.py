"""`python -m spacy hoseq find-errors` and `correct`."""

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from ..chunk_corpus import QUICK, corpus_file, sentences
from ..repository import hoseq as run


def docs_of(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


@pytest.mark.long
def test_errors_are_found_and_corrected(tmp_path):
    texts = sentences()[:24]
    odd = texts[-1].replace("./.", "./ODD").replace(" . ", " ODD ")
    corpus = corpus_file(tmp_path / "corpus.spacy", [*texts[:-1], odd])
    values = [(f"--{name}", srsly.json_dumps(value)) for name, value in QUICK.items()]
    quick = [part for pair in values for part in pair]
    options = ["-k", "3", "--seed", "1", "--alternatives", "1"]
    code, output = run("find-errors", "crf", corpus, "-o", tmp_path / "out", *options, *quick)
    assert code == 0 and "findings.jsonl" in output, output
    tasks = list(srsly.read_jsonl(tmp_path / "out" / "findings.jsonl"))
    assert {len(task["options"]) for task in tasks} == {2}, "as annotated, and one alternative"
    first = tasks[0]["finding"]
    assert first["doc"] == 23 and first["gold"][0][0][2] == "ODD"
    expected = [f"findings.{x}" for x in ("html", "jsonl", "spacy")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == expected
    srsly.write_jsonl(tmp_path / "answers.jsonl", [{**tasks[0], "accept": ["1"]}])
    code, output = run("correct", corpus, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy")
    assert code == 0 and "1 corrections" in output, output
    assert "ODD" not in {token.tag_ for token in docs_of(tmp_path / "new.spacy")[23]}


def test_what_cannot_be_done(tmp_path):
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:3])
    code, output = run("find-errors", "no-such-recipe", corpus, "-o", tmp_path / "out")
    assert code == 1 and "[HS161]" in output
    for number, text in enumerate(["", "[nlp]\npipeline = []\n", '[nlp]\nlang = "qq"\n']):
        (tmp_path / f"{number}.cfg").write_text(text, "utf8")
        config, out = tmp_path / f"{number}.cfg", tmp_path / "out"
        code, output = run("find-errors", config, corpus, "-o", out)
        assert code == 1 and "[HS027]" in output, output
    code, output = run("find-errors", "crf", corpus, "-o", tmp_path / "out", "-k", "9")
    assert code == 1 and "[HS150]" in output and not (tmp_path / "out").exists()
    for accepted in (["1"], 1):
        srsly.write_jsonl(tmp_path / "answers.jsonl", [{"accept": accepted}])
        answers = tmp_path / "answers.jsonl"
        code, output = run("correct", corpus, answers, "-o", tmp_path / "new.spacy")
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
        path.write_text(text, "utf8")
    corpus = corpus_file(tmp_path / "corpus.spacy", sentences()[:4])
    code, output = run("find-errors", path, corpus, "-o", tmp_path / "out", "-k", "2")
    assert code == 1 and said.format(path=path).replace(" ", "") in output.replace(" ", ""), output
