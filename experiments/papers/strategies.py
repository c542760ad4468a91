"""Train bidirectional taggers or chunkers, and count what each strategy gets right (Tsuruoka & Tsujii 2005, Tables 2,
3, 5 and 6).

    python strategies.py METRICS.jsonl CORPUS [--representations iob2,start_end] [--orders 1,2] [--seeds 0,1,2]
        [--widths 0.5] [--sentences 0]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy. Without representations tags are learnt; with them
chunks, from tags that are given. Every model is a line of METRICS.jsonl, and is not made again. Each strategy has the
weights of the epoch that is best for it on the dev part; nothing is chosen on the test part.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import fix_random_seed, load_config, registry
from summing import summed
from voting import vote
from wasabi import msg

from spacy_hoseq.features.sequences import sequence_lengths

CONFIGS = Path(__file__).parents[1] / "conll2000" / "configs"
NAME = "hoseq_bidirectional_tagger"
STRATEGIES = (
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "easiest_last",
    "easiest_first",
    "full_bidirectional",
)
FULL = "full_bidirectional"
# Of tags, at the best epoch of full inference.
VOTING = "voting"  # of both directions, order 1
SUM = "sum over decompositions"
KEY = "chunks"

Counts = list[list[int]]  # of each sentence: right, found and gold chunks; or right tags and words


def main(
    output: Path,
    corpus: Path,
    representations: str = "",
    orders: str = "1,2",
    seeds: str = "0,1,2",
    widths: str = "0.5",
    sentences: Annotated[int, typer.Option(help="of training, from its beginning; 0: all")] = 0,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for settings in combinations(representations, orders, seeds, widths):
        key = {"corpus": corpus.name, "sentences": sentences, **settings}
        if any(key.items() <= row.items() for row in rows):
            continue
        rows.append({**key, **measured(corpus, sentences, **settings)})
        srsly.write_jsonl(output, rows)
        msg.text(f"{key}: {rows[-1]['training_seconds']:.0f} s")


def combinations(
    representations: str, orders: str, seeds: str, widths: str
) -> Iterator[dict[str, Any]]:
    for seed in map(int, seeds.split(",")):
        for order in map(int, orders.split(",")):
            for width in map(float, widths.split(",")):
                for name in representations.split(","):
                    yield {"representation": name, "order": order, "width": width, "seed": seed}


def measured(
    corpus: Path, sentences: int, representation: str, order: int, width: float, seed: int
) -> dict[str, Any]:
    """dev: sums of the counts of each strategy at its best epoch. test: counts of each sentence. Seconds are the
    processor's, of training without evaluations."""
    nlp, training = started(corpus, sentences, representation, order, width, seed)
    component: Any = nlp.get_pipe(NAME)
    dev = parts_of(nlp, corpus / "dev.spacy", representation)
    best: dict[str, dict[str, Any]] = {}
    seconds = time.process_time()
    for epoch in epochs(nlp, training):
        paused = time.process_time()
        weights = component.to_bytes(exclude=["vocab"])
        for strategy in STRATEGIES:
            total = [sum(column) for column in zip(*counts(nlp, dev, strategy), strict=True)]
            if strategy not in best or score_of(total) > score_of(best[strategy]["dev"]):
                best[strategy] = {"dev": total, "epoch": epoch, "weights": weights}
        seconds += time.process_time() - paused
    seconds = time.process_time() - seconds
    test = parts_of(nlp, corpus / "test.spacy", representation)
    tested = {}
    for strategy, of_best in best.items():
        component.from_bytes(of_best["weights"], exclude=["vocab"])
        tested[strategy] = counts(nlp, test, strategy)
    component.from_bytes(best[FULL]["weights"], exclude=["vocab"])
    for combined in () if representation else combined_of(order):
        total = [sum(column) for column in zip(*counts(nlp, dev, combined), strict=True)]
        best[combined] = {"dev": total, "epoch": best[FULL]["epoch"]}
        tested[combined] = counts(nlp, test, combined)
    return {
        "training_seconds": seconds,
        "model_bytes": len(best["easiest_first"]["weights"]),
        "epochs": {name: each["epoch"] for name, each in best.items()},
        "dev": {name: each["dev"] for name, each in best.items()},
        "test": tested,
    }


