"""The format of a file by its first lines; what is no corpus is refused."""

import io
import json
from pathlib import Path

import pytest

from spacy_hoseq.readers import files
from spacy_hoseq.readers.formats import recognised as formats
from spacy_hoseq.readers.formats.recognised import read_corpus, recognised
from spacy_hoseq.readers.sentences import Sentence
from spacy_hoseq.readers.settings import Settings

CONLLU = "# sent_id = 1\n1\tAnn\t_\tPROPN\tNNP" + "\t_" * 5 + "\n"
FILES = {
    "( (S (NP (NNP Ann)) (VP (VBD ran))))": "trees",
    "<DOC>\n<S ID=1>\n( (IP (NN a)) )": "trees",
    "(ROOT\n  (S (NP (NN a))))": "trees",
    "Ann/NNP sang/VBD\nIt/PRP rained/VBD": "tagged",
    "她_PN 睡觉_VV 。_PU": "tagged",
    "Ann|NNP|B-PER sang|VBD|O": "tagged",
    "\n\n[ Ann/NNP ]\nsang/VBD ./.\n=====\n": "tagged",
    "19980101-01-001-001/m 迈向/v 充满/v": "peoples-daily",
    "Ann B-PER\nsang O\n\n": "columns",
    "Ann\tNNP\nNew York\tNNP\n": "columns",
    "1 EU NNP I-NP I-ORG\n2 says VBZ I-VP O": "columns",
    "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n": "columns",
    "-DOCSTART- -X- -X- O\n\nlived in\tVBD\tO\tO\n": "columns",  # of `hoseq apply`
    CONLLU: "conllu",
    CONLLU.partition("\n")[2]: "conllu",
    '{"text": "Ann sang", "spans": []}': "offsets",
    '{"text": "", "answer": "reject"}\n{"text": "a", "label": [[0, 1, "X"]]}': "offsets",
    '[\n {"text": "Ann sang",\n  "label": []}]': "offsets",
    '[["Ann sang", {"entities": []}]]': "offsets",
    '{"tokens": ["Ann"], "ner_tags": ["B-PER"]}': "tokens",
    "Sentence #,Word,POS,Tag\n1,Ann,NNP,O": "table",
    "word\tner\nAnn\tB-PER\n": "table",
    "#FORMAT=WebAnno TSV 3.2\n\n1-1\t0-3\tAnn\t\n": "webanno",
    '[{"paragraphs": [{"sentences": [{"tokens": [{"orth": "a", "ner": "U-X"}]}]}]}]': "spacy-json",
}


def file_of(folder, text, name="a.txt"):
    (folder / name).write_text(text, "utf8")
    return folder / name


@pytest.mark.parametrize("text", FILES)
def test_the_first_lines_decide(tmp_path, text):
    assert recognised(file_of(tmp_path, text), Settings()) == FILES[text]


@pytest.mark.parametrize("name, expected", [("a.ann", "brat"), ("a.bmes", "characters")])
def test_endings_that_decide(tmp_path, name, expected):
    assert recognised(file_of(tmp_path, "a O\n", name), Settings()) == expected


def lines(form, n=40):
    """Lines of a form, with words of two kinds and numbers."""
    words = "the old dog runs under a green tree and she was very quick when he slept".split()
    texts = [words[i * 7 % 16 :] + words[: i * 7 % 16] for i in range(n)]
    return "\n".join(
        form.format(i=10 + i, w=" ".join(text[: 4 + i % 9]), a=text[0], b=text[5], c=text[9])
        for i, text in enumerate(texts)
    )


