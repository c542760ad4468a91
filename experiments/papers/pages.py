"""Write the pages of the papers: tables of metrics beside the published figures, between marks in docs/papers.

    python pages.py OUTPUT [--pages ../../docs/papers] [--metrics metrics]

OUTPUT: a folder for the pages; that of --pages itself updates them. A table without metrics stays as it was.
"""

import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import srsly
import typer
from wasabi import MarkdownRenderer, msg

from spacy_hoseq.arrays import Floats
from spacy_hoseq.reporting.significance import f_score, paired_bootstrap

Row = dict[str, Any]
Table = tuple[Sequence[str], list[list[str]]]
Systems = dict[str, list[Row]]
EASIEST = "easiest_first"
TIMES = ("seconds", "tagging_seconds")
WIDTH = 0.5  # of the recipe; other widths are tuned beside it
PAPER_NAMES = {"best tags": "CRF + CRF", "marginals": "CRF + CRF-MF", "joint": "CRF + CRF-BP"}
OURS_OF_PAPER = {"CRF": "SHO-CRF", "perceptron, dual decomposition": "dual decomposition"}
READ: dict[str, Callable[[Path], Any]] = {
    ".json": srsly.read_json,
    ".jsonl": lambda path: list(srsly.read_jsonl(path)),
    ".gz": lambda path: list(srsly.read_gzip_jsonl(path)),
}
# Of names, the weaker before the stronger idea: each column of differences has those that come later.
NAME_SYSTEMS = (
    "low order",
    "reranked",
    "reranked, literature's features",
    "reranked, both",
    "patterns",
)
EXPECTED = ", by probability"
PUBLISHED = Path(__file__).parent / "published.yml"


