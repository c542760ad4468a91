"""Handwriting in the setting of Taskar, Guestrin & Koller (2003): train on one fold, test on all others.

    python folds.py --data letter.data.gz --folds 0,1,2 --orders 1,2,3,4,5,6,7 --objective max_margin \\
        --output FILE.json

For every fold and order: accuracy of letters after the last iteration (no development set is used), seconds of one
training iteration, and seconds to label the test folds. An order of 1 is a chain without label patterns. Runs that
FILE.json has already, with the same settings, are not done again.

With --divide-words the different words are divided, too, into as many parts as the file has folds: the i-th fold is
trained on without the words of part i (of all words in alphabetical order the i-th, and every n-th from there). Of the
other folds, those words tell `unseen_accuracy` and all others `accuracy`.
"""

import operator
import random
import statistics
import sys
import time
from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any

import spacy
import srsly
import typer
from handwriting import letter_corpus, read_letters
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_config, minibatch, registry
from tqdm import tqdm
from wasabi import msg, table

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from baselines import decoded  # noqa: E402  (registers decoders)

PASSES = 3  # over the test folds, for the time; one if that takes long
LONG = 10.0  # seconds
PERCEPTRON = {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1.0}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "perceptron": {"objective": "perceptron", "update_rule": PERCEPTRON},
    "crf": {"objective": "log_likelihood"},
    "max_margin": {"objective": "max_margin"},
}
MEASURED = ("accuracy", "train_seconds_per_iteration", "test_seconds", "patterns")
HEADER = ("Order", "Patterns", "Accuracy", "Training, s/iteration", "Test, s")


def main(
    data: Annotated[Path, typer.Option(help="letter.data, plain or gzipped")],
    output: Annotated[Path, typer.Option(help="JSON")],
    folds: Annotated[str, typer.Option(help="folds to train on, one after the other")] = "0",
    orders: Annotated[
        str, typer.Option(help="largest order of the patterns; 1 = no patterns")
    ] = "1,2,3,4,5,6,7",
    objective: Annotated[
        str, typer.Option(help="perceptron, crf or max_margin; of the config if empty")
    ] = "",
    config: Annotated[Path, typer.Option(help="what to train")] = Path(__file__).parent
    / "configs"
    / "ocr.cfg",
    decoder: Annotated[
        str, typer.Option(help="a registered decoder, without prefix and version")
    ] = "exact",
    iterations: Annotated[
        int | None, typer.Option(help="instead of the config's `max_epochs`")
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(help="of the config if not given; 0 for the perceptron")
    ] = None,
    min_count: Annotated[int, typer.Option(help="of transitions that become patterns")] = 11,
    divide_words: Annotated[
        bool, typer.Option(help="keep some words out of training, and test on them")
    ] = False,
) -> None:
    if objective and objective not in OBJECTIVES:
        msg.fail(
            f"Unknown objective {objective}", f"Expected one of {', '.join(OBJECTIVES)}.", exits=1
        )
    words = [("".join(name for _, name in letters), fold) for letters, fold in read_letters(data)]
    all_folds = sorted({fold for _, fold in words})
    vocabulary = sorted({word for word, _ in words})
    unknown = set(numbers(folds)) - set(all_folds)
    if unknown:
        msg.fail(f"{data} has no folds {sorted(unknown)}", f"It has {all_folds}.", exits=1)
    runs: list[dict[str, Any]] = srsly.read_json(output)["runs"] if output.exists() else []
    chosen = {
        "iterations": iterations,
        "dropout": dropout,
        "min_count": min_count,
        "divide_words": divide_words,
    }
    setting = {"objective": objective, "decoder": decoder, "config": config.name, "chosen": chosen}
    combinations = [(fold, order) for order in numbers(orders) for fold in numbers(folds)]
    with tqdm(combinations, unit="run") as progress:
        for fold, order in progress:
            progress.set_description(f"order {order}, fold {fold}")
            key = {"fold": fold, "order": order, **setting}
            if any(all(done.get(name) == value for name, value in key.items()) for done in runs):
                continue
            settings = load_config(config, overrides={"paths.letters": str(data)})
            tagger = settings["components"]["hoseq_tagger"]
            tagger.update(OBJECTIVES[objective] if objective else {})
            decoded(tagger, decoder)
            frequent = {
                "@misc": "spacy_hoseq.frequent_transitions.v1",
                "max_order": order,
                "min_count": min_count,
            }
            tagger["model"]["patterns"] = frequent if order > 1 else None
            if dropout is not None or objective == "perceptron":
                settings["training"]["dropout"] = dropout or 0.0
            if iterations is not None:
                settings["training"]["max_epochs"] = iterations
            rest = [other for other in all_folds if other != fold]
            unseen = (
                set(vocabulary[all_folds.index(fold) :: len(all_folds)]) if divide_words else set()
            )
            measured = run(settings, data, fold, rest, unseen)
            runs.append({**key, **measured})
            output.parent.mkdir(parents=True, exist_ok=True)
            srsly.write_json(output, {"data_folds": all_folds, "runs": runs, "means": means(runs)})
    rows = []
    for mean in means(runs):
        accuracy, train, test, patterns = (mean[name] for name in MEASURED)
        rows.append(
            (mean["order"], f"{patterns:.0f}", f"{accuracy:.2%}", f"{train:.3f}", f"{test:.3f}")
        )
    print(table(rows, header=HEADER, divider=True, aligns=["r"] * len(HEADER)))
    msg.good(f"Means over folds {folds}: {output}")


