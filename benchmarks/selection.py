"""Annotate what `select` chooses, or sentences at random: how many sentences, and labels, reach which accuracy.

    python -m benchmarks.selection OUTPUT.json --data CORPORA [--task EWT] [--seeds 3]
        [--page docs/measurements/curation.md]

A tagger (recipe crf) is trained anew on all that is annotated, after each round. The rest of the pool is what random
choice would take, too. "partial": the sentences that entropy chooses, of which only the doubtful words are labelled.
What is in OUTPUT.json already is not done again.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.curation.selection import Doubts, doubtful_tokens, doubts_of, select
from spacy_hoseq.recipes import recipe

from .corpora import Corpus, sentences
from .page import show, write_table

TASKS = {
    "EWT": Corpus("en", "tag", "en_ewt/train.conllu.gz", "en_ewt/dev.conllu.gz"),
    "GSD": Corpus("zh", "tag", "zh_ud_gsd/train.conllu.gz", "zh_ud_gsd/dev.conllu"),
}
ROUNDS = (100, 200, 350, 500, 700, 1000)  # sentences that are annotated
ENOUGH = 700  # for what is not chosen at random
POOL, TEST = 2500, 300
EPOCHS, UPDATES = 3, 25
THRESHOLD = 0.05
STRATEGIES: Dict[str, Dict[str, Any]] = {
    "random": {},
    "entropy": {"partial": False},
    "partial": {"partial": True},
}
HEADER = ("", "random, 1,000", f"with {ENOUGH}", "reached", "with how many", "share of the labels")
Row = Dict[str, Any]


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    task: Optional[List[str]] = None,
    seeds: int = 3,
    page: Optional[Path] = None,
) -> None:
    rows: List[Row] = srsly.read_json(output) if output.exists() else []
    parts = {name: corpora(TASKS[name], data) for name in task or TASKS}
    todo = [(name, seed, strategy) for seed in range(seeds) for name in parts for strategy in STRATEGIES]
    done = {(row["corpus"], row["seed"], row["strategy"]) for row in rows}
    for name, seed, strategy in [one for one in todo if one not in done]:
        curve = simulated(TASKS[name].lang, *parts[name], STRATEGIES[strategy], seed)
        rows.append({"corpus": name, "seed": seed, "strategy": strategy, "curve": curve})
        output.parent.mkdir(parents=True, exist_ok=True)
        srsly.write_json(output, rows)
        msg.info(f"{name}, seed {seed}, {strategy}: {curve[-1]}")
    table = summary(rows)
    show(HEADER, table)
    if page is not None:
        rounds = ", ".join(str(n) for n in ROUNDS if n <= ENOUGH)
        note = f"{POOL:,} sentences to choose from, {TEST} test sentences, {EPOCHS} epochs, rounds of {rounds}"
        write_table(page, "selection", HEADER, table, note)


def corpora(task: Corpus, data: Path) -> Tuple[List[Doc], List[Doc]]:
    """Sentences to choose from, and to test on."""
    vocab = spacy.blank("xx").vocab
    training, held_out = (
        [doc for doc in sentences(data / file, task.lang, vocab) if len(doc) > 1] for file in (task.train, task.dev)
    )
    return training, held_out[:TEST]


def simulated(
    lang: str, training: List[Doc], gold: List[Doc], settings: Dict[str, Any], seed: int
) -> List[Dict[str, float]]:
    """What is annotated and the accuracy, after each round."""
    rng = np.random.default_rng(seed)
    pool = [training[i] for i in rng.permutation(len(training))[:POOL].tolist()]
    rounds = [n for n in ROUNDS if n <= ENOUGH] if settings else [ROUNDS[-1]]
    annotated, rest = pool[: rounds[0]], pool[rounds[0] :]
    curve = []
    for last in (*rounds[1:], None):
        nlp = trained(lang, annotated, seed)
        labels = sum(bool(token.tag_) for doc in annotated for token in doc)
        words = sum(map(len, annotated))
        row = {"sentences": len(annotated), "words": words, "labels": labels, "accuracy": accuracy(nlp, gold)}
        curve.append(row)
        if last is None:
            return curve
        n = last - len(annotated)
        doubts = doubts_of(nlp, [bare(doc, nlp) for doc in rest])
        chosen = select(doubts, n)
        new = [rest[i] for i in chosen]
        if settings.get("partial"):
            new = [partial(doc, doubts[i]) for doc, i in zip(new, chosen, strict=True)]
        annotated = annotated + new
        rest = [doc for i, doc in enumerate(rest) if i not in set(chosen)]
    return curve


def partial(doc: Doc, doubts: Doubts) -> Doc:
    """A copy in which only doubtful tokens have their tag."""
    copy = doc.copy()
    asked = set(doubtful_tokens(doubts, THRESHOLD).tolist())
    for token in copy:
        token.tag_ = token.tag_ if token.i in asked else ""
    return copy


def bare(doc: Doc, nlp: Language) -> Doc:
    return Doc(nlp.vocab, words=[token.text for token in doc])


def trained(lang: str, docs: Sequence[Doc], seed: int) -> Language:
    config = Config().from_str(recipe("crf", lang), overrides={"system.seed": seed})
    nlp = load_model_from_config(config, auto_fill=True)
    examples = [
        Example(bare(doc, nlp), Doc(nlp.vocab, words=[t.text for t in doc], tags=[t.tag_ for t in doc])) for doc in docs
    ]
    optimizer, rng = nlp.initialize(lambda: examples), np.random.default_rng(seed)
    size = -(-len(examples) // UPDATES)
    for _ in range(EPOCHS):
        order = rng.permutation(len(examples)).tolist()
        for i in range(0, len(order), size):
            nlp.update([examples[j] for j in order[i : i + size]], sgd=optimizer, drop=0.2)
    return nlp


def accuracy(nlp: Language, gold: Sequence[Doc]) -> float:
    docs = nlp.pipe(bare(doc, nlp) for doc in gold)
    right = [
        a.tag_ == b.tag_ for doc, reference in zip(docs, gold, strict=True) for a, b in zip(doc, reference, strict=True)
    ]
    return float(np.mean(right))


def summary(rows: Sequence[Row]) -> List[List[str]]:
    """For each corpus and strategy: what reaches the accuracy that random choice has in the end, seed by seed."""
    curves = {(row["corpus"], row["seed"], row["strategy"]): row["curve"] for row in rows}
    table = []
    for corpus, strategy in dict.fromkeys((row["corpus"], row["strategy"]) for row in rows):
        if strategy == "random":
            continue
        seeds = [s for c, s, name in curves if c == corpus and name == strategy and (c, s, "random") in curves]
        pairs = [(curves[corpus, s, "random"][-1], curves[corpus, s, strategy]) for s in seeds]
        needed = [reached(curve, end["accuracy"], "sentences") for end, curve in pairs]
        labels = [reached(curve, end["accuracy"], "labels") / end["words"] for end, curve in pairs]
        n_reached = sum(np.isfinite(n) for n in needed)
        table.append([
            f"{corpus}, {strategy}",
            f"{np.mean([end['accuracy'] for end, _ in pairs]):.2%}",
            f"{np.mean([curve[-1]['accuracy'] for _, curve in pairs]):.2%}",
            f"{n_reached} of {len(pairs)}",
            ", ".join(f"{n:.0f}" if np.isfinite(n) else f"> {ENOUGH}" for n in sorted(needed)),
            ", ".join(f"{share:.0%}" if np.isfinite(share) else "-" for share in sorted(labels)),
        ])  # fmt: skip
    return table


def reached(curve: Sequence[Dict[str, float]], accuracy: float, unit: str) -> float:
    """How much of a unit reaches the accuracy, between rounds by a straight line; infinite if none does."""
    for before, after in zip(curve[:-1], curve[1:], strict=True):
        if after["accuracy"] >= accuracy:
            share = (accuracy - before["accuracy"]) / max(after["accuracy"] - before["accuracy"], 1e-12)
            return before[unit] + min(max(share, 0.0), 1.0) * (after[unit] - before[unit])
    return float("inf")


if __name__ == "__main__":
    typer.run(main)
