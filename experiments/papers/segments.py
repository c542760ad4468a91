"""Marginal features over a semi-Markov chain (Azuma & Matsumoto 2011, section 3): names that read the chunks of a lower
layer as whole segments, with the probability of each.

    python segments.py METRICS.jsonl CORPUS --train train.entities.jsonl.gz --test dev.entities.jsonl.gz
        [--seeds 0] [--sentences 0]

CORPUS: train.spacy, dev.spacy and test.spacy, with chunks. The lower layer is a chunker over words whose patterns are
chunks of some size (a semi-Markov CRF with features of lengths), and stays as it is. The upper layer finds named
entities. A segment of type k and n words that covers a token as its first, inner, last or only one gives the feature
(k, n, place) the value p(segment | x), exact; of several segments the sum.

    words        no lower layer
    best         segments of the best chunking, with the value 1
    tags         the probabilities of the chunks' tags, token by token
    segments     those of segments, from 0.01

Every system is a line of METRICS.jsonl, and is not made again. The dev part chooses the epoch, the test part nothing.
"""

import contextlib
import gzip
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer
from numpy.typing import NDArray
from spacy.cli.train import train as spacy_train
from spacy.tokens import Doc, DocBin, Span
from spacy.util import registry
from thinc.api import Model
from wasabi import msg

from spacy_hoseq.chunks import read_chunks
from spacy_hoseq.components.expected_spans import probable_chunks
from spacy_hoseq.recipes import recipe

NAME = "hoseq_chunker"
SYSTEMS = ("words", "best", "tags", "segments")
LEAST = 0.01
SIZES = 5  # longer segments count as this
PLACES = 4  # only, first, inner, last
BATCH = 100
TEMPLATES = {"@misc": "spacy_hoseq.templates.v1", "name": "chunk_words"}
Words = tuple[str, ...]
Table = NDArray[np.float32]
Entity = tuple[int, int, str]
LOWER: dict[Words, Table] = {}  # what the upper layer reads of each sentence


