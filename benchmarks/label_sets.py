"""The same corpus with fewer or more labels: rare tags fall together, or tags are split by the ends of words.

    python -m benchmarks.label_sets CORPUS OUTPUT.json [--sizes 50 --sizes 1000] [--sentences 100000] [--epochs 2]
        [--page PAGE.md]

CORPUS: folder with train.spacy and dev.spacy. Trains the recipe `tagger` on each number of labels, of whole labels and
of their parts (tag, end of the word, both), each in a process of its own on one core, and tags dev with it, of which
the first part is tagged to warm up. Writes JSON, and a table into a page.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_config_from_str, load_model_from_config, minibatch
from wasabi import msg

from spacy_hoseq.recipes import recipe

from .corpora import Sentence, read_docs, read_sentences, vocabulary
from .machine import environment, peak_bytes, pin_to_one_core
from .page import show, write_table

END = 3  # characters
REST = "REST"
SIZES = (50, 200, 1000, 2000)
BATCH = 40  # sentences
WARM_UP = 5  # one part in so many of dev
PARTS = {"@misc": "spacy_hoseq.morphological_parts.v1", "with_pos": True, "min_whole": 2, "agreement": True}
HEADER = ("Labels", "Weights", "First epoch", "Last epoch", "Memory in training", "Accuracy", "Tokens/s")

Pair = Tuple[str, str]  # tag, end of the word


def relabelled(source: Path, output: Path, n_labels: int, sentences: int) -> None:
    """Write train and dev.spacy with at most `n_labels` labels. sentences: of the training part, from its beginning."""
    parts = {name: read_sentences(source / f"{name}.spacy") for name in ("train", "dev")}
    label_of = labels_for([pair for sentence in parts["train"][:sentences] for pair in pairs_of(sentence)], n_labels)
    output.mkdir(parents=True, exist_ok=True)
    for name, found in parts.items():
        changed = [
            Doc(vocabulary(), words=sentence.words, tags=[label_of(pair) for pair in pairs_of(sentence)])
            for sentence in found[: sentences if name == "train" else sentences // 10]
        ]
        DocBin(docs=changed).to_disk(output / f"{name}.spacy")


def pairs_of(sentence: Sentence) -> List[Pair]:
    return [(tag, word.lower()[-END:]) for word, tag in zip(sentence.words, sentence.tags, strict=True)]


def labels_for(pairs: List[Pair], n_labels: int) -> Callable[[Pair], str]:
    """Frequent tags as they are and one for the rest; or all tags, and the most frequent pairs of tag and end."""
    tags = [tag for tag, _ in Counter(tag for tag, _ in pairs).most_common()]
    if n_labels <= len(tags):
        kept = set(tags[: n_labels - 1] if n_labels < len(tags) else tags)
        return lambda pair: pair[0] if pair[0] in kept else REST
    split = {pair for pair, _ in Counter(pairs).most_common(n_labels - len(tags))}
    return lambda pair: f"{pair[0]}|{pair[1]}" if pair in split else pair[0]


def main(
    corpus: Path,
    output: Path,
    sizes: Optional[List[int]] = None,
    sentences: int = 100_000,
    epochs: int = 2,
    page: Optional[Path] = None,
) -> None:
    rows: List[Dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for n_labels in sizes or SIZES:
            data = Path(folder) / str(n_labels)
            relabelled(corpus, data, n_labels, sentences)
            for parts in (False, True):
                rows.append(in_a_process(data, epochs, parts))
                msg.info(json.dumps(rows[-1]))
                srsly.write_json(output, rows)
    table = [cells(row) for row in rows]
    show(HEADER, table)
    if page is not None:
        note = f"{corpus.name}: {rows[0]['words']:,} words of training text, the last of {epochs} epochs, one core."
        write_table(page, "label-sets", HEADER, table, note)


def in_a_process(data: Path, epochs: int, parts: bool) -> Dict[str, Any]:
    call = f"from benchmarks.label_sets import measured; measured({str(data)!r}, {epochs}, {parts})"
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, preexec_fn=pin_to_one_core)
    if done.returncode:
        msg.fail("Failed", done.stderr[-2000:], exits=1)
    result: Dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def cells(row: Dict[str, Any]) -> List[str]:
    first, last = row["epochs"][0], row["epochs"][-1]
    return [
        f"{row['labels']:,}",
        "parts" if row["parts"] else "whole labels",
        f"{first:.1f} s",
        f"{last:.1f} s",
        f"{row['peak'] / 2**20:,.0f} MiB",
        f"{row['accuracy']:.2%}",
        f"{row['speed']:,.0f}",
    ]


def measured(data: str, epochs: int, parts: bool) -> None:
    """Print what one training and one tagging take, as JSON."""
    config = load_config_from_str(recipe("tagger"))
    config["components"]["hoseq_tagger"]["model"]["parts"] = PARTS if parts else None
    nlp = load_model_from_config(config, auto_fill=True)
    train, dev = read_docs(Path(data) / "train.spacy"), read_docs(Path(data) / "dev.spacy")
    examples = [Example(*both) for both in zip(unlabelled(nlp, train), train, strict=True)]
    nlp.initialize(lambda: examples)
    seconds = []
    for _ in range(epochs):
        start = time.process_time()
        for batch in minibatch(examples, BATCH):
            nlp.update(batch, losses={})
        seconds.append(time.process_time() - start)
    first = len(dev) // WARM_UP
    list(nlp.pipe(unlabelled(nlp, dev[:first])))
    fresh = unlabelled(nlp, dev[first:])
    start = time.process_time()
    tagged = list(nlp.pipe(fresh))
    speed = sum(map(len, tagged)) / (time.process_time() - start)
    pairs = [pair for both in zip(tagged, dev[first:], strict=True) for pair in zip(*both, strict=True)]
    right = [token.tag_ == gold.tag_ for token, gold in pairs]
    labels = nlp.get_pipe("hoseq_tagger").labels  # type: ignore[attr-defined]
    found = {"labels": len(labels), "words": sum(map(len, train)), "parts": parts, "epochs": seconds, "speed": speed}
    print(json.dumps({**found, "peak": peak_bytes(), "accuracy": sum(right) / len(right)}))


def unlabelled(nlp: spacy.language.Language, docs: List[Doc]) -> List[Doc]:
    return [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]


if __name__ == "__main__":
    typer.run(main)
