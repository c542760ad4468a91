"""Three layers (Azuma & Matsumoto 2011): tags, chunks that read their probabilities, and names that read those of the
chunks.

    python three_layers.py METRICS.jsonl CORPUS --train train.entities.jsonl.gz --test dev.entities.jsonl.gz
        [--seeds 0] [--sentences 0] [--epochs 8]

CORPUS: train.spacy, dev.spacy and test.spacy, with tags and chunks. Entities as for segments.py. Recipe: `pipeline`,
and a second chunker for the names.

    words        names from words alone
    apart        names that read chunks, which read tags; each layer learns from its own loss
    joint        the losses of names and of chunks reach the layers below

Every system is a line of METRICS.jsonl, and is not made again. The dev part chooses the epoch, by the mean of the
scores of all layers; the test part chooses nothing.
"""

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Annotated, Any

import spacy
import srsly
import typer
from segments import Entity, Words, entities
from spacy.cli.train import train as spacy_train
from spacy.tokens import Doc, DocBin, Span
from thinc.api import Config
from wasabi import msg

from spacy_hoseq.recipes import recipe

SYSTEMS = ("words", "apart", "joint")
KEYS = ("chunks", "names")
PATH = "components.hoseq_chunker.model.emissions.second.upstream.grad_factor"


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
    named = {**entities(train), **entities(test)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("train", "dev", "test"):
            docs = DocBin().from_disk(corpus / f"{part}.spacy").get_docs(spacy.blank("en").vocab)
            made = [with_names(doc, named) for doc in docs if words_of(doc) in named]
            limit = sentences if part == "train" and sentences else None
            DocBin(docs=made[:limit]).to_disk(folder / f"{part}.spacy")
        for seed in map(int, seeds.split(",")):
            key = {"corpus": corpus.name, "limit": sentences, "epochs": epochs, "seed": seed}
            for system in SYSTEMS:
                if any({**key, "system": system}.items() <= row.items() for row in rows):
                    continue
                rows.append({**key, "system": system, **measured(folder, system, seed, epochs)})
                srsly.write_jsonl(output, rows)
                msg.text(f"{key} {system}: F of names {100 * rows[-1]['f_names']:.2f}")


def words_of(doc: Doc) -> Words:
    return tuple(token.text for token in doc)


def with_names(doc: Doc, named: dict[Words, list[Entity]]) -> Doc:
    doc.spans["names"] = [Span(doc, *entity) for entity in named[words_of(doc)]]
    return doc


def measured(folder: Path, system: str, seed: int, epochs: int) -> dict[str, Any]:
    """Of each sentence, for chunks and names: right, found and gold."""
    config = config_of(system)
    settings = {
        **{f"paths.{part}": str(folder / f"{part}.spacy") for part in ("train", "dev")},
        "system.seed": seed,
        "training.max_epochs": epochs,
        "training.patience": 0,
        "training.logger.progress_bar": None,
    }
    with contextlib.redirect_stdout(io.StringIO()):
        config.to_disk(folder / "config.cfg")
        spacy_train(folder / "config.cfg", folder / system, overrides=settings)
    nlp = spacy.load(folder / system / "model-best")
    gold = list(DocBin().from_disk(folder / "test.spacy").get_docs(nlp.vocab))
    found = list(nlp.pipe(Doc(nlp.vocab, list(words_of(doc))) for doc in gold))
    result: dict[str, Any] = {}
    for key in KEYS:
        sets = [
            [{(s.start, s.end, s.label_) for s in doc.spans[key]} for doc in docs]
            for docs in (found, gold)
        ]
        rows = [[len(a & b), len(a), len(b)] for a, b in zip(*sets, strict=True)]
        right, n_found, n_gold = map(sum, zip(*rows, strict=True))
        result[key] = rows
        result[f"f_{key}"] = 2 * right / max(1, n_found + n_gold)
    pairs = [
        (a.tag, b.tag) for x, y in zip(found, gold, strict=True) for a, b in zip(x, y, strict=True)
    ]
    return {**result, "tags": sum(a == b for a, b in pairs) / len(pairs)}


def config_of(system: str) -> Any:
    """The recipe `pipeline`, and a second chunker after it that finds names."""
    config = Config().from_str(recipe("pipeline"), interpolate=False)
    components = config["components"]
    chunker = components["hoseq_chunker"]
    names = srsly.json_loads(srsly.json_dumps(chunker))
    names["spans_key"] = "names"
    emissions = names["model"]["emissions"]
    if system == "words":
        names["model"]["emissions"] = emissions["first"]
    else:
        emissions["second"]["upstream"]["upstream"] = "hoseq_chunker"
        for each in (chunker, names):
            each["model"]["emissions"]["second"]["upstream"]["grad_factor"] = float(
                system == "joint"
            )
    components["names"] = names
    config["nlp"]["pipeline"] = [*config["nlp"]["pipeline"], "names"]
    config["training"]["score_weights"] = {
        "tag_acc": 0.34,
        "spans_chunks_f": 0.33,
        "spans_names_f": 0.33,
    }
    return config


if __name__ == "__main__":
    typer.run(main)
