"""Damaged files of whole pipelines: each is refused with a code, or loads and says what it said before.

    python -m tests.attacks files [--number 2000] [--seed 0] [--output damages.jsonl]

Pipelines with every component and table are saved; then, one at a time, a file of ours or of spaCy's gets a flipped
bit, is cut, emptied, filled with zeros, lost, or replaced by the same file of another training or another file of the
pipeline. Loaded is by `spacy_hoseq.load`, in processes of their own, so that a crash is seen. Pipelines of the package
have a list of all their files; the others are as `nlp.to_disk` and `spacy train` write them.
"""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import spacy
import typer
from spacy.training import Example
from spacy.vectors import Vectors

import spacy_hoseq
from spacy_hoseq.features.known_words import KNOWN_WORDS_TABLE as KNOWN_WORDS
from spacy_hoseq.features.word_classes import WORD_CLASSES_TABLE as CLASSES
from spacy_hoseq.features.word_classes import word_classes
from spacy_hoseq.pipelines import embedded_path
from spacy_hoseq.readers import corpus as read_corpus
from spacy_hoseq.segmentation import make_units
from spacy_hoseq.segmentation.corpus import known_words
from tests.components import bidirectional_helpers as bidirectional
from tests.components import chunker_helpers as chunks
from tests.components import helpers as tags
from tests.components import lemma_helpers as lemmas
from tests.components import morphology_helpers as morphology
from tests.segmentation import helpers as characters

ROOT = Path(__file__).parents[2]
TOGETHER = 100  # damages of one process
SECONDS = 60  # for one
MEMORY = 8 << 30  # bytes
OUTCOMES = ("refused", "same", "config", "silent", "uncoded", "crash")
TEXTS = {
    "zh": ["我们在学校学习。", "学生喜欢喝绿茶。他们买了iPhone 12。", "2008年"],
    "lemmas": ["She saw ponies in Rome", "The parties cut cherries and dogs", "walked mice"],
    "morphology": ["the old dogs run .", "a cat sleeps here"],
}
ENGLISH = [
    *chunks.TEXTS,
    *(text for text, _ in tags.CORPUS[:3]),
    "the unseen Zebra runs, doesn't it?",
    "a\n\nb",
]


def tables(folder, corpus):
    """A tagger whose features read three tables, between components of spaCy that have files."""
    templates = ["lower[0]", "known_tags[0]", "word_class1[0]", "known_begins[0]", "suffix2[0]"]
    nlp = tags.blank(model=tags.tagger_model(tags.sparse(templates)))
    (folder / "classes.tsv").write_text("the\tx\nold\ty\ncat\tz\n", encoding="utf8")
    nlp.vocab.lookups.set_table(CLASSES, word_classes(folder / "classes.tsv").get_table(CLASSES))
    known = known_words(characters.saved_words(folder)).get_table(KNOWN_WORDS)
    nlp.vocab.lookups.set_table(KNOWN_WORDS, known)
    docs = [(tags.doc_of(nlp, text), gold.split()) for text, gold in corpus for _ in range(5)]
    examples = [Example.from_dict(doc, {"tags": gold}) for doc, gold in docs]
    nlp.initialize(lambda: examples)
    for _ in range(5):
        nlp.update(examples)
    nlp.vocab.vectors = Vectors(data=np.eye(3, dtype="f"), keys=["the", "old", "cat"])
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"TAG": "N"}]], attrs={"POS": "NOUN"})
    nlp.add_pipe("sentencizer")
    return nlp


