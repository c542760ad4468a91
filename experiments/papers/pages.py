"""Write the pages of the papers: tables of metrics beside the published figures, between marks in docs/papers.

    python pages.py OUTPUT [--pages ../../docs/papers] [--metrics metrics]

OUTPUT: a folder for the pages; that of --pages itself updates them. A table without metrics stays as it was.
"""

import shutil
import statistics
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import numpy as np
import srsly
import typer
from wasabi import MarkdownRenderer, msg

from spacy_hoseq.arrays import Floats
from spacy_hoseq.reporting.significance import f_score, mcnemar, paired_bootstrap

Row = Dict[str, Any]
Table = Tuple[Sequence[str], List[List[str]]]
EASIEST = "easiest_first"
WIDTH = 0.5  # of the recipe; other widths are tuned beside it
PAPER_NAMES = {"best tags": "CRF + CRF", "marginals": "CRF + CRF-MF", "joint": "CRF + CRF-BP"}
OURS_OF_PAPER = {"CRF": "SHO-CRF", "perceptron, dual decomposition": "dual decomposition"}
RERANKED = {"patterns": "reranked", "patterns, by probability": "reranked, by probability"}
PUBLISHED = Path(__file__).parent / "published.yml"


def main(
    output: Path,
    pages: Path = Path("../../docs/papers"),
    metrics: Path = Path("metrics"),
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    tables: Dict[str, Tuple[Path, Callable[[Any], Table]]] = {
        "tags": (metrics / "tags.jsonl", tags_table),
        "gum": (metrics / "gum.jsonl", tags_table),
        "ewt": (metrics / "ewt.jsonl", tags_table),
        "layers": (metrics / "layers.jsonl", layers_table),
        "layers differences": (metrics / "layers.jsonl", layer_differences),
        "widths": (metrics / "tags.jsonl", widths_table),
        "curve": (metrics / "curve.json", curve_table),
        "letters": (metrics / "perceptron.json", letters_table),
        "words": (metrics / "perceptron_words.json", words_table),
        "new words": (metrics / "new_words.jsonl", new_words_table),
        "chunks": (metrics / "chunks.jsonl", chunks_table),
        "best chunkers": (metrics / "chunks.jsonl", best_chunkers_table),
        "learners": (metrics / "learners.jsonl", learners_table),
        "amounts": (metrics / "amounts.jsonl", amounts_table),
        "organisations": (metrics / "organisations.jsonl", organisations_table),
        "dual": (metrics / "letters.jsonl", dual_table),
        "approximate": (metrics / "letters.jsonl", approximate_table),
    }
    for page in sorted(pages.glob("*.md")):
        text = page.read_text(encoding="utf8")
        for name, (source, table) in tables.items():
            if f"<!-- begin {name} -->" in text and source.exists():
                data = list(srsly.read_jsonl(source)) if source.suffix == ".jsonl" else srsly.read_json(source)
                text = filled(text, name, *table(data))
        if output.resolve() != pages.resolve():
            shutil.copy(page, output)
        (output / page.name).write_text(text, encoding="utf8")
        msg.good(f"{output / page.name}")


def filled(text: str, name: str, header: Sequence[str], rows: List[List[str]]) -> str:
    """With a table between the marks of this name."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = text.partition(begin)
    markdown = MarkdownRenderer().table(rows, header, aligns=("l", *["r"] * (len(header) - 1)))
    return f"{before}{begin}\n{markdown}\n{end}{rest.partition(end)[2]}"


def published(paper: str, table: str, row: str, column: str = "accuracy") -> str:
    """As printed; "-" where the paper has no such figure."""
    wanted = {"paper": paper, "table": table, "row": row, "column": column}
    values = [one["value"] for one in srsly.read_yaml(PUBLISHED) if wanted.items() <= one.items()]
    return f"{values[0]}" if values else "-"


def tags_table(rows: List[Row]) -> Table:
    """Strategies over the seeds of the recipe's width. A sentence counts once: its counts are means over seeds."""
    header = ("Strategy", "Order", "Test, %", "Errors, by seed", "easiest first over it", "p", "paper, order 2")
    return header, list(tags_rows([row for row in rows if row["width"] == WIDTH]))


def tags_rows(rows: List[Row]) -> Iterator[List[str]]:
    for order in sorted({row["order"] for row in rows}):
        runs = [row for row in rows if row["order"] == order]
        reference = sentence_counts(runs, EASIEST)
        for strategy in runs[0]["test"]:
            shares = [100 * run["test"][strategy].count("1") / len(run["test"][strategy]) for run in runs]
            errors = ", ".join(str(run["test"][strategy].count("0")) for run in runs)
            compared = [""] * 2
            if strategy != EASIEST:
                gain, p = two_sided(sentence_counts(runs, strategy), reference)
                compared = [f"{100 * gain:+.2f}", f"{p:.3f}"]
            paper = published("tsuruoka-tsujii", "2", strategy) if order == 2 else "-"
            yield [strategy, str(order), spread(shares), errors, *compared, paper]


def sentence_counts(runs: List[Row], strategy: str) -> Floats:
    """Right words and words of each sentence (S, 2), means over runs."""
    lengths = runs[0]["sentences"]["test"]
    starts = np.cumsum(lengths) - lengths
    right = [[mark == "1" for mark in run["test"][strategy]] for run in runs]
    mean = np.add.reduceat(np.mean(right, axis=0), starts)
    return np.stack([mean, np.array(lengths, float)], axis=1)


def share(sums: Floats) -> Floats:
    right: Floats = sums[:, 0] / sums[:, 1]
    return right


def two_sided(a: Floats, b: Floats, score: Callable[[Floats], Floats] = share) -> Tuple[float, float]:
    """Gain of b over a, and twice the smaller tail of the paired bootstrap over sentences. Resamples without a
    difference belong to both tails."""
    test = paired_bootstrap(a, b, score)
    return test.gain, min(1.0, 2 * min(test.p, paired_bootstrap(b, a, score).p))


def widths_table(rows: List[Row]) -> Table:
    """Seed 0."""
    lines = []
    for row in sorted((row for row in rows if row["seed"] == 0), key=lambda row: (row["order"], row["width"])):
        cells = [
            f"{100 * row[part][strategy].count('1') / len(row[part][strategy]):.2f}"
            for part in ("dev", "test")
            for strategy in (EASIEST, "full_bidirectional")
        ]
        lines.append([str(row["order"]), f"{row['width']:g}", *cells, f"{row['model_bytes'] / 1e6:.1f}"])
    return ("Order", "Width", "dev, easiest", "dev, full", "test, easiest", "test, full", "Model, MB"), lines


def curve_table(data: Row) -> Table:
    rows = [
        [str(r["order"]), f"{r['n']:,}", f"{r['queries'] / r['n']:.2f}", f"{1e6 * r['seconds'] / r['n']:.1f}"]
        for r in data["rows"]
    ]
    return ("Order", "Words n", "Classifications a word", "Processor time a word, us"), rows


def chunks_table(rows: List[Row]) -> Table:
    """F on the development part, which chose the epoch, as Table 5 of the paper; and on the test part."""
    lines = []
    for representation, order, runs in chunkers(rows):
        for strategy in runs[0]["dev"]:
            dev, test = ([100 * f_of(run[part][strategy]) for run in runs] for part in ("dev", "test"))
            paper = published("tsuruoka-tsujii", "5", f"{strategy} {representation} order {order}", "F")
            lines.append([f"{representation}, order {order}", strategy, spread(dev), paper, spread(test)])
    return ("Labels", "Strategy", "dev, F", "paper: dev, F", "test, F"), lines


def best_chunkers_table(rows: List[Row]) -> Table:
    """As Table 6: of each representation what is best on the development part, beside easiest first of that model."""
    lines = []
    for representation in dict.fromkeys(row["representation"] for row in rows):
        models = [(order, runs) for name, order, runs in chunkers(rows) if name == representation]
        choices = [(order, runs, strategy) for order, runs in models for strategy in runs[0]["dev"]]
        order, runs, strategy = max(choices, key=lambda one: mean_f(one[1], "dev", one[2]))
        a, b = (np.mean([run["test"][name] for run in runs], axis=0) for name in (EASIEST, strategy))
        gain, p = two_sided(a, b, f_score)
        compared = ["", ""] if strategy == EASIEST else [f"{100 * gain:+.2f}", f"{p:.3f}"]
        paper = published("tsuruoka-tsujii", "6", f"{strategy} {representation} order {order}", "F")
        test = f"{100 * mean_f(runs, 'test', strategy):.2f}"
        lines.append([representation, f"{strategy}, order {order}", test, paper, *compared])
    return ("Labels", "Best on dev", "test, F", "paper: test, F", "over easiest first", "p"), lines


def chunkers(rows: List[Row]) -> Iterator[Tuple[str, int, List[Row]]]:
    """Representation, order, and the seeds of such a model."""
    for representation, order in dict.fromkeys((row["representation"], row["order"]) for row in rows):
        runs = [row for row in rows if (row["representation"], row["order"]) == (representation, order)]
        yield representation, order, runs


def mean_f(runs: List[Row], part: str, strategy: str) -> float:
    return statistics.mean(f_of(run[part][strategy]) for run in runs)


def f_of(sentences: List[List[int]]) -> float:
    """sentences: chunks that are right, found and gold in each."""
    return float(f_score(np.sum(sentences, axis=0, dtype=float)[None])[0])


def amounts_table(rows: List[Row]) -> Table:
    """Errors with rules and without, from the same training text."""
    lines = []
    keys = dict.fromkeys((row["corpus"], row["learner"], row["words"]) for row in rows)
    for key in keys:
        runs = [row for row in rows if (row["corpus"], row["learner"], row["words"]) == key]
        low, rules = (
            {row["seed"]: row["right"] for row in runs if row["system"] == system}
            for system in ("low order", "rules")
        )
        seeds = [seed for seed in low if seed in rules]
        if not seeds:
            continue
        errors = [[some[seed].count("0") for seed in seeds] for some in (low, rules)]
        before, after = (np.array([[mark == "1" for mark in some[s]] for s in seeds]) for some in (low, rules))
        test = mcnemar(before.ravel(), after.ravel())
        change = 100 * (sum(errors[1]) / sum(errors[0]) - 1)
        shown = [", ".join(map(str, one)) for one in errors]
        counted = [f"{change:+.1f} %", f"+{test.gained} -{test.lost}", f"{test.p:.2g}"]
        lines.append([f"{key[0]}, {key[1]}", f"{key[2]:,}", *shown, *counted])
    header = ("Corpus, learner", "Words of training", "Errors, low order", "with rules", "", "gained/lost", "p")
    return header, lines


def learners_table(rows: List[Row]) -> Table:
    """All learners of the letters, on the folds that are not trained on."""
    lines = []
    for name, order in dict.fromkeys((row["learner"], row["order"]) for row in rows):
        runs = [row for row in rows if (row["learner"], row["order"]) == (name, order)]
        scores = spread([100 * run["accuracy"] for run in runs])
        amount = ", ".join(sorted({str(run["iterations"]) for run in runs}))
        paper = published("qian-liu", "1", f"{OURS_OF_PAPER.get(name, name)} order {order}")
        lines.append([f"{name}, order {order}", scores, amount, str(len(runs)), paper])
    return ("System", "Accuracy, %", "Iterations", "Folds", "paper, 10 folds"), lines


def organisations_table(rows: List[Row]) -> Table:
    """The reranker and the patterns, both by the best labelling and by probability."""
    lines = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        systems: Systems = {}
        for row in rows:
            if row["corpus"] == corpus:
                systems.setdefault(row["system"], []).append(row)
        for system, runs in systems.items():
            compared = ["", ""]
            other = RERANKED.get(system)
            if other in systems:
                gain, p = two_sided(mean_counts(systems[other]), mean_counts(runs), f_score)
                compared = [f"{100 * gain:+.2f}", f"{p:.3f}"]
            f = spread([100 * f_of(run["sentences"]) for run in runs])
            lines.append([corpus, system, f, *compared, str(len(runs))])
    return ("Corpus", "System", "F", "over reranking", "p", "Seeds"), lines


def letters_table(data: Row) -> Table:
    """Letters of the folds that are not trained on."""
    rows = []
    for order, runs in by_order(data):
        scores = [100 * run["accuracy"] for run in runs]
        gain = gains(data, order, "accuracy")
        paper = published("qian-liu", "1", f"perceptron order {order}")
        rows.append([f"perceptron, order {order}", spread(scores), gain, str(len(runs)), paper])
    return ("System", "Accuracy, %", "over order 1", "Folds", "paper, 10 folds"), rows


def words_table(data: Row) -> Table:
    rows = []
    for order, runs in by_order(data):
        cells = []
        for name in ("accuracy", "unseen_accuracy"):
            cells += [spread([100 * run[name] for run in runs]), gains(data, order, name)]
        rows.append([f"perceptron, order {order}", *cells, str(len(runs))])
    header = ("System", "Words of training, %", "over order 1", "Words not in training, %", "over order 1", "Folds")
    return header, rows


def new_words_table(rows: List[Row]) -> Table:
    """Means over folds, for each share of the patterns' weights; without patterns all shares are the same."""
    lines = []
    for system in dict.fromkeys(row["system"] for row in rows):
        runs = [row for row in rows if row["system"] == system]
        found = mean(runs, "unseen_in_lexicon") if "lexicon" in system else "-"
        for i, part in enumerate(runs[0]["shares"]):
            if system != "order 1" or part == 1:
                cells = [spread([100 * run[of][i] for run in runs]) for of in ("seen", "unseen")]
                lines.append([system, f"{part:g}", *cells, found, str(len(runs))])
    header = ("Patterns", "Share", "Words of training, %", "Words not in training, %", "in the lexicon", "Folds")
    return header, lines


def mean(runs: List[Row], name: str) -> str:
    return f"{statistics.mean(run[name] for run in runs):.1f}"


def by_order(data: Row) -> Iterator[Tuple[int, List[Row]]]:
    for order in sorted({run["order"] for run in data["runs"]}):
        yield order, [run for run in data["runs"] if run["order"] == order]


def gains(data: Row, order: int, name: str) -> str:
    """Over order 1, fold by fold."""
    low = {run["fold"]: run[name] for run in data["runs"] if run["order"] == 1}
    differences = [
        100 * (run[name] - low[run["fold"]]) for run in data["runs"] if run["order"] == order and run["fold"] in low
    ]
    return spread(differences, "+.2f") if order > 1 and differences else ""


def dual_table(rows: List[Row]) -> Table:
    return decoding_table([row for row in rows if row["objective"] == "perceptron"])


def approximate_table(rows: List[Row]) -> Table:
    return decoding_table([row for row in rows if row["objective"] == "crf"])


PAIRS = (("best tags", "marginals"), ("marginals", "joint"), ("marginals", "control"), ("control", "joint"))
Systems = Dict[str, List[Row]]


def layer_groups(rows: List[Row]) -> Iterator[Tuple[List[str], Systems]]:
    """Corpus, prior and threshold, and the seeds of each system."""
    groups: Dict[Tuple[str, str, float], Systems] = {}
    for row in rows:
        group = groups.setdefault((row["corpus"], row["prior"], row["threshold"]), {})
        group.setdefault(row["system"], []).append(row)
    for (corpus, prior, threshold), systems in groups.items():
        yield [corpus, prior, f"{threshold:g}"], systems


def layers_table(rows: List[Row]) -> Table:
    """Mean and standard deviation over seeds."""
    lines = []
    for name, systems in layer_groups(rows):
        for system, runs in systems.items():
            f, tags = (spread([100 * run[of] for run in runs]) for of in ("f", "tags"))
            of_paper = "" if name[0].endswith("names") else PAPER_NAMES.get(system, "")  # chunks alone
            paper = [published("azuma-matsumoto", "2", of_paper, of) for of in ("F", "tags")]
            lines.append([" ".join(name), system, f, paper[0], tags, paper[1], str(len(runs))])
    return ("Corpus, prior, threshold", "System", "F", "paper: F", "Tags, %", "paper: tags", "Seeds"), lines


def layer_differences(rows: List[Row]) -> Table:
    """A sentence counts once: its counts are means over seeds."""
    lines = []
    for name, systems in layer_groups(rows):
        for first, second in PAIRS:
            if first in systems and second in systems:
                a, b = (mean_counts(systems[system]) for system in (first, second))
                f, tags = two_sided(a, b, f_score), two_sided(a, b, tag_share)
                cells = [f"{100 * f[0]:+.2f}", f"{f[1]:.3f}", f"{100 * tags[0]:+.2f}", f"{tags[1]:.3f}"]
                lines.append([" ".join(name), f"{first} → {second}", *cells])
    return ("Corpus, prior, threshold", "Systems", "F", "p", "Tags", "p"), lines


def mean_counts(runs: List[Row]) -> Floats:
    """Of each sentence (S, n): chunks that are right, found and gold; of layers tags that are right, and words."""
    return np.mean([run["sentences"] for run in runs], axis=0)


def tag_share(sums: Floats) -> Floats:
    share: Floats = sums[:, 3] / sums[:, 4]
    return share


def decoding_table(rows: List[Row]) -> Table:
    lines = []
    for row in rows:
        learnt = {"exact": "exact", "dual_decomposition": "dual decomposition, 10"}[row["decoder"]]
        words = f"{row['words']} words" if row["words"] else "fold 0"
        amount = str(row["amount"] or "-")
        right = f"{100 * row['right'].count('1') / len(row['right']):.2f}"
        lines.append([f"order {row['order']}, {learnt}, {words}", row["decoding"], amount, right])
    return ("Learnt", "Decoded", "Iterations or sweeps", "Letters right, %"), lines


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Mean and standard deviation."""
    text = f"{statistics.mean(values):{form}}"
    return text if len(values) == 1 else f"{text} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    typer.run(main)
