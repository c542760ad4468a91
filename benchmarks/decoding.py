"""Time of the decoders against the size of the problem.

    python -m benchmarks.decoding [--output decoding.csv] [--seconds 4] [--page PAGE.md]

Random potentials (seeded): emissions of standard deviation 2, transitions of 1, pattern weights |N(0, 0.5)|, labels of
patterns drawn with probability 1/rank as frequent labels are. One size varies at a time: the number of patterns (10 to
100,000), labels (10 to 1,000), the order of the patterns (1 to 8), the length of a sentence (10 to 100,000). A decoder
leaves a series when a point has taken longer than `--seconds`, Algorithm 1 when the next may take ten times as long.
Writes one row for each point, prints slopes fitted to the logarithms (the exponent: 1 = linear), draws decoding.svg
beside the CSV (needs matplotlib, the extra `report`).

Before that, for 10 to 1,000 labels, what pruning saves on potentials like those of a trained tagger;
`--label-sets-only` stops there.
"""

import csv
import platform
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import typer
from tqdm import tqdm
from wasabi import msg, table

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.chain import viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.patterns import decode_any_sign, decode_nonnegative
from spacy_hoseq.decoders.problem import TUNING, PatternTrie, Potentials, Weights

from .page import write_table

sys.path.append(str(Path(__file__).parents[1] / "experiments" / "papers"))

from baselines import BeamSearch, DualDecomposition, algorithm_1  # noqa: E402

