"""Ten public files, written here in the manner of each, with text of our own. What `hoseq convert` makes of
them is compared, span by span, with what a plain reader of one format makes of them."""

import csv
import json
import re

import pytest

from ..builders import docs_in
from ..repository import hoseq

TEXT = """\
[PER Zoé Lee] left [LOC Oslo] ( [LOC Norway] ) .
In [LOC York] , [LOC New York] [ORG Post Ltd.] paid 10,000 " kr " to [PER O'Neil] .
It rained in York on the 3 of May .
[ORG Acme] [ORG Bolt & Co] met [PER Zoé] and # 3 / [PER Kim]"""


def parsed(line):
    """Words, and spans as (first, end, label)."""
    words, spans, label = [], [], ""
    for piece in line.split():
        if piece[0] == "[":
            label, first = piece[1:], len(words)
            continue
        words.append(piece.rstrip("]"))
        if piece[-1] == "]":
            spans.append((first, len(words), label))
    return words, spans


TAGS = ("NOUN", "VERB")
SENTENCES = [parsed(line) for line in TEXT.splitlines()]


def bio(words, spans):
    tags = ["O"] * len(words)
    for first, end, label in spans:
        tags[first:end] = [f"B-{label}"] + [f"I-{label}"] * (end - first - 1)
    return tags


def lines(form, head="", sentences=SENTENCES):
    """A line for each word, an empty one after each sentence."""
    text = ""
    for words, spans in sentences:
        rows = enumerate(zip(words, bio(words, spans), strict=True), 1)
        text += head + "".join(form(i, word, tag) + "\n" for i, (word, tag) in rows) + "\n"
    return text


def brackets(words, spans):
    cells = ["*"] * len(words)
    for first, end, label in spans:
        cells[first] = f"({label}*"
        cells[end - 1] = f"({label})" if end == first + 1 else "*)"
    return cells


def conll_2012():
    text = "#begin document (bc/x); part 000\n"
    for words, spans in SENTENCES:
        for i, (word, cell) in enumerate(zip(words, brackets(words, spans), strict=True)):
            text += f"bc/x  0  {i}  {word}  NN  (TOP*)  -  -  -  Lee  {cell}  (ARG0*)  -\n"
        text += "\n"
    return text + "#end document\n"


def webanno():
    text = "#FORMAT=WebAnno TSV 3.3\n#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value\n"
    number = at = 0
    for s, (words, spans) in enumerate(SENTENCES, 1):
        text += f"\n#Text={' '.join(words)}\n"
        cells = ["_\t_"] * len(words)
        for first, end, label in spans:
            number += 1
            cell = f"*[{number}]\t{label}[{number}]" if end > first + 1 else f"*\t{label}"
            cells[first:end] = [cell] * (end - first)
        for i, word in enumerate(words):
            text += f"{s}-{i + 1}\t{at}-{at + len(word)}\t{word}\t{cells[i]}\t\n"
            at += len(word) + 1
    return text


def characters(words, spans):
    """The text of words with spans by characters."""
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
    offsets = [(starts[a], starts[b - 1] + len(words[b - 1]), label) for a, b, label in spans]
    return " ".join(words), offsets


def brat():
    text, rows = "", []
    for words, spans in SENTENCES:
        line, offsets = characters(words, spans)
        rows += [(len(text) + a, len(text) + b, label) for a, b, label in offsets]
        text += line + "\n"
    ann = "".join(f"T{i}\t{label} {a} {b}\t{text[a:b]}\n" for i, (a, b, label) in enumerate(rows))
    return {"x.txt": text, "x.ann": ann + "R1\tin Arg1:T1 Arg2:T2\n#1\tAnnotatorNotes T1\tnote\n"}


def label_studio():
    tasks = []
    for words, spans in SENTENCES:
        text, offsets = characters(words, spans)
        regions = [
            {"start": a, "end": b, "text": text[a:b], "labels": [label]} for a, b, label in offsets
        ]
        result = [{"value": value, "type": "labels", "from_name": "label"} for value in regions]
        tasks.append(
            {"data": {"text": text}, "annotations": [{"result": result}], "predictions": []}
        )
    return json.dumps(tasks)


def doccano():
    rows = [characters(*sentence) for sentence in SENTENCES]
    return "\n".join(json.dumps({"id": 1, "text": text, "label": spans}) for text, spans in rows)


def kaggle():
    rows, begins = [["Sentence #", "Word", "POS", "Tag"]], ""
    for s, (words, spans) in enumerate(SENTENCES, 1):
        begins = f"Sentence: {s}"
        for i, (word, tag) in enumerate(zip(words, bio(words, spans), strict=True)):
            rows.append([begins, word, TAGS[i % 2], tag])
            begins = ""
    return "".join(
        ",".join(f'"{c.replace(chr(34), chr(34) * 2)}"' for c in row) + "\n" for row in rows
    )


def norne(i, word, tag):
    return f"{i}\t{word}\t{word}\t{TAGS[i % 2]}\t_\t_\t{i - 1}\tdep\t_\tname={tag}"


