"""Whether the probabilities of the recipes are right: expected calibration error on text that fitted nothing.

    python -m benchmarks.probabilities metrics/probabilities.jsonl --data CORPORA \
        --page docs/measurements/probabilities.md

The recipes calibrate in training, on half of the development text, which also chooses the epoch. The error is that of
the best label of each token (chunks and entities: of each one that is found), 15 bins of equal width, on the other
half, and on text of another kind. The second table asks what any temperature could do: all development text is cut in
halves at random, twelve times; one half chooses, the other is measured. What was measured is not measured again.
"""

import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.training import Example
from wasabi import msg

from spacy_hoseq.compaction.pipeline import dev_examples
from spacy_hoseq.decoders import posterior
from spacy_hoseq.inspection.calibration import LEAST, parts_of, reliability
from spacy_hoseq.recipes import recipe

from .page import show, write_table
from .sizes import NO_BAR
from .sizes_corpora import TASKS, Task, prepared

BINS = 15
HALVES = 12
FACTORS = np.geomspace(0.6, 1.67, 25)  # of all scores, after the calibration in training


class System(NamedTuple):
    """task: in `TASKS`. recipe: "" = the task's. other: development text of another kind, with the same labels."""

    task: str
    recipe: str = ""
    size: int = 1000
    other: Tuple[str, str] = ("", "")


GUM = ("GUM, dev", "en_gum/dev.conllu.gz")
SYSTEMS = [
    System("English, Penn tags", "tagger", 1000, GUM),
    System("English, Penn tags", "crf", 1000, GUM),
    System("English, chunks"),
    System("Chinese, entities"),
    System("English, Penn tags", "tagger", 0, GUM),
]
CHOICES = ("System", "chosen by its error", "chosen by log loss", "best for the half that is measured")
HEADER = ("System", "Words of training", "Accuracy, or F", "ECE, same kind of text", "Other kind", "ECE")


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    models: Optional[Path] = None,
    page: Optional[Path] = None,
) -> None:
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for system in SYSTEMS:
            task = TASKS[system.task]._replace(recipe=system.recipe or TASKS[system.task].recipe)
            name = f"{task.recipe}, {system.task}, {system.size or 'all'} sentences"
            if any(row["name"] == name for row in rows):
                continue
            row = measured(system, task, data, (models or Path(folder)) / name.replace(", ", "_").replace(" ", "_"))
            rows.append({"name": name, **row})
            srsly.write_jsonl(output, rows)
            msg.text(f"{name}: {row}")
    publish(rows, page)


def publish(rows: List[Dict[str, Any]], page: Optional[Path]) -> None:
    """Both tables."""
    of_choices = [row for row in rows if "choices" in row]
    choices = [
        (row["name"], *(f"{mean:.4f} ± {spread:.4f}" for mean, spread in row["choices"].values())) for row in of_choices
    ]
    tables = {"probabilities": (HEADER, [table_row(row) for row in rows]), "temperatures": (CHOICES, choices)}
    for mark, (header, cells) in tables.items():
        show(header, cells)
        if page is not None:
            write_table(page, mark, header, cells)