NO_CORPUS = {
    "sentences": "Anna Lee works in Leeds.\nTom Day sleeps in York.\nWe saw them in Rome.\n",
    "novel": lines("{w}.\n{a} {w}, {b}.\n"),
    "poem": lines("{a} {b} {c} {a}"),
    "capitals": lines("{a}{i} {b}{i}", 60).upper(),
    "pairs of words": "hello world\nmy friend\ngood bye\n",
    "word list": lines("{a}"),
    "code": Path(__file__).read_text("utf8"),
    "lisp": "(defun f (n)\n  (if (= n 0)\n      1\n      (* n (f (- n 1)))))\n" * 9,
    "log": lines("2024-01-{i} 12:00:{i} INFO {a}") + "\n" + lines("2024-01-{i} 12:00:{i} WARN {w}"),
    "numbers": lines("{i}.5\t1{i}\t{i}"),
    "CSV of numbers": lines("{i}.5,1{i},{i}"),
    "people": "name,age,city\n" + lines("{a},{i},{b}"),
    "sentiment": "text,label\n" + lines('"{w}",positive'),
    "translations": lines("{w}\t{a} {w}"),
    "frequencies": lines("{a} 1{i}"),
    "embeddings": lines("{a} 0.{i} 0.3 -0.{i}"),
    "texts": lines('{{"text": "{w}"}}'),
    "classes": lines('{{"text": "{w}", "labels": ["good"]}}'),
    "questions": '{"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": "1", "answers": []}]}]}]}',
    "config": '{\n "a": {\n  "b": [1, 2]\n }\n}',
    "HTML": "<html>\n<p>" + lines("{w}") + "</p>\n</html>",
    "listing": lines("-rw-r--r-- 1 root root 1{i} Nov 28 14:{i} {a}.py"),
    "paths": lines("usr/bin/{a}"),
    "dates": "1/2 3/4 5/6\n7/8 9/1 2/3\n",
    "INI": "[main]\na = 1\nb = 2\n\n[other]\nc = x\n",
    "subtitles": lines("{i}\n00:00:{i},000 --> 00:00:{i},000\n{w}\n"),
    "XML": '<?xml version="1.0"?>\n<a>\n' + lines(" <b id='{i}'>{w}</b>") + "\n</a>\n",
    "Markdown": lines("# {a}\n\n- {b} *{c}*\n- {w}\n\n| {a} | {b} |\n|---|---|\n| {i} | 2 |\n", 9),
    "chat": lines("[10:{i}] {a}: {w}"),
    "e-mail": "From: a@x.org\nTo: b@y.org\nSubject: Re: lunch\n\n" + lines("> {w}\n{w}, {a}."),
    "sales": "date,region,product,units\n" + lines("2021-01-{i},{a},{b},{i}"),
    "BibTeX": lines("@article{{{a}{i},\n  author = {{{w}}},\n  year = {{20{i}}}\n}}\n", 9),
    "SQL": "CREATE TABLE t (id INT);\n" + lines("INSERT INTO t VALUES ({i}, '{w}');"),
    "TOML": '[tool.a]\nlength = 100\n\n[project]\nname = "x"\nuses = ["a", "b"]\n' * 3,
    "YAML": "a:\n  b:\n" + lines("    - {a}: {i}"),
    "stack traces": "Traceback (most recent call last):\n" + lines('  File "a.py", line {i}, in {a}\n    {b}()'),
    "base64": lines("QUJD{i}{a}{b}ZGVm{c}Zw=="),
    "empty columns": lines("{a}\t\t"),
    "empty cells": "word,tag\n" + ",\n" * 40,
    "diff": lines("--- a/{a}\n+++ b/{a}\n@@ -1 +1 @@\n-{w}\n+{w}", 9),
    "JSON of numbers": "[1, 2, 3, 4]",
    "JSON of strings": '["Ann went home.", "It rains."]',
    "users": '[{"id": 1, "name": "Ann Lee", "tags": ["x", "y"]}, {"id": 2, "name": "Bob Day", "tags": ["z"]}]',
    "chat models": lines('{{"messages": [{{"role": "user", "content": "{w}"}}]}}'),
    "documents of titles": '[{"title": "A long title", "sents": [["Ann", "ran"]], "labels": []}]',
    "glossary": lines("{a}: {w}"),
    "bilingual": lines("{w} .\t{w} !"),
    "predictions alone": '{"text": "Ann ran", "predictions": [{"start": 0, "end": 3, "label": "X"}]}',
    "no names for numbers": '{"tokens": ["Ann"], "ner_tags": [1]}',
    "cut": "{",
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_CORPUS)
def test_what_is_no_corpus_is_refused(tmp_path, kind):
    with pytest.raises(ValueError, match=r"\[HS085\].*--format"):
        recognised(file_of(tmp_path, NO_CORPUS[kind]), Settings())


def test_a_refusal_names_two_guesses_what_spoke_against_them_and_options(tmp_path):
    with pytest.raises(ValueError) as error:
        recognised(file_of(tmp_path, "Ann/went out/home\nto/York and/Rome\n"), Settings())
    for part in ("as tagged", "as columns", '"went"', "no word has a label", "--tag-column"):
        assert part in str(error.value)
    both = '{"text": "Ann ran", "spans": [[0, 3, "X"]], "tokens": ["A", "b"], "ner_tags": ["B-X", "O"]}'
    with pytest.raises(ValueError, match="--format tokens or --format offsets"):
        recognised(file_of(tmp_path, both), Settings())


ODD = '( ) [ ] { / _ | = # < " * 12 1998 <s> a/b - O :)'.split()


def spelled(word, name):
    """A word as a format writes it."""
    if name == "trees":
        return word.replace("(", "-LRB-").replace(")", "-RRB-")
    if name == "table":
        return word.replace('"', '""')
    return word.replace("/", "\\/") if name == "tagged" else word