TOKENS = 1280  # in a batch, 20 to a sentence, unless the length varies
SIZES = {
    "patterns": [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
    "labels": [10, 30, 100, 300, 1000],
    "order": [1, 2, 3, 4, 5, 6, 7, 8],
    "length": [10, 100, 1000, 10_000, 100_000],
}
LABEL_SETS = [10, 44, 450, 1000]
ONE_SENTENCE = ("Algorithm 1",)  # timed on one sentence, being no batch decoder
HEADER = ("Decoder", "patterns", "trie nodes", "labels", "order", "length")


Rows = List[Dict[str, Any]]


class Problem(NamedTuple):
    """patterns, labels, order, length: the sizes. potentials: a batch. of_one: its first sentence."""

    patterns: int
    labels: int
    order: int
    length: int
    potentials: Potentials
    of_one: Potentials


def make_problem(
    *, patterns: int = 300, labels: int = 45, order: int = 3, length: int = 20, n_tokens: int = TOKENS
) -> Problem:
    rng = np.random.default_rng(patterns + labels + order + length)
    chosen = draw_patterns(rng, patterns, labels, order)
    trie = PatternTrie(chosen, labels)
    weights = np.zeros(len(trie))
    weights[trie.node_of] = np.abs(rng.normal(size=len(chosen))) * 0.5
    n_sentences = max(1, n_tokens // length)
    lengths = np.full(n_sentences, length, np.int32)
    scores = rng.normal(size=(n_sentences * length, labels)).astype(np.float32) * 2
    potentials = Potentials(scores, Weights(rng.normal(size=(labels, labels)), trie, weights), lengths)
    one = potentials._replace(scores=scores[:length], lengths=lengths[:1])
    return Problem(len(chosen), labels, order, length, potentials, one)


def draw_patterns(rng: np.random.Generator, n: int, labels: int, order: int) -> List[Tuple[int, ...]]:
    """At most n different patterns of orders min(2, order) to `order`; fewer if there are no more to be had."""
    share = 1 / np.arange(1, labels + 1)
    found: Dict[Tuple[int, ...], None] = {}
    for _ in range(50):
        sizes = rng.integers(min(2, order), order + 1, n) + 1
        drawn = rng.choice(labels, size=(n, order + 1), p=share / share.sum())
        found.update({tuple(row[:size]): None for row, size in zip(drawn.tolist(), sizes.tolist(), strict=True)})
        if len(found) >= n:
            break
    return list(found)[:n]


def decoders() -> Dict[str, Callable[[Potentials], object]]:
    dual, beam = DualDecomposition(max_iterations=10), BeamSearch(width=8)
    return {
        "Viterbi (no patterns)": lambda p: viterbi(p.scores, p.trans, p.lengths),
        "trie": unpruned,
        "exact (pruned)": decode_exact,
        "any sign": decode_any_sign,
        "pattern CRF (sums)": lambda potentials: posterior(potentials).expected,
        "beam search, 8": beam,
        "dual decomposition, 10": dual,
        "Algorithm 1": algorithm_1,
    }


def measure(output: Path, limit: float) -> Rows:
    rows: Rows = []
    running = {(variable, name) for variable in SIZES for name in decoders()}
    points = [(variable, size) for variable, sizes in SIZES.items() for size in sizes]
    with tqdm(points, unit="size") as progress:
        for variable, size in progress:
            progress.set_description(f"{variable} {size}")
            problem = make_problem(**{variable: size})
            for name, decode in decoders().items():
                if (variable, name) not in running:
                    continue
                potentials = problem.of_one if name in ONE_SENTENCE else problem.potentials
                seconds = best_of(lambda: decode(potentials), limit)  # noqa: B023
                larger = [other for other in SIZES[variable] if other > size]
                growth = (larger[0] / size) ** (2 if name in ONE_SENTENCE else 0) if larger else 1.0
                if seconds * growth > (10 * limit if name in ONE_SENTENCE else limit):
                    running.discard((variable, name))
                weights = problem.potentials.weights
                rows.append(
                    {
                        "decoder": name,
                        "variable": variable,
                        "patterns": problem.patterns,
                        "nodes": len(weights.trie),
                        "labels": problem.labels,
                        "order": problem.order,
                        "length": problem.length,
                        "tokens": len(potentials.scores),
                        "microseconds_per_token": seconds / len(potentials.scores) * 1e6,
                    }
                )
            write_csv(output, rows)
    return rows


def best_of(run: Callable[[], object], limit: float) -> float:
    """Shortest of up to three runs."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        if best > limit / 3:
            break
    return best


def write_csv(output: Path, rows: Rows) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="", encoding="utf8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def slopes(rows: Rows) -> Iterator[Tuple[str, ...]]:
    """For each decoder the exponents of its time, fitted to the upper half of each series, where overhead is small."""
    for name in decoders():
        found = [name]
        for variable in ("patterns", "nodes", "labels", "order", "length"):
            varied = "patterns" if variable == "nodes" else variable
            series = [r for r in rows if r["decoder"] == name and r["variable"] == varied]
            points = np.log([[r[variable], r["microseconds_per_token"]] for r in series])
            points = points[len(points) // 2 :] if len(points) > 4 else points
            fits = len(points) > 1 and np.ptp(points[:, 0]) > 0
            found.append(f"{np.polyfit(points[:, 0], points[:, 1], 1)[0]:.2f}" if fits else "-")
        yield tuple(found)


def large_problem(page: Optional[Path]) -> None:
    """100,000 patterns, 45 labels, 256 sentences of 20 tokens: time and peak memory of the exact decoder."""
    problem = make_problem(patterns=100_000, order=5, n_tokens=256 * 20)
    seconds = best_of(lambda: decode_exact(problem.potentials), limit=60.0)
    tracemalloc.start()
    decode_exact(problem.potentials)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    weights = problem.potentials.weights
    n_nodes = len(weights.trie) if weights.has_patterns else 0
    row = (
        f"{problem.patterns:,}", f"{n_nodes:,}", "256 x 20",
        f"{seconds / len(problem.potentials.scores) * 1e6:.0f} us", f"{peak / 2**20:.0f} MiB",
    )  # fmt: skip
    header = ("patterns of orders 2 to 5, 45 labels", "trie nodes", "sentences", "time a token", "peak memory")
    print(table([row], header=header, divider=True))
    if page is not None:
        write_table(page, "decoding-large", header, [row])


def trained_like(n_labels: int, *, patterns: int, n_sentences: int = 50, length: int = 25) -> Potentials:
    """Scores as of a trained tagger: one label ahead, at every third token another nearly as far; ten transitions of a
    label have weights of their own. Patterns are taken from the best-scoring labels."""
    rng = np.random.default_rng(n_labels)
    n = n_sentences * length
    scores = rng.normal(size=(n, n_labels))
    likely = rng.choice(n_labels, size=(2, n), p=(share := 1 / np.arange(1, n_labels + 1)) / share.sum())
    scores[np.arange(n), likely[0]] += rng.normal(8, 1.5, n)
    unsure = np.flatnonzero(rng.random(n) < 1 / 3)
    scores[unsure, likely[1, unsure]] += rng.normal(7, 1.5, len(unsure))
    trans = 0.5 * rng.normal(size=(n_labels, n_labels)) * (rng.random((n_labels, n_labels)) < 10 / n_labels)
    lengths = np.full(n_sentences, length, np.int32)
    if not patterns:
        return Potentials(scores.astype(np.float32), Weights(trans), lengths)
    rows = np.lib.stride_tricks.sliding_window_view(likely[0], 3).tolist()
    found = sorted({tuple(row[: 2 + i % 2]) for i, row in enumerate(rows)})
    chosen = [found[i] for i in rng.permutation(len(found))[:patterns].tolist()]
    trie = PatternTrie(chosen, n_labels)
    weights = np.zeros(len(trie))
    weights[trie.node_of] = np.abs(rng.normal(size=len(chosen))) * 0.5
    return Potentials(scores.astype(np.float32), Weights(trans, trie, weights), lengths)


def label_sets(page: Optional[Path]) -> None:
    """Time a token with and without pruning, with limits kept and made anew, by the number of labels."""
    rows = []
    for patterns in (0, 300):
        per_label: Dict[int, List[float]] = {}
        for n_labels in LABEL_SETS:
            kept = trained_like(n_labels, patterns=patterns)
            runs = [lambda: decode_exact(kept), lambda: decode_exact(fresh(kept)), lambda: unpruned(kept)]  # noqa: B023
            per_label[n_labels] = medians(runs, len(kept.scores))
        for n_labels, times in per_label.items():
            cells = [f"{own:.2f} us ({own / base:.1f})" for own, base in zip(times, per_label[44], strict=True)]
            rows.append((f"{n_labels:,}", str(patterns), *cells))
    header = ("labels", "patterns", "pruned, limits kept", "pruned, limits made", "not pruned")
    print(table(rows, header=header, divider=True))
    if page is not None:
        write_table(page, "decoding-label-sets", header, rows)


def fresh(potentials: Potentials) -> Potentials:
    """With weights of which nothing is prepared."""
    weights = potentials.weights
    features = (weights.trie, weights.node_weights) if weights.has_patterns else ()
    return potentials._replace(weights=Weights(weights.trans, *features))


def unpruned(potentials: Potentials) -> object:
    """The labels, without exact pruning."""
    if potentials.weights.has_patterns:
        return decode_nonnegative(potentials, tuning=TUNING)
    return viterbi(potentials.scores, potentials.trans, potentials.lengths, allowed=potentials.allowed)


def medians(runs: List[Callable[[], object]], n_tokens: int) -> List[float]:
    """Microseconds of processor time a token, run by run in turn, the median of five rounds (limits kept: filled)."""
    seconds = np.zeros((5, len(runs)))
    for times in seconds:
        for i, run in enumerate(runs):
            start = time.process_time()
            run()
            times[i] = time.process_time() - start
    return [float(s) / n_tokens * 1e6 for s in np.median(seconds, axis=0)]


def draw(rows: Rows, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    plain = {"axes.spines.top": False, "axes.spines.right": False}
    pyplot.rcParams.update({"svg.hashsalt": "decoding", "font.size": 9, **plain})
    figure, grid = pyplot.subplots(2, 2, figsize=(9, 7), sharey=True)
    for axes, variable in zip(grid.flat, SIZES, strict=True):
        for i, name in enumerate(decoders()):
            series = [r for r in rows if r["decoder"] == name and r["variable"] == variable]
            sizes = [r[variable] for r in series]
            axes.plot(sizes, [r["microseconds_per_token"] for r in series], marker=".", color=f"C{i}", label=name)
        axes.set(xscale="linear" if variable == "order" else "log", yscale="log", xlabel=variable)
    for axes in grid[:, 0]:
        axes.set_ylabel("microseconds a token")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(
    output: Path = Path("decoding.csv"), seconds: float = 4, page: Optional[Path] = None, label_sets_only: bool = False
) -> None:
    label_sets(page)
    if label_sets_only:
        return
    rows = measure(output, seconds)
    found = list(slopes(rows))
    print("Exponents of the time a token:")
    print(table(found, header=HEADER, divider=True, aligns=("l", *["r"] * (len(HEADER) - 1))))
    if page is not None:
        note = f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, one thread."
        write_table(page, "decoding-slopes", HEADER, found, note)
    large_problem(page)
    draw(rows, output.with_suffix(".svg"))
    msg.good(f"{output}, {output.with_suffix('.svg')}")


if __name__ == "__main__":
    typer.run(main)