def run(settings: Any, data: Path, fold: int, rest: list[int], unseen: Set[str]) -> dict[str, Any]:
    """Train on one fold without the words `unseen`, test on the rest."""
    fix_random_seed(settings["system"]["seed"])
    nlp = spacy.util.load_model_from_config(settings, auto_fill=True)
    train = [
        example for example in letter_corpus(data, [fold])(nlp) if word_of(example) not in unseen
    ]
    test = list(letter_corpus(data, rest)(nlp))
    seconds = fit(nlp, train, settings)
    accuracy, test_seconds = label(
        nlp, [example for example in test if word_of(example) not in unseen]
    )
    new = [example for example in test if word_of(example) in unseen]
    weights = nlp.get_pipe("hoseq_tagger").model.shims[0].parameters
    return {
        "accuracy": accuracy,
        **({"unseen_accuracy": label(nlp, new)[0]} if new else {}),
        "train_seconds_per_iteration": seconds,
        "test_seconds": test_seconds,
        "iterations": settings["training"]["max_epochs"],
        "batch_size": settings["training"]["batcher"]["size"],
        "dropout": settings["training"]["dropout"],
        "patterns": len(weights["patterns"].values) if "patterns" in weights else 0,
    }


def fit(nlp: Language, train: list[Example], settings: Any) -> float:
    """Train for all iterations. RETURNS the seconds of one."""
    nlp.initialize(lambda: train)
    optimizer = registry.resolve({"optimizer": settings["training"]["optimizer"]})["optimizer"]
    rng = random.Random(settings["system"]["seed"])
    iterations, size = settings["training"]["max_epochs"], settings["training"]["batcher"]["size"]
    start = time.process_time()
    for _ in range(iterations):
        rng.shuffle(train)
        for batch in minibatch(train, size):
            nlp.update(batch, sgd=optimizer, drop=settings["training"]["dropout"])
            optimizer.step_schedules()
    return (time.process_time() - start) / iterations


def word_of(example: Example) -> str:
    return "".join(token.tag_ for token in example.reference)


def label(nlp: Language, test: list[Example]) -> "tuple[float, float]":
    """RETURNS the share of letters labelled right, and the median seconds of a pass over all words."""
    seconds = []
    for _ in range(PASSES):
        docs = [Doc(nlp.vocab, words=[t.text for t in eg.reference]) for eg in test]
        start = time.process_time()
        labelled = list(nlp.pipe(docs))
        seconds.append(time.process_time() - start)
        if seconds[0] > LONG:
            break
    guess = [token.tag for doc in labelled for token in doc]
    gold = [token.tag for eg in test for token in eg.reference]
    return sum(map(operator.eq, guess, gold)) / len(gold), statistics.median(seconds)


def means(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over folds, for each order."""
    result = []
    for order in sorted({r["order"] for r in runs}):
        runs_of_order = [r for r in runs if r["order"] == order]
        mean = {name: statistics.mean(r[name] for r in runs_of_order) for name in MEASURED}
        result.append({"order": order, "folds": len(runs_of_order), **mean})
    return result


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    typer.run(main)