CROSSED = {  # the first sentence has two odd words
    "columns": lambda a, b: f"{a}\tNN\tO\n{b}\tNN\tO\nAnn\tNNP\tB-PER\nran\tVBD\tO\n\n",
    "columns, spaces": lambda a, b: f"{a}   NN O\n{b} NN   O\nAnn NNP  B-PER\nran VBD O\n\n",
    "columns, names": lambda a, b: f"{a} O\n{b} O\nAnn B-PER\nran O\n\n",
    "conllu": lambda a, b: "".join(
        f"{i}\t{w}\t_\tNOUN\tNN\t_\t{i - 1}\tdep\t_\t_\n" for i, w in enumerate((a, b, "Ann", "ran"), 1)) + "\n",
    "tagged": lambda a, b: f"{a}/NN {b}/NN Ann/NNP ran/VBD\n",
    "trees": lambda a, b: f"( (S (NN {a}) (NN {b}) (NP (NNP Ann)) (VBD ran)))\n",
    "table": lambda a, b: f'"{a}",NN,O\n"{b}",NN,O\nAnn,NNP,B-PER\nran,VBD,O\n\n',
    "webanno": lambda a, b: f"1-1\t0-3\t{a}\t_\n1-2\t3-6\t{b}\t_\n1-3\t7-10\tAnn\tPER\n1-4\t11-14\tran\t_\n\n",
    "offsets": lambda a, b: json.dumps(
        {"text": f"{a} {b} Ann ran", "label": [[len(a + b) + 2, len(a + b) + 5, "PER"]]}) + "\n",
    "tokens": lambda a, b: json.dumps({"tokens": [a, b, "Ann", "ran"], "ner_tags": ["O", "O", "B-PER", "O"]}) + "\n",
}  # fmt: skip
HEADS = {
    "table": "word,pos,ner\n",
    "webanno": "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.NamedEntity|value\n\n\n",
}
BEFORE = {"conllu": "# newdoc id: a\tb\n# text = ( a\n", "columns": "# id = 3: a\tb\n"}


@pytest.mark.parametrize("name", CROSSED)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_odd_first_lines_do_not_change_the_format(tmp_path, name, end, mark):
    """Each pair of odd words, comments, a byte order mark, line ends of Windows: the format and the
    words are the same."""
    format = name.partition(",")[0]
    for i, word in enumerate(ODD):
        other = ODD[i * 7 % len(ODD)]
        first = CROSSED[name](spelled(word, format), spelled(other, format))
        text = HEADS.get(format, "") + BEFORE.get(name, "") + first + CROSSED[name]("it", "saw") * 3
        path = tmp_path / f"{i}.txt"
        path.write_bytes((mark + text.replace("\n", end)).encode())
        assert recognised(path, Settings()) == format, text
        items = read_corpus(path, format, Settings())
        read = [item for item in items if isinstance(item, Sentence)]
        assert [s.words[-2:] for s in read] == [["Ann", "ran"]] * 4
        # spaCy's tokenizer cuts texts; trees have names for brackets alone
        if format != "offsets" and (format != "trees" or ":)" not in (word, other)):
            assert read[0].words == [word, other, "Ann", "ran"]


class Endless(io.RawIOBase):
    """A file that repeats a line; of two megabytes, more must not be read."""

    def __init__(self, line):
        self.line, self.n_read = line, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.n_read += len(buffer)
        assert self.n_read < 2_000_000
        buffer[:] = (self.line * (len(buffer) // len(self.line) + 1))[: len(buffer)]
        return len(buffer)


@pytest.mark.parametrize(
    "line", [b"Ann NNP B-PER\n", b"Ann NNP B-PER\n\n", b"12:00 INFO {start}\n"]
)
def test_only_the_head_of_a_file_is_read(tmp_path, monkeypatch, line):
    """Be it one sentence or many."""
    path = file_of(tmp_path, "x")
    real = files.open_bytes

    def opened(file):
        return io.BufferedReader(Endless(line)) if file == path else real(file)

    for module in (files, formats):
        monkeypatch.setattr(module, "open_bytes", opened)
    if b"INFO" in line:
        with pytest.raises(ValueError, match="HS085"):
            recognised(path, Settings())
    else:
        assert recognised(path, Settings()) == "columns"


@pytest.mark.parametrize("text, columns, seen", [
    ("1 a X\n2 b X\n\n1 c X\n", (1, 3, None), "1, 2, 3"),
    ("0 a X\n1 b X\n", (1, 2, None), "1, 2, 3"),
    ("_ X\n_ Y\n", (1, 2, None), '"_"'),
    ("a|X O\nb|Y O\nc|Z O\n", (1, 0, 2), r"a\|X"),
])  # fmt: skip
def test_words_that_are_none_are_refused(tmp_path, text, columns, seen):
    with pytest.raises(ValueError, match=rf"\[HS085\].*{seen}"):
        word, tag, entity = columns
        settings = Settings(word_column=word, tag_column=tag, entity_column=entity)
        list(read_corpus(file_of(tmp_path, text), "columns", settings))