def started(
    corpus: Path,
    sentences: int,
    representation: str,
    order: int,
    width: float,
    seed: int,
    passes: int = 0,
) -> tuple[Language, dict[str, Any]]:
    """A pipeline with weights of zero, and settings of training."""
    component = f"components.{NAME}"
    settings = {
        **{f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")},
        **({f"{component}.representation": representation} if representation else {}),
        f"{component}.width": width,
        f"{component}.passes": passes,
        f"{component}.model.order": order,
        "corpora.train.limit": sentences,
        "system.seed": seed,
    }
    config = load_config(
        CONFIGS / f"paper_{'chunks' if representation else 'tags'}.cfg", overrides=settings
    )
    nlp = init_nlp(config)
    fix_random_seed(seed)
    training = registry.resolve(config.interpolate()["training"], schema=ConfigSchemaTraining)
    return nlp, training


def epochs(nlp: Language, training: dict[str, Any]) -> Iterator[int]:
    """After each epoch its number, from 1."""
    examples = training_examples(nlp)
    for epoch in range(1, training["max_epochs"] + 1):
        random.shuffle(examples)
        for batch in training["batcher"](examples):
            nlp.update(batch, drop=training["dropout"], sgd=training["optimizer"])
        yield epoch


def training_examples(nlp: Language) -> list[Example]:
    corpus = registry.resolve(nlp.config.interpolate()["corpora"])["train"]
    return list(corpus(nlp))


def parts_of(nlp: Language, part: Path, representation: str) -> list[Example]:
    """A sentence each, without what is to be found."""
    docs = DocBin().from_disk(part).get_docs(nlp.vocab)
    return [
        Example(words_of(doc, bool(representation)), doc)
        for whole in docs
        for doc in sentences_of(whole)
    ]


def sentences_of(doc: Doc) -> list[Doc]:
    sents = list(doc.sents)
    return [sent.as_doc() for sent in sents] if len(sents) > 1 else [doc]


def words_of(doc: Doc, with_tags: bool) -> Doc:
    tags = [token.tag_ for token in doc] if with_tags else None
    return Doc(doc.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc], tags=tags)


def combined_of(order: int) -> tuple[str, ...]:
    return (VOTING, SUM) if order == 1 else (SUM,)


def counts(nlp: Language, examples: list[Example], strategy: str) -> Counts:
    component: Any = nlp.get_pipe(NAME)
    docs = [example.predicted.copy() for example in examples]
    gold = [example.reference for example in examples]
    if strategy in STRATEGIES:
        component.cfg["strategy"] = strategy
        docs = list(nlp.pipe(docs))
        if component.cfg["representation"]:
            return [of_chunks(found, right) for found, right in zip(docs, gold, strict=True)]
        tags = iter([token.tag for doc in docs for token in doc])
    else:
        local, lengths = component.model.predict(docs), sequence_lengths(docs)
        order = component.model.attrs["order"]
        ids = (
            vote(local, lengths)
            if strategy == VOTING
            else summed(local, lengths, order, component.prune)
        )
        labels = [nlp.vocab.strings[label] for label in component.labels]
        tags = iter([labels[i] for i in ids.tolist()])
    return [[sum(token.tag == next(tags) for token in doc), len(doc)] for doc in gold]


def of_chunks(found: Doc, gold: Doc) -> list[int]:
    a, b = ({(s.start, s.end, s.label_) for s in doc.spans[KEY]} for doc in (found, gold))
    return [len(a & b), len(a), len(b)]


def score_of(total: list[int]) -> float:
    """Share of tags, or F."""
    return total[0] / total[1] if len(total) == 2 else 2 * total[0] / max(1, total[1] + total[2])


if __name__ == "__main__":
    typer.run(main)