def measured(system: System, task: Task, data: Path, folder: Path) -> Dict[str, Any]:
    """Of a pipeline that is trained by the recipe."""
    numbers = prepared(task, data, system.size, folder)
    path = folder / "config.cfg"
    path.write_text(recipe(task.recipe, task.lang), encoding="utf8")
    parts = {f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")}
    train(path, folder / "model", overrides={**NO_BAR, **parts})
    best = folder / "model" / "model-best"
    row: Dict[str, Any] = {"words": numbers["words"], **errors_of(best, folder / "test.spacy")}
    if task.component == "hoseq_tagger":
        row["choices"] = choices_of(best, [folder / "dev.spacy", folder / "test.spacy"])
    if system.other[1]:
        prepared(task._replace(files=(system.other[1], system.other[1])), data, 0, folder / "other")
        row["other"] = errors_of(best, folder / "other" / "train.spacy")
    return row


def errors_of(model: Path, text: Path) -> Dict[str, float]:
    """score, ece: of a component on annotated text."""
    nlp = spacy.load(model)
    name = nlp.pipe_names[-1]
    examples = dev_examples(nlp, text)
    judge = spans_of if name == "hoseq_chunker" else labels_of
    probabilities, right = judge(nlp.get_pipe(name), examples)
    scores = nlp.evaluate(examples)
    score = next(scores[each] for each in ("tag_acc", "ents_f", "spans_chunks_f") if scores.get(each) is not None)
    return {"score": score, "ece": error_of(np.array(probabilities), np.array(right))}


def choices_of(model: Path, texts: Sequence[Path]) -> Dict[str, Tuple[float, float]]:
    """(mean, standard deviation) of the error on random halves of some texts, at the temperature that the other half
    chooses by its calibration error, at the one that it chooses by log loss, and at the best one for that half."""
    nlp = spacy.load(model)
    examples = [example for text in texts for example in dev_examples(nlp, text)]
    parts = list(parts_of(nlp.get_pipe(nlp.pipe_names[-1]), examples))
    gold, best = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True))
    sizes = [sum(not token.is_space for token in example.predicted) for example in examples]
    known = gold >= 0
    text_of, gold, best = np.repeat(np.arange(len(examples)), sizes)[known], gold[known], best[known]
    nodes = [np.concatenate([posterior(p[0].scaled(float(f))).nodes for p in parts])[known] for f in FACTORS]
    words, right = np.arange(len(gold)), best == gold
    confidences = [each[words, best] for each in nodes]
    losses = [-np.log(np.maximum(each[words, gold], LEAST)) for each in nodes]
    generator = np.random.default_rng(0)
    found: Dict[str, List[float]] = {"error": [], "loss": [], "best": []}
    for _ in range(HALVES):
        chooses = (generator.permutation(len(examples)) < len(examples) // 2)[text_of]
        inside = [error_of(p[chooses], right[chooses]) for p in confidences]
        outside = [error_of(p[~chooses], right[~chooses]) for p in confidences]
        found["error"].append(outside[int(np.argmin(inside))])
        found["loss"].append(outside[int(np.argmin([loss[chooses].mean() for loss in losses]))])
        found["best"].append(min(outside))
    return {name: (float(np.mean(values)), float(np.std(values))) for name, values in found.items()}


def error_of(probabilities: Any, right: Any) -> float:
    return float(reliability(probabilities.tolist(), right.tolist(), n_bins=BINS).error)


def labels_of(tagger: Any, examples: List[Example]) -> Tuple[List[float], List[bool]]:
    """How probable the label of each annotated word is, and whether it is right."""
    reading = tagger.read([eg.predicted for eg in examples])
    gold = tagger.gold_ids(examples)
    known = np.flatnonzero(gold >= 0)
    probabilities = reading.confidences()[known]
    return probabilities.tolist(), (reading.best[known] == gold[known]).tolist()


def spans_of(chunker: Any, examples: List[Example]) -> Tuple[List[float], List[bool]]:
    """How probable each chunk is that is found, and whether it is right."""
    probabilities: List[float] = []
    right: List[bool] = []
    key = chunker.cfg["spans_key"]
    for example in examples:
        doc = chunker(example.predicted.copy())
        reference = example.reference
        annotated = reference.ents if key not in reference.spans else reference.spans[key]
        gold = {(span.start, span.end, span.label_) for span in annotated}
        probabilities += doc.spans[key].attrs["scores"].tolist()
        right += [(span.start, span.end, span.label_) in gold for span in doc.spans[key]]
    return probabilities, right


def table_row(row: Dict[str, Any]) -> List[str]:
    beside = row.get("other")
    said = [GUM[0], f"{beside['ece']:.4f}"] if beside else ["", ""]
    return [row["name"], f"{row['words']:,}", f"{row['score']:.2%}", f"{row['ece']:.4f}", *said]


if __name__ == "__main__":
    typer.run(main)
