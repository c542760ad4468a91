"""Find labels that were changed: average precision of `find-errors`, of cleanlab on the same probabilities, and of one
model that has seen all. Writes JSON, and a table into a page.

    python -m benchmarks.label_errors OUTPUT.json --data CORPORA [--docs 2000] [--folds 4] [--epochs 3] [--seed 0]
        [--page docs/measurements/curation.md]

The corpus is CoNLL-2000, sentence by sentence. A share of the tags (of the chunks) is changed, at random, or to
what models confuse them with: as often as models that have not seen a text do, on the annotation as it is. A chunk is
changed in its type, or is no chunk any more. Needs cleanlab (`pip install spacy-hoseq[bench]`).
"""

from collections import Counter
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import spacy
import srsly
import typer
from numpy.typing import NDArray
from spacy.tokens import Doc, Span
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.chunks import OUTSIDE
from spacy_hoseq.curation.findings import Judgement, judged, region_of, spans_in
from spacy_hoseq.curation.folds import trained, trained_without, with_labels
from spacy_hoseq.recipes import recipe

from .corpora import sentences
from .page import show, write_table

CORPUS = "conll2000/train.txt"
RECIPES = {"tags": "crf", "chunks": "chunker"}
RATES = (0.01, 0.05)
METHODS = ("self_confidence", "normalized_margin")
KEY = "chunks"
LEAST = np.finfo(float).tiny
Confusions = Dict[str, Counter]
HEADER = ("", "changed", "units", "find-errors", "p(gold)", "cleanlab", "margin", "issues", "one model")


def main(
    output: Path,
    data: Path = typer.Option(..., help="The folder of corpora"),
    docs: int = 2000,
    folds: int = 4,
    epochs: int = 3,
    seed: int = 0,
    page: Optional[Path] = None,
) -> None:
    rows: List[Dict[str, Any]] = []
    for task in RECIPES:
        config = Config().from_str(recipe(RECIPES[task]), overrides={"training.max_epochs": epochs}, interpolate=False)
        confusions = confused(out_of_fold(config, read(data, docs), folds, seed))
        for kind, table in (("random", None), ("confusable", confusions)):
            for rate in RATES:
                changed = read(data, docs)
                flags = change(task, changed, rate, table, np.random.default_rng(seed))
                row = {"task": task, "kind": kind, "rate": rate, **measured(config, changed, flags, folds, seed)}
                rows.append(row)
                msg.info(str(row))
                output.parent.mkdir(parents=True, exist_ok=True)
                srsly.write_json(output, {"docs": docs, "folds": folds, "epochs": epochs, "seed": seed, "rows": rows})
    table = [cells(row) for row in rows]
    show(HEADER, table)
    if page is not None:
        note = f"The first {docs} docs, {folds} parts, {epochs} epochs, seed {seed}; cleanlab {version('cleanlab')}"
        write_table(page, "label errors", HEADER, table, note)


def cells(row: Dict[str, Any]) -> List[str]:
    names = ("find_errors", "p_gold", *METHODS, "issues", "one_model")
    first = f"{row['task']}, {row['kind']} {row['rate']:.0%}"
    return [first, f"{row['changed']:,}", f"{row['units']:,}", *(f"{row[name]:.3f}" for name in names)]


def read(data: Path, n: int) -> List[Doc]:
    return list(islice(sentences(data / CORPUS, "en", spacy.blank("en").vocab), n))


def out_of_fold(config: Config, docs: Sequence[Doc], folds: int, seed: int) -> List[Judgement]:
    return [
        judgement._replace(docs=fold.docs)
        for fold in trained_without(config, docs, folds, seed=seed)
        for judgement in judged(fold.nlp, fold.examples)
    ]


def confused(parts: Sequence[Judgement]) -> Confusions:
    """What gold labels are taken for: a chunk for one of the same words, or for none."""
    counts: Confusions = {}
    for judgement in parts:
        for unit, (first, size) in enumerate(zip(judgement.first.tolist(), judgement.sizes.tolist(), strict=True)):
            words = slice(first, first + size)
            if (judgement.gold[words] == judgement.reading.best[words]).all() or region_of(judgement, unit) != (
                first,
                first + size,
            ):
                continue
            gold, best = (
                spans_in(judgement, first, labels[words]) for labels in (judgement.gold, judgement.reading.best)
            )
            if len(gold) == 1 and len(best) < 2:
                counts.setdefault(gold[0][2], Counter())[best[0][2] if best else OUTSIDE] += 1
    return counts