def segmenting(folder, corpus):
    """A tokenizer of Chinese that knows words."""
    path = characters.saved_words(folder)
    nlp = characters.new_segmenter()
    templates = [*characters.TEMPLATES, "known_begins[0]", "known_ends[0]"]
    emissions = {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": templates}
    model = {
        "@architectures": "spacy_hoseq.HigherOrderTagger.v1",
        "emissions": emissions,
        "patterns": None,
    }
    nlp = spacy.blank("zh")
    nlp.add_pipe("hoseq_tagger", config={"model": model})
    nlp.vocab.lookups = known_words(path)
    characters.train(
        nlp,
        list(read_corpus(path, augmenter=make_units())(nlp)),
        epochs=12 if len(corpus) > 4 else 3,
    )
    settings = {"@tokenizers": "spacy_hoseq.CharacterTokenizer.v1"}
    whole = spacy.blank("zh", config={"nlp": {"tokenizer": settings}})
    whole.tokenizer.use(nlp)
    return whole


MADE = {
    "tables": tables,
    "zh": segmenting,
    "chunks": lambda folder, corpus: chunks.trained("joint", 3 + len(corpus)),
    "bidirectional": lambda folder, corpus: bidirectional.trained(
        3 + len(corpus), model=bidirectional.local(order=1), save_decisions=True
    ),
    "morphology": lambda folder, corpus: morphology.trained(3 + len(corpus)),
    "lemmas": lambda folder, corpus: lemmas.trained(3 + len(corpus)),
}
OF_PACKAGE = ("en", "zh")  # damaged less often, since they take long to load


def save_all(folder):
    """Each pipeline, and beside it the same of another training."""
    for name, make in MADE.items():
        for kind, corpus in (("first", tags.CORPUS), ("other", tags.CORPUS[:4])):
            place = folder / name / kind
            place.mkdir(parents=True)
            make(place, corpus).to_disk(place / "pipeline")
    for name in OF_PACKAGE:
        shutil.copytree(embedded_path(name), folder / f"package-{name}" / "first" / "pipeline")


def texts_of(name):
    name = name.removeprefix("package-")
    return TEXTS.get(name, ENGLISH)


def said(nlp, name):
    """Everything that stands on the Docs."""
    found = []
    for doc in nlp.pipe(texts_of(name)):
        rows = [
            (t.text, t.tag_, t.pos_, str(t.morph), t.lemma_, t.ent_type_, t.is_sent_start)
            for t in doc
        ]
        spans = {
            key: [(s.start, s.end, s.label_) for s in group]
            for key, group in sorted(doc.spans.items())
        }
        found.append([rows, spans])
    return json.dumps(found)


def files_of(pipeline):
    """Files that a pipeline is read from: no cards and licences."""
    paths = [
        path for path in sorted(pipeline.rglob("*")) if path.is_file() and path.suffix != ".md"
    ]
    return [path.relative_to(pipeline).as_posix() for path in paths if "LICENSE" not in path.name]


def damages(folder, number, seed):
    """What is done to which file: (pipeline, file, kind, numbers)."""
    rng = random.Random(seed)
    of_package = [f"package-{name}" for name in OF_PACKAGE]
    for i in range(number):
        name = rng.choice(of_package) if i % 40 == 0 else rng.choice([*MADE])
        files = files_of(folder / name / "first" / "pipeline")
        kinds = ["bit", "bit", "bit", "bit", "cut", "empty", "zeros", "missing", "another file"]
        kind = rng.choice(kinds if name in of_package else [*kinds, "another training"])
        yield name, rng.choice(files), kind, [rng.random(), rng.random(), rng.choice(files)]


def damage(pipeline, other, file, kind, numbers):
    """RETURNS whether the file is another one now."""
    path = pipeline / file
    before = path.read_bytes()
    at = min(int(numbers[0] * len(before)), max(0, len(before) - 1))
    data = before
    if kind == "bit" and before:
        data = before[:at] + bytes([before[at] ^ (1 << int(numbers[1] * 8))]) + before[at + 1 :]
    if kind == "cut":
        data = before[:at]
    if kind == "empty":
        data = b""
    if kind == "zeros":
        data = before[:at] + bytes(min(8, len(before) - at)) + before[at + 8 :]
    if kind == "another file":
        data = (pipeline / numbers[2]).read_bytes()
    if kind == "another training" and (other / file).exists():
        data = (other / file).read_bytes()
    if kind == "missing":
        path.unlink()
        return True
    path.write_bytes(data)
    return data != before


def outcome(pipeline, name, file, expected):
    """What becomes of a damaged pipeline."""
    try:
        now = said(spacy_hoseq.load(pipeline), name)
    except Exception as error:
        is_coded = str(error).startswith(("[HS", "[E"))  # ours, and those of spaCy
        return ("refused" if is_coded else "uncoded"), f"{type(error).__name__}: {error}"[:300]
    if now == expected:
        return "same", ""
    return ("config" if file.endswith("config.cfg") else "silent"), ""


def work_in(folder):
    """Damages from standard input, outcomes to standard output, line by line."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    expected = {}
    for line in sys.stdin:
        name, file, kind, numbers = json.loads(line)
        first = folder / name / "first" / "pipeline"
        if name not in expected:
            expected[name] = said(spacy_hoseq.load(first), name)
        signal.alarm(SECONDS)
        with tempfile.TemporaryDirectory() as place:
            pipeline = shutil.copytree(first, Path(place) / "pipeline")
            if damage(pipeline, folder / name / "other" / "pipeline", file, kind, numbers):
                found, message = outcome(pipeline, name, file, expected[name])
            else:
                found, message = "same", "the same bytes"
        row = {"pipeline": name, "file": file, "kind": kind, "outcome": found, "message": message}
        print(json.dumps(row), flush=True)


def attack(number, seed, write=lambda row: None):
    """RETURNS all outcomes, one row a damage."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warnings.simplefilter("ignore")
        save_all(folder)
        waiting = list(damages(folder, number, seed))
        while waiting:
            some = waiting[:TOGETHER]
            command = [sys.executable, "-m", "tests.attacks", "files", "--work", str(folder)]
            given = "".join(json.dumps(one) + "\n" for one in some)
            result = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True)
            done = [json.loads(line) for line in result.stdout.splitlines()]
            if len(done) < len(some):
                name, file, kind, _ = some[len(done)]
                message = f"{result.returncode}: {result.stderr[-300:]}"
                row = {
                    "pipeline": name,
                    "file": file,
                    "kind": kind,
                    "outcome": "crash",
                    "message": message,
                }
                done.append(row)
            for row in done:
                write(row)
            rows += done
            waiting = waiting[len(done) :]
    return rows


def main(
    number: int = typer.Option(2000, help="Damages"),
    seed: int = typer.Option(0, help="Of the damages"),
    output: Path | None = typer.Option(None, help="A row of JSON for each damage"),
    work: Path | None = typer.Option(None, hidden=True),
) -> None:
    if work:
        work_in(work)
        return
    log = output.open("w") if output else None
    rows = attack(number, seed, lambda row: log and print(json.dumps(row), file=log, flush=True))
    counts = Counter(row["outcome"] for row in rows)
    print(
        f"{len(rows)} damages: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)
    )
    for wanted in OUTCOMES[1:]:
        files = Counter(Path(row["file"]).name for row in rows if row["outcome"] == wanted)
        print(f"  {wanted}: {dict(files.most_common())}")
    raise SystemExit(bool(counts["silent"] or counts["uncoded"] or counts["crash"]))
