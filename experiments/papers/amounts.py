"""What rules gain over a low-order tagger by the amount of training text (beside Qian & Liu, Table 3 and Figure 9).

    python amounts.py METRICS.jsonl semeval=CORPUS [--sentences 500,1000,2000,0] [--seeds 0] [--learners ...]

CORPUS: a folder with train.spacy and test.spacy, after the name of the tag set that its rules
have. Every run is a line of METRICS.jsonl, and is not made again. Measured after the last epoch, so
that nothing is chosen on the test part. Sentences are drawn at random from the training part, the
same ones for all systems; 0: all.
"""

import contextlib
import io
import itertools
import random
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from wasabi import msg

from spacy_hoseq.recipes import recipe

TAGGER = "components.hoseq_tagger"
LOW, RULES = "low order", "rules"
PASSES = 5  # over the test part, for its time
# The low-order features of the paper, and its averaged perceptron in ten iterations.
PAPER = {
    f"{TAGGER}.model.emissions.templates": [
        *("orth[-2..2]", "orth[-2]+orth[-1]", "orth[-1]+orth[0]"),
        *("orth[0]+orth[1]", "orth[1]+orth[2]"),
        *("length[0]", "prefix1[0]", "suffix1[0]"),
    ],
    f"{TAGGER}.objective": "perceptron",
    f"{TAGGER}.update_rule": {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1.0},
    "training.dropout": 0.0,
    "training.max_epochs": 10,
    "training.batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 8},
}
TAG_SETS = {"semeval": "ctb"}  # SemEval-2016 task 9 has those of the Chinese Treebank
LEARNERS: dict[str, dict[str, Any]] = {
    "the paper's": PAPER,
    "recipe": {"training.max_epochs": 6},
}


def main(
    output: Path,
    corpora: list[str],
    sentences: str = "500,1000,2000,0",
    seeds: str = "0",
    learners: str = ",".join(LEARNERS),
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    folders = dict(item.split("=", 1) for item in corpora)
    amounts = list(map(int, sentences.split(",")))
    for seed, tag_set, learner, amount, system in itertools.product(
        map(int, seeds.split(",")), folders, learners.split(","), amounts, (LOW, RULES)
    ):
        run = {"learner": learner, "sentences": amount, "system": system, "seed": seed}
        key = {"corpus": tag_set, **run}
        if any(key.items() <= row.items() for row in rows):
            continue
        rows.append({**key, **measured(Path(folders[tag_set]), tag_set, **run)})
        srsly.write_jsonl(output, rows)
        errors = sum(words - right for right, words in rows[-1]["tested"])
        msg.text(f"{key}: {errors} errors, {rows[-1]['seconds']:.0f} s")


def measured(
    corpus: Path, tag_set: str, learner: str, sentences: int, system: str, seed: int
) -> dict[str, Any]:
    """Words of each sentence of the test part, and how many of them are right; words of training; processor seconds of
    training, and of tagging the test part."""
    vocab = spacy.blank("zh").vocab
    docs = list(DocBin().from_disk(corpus / "train.spacy").get_docs(vocab))
    random.Random(0).shuffle(docs)
    some = docs[: sentences or None]
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(name)
        DocBin(docs=some).to_disk(folder / "train.spacy")
        DocBin(docs=some[:1]).to_disk(folder / "dev.spacy")  # tells nothing
        settings = {
            **{f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")},
            "training.patience": 0,
            "training.eval_frequency": 1_000_000,
            "training.logger.progress_bar": None,
            "system.seed": seed,
            f"{TAGGER}.model.patterns": patterns(tag_set) if system == RULES else None,
            **LEARNERS[learner],
        }
        config = folder / "config.cfg"
        config.write_text(recipe("tagger", "zh"), encoding="utf8")
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[HW008\]")  # the last model is taken
            train(config, folder, overrides=settings)
        seconds = time.process_time() - start
        tested, tagging = counts(folder / "model-last", corpus / "test.spacy")
    return {
        "words": sum(map(len, some)),
        "seconds": seconds,
        "tagging_seconds": tagging,
        "tested": tested,
    }


def patterns(tag_set: str) -> dict[str, Any]:
    rules = {"@misc": "spacy_hoseq.chinese_pos_rules.v1", "tag_set": TAG_SETS.get(tag_set, tag_set)}
    source = {"@misc": "spacy_hoseq.rule_patterns.v1", "rules": rules}
    return {"@misc": "spacy_hoseq.pattern_sources.v1", "*": {"rules": source}}


def counts(model: Path, part: Path) -> tuple[list[list[int]], float]:
    """Words of each sentence whose tag is right, and all of them; and processor seconds, the least of some passes."""
    nlp = spacy.load(model)
    gold = list(DocBin().from_disk(part).get_docs(nlp.vocab))
    seconds = []
    for _ in range(PASSES):
        words = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in gold]
        start = time.process_time()
        tagged = list(nlp.pipe(words))
        seconds.append(time.process_time() - start)
    right = [
        [sum(a.tag == b.tag for a, b in zip(found, known, strict=True)), len(known)]
        for found, known in zip(tagged, gold, strict=True)
    ]
    return right, min(seconds)


if __name__ == "__main__":
    typer.run(main)
