"""What the iterations of dual decomposition buy: the perceptron of order 7, trained with exact decoding and with dual
decomposition, and then decoded by both.

    python dual_iterations.py --data letter.data.gz --output FILE.json

A small part of the data, since dual decomposition is slow: words of fold 0 to learn from, words of fold 1 to test on,
both drawn at random. Of one iteration, the multipliers are zero: what it says is said by the chain alone.
"""

import random
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer
from folds import OBJECTIVES, fit
from handwriting import letter_corpus
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_config
from wasabi import msg, table

from spacy_hoseq.decoders.choice import decode_exact

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from baselines import DualDecomposition  # noqa: E402
from baselines import decoded as use_decoder  # noqa: E402

ITERATIONS = (1, 10, 50, 200)
TRAINED = {
    "order 1": ("exact", 1),
    "exact": ("exact", 7),
    "dual decomposition, 10": ("dual_decomposition", 7),
}
HEADER = ("Trained with", "Decoded with", "Accuracy", "Certified", "Bound / best score")


def main(
    data: Annotated[Path, typer.Option(help="letter.data, plain or gzipped")],
    output: Annotated[Path, typer.Option(help="JSON")],
    config: Annotated[Path, typer.Option(help="what to train")] = Path(__file__).parent
    / "configs"
    / "ocr.cfg",
    train_words: Annotated[int, typer.Option(help="of fold 0")] = 150,
    test_words: Annotated[int, typer.Option(help="of fold 1")] = 60,
    epochs: Annotated[int, typer.Option(help="of training")] = 4,
    min_count: Annotated[int, typer.Option(help="of transitions that become patterns")] = 5,
) -> None:
    rows: list[dict[str, Any]] = []
    for name, (decoder, order) in TRAINED.items():
        settings = load_config(
            config, overrides={"paths.letters": str(data), "training.max_epochs": epochs}
        )
        settings["training"]["dropout"] = 0.0
        tagger = settings["components"]["hoseq_tagger"]
        tagger.update(OBJECTIVES["perceptron"])
        use_decoder(tagger, decoder)
        frequent = {
            "@misc": "spacy_hoseq.frequent_transitions.v1",
            "max_order": order,
            "min_count": min_count,
        }
        tagger["model"]["patterns"] = frequent if order > 1 else None
        fix_random_seed(settings["system"]["seed"])
        nlp = spacy.util.load_model_from_config(settings, auto_fill=True)
        train, test = (
            some(letter_corpus(data, [fold])(nlp), n)
            for fold, n in ((0, train_words), (1, test_words))
        )
        fit(nlp, train, settings)
        rows += [
            {"trained": name, **row} for row in decoded(nlp, test, ITERATIONS if order > 1 else ())
        ]
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(
        output,
        {"train_words": train_words, "test_words": test_words, "epochs": epochs, "rows": rows},
    )
    print(table([cells_of(row) for row in rows], header=HEADER, divider=True))
    msg.good(f"Written to {output}")


def some(examples: Any, n: int) -> list[Example]:
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    return shuffled[:n]


def decoded(nlp: Any, test: list[Example], iterations: "tuple[int, ...]") -> list[dict[str, Any]]:
    """One row for each number of iterations, the last one for exact decoding."""
    component = nlp.get_pipe("hoseq_tagger")
    labels = np.array(component.labels)
    gold = np.array([token.tag_ for example in test for token in example.reference])
    potentials = component.model.predict(
        [Doc(nlp.vocab, [t.text for t in eg.reference]) for eg in test]
    )
    best = decode_exact(potentials)
    rows = []
    for n in iterations:
        solution = DualDecomposition(max_iterations=n).solve(potentials)
        share = {
            "certified": float(solution.certified.mean()),
            "bound": float(np.mean(solution.bounds / best.scores)),
        }
        rows.append(
            {"iterations": n, "accuracy": float((labels[solution.labels] == gold).mean()), **share}
        )
    return [*rows, {"iterations": None, "accuracy": float((labels[best.labels] == gold).mean())}]


def cells_of(row: dict[str, Any]) -> list[str]:
    """Columns as in HEADER."""
    n = row["iterations"]
    if n is None:
        return [row["trained"], "exact", f"{row['accuracy']:.2%}", "-", "-"]
    decoder = "the chain alone" if n == 1 else f"dual decomposition, {n}"
    return [
        row["trained"],
        decoder,
        f"{row['accuracy']:.2%}",
        f"{row['certified']:.0%}",
        f"{row['bound']:.2f}",
    ]


if __name__ == "__main__":
    typer.run(main)
