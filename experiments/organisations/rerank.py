"""Rerank the k best labellings of a low-order model with higher-order features (Collins 2002b), the baseline of Qian et
al. (2009). Writes JSON as measure.py does.

    python rerank.py LOW.cfg TRAIN.spacy LOW_MODEL PATTERN_MODEL TEST.spacy OUTPUT.json [settings of LOW]

The features are those of PATTERN_MODEL, each as often as it matches a labelling; in OUTPUT_literature.json those of
literature.py; in OUTPUT_both.json both. Lists to learn from come from cross-validation: each part of the training data
is labelled by a model trained on the others, so that the lists are as bad as those of new text. All three have the same
lists.

OUTPUT.json has the candidate of highest score. OUTPUT_expected.json has the entities that are probable enough: an
entity is as probable as the candidates that have it, and the threshold is taken as `measure.py --expected` does. So
have OUTPUT_literature_expected.json and OUTPUT_both_expected.json.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import spacy
import srsly
import typer
from literature import Literature
from measure import COMPONENT, THRESHOLDS, Entity, each_from_the_other, entities, scores
from numpy.typing import NDArray
from reranking import (
    MANY_FEATURES,
    PENALTIES,
    Candidate,
    expected,
    lists_of,
    probabilities,
    scored,
    tuned,
)
from spacy.cli._util import parse_config_overrides
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_hoseq.chunks import Chunks, write_chunks
from spacy_hoseq.decoders.problem import PatternTrie
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.patterns.sources import PatternFeatures

Ints = NDArray[np.intp]
Describe = Callable[[Doc, Sequence[Sequence[Entity]]], list[list[Ints]]]


class Listed(NamedTuple):
    """A sentence, the k best labellings of it, and log p of each, but for a constant."""

    doc: Doc
    labellings: list[list[Entity]]
    log_p: list[float]


class Described(NamedTuple):
    """Numbers of the features of all labellings of the lists to learn from and of those to be reranked, and the seconds
    that both took. penalties: to choose from."""

    n_weights: int
    penalties: Sequence[float]
    train: list[list[list[Ints]]]
    test: list[list[list[Ints]]]
    train_seconds: float
    test_seconds: float


def main(
    context: typer.Context,
    config: Path,
    train: Path,
    low: Path,
    high: Path,
    test: Path,
    output: Path,
    folds: int = 2,
    k: int = 20,
    limit: int = 0,
    label: str = "ORG",
    min_count: Annotated[
        int, typer.Option(help="lists of training that a feature of the literature needs")
    ] = 3,
) -> None:
    start = time.perf_counter()
    made: list[Listed] = []
    for part, nlp in cross_validated(
        config, train, folds, limit, parse_config_overrides(context.args)
    ):
        made += [listed(nlp, doc, k) for doc in part]
    timings = low.parent / "timings.json"
    before = srsly.read_json(timings)["training_seconds"] if timings.exists() else 0.0
    train_seconds = before + time.perf_counter() - start
    nlp = spacy.load(low)
    docs = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    start = time.perf_counter()
    found = [listed(nlp, doc, k) for doc in docs]
    test_seconds = time.perf_counter() - start
    settings = {"lists": len(made), "k": k, "folds": folds}
    for name, some in systems(high, made, found, min_count):
        seconds = train_seconds + some.train_seconds, test_seconds + some.test_seconds
        measured(
            output.with_name(f"{output.stem}{name}.json"),
            made,
            found,
            some,
            label,
            settings,
            seconds,
        )


def systems(
    high: Path, made: list[Listed], found: list[Listed], min_count: int
) -> "Iterator[tuple[str, Described]]":
    """What is added to the name of the output, and the features."""
    start = time.perf_counter()
    matches = Matches(spacy.load(high))
    patterns = described(matches.of, matches.n_weights, PENALTIES, made, found, start)
    yield "", patterns
    start = time.perf_counter()
    words = [words_of(one.doc) for one in made]
    literature = Literature(words, [one.labellings for one in made], min_count)

    def of(doc: Doc, labellings: Sequence[Sequence[Entity]]) -> list[list[Ints]]:
        return literature.of(words_of(doc), labellings)

    known = described(of, literature.n_weights, MANY_FEATURES, made, found, start)
    yield "_literature", known
    yield "_both", together(patterns, known)


def described(
    of: Describe,
    n_weights: int,
    penalties: Sequence[float],
    made: list[Listed],
    found: list[Listed],
    start: float,
) -> Described:
    """start: when what describes them began to be made."""
    train = [of(one.doc, one.labellings) for one in made]
    between = time.perf_counter()
    test = [of(one.doc, one.labellings) for one in found]
    return Described(
        n_weights, penalties, train, test, between - start, time.perf_counter() - between
    )


def together(a: Described, b: Described) -> Described:
    """The features of b are numbered after those of a; penalties are those of b."""

    def joined(first: list[list[Ints]], second: list[list[Ints]]) -> list[list[Ints]]:
        moved = {id(array): array + a.n_weights for one in second for array in one}
        return [
            [*x, *(moved[id(array)] for array in y)] for x, y in zip(first, second, strict=True)
        ]

    train = [joined(*both) for both in zip(a.train, b.train, strict=True)]
    test = [joined(*both) for both in zip(a.test, b.test, strict=True)]
    seconds = a.train_seconds + b.train_seconds, a.test_seconds + b.test_seconds
    n_weights = a.n_weights + b.n_weights
    return Described(n_weights, b.penalties, train, test, *seconds)


def measured(  # wide: what is measured, and what is written beside it
    output: Path,
    made: list[Listed],
    found: list[Listed],
    features: Described,
    label: str,
    settings: dict[str, Any],
    seconds: tuple[float, float],
) -> None:
    """Learn from `made`, rerank `found`, write both files. seconds: those of the lists, for learning and reranking."""
    start = time.perf_counter()
    learnt, gold = candidates(made, features.train), [entities(one.doc) for one in made]
    weights, penalty = tuned(learnt, gold, label, features.n_weights, features.penalties)
    train_seconds = seconds[0] + time.perf_counter() - start
    start = time.perf_counter()
    right = [entities(one.doc) for one in found]
    several = candidates(found, features.test)
    lists = lists_of(several, right, label)
    every = [candidate for some in several for candidate in some]
    reranked = scored(lists, weights)
    guesses = [every[i].entities for i in lists.first_best(reranked).tolist()]
    result: dict[str, Any] = scores(guesses, right, label)
    n_tokens = sum(len(one.doc) for one in found)
    test_seconds = seconds[1] + time.perf_counter() - start
    result |= {"tokens": n_tokens, "tokens_per_second": n_tokens / test_seconds}
    result |= {"patterns": int((weights[1:] != 0).sum()), **settings, "l2": penalty}
    result |= {
        "oracle_f": lists.oracle(),
        "first_f": lists.f(lists.log_p),
        "weight_of_log_p": float(weights[0]),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    result |= {"training_seconds": train_seconds, "peak_bytes": peak}
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)
    shares = np.split(lists.shares(reranked), lists.starts[1:])
    result.pop("all", None)
    result |= by_probability(several, shares, right, label)
    srsly.write_json(output.with_name(f"{output.stem}_expected.json"), result)


def by_probability(
    found: Sequence[Sequence[Candidate]],
    shares: Sequence[NDArray[np.float64]],
    right: list[set[Entity]],
    label: str,
) -> dict[str, Any]:
    """The entities that are probable enough; each half of the sentences takes the threshold of the other."""
    probable = [probabilities(some, share) for some, share in zip(found, shares, strict=True)]
    guesses = {threshold: [expected(p, threshold) for p in probable] for threshold in THRESHOLDS}
    thresholds = each_from_the_other(guesses, right, label)
    chosen = [guesses[thresholds[i % 2]][i] for i in range(len(right))]
    return {**scores(chosen, right, label), "thresholds": thresholds}


def cross_validated(
    config: Path, train: Path, folds: int, limit: int, changes: dict[str, Any]
) -> "Iterator[tuple[list[Doc], Language]]":
    """Parts of the training data, `limit` sentences in all (0: no limit), each with a pipeline that has not seen it."""
    docs = list(DocBin().from_disk(train).get_docs(spacy.blank("xx").vocab))
    bounds = [len(docs) * i // folds for i in range(folds + 1)]
    for first, end in zip(bounds[:-1], bounds[1:], strict=True):
        with tempfile.TemporaryDirectory() as folder:
            paths = {"paths.train": f"{folder}/train.spacy", "paths.dev": f"{folder}/dev.spacy"}
            DocBin(docs=docs[:first] + docs[end:]).to_disk(paths["paths.train"])
            DocBin(docs=docs[first : first + 1]).to_disk(
                paths["paths.dev"]
            )  # tells nothing: the last model is taken
            spacy_train(config, Path(folder) / "model", overrides={**changes, **paths})
            yield (
                docs[first:end][: limit // folds or None],
                spacy.load(Path(folder) / "model" / "model-last"),
            )


def listed(nlp: Language, doc: Doc, k: int) -> Listed:
    """The k best labellings of a sentence."""
    chunker: Any = nlp.get_pipe(COMPONENT)
    (best,) = chunker.top_k([Doc(nlp.vocab, words=words_of(doc))], k)
    return Listed(
        doc, [list(one.spans) for one in best], [one.score - best[0].score for one in best]
    )


def words_of(doc: Doc) -> list[str]:
    return [token.text for token in doc]


def candidates(lists: list[Listed], features: list[list[list[Ints]]]) -> list[list[Candidate]]:
    """features: of each labelling of each list."""
    result = []
    for one, numbers in zip(lists, features, strict=True):
        labellings = zip(one.labellings, one.log_p, numbers, strict=True)
        result.append([Candidate(set(spans), log_p, some) for spans, log_p, some in labellings])
    return result


class Matches:
    """Which label patterns of a trained model match a labelling."""

    def __init__(self, nlp: Language) -> None:
        chunker: Any = nlp.get_pipe(COMPONENT)
        self.tags, self.representation = chunker.tags, chunker.cfg["representation"]
        self._source = chunker.model.attrs["source"]
        self._features = PatternFeatures.from_arrays(weights_of(chunker.model).extra["patterns"])
        self._trie = PatternTrie(self._features.patterns, len(self.tags))
        self.n_weights = self._features.n_weights
        everywhere = np.flatnonzero(self._features.rule_of < 0)
        self._weight_at = np.full(len(self._trie), -1)
        self._weight_at[self._trie.node_of[everywhere]] = self._features.weight_of[everywhere]
        self._vocab = nlp.vocab

    def of(self, doc: Doc, labellings: Sequence[Sequence[Entity]]) -> list[list[Ints]]:
        """RETURNS for each labelling the numbers of the weights that match, with repetitions, in one array."""
        doc = Doc(self._vocab, words=words_of(doc))
        ids = {tag: i for i, tag in enumerate(self.tags)}
        fired = self._source.fire([doc])
        which, matches = self._features.expand(fired)
        keys = fired.tokens[matches] * len(self._trie) + self._trie.node_of[which]
        result = []
        for spans in labellings:
            first, end = (np.array([span[i] for span in spans], np.intp) for i in (0, 1))
            tags = write_chunks(
                Chunks(first, end, [span[2] for span in spans]), len(doc), self.representation
            )
            labels = np.array([ids[tag] for tag in tags], np.int32)
            found = self._trie.occurrences(labels, np.array([len(doc)]))
            everywhere = self._weight_at[found.nodes]
            matched = np.isin(keys, found.tokens * len(self._trie) + found.nodes)
            parts = [everywhere[everywhere >= 0], self._features.weight_of[which[matched]]]
            result.append([np.concatenate(parts)])
        return result


if __name__ == "__main__":
    app = typer.Typer()
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(main)
    app()