def main(
    output: Path,
    corpus: Path,
    train: Annotated[Path, typer.Option(help="entities of sentences, JSONL, gzipped")],
    test: Annotated[Path, typer.Option(help="those of the test part")],
    seeds: str = "0",
    sentences: Annotated[int, typer.Option(help="of training, from its beginning; 0: all")] = 0,
    epochs: int = 8,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for seed in map(int, seeds.split(",")):
        key = {"corpus": corpus.name, "limit": sentences, "epochs": epochs, "seed": seed}
        known = [row["system"] for row in rows if key.items() <= row.items()]
        missing = [system for system in SYSTEMS if system not in known]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            named = {**entities(train), **entities(test)}
            parts = {part: read(corpus / f"{part}.spacy") for part in ("train", "dev", "test")}
            parts["train"] = parts["train"][: sentences or None]
            for part, docs in parts.items():
                DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{part}.chunks.spacy")
                DocBin(docs=with_names(docs, named)).to_disk(folder / f"{part}.names.spacy")
            chunker = fit(lower_config(), folder, "chunks", seed, epochs)
            for system in missing:
                width = read_lower(
                    chunker, [doc for docs in parts.values() for doc in docs], system
                )
                nlp = fit(upper_config(width), folder, "names", seed, epochs)
                measured = counts(nlp, folder / "test.names.spacy")
                f = 2 * sum(a for a, _, _ in measured) / max(1, sum(b + c for _, b, c in measured))
                rows.append({**key, "system": system, "f": f, "sentences": measured})
                srsly.write_jsonl(output, rows)
                msg.text(f"{key} {system}: F {100 * f:.2f}")


def read(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def entities(path: Path) -> dict[Words, list[Entity]]:
    """Of each sentence the named entities that lie in no other one."""
    result = {}
    for line in gzip.decompress(path.read_bytes()).decode("utf8").splitlines():
        row = srsly.json_loads(line)
        named = [(first, end, kind) for first, end, kind, identity in row["entities"] if identity]
        result[tuple(row["words"])] = outermost(named)
    return result


def outermost(found: list[Entity]) -> list[Entity]:
    kept: list[Entity] = []
    for one in sorted(found, key=lambda entity: (entity[0], -entity[1])):
        if not kept or one[0] >= kept[-1][1]:
            kept.append(one)
    return kept


def with_names(docs: list[Doc], named: dict[Words, list[Entity]]) -> list[Doc]:
    """Copies whose chunks are the names. Sentences whose words have no entities in the file are left out."""
    result = []
    for doc in docs:
        words = tuple(token.text for token in doc)
        if words in named:
            made = Doc(doc.vocab, list(words), sent_starts=[i == 0 for i in range(len(words))])
            made.spans["chunks"] = [Span(made, *entity) for entity in named[words]]
            result.append(made)
    return result


def lower_config() -> dict[str, Any]:
    component = f"components.{NAME}.model"
    return {
        f"{component}.patterns": {
            "@misc": "spacy_hoseq.frequent_transitions.v1",
            "max_order": SIZES,
            "min_count": 20,
        },
        f"{component}.nonnegative": False,
        f"{component}.emissions.templates": TEMPLATES,
    }


def upper_config(width: int) -> dict[str, Any]:
    """width (int): of what is read of the lower layer, 0 = nothing."""
    emissions = f"components.{NAME}.model.emissions"
    if not width:
        return {f"{emissions}.templates": TEMPLATES}
    words = {
        "@architectures": "spacy_hoseq.SparseLinear.v1",
        "templates": TEMPLATES,
        "min_count": 2,
    }
    lower = {"@architectures": "spacy_hoseq_experiments.LowerLayer.v1", "width": width}
    linear = {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": lower}
    both = {"@architectures": "spacy_hoseq.SumEmissions.v1", "first": words, "second": linear}
    return {emissions: both, "training.optimizer": {"@optimizers": "Adam.v1", "learn_rate": 0.02}}


def fit(changes: dict[str, Any], folder: Path, layer: str, seed: int, epochs: int) -> Any:
    """RETURNS the pipeline of the best evaluation on the dev part."""
    settings = {
        **{f"paths.{part}": str(folder / f"{part}.{layer}.spacy") for part in ("train", "dev")},
        **{f"corpora.{part}.attributes": [] for part in ("train", "dev")},
        "system.seed": seed,
        "training.max_epochs": epochs,
        "training.patience": 0,
        "training.batcher.n_batches": BATCH,
        "training.eval_frequency": BATCH,
        "training.before_to_disk": None,
        "training.logger.progress_bar": None,
        **changes,
    }
    config = folder / f"{layer}.cfg"
    config.write_text(recipe("chunker"), encoding="utf8")
    with contextlib.redirect_stdout(io.StringIO()):
        spacy_train(config, folder / layer, overrides=settings)
    return spacy.load(folder / layer / "model-best")


def read_lower(nlp: Any, docs: Sequence[Doc], system: str) -> int:
    """Fill LOWER. RETURNS how many features a token has."""
    LOWER.clear()
    if system == "words":
        return 0
    chunker = nlp.get_pipe(NAME)
    types = sorted({tag[2:] for tag in chunker.tags if tag[1:2] == "-"})
    width = len(chunker.tags) if system == "tags" else len(types) * SIZES * PLACES
    for start in range(0, len(docs), 500):
        some = [Doc(nlp.vocab, [token.text for token in doc]) for doc in docs[start : start + 500]]
        reading = chunker.read(some)
        answers = reading.posterior
        if system == "tags":
            table = answers.nodes.astype(np.float32)
        else:
            chunks = (
                best_of(chunker, reading) if system == "best" else probable_of(chunker, answers)
            )
            table = places(chunks, types, int(np.sum(answers.lengths)))
        for doc, rows in zip(some, np.split(table, np.cumsum(answers.lengths)[:-1]), strict=True):
            LOWER[tuple(token.text for token in doc)] = rows
    return width


def probable_of(chunker: Any, answers: Any) -> Iterator[tuple[int, int, str, float]]:
    return probable_chunks(answers, chunker.tags, chunker.cfg["representation"], LEAST)


def best_of(chunker: Any, reading: Any) -> Iterator[tuple[int, int, str, float]]:
    lengths = reading.posterior.lengths
    ends = np.cumsum(lengths)
    for start, end in zip(ends - lengths, ends, strict=True):
        tags = [chunker.tags[label] for label in reading.best[start:end]]
        for first, after, kind in zip(*read_chunks(tags), strict=True):
            yield int(start + first), int(after - first), kind, 1.0


def places(chunks: Iterator[tuple[int, int, str, float]], types: list[str], n_words: int) -> Table:
    """Values of the features (n_words, types * SIZES * PLACES). chunks: first word, words, type, probability."""
    table = np.zeros((n_words, len(types), SIZES, PLACES), np.float32)
    for first, size, kind, p in chunks:
        at = table[first : first + size, types.index(kind), min(size, SIZES) - 1]
        for i in range(size):
            place = 0 if size == 1 else 1 if i == 0 else 3 if i == size - 1 else 2
            at[i, place] += p
    return table.reshape(n_words, -1)


@registry.architectures("spacy_hoseq_experiments.LowerLayer.v1")
def lower_layer(width: int) -> Model[list[Doc], list[Table]]:
    """What LOWER has of each Doc; nothing to learn."""
    return Model("lower_layer", _forward, dims={"nO": width})


def _forward(
    model: Any, docs: list[Doc], is_train: bool
) -> tuple[list[Table], Callable[[Any], list[Doc]]]:
    return [LOWER[tuple(token.text for token in doc)] for doc in docs], lambda gradient: []


def counts(nlp: Any, part: Path) -> list[list[int]]:
    """Names that are right, found and gold, of each sentence."""
    gold = list(DocBin().from_disk(part).get_docs(nlp.vocab))
    words = [Doc(nlp.vocab, [token.text for token in doc]) for doc in gold]
    rows = []
    for found, right in zip(nlp.pipe(words), gold, strict=True):
        a, b = ({(s.start, s.end, s.label_) for s in doc.spans["chunks"]} for doc in (found, right))
        rows.append([len(a & b), len(a), len(b)])
    return rows


if __name__ == "__main__":
    typer.run(main)