def change(
    task: str, docs: Sequence[Doc], rate: float, confusions: Optional[Confusions], rng: np.random.Generator
) -> List[NDArray[np.bool_]]:
    """Change labels in place. RETURNS which tokens have another one, for each Doc."""
    flags = [np.zeros(len(doc), bool) for doc in docs]
    names = sorted(
        {t.tag_ for d in docs for t in d} if task == "tags" else {s.label_ for d in docs for s in d.spans[KEY]}
    )
    names += [OUTSIDE] if task == "chunks" else []

    def other(label: str) -> str:
        if rng.random() >= rate:
            return label
        table = {name: 1 for name in names} if confusions is None else confusions.get(label, {label: 1})
        choice = {name: n for name, n in table.items() if name != label} or {label: 1}
        p = np.array(list(choice.values()), float)
        return str(rng.choice(list(choice), p=p / p.sum()))

    for doc, changed in zip(docs, flags, strict=True):
        if task == "tags":
            for token in doc:
                label = other(token.tag_)
                changed[token.i] = label != token.tag_
                token.tag_ = label
            continue
        spans = [(span, other(span.label_)) for span in doc.spans[KEY]]
        for span, label in spans:
            changed[span.start : span.end] = label != span.label_
        doc.spans[KEY] = [Span(doc, span.start, span.end, label) for span, label in spans if label != OUTSIDE]
    return flags


def measured(
    config: Config, docs: Sequence[Doc], flags: Sequence[NDArray[np.bool_]], folds: int, seed: int
) -> Dict[str, Any]:
    """Average precision of each ranking of the units."""
    parts = out_of_fold(config, docs, folds, seed)
    wrong = np.concatenate([np.concatenate([flags[i] for i in part.docs])[part.first] for part in parts])
    rankings = {"find_errors": np.concatenate([part.doubts for part in parts])}
    rankings["p_gold"] = np.concatenate([-np.log(np.maximum(part.p, LEAST)) for part in parts])
    rankings |= cleanlab_rankings(parts)
    result = {"changed": int(wrong.sum()), "units": len(wrong)}
    result |= {name: average_precision(doubts, wrong) for name, doubts in rankings.items()}
    (judgement,) = judged(*trained(with_labels(config, docs), docs, docs, seed=seed))
    wrong = np.concatenate(flags)[judgement.first]
    result["one_model"] = average_precision(-np.log(np.maximum(judgement.p, LEAST)), wrong)
    return result


def cleanlab_rankings(judgements: Sequence[Judgement]) -> Dict[str, NDArray[np.float64]]:
    """Its scores of tokens, of a chunk that of its worst token; and its list of issues, first those that it lists."""
    from cleanlab.token_classification.filter import find_label_issues
    from cleanlab.token_classification.rank import get_label_quality_scores

    gold, nodes, starts = [], [], [0]
    for judgement in judgements:
        cuts = np.cumsum(judgement.reading.lengths)[:-1]
        gold += [labels.tolist() for labels in np.split(judgement.gold, cuts)]
        nodes += np.split(judgement.reading.posterior.nodes, cuts)
        starts.append(starts[-1] + len(judgement.gold))
    first = np.concatenate([part.first + start for part, start in zip(judgements, starts, strict=False)])
    sizes = np.concatenate([part.sizes for part in judgements])
    words = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    rankings = {}
    for method in METHODS:
        _, scores = get_label_quality_scores(gold, nodes, token_score_method=method)
        quality = np.concatenate([np.asarray(of_sentence) for of_sentence in scores])
        rankings[method] = -np.minimum.reduceat(quality[words], np.cumsum(sizes) - sizes)
    offsets = np.cumsum([0, *map(len, gold)])
    issues = find_label_issues(gold, nodes, n_jobs=1)
    rank = np.zeros(offsets[-1])
    for place, (i, j) in enumerate(issues):
        rank[offsets[i] + j] = 2.0 + len(issues) - place
    listed = np.maximum.reduceat(rank[words], np.cumsum(sizes) - sizes)
    rankings["issues"] = np.where(listed > 0, listed, rankings["self_confidence"])
    return rankings


def average_precision(doubts: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    """Mean of the precision at each wrong unit, the most doubtful first."""
    found = wrong[np.argsort(-doubts, kind="stable")]
    return float((np.cumsum(found) / np.arange(1, len(found) + 1))[found].mean())


if __name__ == "__main__":
    typer.run(main)
