"""What sources of label patterns gain over low-order taggers of Chinese, and what they cost.

    python -m benchmarks.patterns metrics/patterns.jsonl semeval=CORPUS ud=CORPUS [--seeds 3]
        [--learner LEARNER] [--system SYSTEM] [--page docs/measurements/chinese.md]

CORPUS: a folder with train.spacy and test.spacy, such as corpus/semeval and corpus/ud_chinese of the project, after the
name of the tag set that its rules have. Every run is a line of the output file, and is not done again. Measured after
the last epoch. p: McNemar's test on the words of both corpora; a word counts once, whatever the number of seeds. The
first learner is that of the seed paper (Qian & Liu, "Chinese POS Tagging"): its low-order features, and the averaged
perceptron in ten iterations.
"""

import contextlib
import io
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from wasabi import msg

from spacy_hoseq.recipes import recipe

from .page import show, write_table
from .runs import compared, cost_ratios
from .sizes_corpora import without_dictionary

LOW = "low order"
RULES = {"@misc": "spacy_hoseq.rule_patterns.v1"}
FREQUENT = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 2, "min_count": 100}
WORDS = {"@misc": "spacy_hoseq.word_patterns.v1", "most": 1000}
SYSTEMS: Dict[str, List[Dict[str, Any]]] = {
    LOW: [],
    "rules": [RULES],
    "frequent": [FREQUENT],
    "words": [WORDS],
}
TAGGER = "components.hoseq_tagger"
OF_PAPER = {
    f"{TAGGER}.model.emissions.templates": [
        *("orth[-2..2]", "orth[-2]+orth[-1]", "orth[-1]+orth[0]", "orth[0]+orth[1]", "orth[1]+orth[2]"),
        *("length[0]", "prefix1[0]", "suffix1[0]"),
    ]
}
PERCEPTRON = {
    **{f"{TAGGER}.objective": "perceptron"},
    f"{TAGGER}.update_rule": {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1.0},
    **{"training.dropout": 0.0, "training.max_epochs": 10},
    "training.batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 8},  # sentences of an update
}
MARGIN = {"training.max_epochs": 6}
LEARNERS: Dict[str, Dict[str, Any]] = {
    "the paper's": {**OF_PAPER, **PERCEPTRON},
    "recipe": MARGIN,
}
QUIET = {"training.patience": 0, "training.eval_frequency": 1_000_000, "training.logger.progress_bar": None}
PASSES = 20
COMPARED = ("Together", "Gained/lost", "p", "Training", "Tagging")


def main(
    output: Path,
    corpora: List[str],
    seeds: int = 3,
    learner: Optional[List[str]] = None,
    system: Optional[List[str]] = None,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    named = dict(item.split("=", 1) for item in corpora)
    for run_of in itertools.product(range(seeds), learner or LEARNERS, named, system or SYSTEMS):
        key = dict(zip(("seed", "learner", "task", "system"), run_of, strict=True))
        if not any(key.items() <= row.items() for row in rows):
            rows.append({**key, **run(Path(named[key["task"]]), **key)})
            srsly.write_jsonl(output, rows)
            seconds = f"{rows[-1]['training']:.0f} s, {rows[-1]['tagging']:.3f} s"
            msg.text(f"{', '.join(map(str, key.values()))}: {rows[-1]['right'].count('0')} errors, {seconds}")
    header = ("Learner: patterns", *(cell for name in named for cell in (f"Errors, {name}", "")), *COMPARED)
    cells = list(table(rows, list(named)))
    show(header, cells)
    if page is not None:
        write_table(page, "patterns", header, cells)


def run(folder: Path, learner: str, task: str, system: str, seed: int) -> Dict[str, Any]:
    """Which words of the test part are right, processor time of training and of tagging it."""
    paths = {f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")}
    settings = {**paths, **QUIET, **LEARNERS[learner], "system.seed": seed}
    with tempfile.TemporaryDirectory() as output, contextlib.redirect_stdout(io.StringIO()):
        file = Path(output) / "config.cfg"
        without_dictionary(recipe("tagger", "zh")).to_disk(file)
        start = time.process_time()
        train(file, Path(output), overrides={**settings, f"{TAGGER}.model.patterns": patterns(system, task)})
        training = time.process_time() - start
        nlp = spacy.load(Path(output) / "model-last")
    right, tagging = tagged(nlp, folder / "test.spacy")
    return {"right": right, "training": training, "tagging": tagging}


def tagged(nlp: Language, corpus: Path) -> Tuple[str, float]:
    """Which words are right, and the least processor time of several passes."""
    docs = [s.as_doc() for d in DocBin().from_disk(corpus).get_docs(nlp.vocab) for s in d.sents]
    gold = [token.tag for doc in docs for token in doc]
    times = []
    for _ in range(PASSES):
        words = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]
        start = time.process_time()
        guesses = list(nlp.pipe(words))
        times.append(time.process_time() - start)
    guess = [token.tag for doc in guesses for token in doc]
    right = "".join("01"[a == b] for a, b in zip(guess, gold, strict=True))
    return right, min(times)


def patterns(system: str, tag_set: str) -> Optional[Dict[str, Any]]:
    """The setting of the component."""
    rules = {"rules": {"@misc": "spacy_hoseq.chinese_pos_rules.v1", "tag_set": tag_set}}
    sources = {str(i): {**source, **(rules if source is RULES else {})} for i, source in enumerate(SYSTEMS[system])}
    return {"@misc": "spacy_hoseq.pattern_sources.v1", "*": sources} if sources else None


def table(rows: List[Dict[str, Any]], corpora: List[str]) -> Iterator[List[str]]:
    """All are compared with the low order of the same learner, corpus and seed."""
    low = {(row["learner"], row["task"], row["seed"]): row for row in rows if row["system"] == LOW}
    for learner, system in ((learner, system) for learner in LEARNERS for system in SYSTEMS):
        runs = [row for row in rows if (row["learner"], row["system"]) == (learner, system)]
        if not runs:
            continue
        before = [low[learner, row["task"], row["seed"]] for row in runs]
        cells = []
        for name in corpora:
            at = [i for i, row in enumerate(runs) if row["task"] == name]
            errors = ", ".join(str(runs[i]["right"].count("0")) for i in at)
            change = compared(*([part[i] for i in at] for part in (before, runs)))[0] if at else ""
            cells += [errors, change if system != LOW else ""]
        cells += compared(before, runs) if system != LOW else [""] * 3
        yield [f"{learner}: {system}", *cells, *cost_ratios(before, runs)]


if __name__ == "__main__":
    typer.run(main)
