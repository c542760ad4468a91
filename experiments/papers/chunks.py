"""Train bidirectional chunkers, and count the chunks that each strategy finds (Tsuruoka & Tsujii
2005, Tables 5 and 6).

    python chunks.py METRICS.jsonl CORPUS [--orders 1,2] [--seeds 0]
        [--representations iob2,start_end] [--sentences 0]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy, with tags, which are given, and chunks.
Every model is a line of METRICS.jsonl, and is not made again. The weights are those of the best
evaluation on the dev part, one in each epoch; nothing is chosen on the test part. Templates: Table 4
of the paper.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Dict, List

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from wasabi import msg

NAME = "hoseq_bidirectional_tagger"
CONFIG = Path(__file__).parents[1] / "conll2000" / "configs" / "paper_chunks.cfg"
STRATEGIES = (
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "easiest_last",
    "easiest_first",
    "full_bidirectional",
)
KEY = "chunks"
WORDS = 2000  # of an update


def main(
    output: Path,
    corpus: Path,
    orders: str = "1,2",
    seeds: str = "0",
    representations: str = "iob2,start_end",
    sentences: Annotated[int, typer.Option(help="of training, from its beginning; 0: all")] = 0,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for seed in map(int, seeds.split(",")):
        for order in map(int, orders.split(",")):
            for representation in representations.split(","):
                key = {
                    "corpus": corpus.name,
                    "representation": representation,
                    "order": order,
                    "sentences": sentences,
                    "seed": seed,
                }
                if any(key.items() <= row.items() for row in rows):
                    continue
                rows.append({**key, **measured(corpus, representation, order, sentences, seed)})
                srsly.write_jsonl(output, rows)
                msg.text(f"{key}: {rows[-1]['training_seconds']:.0f} s")


def measured(
    corpus: Path, representation: str, order: int, sentences: int, seed: int
) -> Dict[str, Any]:
    """Of each strategy: chunks that are right, found and gold, of the dev part together and of each
    sentence of the test part."""
    component = f"components.{NAME}"
    settings = {
        **{f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")},
        f"{component}.representation": representation,
        f"{component}.model.order": order,
        "corpora.train.limit": sentences,
        "system.seed": seed,
        "training.eval_frequency": updates_of(corpus / "train.spacy", sentences),
        "training.logger.progress_bar": None,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        start = time.process_time()
        train(CONFIG, Path(folder), overrides=settings)
        seconds = time.process_time() - start
        model = Path(folder) / "model-best"
        dev = strategies(model, corpus / "dev.spacy")
        test = strategies(model, corpus / "test.spacy")
    totals = {name: [list(map(sum, zip(*rows, strict=True)))] for name, rows in dev.items()}
    return {"training_seconds": seconds, "dev": totals, "test": test}


def updates_of(part: Path, sentences: int) -> int:
    """Updates of one epoch, nearly."""
    docs = list(DocBin().from_disk(part).get_docs(spacy.blank("en").vocab))
    return max(1, sum(map(len, docs[: sentences or None])) // WORDS)


def strategies(model: Path, part: Path) -> Dict[str, List[List[int]]]:
    result = {}
    nlp = spacy.load(model)
    component: Any = nlp.get_pipe(NAME)
    gold = list(DocBin().from_disk(part).get_docs(nlp.vocab))
    for strategy in STRATEGIES:
        component.cfg["strategy"] = strategy
        given = [Doc(nlp.vocab, [t.text for t in doc], tags=[t.tag_ for t in doc]) for doc in gold]
        result[strategy] = [
            counts(found, right) for found, right in zip(nlp.pipe(given), gold, strict=True)
        ]
    return result


def counts(found: Doc, gold: Doc) -> List[int]:
    """Chunks that are right, found and gold."""
    a, b = ({(s.start, s.end, s.label_) for s in doc.spans[KEY]} for doc in (found, gold))
    return [len(a & b), len(a), len(b)]


if __name__ == "__main__":
    typer.run(main)