FILES = {
    "CoNLL-2003": lambda: "-DOCSTART- -X- -X- O\n\n" + lines(lambda i, w, t: f"{w} {TAGS[i % 2]} B-NP {t}"),
    "CoNLL-2012": conll_2012,
    "GermEval 2014": lambda: lines(lambda i, w, t: f"{i}\t{w}\t{t}\tO", "#\thttp://x.org [2009-10-17]\n"),
    "WNUT 2017": lambda: lines(lambda i, w, t: f"{w}\t{t}"),
    "Few-NERD": lambda: lines(lambda i, w, t: f"{w}\t{t[2:] or 'O'}"),
    "Kaggle": kaggle,
    "NorNE": lambda: lines(norne, "# sent_id = 1\n"),
    "INCEpTION": webanno,
    "brat": brat,
    "Label Studio": label_studio,
    "doccano": doccano,
}  # fmt: skip


def of_cells(cells):
    """Words and spans of a sentence: of (word, tag); the tag is BIO, a type alone, or CoNLL-2012's."""
    spans, inside = [], ""
    for i, (_, tag) in enumerate(cells):
        letter, _, label = tag.rpartition("-")
        if "*" in tag or tag[0] == "(":
            label = tag.strip("(*)") or inside
            letter = "B" if tag[0] == "(" else "I"
        if not label or tag == "O":
            inside = ""
        elif letter == "B" or label != inside:
            spans.append((i, i + 1, label))
            inside = label
        else:
            spans[-1] = (spans[-1][0], i + 1, label)
        if tag[-1] == ")":
            inside = ""
    return characters([word for word, _ in cells], spans)


def of_numbers(cells):
    """The same of WebAnno: PER[1] in several rows is one span."""
    spans = {}
    for i, (_, cell) in enumerate(cells):
        label, _, number = cell.partition("[")
        if label != "_":
            first, _, _ = spans.get(number or i, (i, i, label))
            spans[number or i] = (first, i + 1, label)
    return characters([word for word, _ in cells], spans.values())


def plainly(name, files):
    """What a plain reader makes of a file: texts with spans by characters."""
    text = files.get("x.txt", "")
    if name == "brat":
        spans = re.findall(r"^T\d+\t(\w+) (\d+) (\d+)", files["x.ann"], re.MULTILINE)
        return [(text, [(int(a), int(b), label) for label, a, b in spans])]
    if name == "doccano":
        return [(row["text"], row["label"]) for row in map(json.loads, text.splitlines())]
    if name == "Label Studio":
        texts = []
        for task in json.loads(text):
            values = [region["value"] for region in task["annotations"][0]["result"]]
            spans = [(value["start"], value["end"], value["labels"][0]) for value in values]
            texts.append((task["data"]["text"], spans))
        return texts
    if name == "Kaggle":
        text = "".join(
            ("\n" if s else "") + f"{w}\t{t}\n" for s, w, _, t in csv.reader(text.splitlines()[1:])
        )
    word, tag = {"CoNLL-2003": (0, 3), "CoNLL-2012": (3, 10), "GermEval 2014": (1, 2), "NorNE": (1, 9),
                 "INCEpTION": (2, 4)}.get(name, (0, 1))  # fmt: skip
    texts = []
    for block in text.strip().split("\n\n"):
        rows = [
            re.split(r"\t|  +|(?<=[^\t]) ", line)
            for line in block.split("\n")
            if not (word and line[0] == "#")
        ]
        cells = [
            (row[word], row[tag].removeprefix("name=")) for row in rows if row[0] != "-DOCSTART-"
        ]
        if name == "INCEpTION":
            texts.append(of_numbers(cells))
        elif cells:
            texts.append(of_cells(cells))
    return texts


def squeezed(text):
    return "".join(text.split())


def placed(texts):
    """Spans with their place among the characters that are no white space."""
    before, found = "", []
    for text, spans in texts:
        for start, end, label in sorted(spans):
            found.append((len(squeezed(before + text[:start])), squeezed(text[start:end]), label))
        before += text
    return found


@pytest.mark.parametrize("name", FILES)
def test_public_files_span_by_span(tmp_path, name):
    files = FILES[name]()
    if isinstance(files, str):
        files = {"x.txt": files}
    for file, text in files.items():
        encoding = "latin-1" if name == "Kaggle" else "utf8"
        (tmp_path / file).write_text(text, encoding, newline="")
    source = tmp_path / ("x.ann" if name == "brat" else "x.txt")
    options = ["-e", "latin-1"] if name == "Kaggle" else []
    code, output = hoseq("convert", source, "-o", tmp_path / "x.spacy", *options)
    docs = docs_in(tmp_path / "x.spacy")
    found = placed(
        (doc.text, [(e.start_char, e.end_char, e.label_) for e in doc.ents]) for doc in docs
    )
    assert code == 0 and "Problems 0" in output and "HW013" not in output
    assert found == placed(plainly(name, files))
    truth = placed(characters(*sentence) for sentence in SENTENCES)
    # names side by side are one where types stand alone
    if name != "Few-NERD":
        assert found == truth