def main(
    output: Path,
    pages: Path = Path("../../docs/papers"),
    metrics: Path = Path("metrics"),
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    about = metrics / "origins.json"  # which lines say where tables come from
    origins: dict[str, str] = srsly.read_json(about) if about.exists() else {}
    tables: dict[str, tuple[Path, Callable[[Any], Table]]] = {
        "tags": (metrics / "tags.jsonl", tags_table),
        "layers": (metrics / "layers.jsonl", layers_table),
        "layers differences": (metrics / "layers.jsonl", layer_differences),
        "widths": (metrics / "widths.jsonl", widths_table),
        "priors": (metrics / "priors.jsonl", priors_table),
        "curve": (metrics / "curve.json", curve_table),
        "letters": (metrics / "learners.jsonl", letters_table),
        "words": (metrics / "perceptron_words.json", words_table),
        "new words": (metrics / "new_words.jsonl", new_words_table),
        "chunks": (metrics / "chunks.jsonl", chunks_table),
        "best chunkers": (metrics / "chunks.jsonl", best_chunkers_table),
        "segments": (metrics / "segments.jsonl", segments_table),
        "three layers": (metrics / "three_layers.jsonl", three_layers_table),
        "amounts": (metrics / "amounts.jsonl", amounts_table),
        "organisations": (metrics / "organisations.jsonl", organisations_table),
        "groups": (metrics / "groups.jsonl", groups_table),
        "dual": (metrics / "letters.jsonl", dual_table),
        "approximate": (metrics / "letters.jsonl", approximate_table),
    }
    for page in sorted(pages.glob("*.md")):
        text = page.read_text(encoding="utf8")
        for name, (source, table) in tables.items():
            source = source if source.exists() else source.with_suffix(".jsonl.gz")
            if f"<!-- begin {name} -->" in text and source.exists():
                text = filled(
                    text, name, *table(READ[source.suffix](source)), origins.get(name, "")
                )
        if output.resolve() != pages.resolve():
            shutil.copy(page, output)
        (output / page.name).write_text(text, encoding="utf8")
        msg.good(f"{output / page.name}")


def filled(
    text: str, name: str, header: Sequence[str], rows: list[list[str]], origin: str = ""
) -> str:
    """With a table between the marks of this name. origin: a line above it."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = text.partition(begin)
    markdown = MarkdownRenderer().table(rows, header, aligns=("l", *["r"] * (len(header) - 1)))
    above = f"{origin}\n\n" if origin else ""
    return f"{before}{begin}\n{above}{markdown}\n{end}{rest.partition(end)[2]}"


def published(paper: str, table: str, row: str, column: str = "accuracy") -> str:
    """As printed; "-" where the paper has no such figure."""
    wanted = {"paper": paper, "table": table, "row": row, "column": column}
    values = [one["value"] for one in srsly.read_yaml(PUBLISHED) if wanted.items() <= one.items()]
    return f"{values[0]}" if values else "-"


def tags_table(rows: list[Row]) -> Table:
    """Strategies over the seeds of the recipe's width, each at its best epoch on the development part. A sentence
    counts once: with the sums of its counts over seeds."""
    header = (
        *("Strategy", "Order", "dev, %", "paper: dev, order 2", "test, %", "paper: test, order 2"),
        *("easiest first over it, test", "p", "Seeds"),
    )
    return header, list(tags_rows([row for row in rows if row["width"] == WIDTH]))


def tags_rows(rows: list[Row]) -> Iterator[list[str]]:
    for sentences, order in dict.fromkeys((row["sentences"], row["order"]) for row in rows):
        runs = [row for row in rows if (row["sentences"], row["order"]) == (sentences, order)]
        for strategy in runs[0]["test"]:
            compared = ["", ""]
            if strategy != EASIEST:
                gain, p = two_sided(
                    *(sentence_counts(runs, name) for name in (strategy, EASIEST)), share
                )
                compared = [f"{100 * gain:+.2f}", f"{p:.3f}"]
            dev, test = (
                [per_cent(run, part, strategy) for run in runs] for part in ("dev", "test")
            )
            paper = [
                published("tsuruoka-tsujii", table, strategy) if order == 2 else "-"
                for table in ("2", "3")
            ]
            name = f"{order}{of_some(sentences)}"
            yield [
                strategy,
                name,
                spread(dev),
                paper[0],
                spread(test),
                paper[1],
                *compared,
                str(len(runs)),
            ]


def per_cent(run: Row, part: str, strategy: str) -> float:
    """Words that are right. A development part has one row of counts, a test part one for each sentence."""
    right, words = np.array(run[part][strategy]).reshape(-1, 2).sum(axis=0)
    return float(100 * right / words)


def of_some(sentences: int) -> str:
    """What is added to the name of a system that was trained on some sentences; 0 = all."""
    return f", {sentences:,} sentences" if sentences else ""


def sentence_counts(runs: list[Row], strategy: str) -> Floats:
    """Counts of each sentence (S, n), sums over runs."""
    return np.sum([run["test"][strategy] for run in runs], axis=0, dtype=float)


def share(sums: Floats) -> Floats:
    right: Floats = sums[:, 0] / sums[:, 1]
    return right


def two_sided(a: Floats, b: Floats, score: Callable[[Floats], Floats]) -> tuple[float, float]:
    """Gain of b over a, and twice the smaller tail of the paired bootstrap over sentences. Resamples without a
    difference belong to both tails. a, b (S, m): whole numbers, so that sums are exact and ties are ties."""
    test = paired_bootstrap(a, b, score)
    return test.gain, min(1.0, 2 * min(test.p, paired_bootstrap(b, a, score).p))


def widths_table(rows: list[Row]) -> Table:
    """Seed 0."""
    lines = []
    for row in sorted(
        (row for row in rows if row["seed"] == 0), key=lambda row: (row["order"], row["width"])
    ):
        cells = [
            f"{per_cent(row, part, strategy):.2f}"
            for part in ("dev", "test")
            for strategy in (EASIEST, "full_bidirectional")
        ]
        order = f"{row['order']}{of_some(row['sentences'])}"
        lines.append([order, f"{row['width']:g}", *cells, f"{row['model_bytes'] / 1e6:.1f}"])
    return (
        "Order",
        "Width",
        "dev, easiest",
        "dev, full",
        "test, easiest",
        "test, full",
        "Model, MB",
    ), lines


def priors_table(rows: list[Row]) -> Table:
    """Priors of maximum entropy, learnt online and in one batch."""
    lines = []
    for row in rows:
        counts = (np.array(row[part]).reshape(-1, 2).sum(axis=0) for part in ("dev", "test"))
        cells = [f"{100 * right / words:.2f}" for right, words in counts]
        mean = row["objective"] / row["tokens"]
        lines.append(
            [
                row["prior"],
                row["learning"],
                *cells,
                f"{mean:.4f}",
                f"{row['nonzero']:,}",
                f"{row['seconds']:.0f}",
            ]
        )
    return (
        "Prior",
        "Learning",
        "dev, %",
        "test, %",
        "Objective a token",
        "Weights that are not 0",
        "Seconds",
    ), lines


def curve_table(data: Row) -> Table:
    rows = [
        [
            str(r["order"]),
            f"{r['n']:,}",
            f"{r['queries'] / r['n']:.2f}",
            f"{1e6 * r['seconds'] / r['n']:.1f}",
        ]
        for r in data["rows"]
    ]
    return ("Order", "Words n", "Classifications a word", "Processor time a word, us"), rows


def chunks_table(rows: list[Row]) -> Table:
    """F on the development part, which chose the epoch, as Table 5 of the paper; and on the test part."""
    lines = []
    for name, runs in chunkers(rows):
        representation, order = runs[0]["representation"], runs[0]["order"]
        for strategy in runs[0]["dev"]:
            dev = [100 * f_of([run["dev"][strategy]]) for run in runs]
            test = [100 * f_of(run["test"][strategy]) for run in runs]
            paper = published(
                "tsuruoka-tsujii", "5", f"{strategy} {representation} order {order}", "F"
            )
            lines.append([name, strategy, spread(dev), paper, spread(test), str(len(runs))])
    return ("Labels", "Strategy", "dev, F", "paper: dev, F", "test, F", "Seeds"), lines


def best_chunkers_table(rows: list[Row]) -> Table:
    """As Table 6: of each representation what is best on the development part, and what was best in the paper, beside
    easiest first of that model."""
    lines = []
    for representation, sentences in dict.fromkeys(
        (row["representation"], row["sentences"]) for row in rows
    ):
        some = [
            row
            for row in rows
            if (row["representation"], row["sentences"]) == (representation, sentences)
        ]
        choices = [(runs, strategy) for _, runs in chunkers(some) for strategy in runs[0]["dev"]]
        best = max(choices, key=lambda one: mean_f(*one))
        for runs, strategy in choices:
            system = f"{strategy} {representation} order {runs[0]['order']}"
            paper = published("tsuruoka-tsujii", "6", system, "F")
            choosers = [*["here"] * ((runs, strategy) == best), *["paper"] * (paper != "-")]
            if choosers:
                name = f"{system}{of_some(sentences)}"
                lines.append([name, ", ".join(choosers), *tested_chunks(runs, strategy, paper)])
    return ("System", "Best on dev", "test, F", "paper: test, F", "over easiest first", "p"), lines


def tested_chunks(runs: list[Row], strategy: str, paper: str) -> list[str]:
    a, b = (sentence_counts(runs, name) for name in (EASIEST, strategy))
    gain, p = two_sided(a, b, f_score)
    compared = ["", ""] if strategy == EASIEST else [f"{100 * gain:+.2f}", f"{p:.3f}"]
    return [spread([100 * f_of(run["test"][strategy]) for run in runs]), paper, *compared]


def chunkers(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Representation, order and amount of training, and the seeds of such a model."""
    models: dict[str, list[Row]] = {}
    for row in rows:
        name = f"{row['representation']}, order {row['order']}{of_some(row['sentences'])}"
        models.setdefault(name, []).append(row)
    yield from models.items()


def mean_f(runs: list[Row], strategy: str) -> float:
    """On the development part."""
    return statistics.mean(f_of([run["dev"][strategy]]) for run in runs)


def f_of(sentences: list[list[int]]) -> float:
    """sentences: chunks that are right, found and gold in each."""
    return float(f_score(np.sum(sentences, axis=0, dtype=float)[None])[0])


def amounts_table(rows: list[Row]) -> Table:
    """Errors with rules and without, from the same training text. The paper's row is from its Tables 2 and 3."""
    lines = []
    for corpus, learner, words in sorted(
        {(row["corpus"], row["learner"], row["words"]) for row in rows}
    ):
        runs = [
            row
            for row in rows
            if (row["corpus"], row["learner"], row["words"]) == (corpus, learner, words)
        ]
        low, rules = (
            {row["seed"]: row for row in runs if row["system"] == system}
            for system in ("low order", "rules")
        )
        seeds = [seed for seed in low if seed in rules]
        if not seeds:
            continue
        tested = [
            np.array([some[seed]["tested"] for seed in seeds], float) for some in (low, rules)
        ]
        errors = [(some[:, :, 1] - some[:, :, 0]).sum(axis=1) for some in tested]
        _, p = two_sided(*(some.sum(axis=0) for some in tested), share)
        change = errors[1].sum() / errors[0].sum() - 1
        shown = [spread(list(some), ".0f") for some in errors]
        training, tagging = (
            [mean([some[s] for s in seeds], of) for some in (low, rules)] for of in TIMES
        )
        cells = [
            f"{100 * change:+.1f} %",
            f"{p:.3f}",
            *times(training, tagging, tested[0][0, :, 1].sum()),
        ]
        lines.append([f"{corpus}, {learner}", f"{words:,}", *shown, *cells, str(len(seeds))])
    header = (
        "Corpus, learner",
        "Words of training",
        "Errors, low order",
        "with rules",
        "",
        "p",
        "Training time",
    )
    return (*header, "Tagging a word, low order, us", "with rules, us", "Seeds"), [
        *lines,
        published_amount(),
    ]


def times(training: list[float], tagging: list[float], tested: float) -> list[str]:
    """Of a low order and of rules; tested: words."""
    return [
        f"{training[1] / training[0]:.2f}x",
        *(f"{1e6 * seconds / tested:.1f}" for seconds in tagging),
    ]


def published_amount() -> list[str]:
    words, tested = (
        int(published("qian-liu", "2", part, "words")) for part in ("training", "testing")
    )
    accuracy, training, tagging = (
        [float(published("qian-liu", "3", f"{order} order", of)) for order in ("low", "higher")]
        for of in ("accuracy", *TIMES)
    )
    errors = [tested * (100 - right) / 100 for right in accuracy]
    change = f"{100 * (errors[1] / errors[0] - 1):+.1f} %"
    name = "paper: Chinese Treebank"
    return [
        name,
        f"{words:,}",
        *(f"{n:.0f}" for n in errors),
        change,
        "< 0.01",
        *times(training, tagging, tested),
        "1",
    ]


def organisations_table(rows: list[Row]) -> Table:
    """Each system beside weaker ones that make the same decision: the best labelling, or names by their probability."""
    others = [name for name in NAME_SYSTEMS[:3] if any(row["system"] == name for row in rows)]
    lines = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        systems: Systems = {}
        for row in rows:
            if row["corpus"] == corpus:
                systems.setdefault(row["system"], []).append(row)
        for system, runs in systems.items():
            compared = [cell for other in others for cell in over(systems, system, other)]
            f = spread([100 * f_of(run["sentences"]) for run in runs])
            lines.append([corpus, system, f, *compared, str(len(runs))])
    names = [cell for other in others for cell in (f"over {other}", "p")]
    return ("Corpus", "System", "F", *names, "Seeds"), lines


def over(systems: Systems, system: str, other: str) -> list[str]:
    """What a system gains over a weaker one with the same decision, and p. Empty cells for others."""
    name, expected, _ = system.partition(EXPECTED)
    weaker = other + expected
    if NAME_SYSTEMS.index(name) <= NAME_SYSTEMS.index(other) or weaker not in systems:
        return ["", ""]
    gain, p = two_sided(sum_of_counts(systems[weaker]), sum_of_counts(systems[system]), f_score)
    return [f"{100 * gain:+.2f}", f"{p:.3f}"]


def groups_table(rows: list[Row]) -> Table:
    """Means over tokens; the ratio of processor times is the median of its rounds."""
    lines = []
    for row in rows:
        counts = [
            row[kind][name]
            for kind in ("all", "higher")
            for name in ("states", "ungrouped", "transitions")
        ]
        cells = [f"{n / row['tokens']:,.1f}" for n in (*counts, row["ours"])]
        time = f"{statistics.median(row['ratios']):.1f}"
        lines.append([row["system"], str(row["labels"]), *cells, row["difference"], time])
    names = ("states", "single", "grouped")
    of_kinds = [f"{name}{kind}" for kind in ("", ", patterns") for name in names]
    return ("Model", "Labels", *of_kinds, "ours", "log z", "time"), lines


def letters_table(rows: list[Row]) -> Table:
    """Letters of the folds that are not trained on (Table 1, Figures 7 and 8). Gains are fold by fold."""
    lines = []
    for learner, order in dict.fromkeys((row["learner"], row["order"]) for row in rows):
        of_learner = [row for row in rows if row["learner"] == learner]
        runs = [row for row in of_learner if row["order"] == order]
        scores = spread([100 * run["accuracy"] for run in runs])
        seconds = (
            f"{mean(runs, name):.2f}" for name in ("train_seconds_per_iteration", "test_seconds")
        )
        name = f"{OURS_OF_PAPER.get(learner, learner)} order {order}"
        paper = [published("qian-liu", "1", name, column) for column in ("accuracy", "seconds")]
        gain = gains(of_learner, order, "accuracy")
        lines.append(
            [
                f"{learner}, order {order}",
                scores,
                paper[0],
                gain,
                *seconds,
                paper[1],
                str(len(runs)),
            ]
        )
    header = (
        "System",
        "Accuracy, %",
        "paper",
        "over order 1",
        "Training, s",
        "Test, s",
        "paper: training, s",
        "Folds",
    )
    return header, lines


def words_table(data: Row) -> Table:
    rows = []
    for order in sorted({run["order"] for run in data["runs"]}):
        runs = [run for run in data["runs"] if run["order"] == order]
        cells = []
        for name in ("accuracy", "unseen_accuracy"):
            cells += [spread([100 * run[name] for run in runs]), gains(data["runs"], order, name)]
        rows.append([f"perceptron, order {order}", *cells, str(len(runs))])
    header = (
        "System",
        "Words of training, %",
        "over order 1",
        "Words not in training, %",
        "over order 1",
        "Folds",
    )
    return header, rows


def new_words_table(rows: list[Row]) -> Table:
    """Means over folds, for each share of the patterns' weights; without patterns all shares are the same."""
    lines = []
    for system in dict.fromkeys(row["system"] for row in rows):
        runs = [row for row in rows if row["system"] == system]
        found = f"{mean(runs, 'unseen_in_lexicon'):.1f}" if "lexicon" in system else "-"
        for i, part in enumerate(runs[0]["shares"]):
            if system != "order 1" or part == 1:
                cells = [spread([100 * run[of][i] for run in runs]) for of in ("seen", "unseen")]
                lines.append([system, f"{part:g}", *cells, found, str(len(runs))])
    header = (
        "Patterns",
        "Share",
        "Words of training, %",
        "Words not in training, %",
        "in the lexicon",
        "Folds",
    )
    return header, lines


def mean(runs: list[Row], name: str) -> float:
    return statistics.mean(run[name] for run in runs)


def gains(rows: list[Row], order: int, name: str) -> str:
    """Over order 1, fold by fold."""
    low = {run["fold"]: run[name] for run in rows if run["order"] == 1}
    differences = [
        100 * (run[name] - low[run["fold"]])
        for run in rows
        if run["order"] == order and run["fold"] in low
    ]
    return spread(differences, "+.2f") if order > 1 and differences else ""


def dual_table(rows: list[Row]) -> Table:
    return decoding_table([row for row in rows if row["objective"] == "perceptron"])


def approximate_table(rows: list[Row]) -> Table:
    return decoding_table([row for row in rows if row["objective"] == "crf"])


PAIRS = (
    ("best tags", "marginals"),
    ("marginals", "joint"),
    ("marginals", "control"),
    ("control", "joint"),
)


def layer_groups(rows: list[Row]) -> Iterator[tuple[list[str], Systems]]:
    """Corpus, prior and threshold, and the seeds of each system."""
    groups: dict[tuple[str, str, float], Systems] = {}
    for row in rows:
        name = "ptb" if row["corpus"] == "layers" else row["corpus"]  # the corpus of steps.yml
        corpus = f"{name}{of_some(row['limit'])}"
        group = groups.setdefault((corpus, row["prior"], row["threshold"]), {})
        group.setdefault(row["system"], []).append(row)
    for corpus, prior, threshold in sorted(groups):
        yield [corpus, prior, f"{threshold:g}"], groups[corpus, prior, threshold]


def layers_table(rows: list[Row]) -> Table:
    """Mean and standard deviation over seeds."""
    lines = []
    for name, systems in layer_groups(rows):
        for system, runs in systems.items():
            f, tags = (spread([100 * run[of] for run in runs]) for of in ("f", "tags"))
            of_paper = (
                PAPER_NAMES.get(system, "") if name[0].startswith("ptb") else ""
            )  # its own treebank alone
            paper = [published("azuma-matsumoto", "2", of_paper, of) for of in ("F", "tags")]
            lines.append([" ".join(name), system, f, paper[0], tags, paper[1], str(len(runs))])
    return (
        "Corpus, prior, threshold",
        "System",
        "F",
        "paper: F",
        "Tags, %",
        "paper: tags",
        "Seeds",
    ), lines


def layer_differences(rows: list[Row]) -> Table:
    """A sentence counts once: with the sums of its counts over seeds."""
    lines = []
    for name, systems in layer_groups(rows):
        for first, second in PAIRS:
            if first in systems and second in systems:
                a, b = (sum_of_counts(systems[system]) for system in (first, second))
                f, tags = two_sided(a, b, f_score), two_sided(a, b, tag_share)
                cells = [
                    f"{100 * f[0]:+.2f}",
                    f"{f[1]:.3f}",
                    f"{100 * tags[0]:+.2f}",
                    f"{tags[1]:.3f}",
                ]
                lines.append([" ".join(name), f"{first} → {second}", *cells])
    return ("Corpus, prior, threshold", "Systems", "F", "p", "Tags", "p"), lines


def segments_table(rows: list[Row]) -> Table:
    """What names gain by reading chunks, over the probabilities of their tags, for each amount of training."""
    amounts: dict[int, Systems] = {}
    for row in rows:
        amounts.setdefault(row["limit"], {}).setdefault(row["system"], []).append(row)
    lines = []
    for limit, systems in amounts.items():
        for system, runs in systems.items():
            compared = []
            for other in ("words", "tags"):
                cells = ["", ""]
                if other in systems and system not in ("words", other):
                    gain, p = two_sided(sum_of_counts(systems[other]), sum_of_counts(runs), f_score)
                    cells = [f"{100 * gain:+.2f}", f"{p:.3f}"]
                compared += cells
            f = spread([100 * f_of(run["sentences"]) for run in runs])
            lines.append([f"{system}{of_some(limit)}", f, *compared, str(len(runs))])
    return ("Lower layer", "F", "over words", "p", "over tags", "p", "Seeds"), lines


def three_layers_table(rows: list[Row]) -> Table:
    """What names gain over those of words alone."""
    lines = []
    for limit, system in dict.fromkeys((row["limit"], row["system"]) for row in rows):
        runs, words = (
            [r for r in rows if (r["limit"], r["system"]) == (limit, name)]
            for name in (system, "words")
        )
        compared = ["", ""]
        if system != "words":
            sums = (
                np.sum([run["names"] for run in some], axis=0, dtype=float)
                for some in (words, runs)
            )
            gain, p = two_sided(*sums, f_score)
            compared = [f"{100 * gain:+.2f}", f"{p:.3f}"]
        cells = [
            spread([100 * run[name] for run in runs]) for name in ("tags", "f_chunks", "f_names")
        ]
        lines.append([f"{system}{of_some(limit)}", *cells, *compared, str(len(runs))])
    return ("System", "Tags, %", "Chunks, F", "Names, F", "over words", "p", "Seeds"), lines


def sum_of_counts(runs: list[Row]) -> Floats:
    """Of each sentence (S, n): chunks that are right, found and gold; of layers tags that are right, and words."""
    return np.sum([run["sentences"] for run in runs], axis=0, dtype=float)


def tag_share(sums: Floats) -> Floats:
    share: Floats = sums[:, 3] / sums[:, 4]
    return share


def decoding_table(rows: list[Row]) -> Table:
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
    return (
        text
        if len(values) == 1
        else f"{text} ± {statistics.stdev(values):{form.removeprefix('+')}}"
    )


if __name__ == "__main__":
    typer.run(main)
