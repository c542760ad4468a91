"""The corpora of `benchmarks.sizes`, of any number of sentences, as .spacy files."""

import gzip
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import biluo_tags_to_spans, iob_to_biluo
from thinc.api import Config

PER_DOC = 10  # sentences
PARTS = ("train", "dev", "test")
Rows = List[List[str]]  # the columns of a sentence's tokens


class Task(NamedTuple):
    """recipe, lang: of `spacy hoseq init`. files: training text, and a development text, "" = the last tenth of the
    former. word, tag: columns, a tag of several joined. spans: column of chunks or entities, -1 = none."""

    recipe: str
    lang: str
    files: Tuple[str, str]
    word: int
    tag: Tuple[int, ...]
    spans: int = -1

    @property
    def component(self) -> str:
        return "hoseq_tagger" if self.spans < 0 else "hoseq_chunker"

    @property
    def metric(self) -> str:
        return {"tagger": "tag_acc", "chunker": "spans_chunks_f", "entities": "ents_f"}[self.recipe]


TASKS: Dict[str, Task] = {
    "English, Penn tags": Task("tagger", "en", ("en_ewt/train.conllu.gz", "en_ewt/dev.conllu.gz"), 1, (4,)),
    "Chinese, XPOS": Task("tagger", "zh", ("zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu"), 1, (4,)),
    "Hungarian, UPOS": Task("tagger", "hu", ("ud_hu_szeged/train.conllu.gz", "ud_hu_szeged/dev.conllu.gz"), 1, (3,)),
    "Hungarian, UPOS + features": Task(
        "tagger", "hu", ("ud_hu_szeged/train.conllu.gz", "ud_hu_szeged/dev.conllu.gz"), 1, (3, 5)
    ),
    "English, chunks": Task("chunker", "en", ("conll2000/train.txt", ""), 0, (1,), 2),
    "Chinese, entities": Task(
        "entities", "zh", ("zh_ner_resume/train.char.bmes.gz", "zh_ner_resume/dev.char.bmes"), 0, (), 1
    ),
}


def without_dictionary(text: str) -> Config:
    """The recipe of a Chinese tagger without the words that the package knows: what clusters, other corpora and
    patterns are compared with."""
    config = Config().from_str(text, interpolate=False)
    config["initialize"]["lookups"] = None
    emissions = config["components"]["hoseq_tagger"]["model"]["emissions"]
    emissions["templates"] = {"@misc": "spacy_hoseq.templates.v1", "name": "chinese_pos"}
    return config


def prepared(task: Task, data: Path, n_sentences: int, output: Path) -> Dict[str, int]:
    """Write train, dev and test.spacy: the first so many sentences of the training text (0 = all), and the development
    text in turns, so that what stops a training is not what it is measured on. RETURNS sentences, words, labels."""
    training = list(sentences(data / task.files[0]))
    if task.files[1]:
        held_out = list(sentences(data / task.files[1]))
    else:
        cut = len(training) - len(training) // 10
        training, held_out = training[:cut], training[cut:]
    parts = {"train": training[: n_sentences or None], "dev": held_out[::2], "test": held_out[1::2]}
    vocab = spacy.blank("xx").vocab
    output.mkdir(parents=True, exist_ok=True)
    for part, found in parts.items():
        groups = [found[i : i + PER_DOC] for i in range(0, len(found), PER_DOC)]
        DocBin(docs=[doc_of(vocab, task, group) for group in groups], store_user_data=True).to_disk(
            output / f"{part}.spacy"
        )
    rows = [row for sentence in parts["train"] for row in sentence]
    labels = {label_of(task, row) if task.spans < 0 else row[task.spans] for row in rows}
    return {"sentences": len(parts["train"]), "words": len(rows), "labels": len(labels)}


def sentences(path: Path) -> Iterator[Rows]:
    """Of columns with blank lines between sentences; comments, ranges and empty nodes of CoNLL-U are left out."""
    opened: Any = gzip.open(path, "rt", encoding="utf8") if path.suffix == ".gz" else path.open(encoding="utf8")
    is_conllu = ".conllu" in path.name
    rows: Rows = []
    with opened as file:
        for line in file:
            columns = line.rstrip("\n").split("\t" if is_conllu else None)
            if not columns or columns == [""]:
                if rows:
                    yield rows
                rows = []
            elif not is_conllu or columns[0].isdigit():
                rows.append(columns)
    if rows:
        yield rows


def label_of(task: Task, row: List[str]) -> str:
    return "|".join(row[column] for column in task.tag)


def doc_of(vocab: Any, task: Task, group: List[Rows]) -> Doc:
    rows = [row for sentence in group for row in sentence]
    starts = [i == 0 for sentence in group for i in range(len(sentence))]
    tags = [label_of(task, row) for row in rows] if task.tag else None
    doc = Doc(vocab, words=[row[task.word] for row in rows], tags=tags, sent_starts=starts)
    if task.spans < 0:
        return doc
    spans: List[Span] = []
    for sentence in doc.sents:
        column = [re.sub("^[ME]-", "I-", row[task.spans]) for row in rows[sentence.start : sentence.end]]
        column = [re.sub("^S-", "B-", tag) for tag in column]
        found = biluo_tags_to_spans(sentence.as_doc(), iob_to_biluo(column))
        spans += [Span(doc, sentence.start + s.start, sentence.start + s.end, s.label_) for s in found]
    if task.recipe == "entities":
        doc.set_ents(spans, default="outside")
    else:
        doc.spans["chunks"] = spans
    return doc
