"""Rerank the k best labellings of a low-order model with higher-order features (Collins 2002b), the baseline of Qian et
al. (2009). Writes JSON as measure.py does.

    python rerank.py LOW.cfg TRAIN.spacy LOW_MODEL PATTERN_MODEL TEST.spacy OUTPUT.json [settings of LOW]

The features are those of PATTERN_MODEL, each as often as it matches a labelling. Lists to learn from come from
cross-validation: each part of the training data is labelled by a model trained on the others, so that the lists are as
bad as those of new text.

OUTPUT.json has the candidate of highest score. OUTPUT_expected.json has the entities that are probable enough: an
entity is as probable as the candidates that have it, and the threshold is taken as `measure.py --expected` does.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

import numpy as np
import spacy
import srsly
import typer
from measure import COMPONENT, THRESHOLDS, Entity, each_from_the_other, entities, scores
from numpy.typing import NDArray
from reranking import Candidate, expected, lists_of, probabilities, scored, tuned
from spacy.cli._util import parse_config_overrides
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_hoseq.chunks import Chunks, write_chunks
from spacy_hoseq.decoders.problem.trie import PatternTrie
from spacy_hoseq.layers.weights.shim import weights_of
from spacy_hoseq.patterns.sources import PatternFeatures

Ints = NDArray[np.intp]


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
) -> None:
    start = time.perf_counter()
    matches = Matches(spacy.load(high))
    made: List[List[Candidate]] = []
    gold: List[Set[Entity]] = []
    for part, nlp in cross_validated(config, train, folds, limit, parse_config_overrides(context.args)):
        made += [candidates(nlp, doc, k, matches) for doc in part]
        gold += [entities(doc) for doc in part]
    weights, penalty = tuned(made, gold, label, matches.n_weights)
    seconds = time.perf_counter() - start
    nlp = spacy.load(low)
    docs = list(DocBin().from_disk(test).get_docs(nlp.vocab))
    right, n_tokens = [entities(doc) for doc in docs], sum(map(len, docs))
    start = time.perf_counter()
    found = [candidates(nlp, doc, k, matches) for doc in docs]
    lists = lists_of(found, right, label)
    every = [candidate for some in found for candidate in some]
    reranked = scored(lists, weights)
    guesses = [every[i].entities for i in lists.first_best(reranked).tolist()]
    result: Dict[str, Any] = scores(guesses, right, label)
    result |= {"tokens": n_tokens, "tokens_per_second": n_tokens / (time.perf_counter() - start)}
    result |= {"patterns": int((weights[1:] != 0).sum()), "lists": len(made), "k": k, "folds": folds, "l2": penalty}
    result |= {"oracle_f": lists.oracle(), "first_f": lists.f(lists.log_p), "weight_of_log_p": float(weights[0])}
    timings = low.parent / "timings.json"
    before = srsly.read_json(timings)["training_seconds"] if timings.exists() else 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    result |= {"training_seconds": before + seconds, "peak_bytes": peak}
    output.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(output, result)
    shares = np.split(lists.shares(reranked), lists.starts[1:])
    result.pop("all", None)
    result |= by_probability(found, shares, right, label)
    srsly.write_json(output.with_name(f"{output.stem}_expected.json"), result)


def by_probability(
    found: Sequence[Sequence[Candidate]], shares: Sequence[NDArray[np.float64]], right: List[Set[Entity]], label: str
) -> Dict[str, Any]:
    """The entities that are probable enough; each half of the sentences takes the threshold of the other."""
    probable = [probabilities(some, share) for some, share in zip(found, shares, strict=True)]
    guesses = {threshold: [expected(p, threshold) for p in probable] for threshold in THRESHOLDS}
    thresholds = each_from_the_other(guesses, right, label)
    chosen = [guesses[thresholds[i % 2]][i] for i in range(len(right))]
    return {**scores(chosen, right, label), "thresholds": thresholds}


def cross_validated(
    config: Path, train: Path, folds: int, limit: int, changes: Dict[str, Any]
) -> "Iterator[Tuple[List[Doc], Language]]":
    """Parts of the training data, `limit` sentences in all (0: no limit), each with a pipeline that has not seen it."""
    docs = list(DocBin().from_disk(train).get_docs(spacy.blank("xx").vocab))
    bounds = [len(docs) * i // folds for i in range(folds + 1)]
    for first, end in zip(bounds[:-1], bounds[1:], strict=True):
        with tempfile.TemporaryDirectory() as folder:
            paths = {"paths.train": f"{folder}/train.spacy", "paths.dev": f"{folder}/dev.spacy"}
            DocBin(docs=docs[:first] + docs[end:]).to_disk(paths["paths.train"])
            DocBin(docs=docs[first : first + 1]).to_disk(paths["paths.dev"])  # tells nothing: the last model is taken
            spacy_train(config, Path(folder) / "model", overrides={**changes, **paths})
            yield docs[first:end][: limit // folds or None], spacy.load(Path(folder) / "model" / "model-last")


def candidates(nlp: Language, doc: Doc, k: int, matches: "Matches") -> List[Candidate]:
    """The k best labellings of a sentence."""
    chunker: Any = nlp.get_pipe(COMPONENT)
    (best,) = chunker.top_k([Doc(nlp.vocab, words=[token.text for token in doc])], k)
    features = matches.of(doc, [spans for spans, _ in best])
    return [Candidate(set(c.spans), c.score - best[0].score, f) for c, f in zip(best, features, strict=True)]


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

    def of(self, doc: Doc, labellings: Sequence[Sequence[Entity]]) -> List[Ints]:
        """RETURNS for each labelling the numbers of the weights that match, with repetitions."""
        doc = Doc(self._vocab, words=[token.text for token in doc])
        ids = {tag: i for i, tag in enumerate(self.tags)}
        fired = self._source.fire([doc])
        which, tokens = self._features.expand(fired)
        keys = tokens * len(self._trie) + self._trie.node_of[which]
        result = []
        for spans in labellings:
            first, end = (np.array([span[i] for span in spans], np.intp) for i in (0, 1))
            tags = write_chunks(Chunks(first, end, [span[2] for span in spans]), len(doc), self.representation)
            labels = np.array([ids[tag] for tag in tags], np.int32)
            found = self._trie.occurrences(labels, np.array([len(doc)]))
            everywhere = self._weight_at[found.nodes]
            matched = np.isin(keys, found.tokens * len(self._trie) + found.nodes)
            parts = [everywhere[everywhere >= 0], self._features.weight_of[which[matched]]]
            result.append(np.concatenate(parts))
        return result


if __name__ == "__main__":
    app = typer.Typer()
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(main)
    app()
