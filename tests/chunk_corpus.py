"""Made-up sentences with tags and chunks, and quick training of a config on them."""

import itertools
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.vocab import Vocab

from .repository import config_of

SUBJECTS = ["the/DT/B-NP old/JJ/I-NP ferry/NN/I-NP", "she/PRP/B-NP"]
SUBJECTS += ["a/DT/B-NP boat/NN/I-NP", "Mary/NNP/B-NP"]
VERBS = ["sold/VBD/B-VP", "never/RB/B-VP gave/VBD/I-VP"]
VERBS += ["never/RB/B-VP really/RB/I-VP showed/VBD/I-VP"]
OBJECTS = ["us/PRP/B-NP a/DT/B-NP boat/NN/I-NP"]
OBJECTS += ["the/DT/B-NP new/JJ/I-NP ferry/NN/I-NP", "it/PRP/B-NP"]
ENDS = ["", "in/IN/B-PP May/NNP/B-NP", "slowly/RB/B-ADVP"]
QUICK = {"training.max_epochs": 0, "training.max_steps": 12, "training.eval_frequency": 6}
QUICK["training.logger.progress_bar"] = None


def sentences() -> list[str]:
    """108 of 4 to 12 tokens in the CoNLL format, shuffled: every 7th of a cycle of 108."""
    parts = itertools.product(SUBJECTS, VERBS, OBJECTS, ENDS)
    made = [f"{' '.join(each)} ././O".split() for each in parts]
    chosen = [made[7 * i % len(made)] for i in range(len(made))]
    return ["\n".join(row.replace("/", " ") for row in rows) for rows in chosen]


def chunks_in(column: list[str]) -> Iterator[tuple[int, int, str]]:
    """First token, end and type of the chunks of an IOB2 column."""
    starts = [i for i, tag in enumerate(column) if tag[0] == "B"]
    for i in starts:
        end = i + 1
        while end < len(column) and column[end][0] == "I":
            end += 1
        yield i, end, column[i][2:]


def doc_of(vocab: Vocab, text: str) -> Doc:
    """Of a sentence in the CoNLL format, with tags and chunks; noun phrases are entities, too."""
    words, tags, column = zip(*(line.split() for line in text.split("\n")), strict=True)
    doc = Doc(vocab, words=words, tags=tags, sent_starts=[i == 0 for i in range(len(words))])
    doc.spans["chunks"] = [Span(doc, *chunk) for chunk in chunks_in(list(column))]
    doc.set_ents([span for span in doc.spans["chunks"] if span.label_ == "NP"])
    return doc


def corpus_file(path: Path, texts: list[str]) -> Path:
    vocab = spacy.blank("xx").vocab
    DocBin(docs=[doc_of(vocab, text) for text in texts], store_user_data=True).to_disk(path)
    return path


def paths(folder: Path) -> dict[str, Any]:
    """Overrides that name a training and a development corpus, made in the folder."""
    folder.mkdir(exist_ok=True)
    made = sentences()
    return {
        "paths.train": str(corpus_file(folder / "train.spacy", made[:60])),
        "paths.dev": str(corpus_file(folder / "dev.spacy", made[60:80])),
    }


def trained(
    config: str, output: Path, overrides: dict[str, Any]
) -> tuple[Language, list[dict[str, float]]]:
    """`spacy train`, with what QUICK changes. RETURNS the pipeline as saved, and a row of the log per evaluation."""
    nlp = init_nlp(config_of(config, {**QUICK, **overrides}))
    output.mkdir(parents=True)
    log = StringIO()
    train(nlp, output, use_gpu=-1, stdout=log, stderr=log)
    lines = [line for line in log.getvalue().splitlines() if line.strip()]
    header = next(line for line in lines if line.startswith("E ")).split("  ")
    names = [cell.strip() for cell in header if cell.strip()]
    values = [line.split() for line in lines]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in values if row[0].isdigit()]
    return spacy.load(output / "model-last"), rows
