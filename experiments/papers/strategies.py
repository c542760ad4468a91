"""Train bidirectional taggers on gold tags, and count the words that each strategy tags right (Tsuruoka & Tsujii 2005,
Tables 2 and 3).

    python strategies.py METRICS.jsonl CORPUS [--orders 1,2] [--seeds 0,1,2] [--widths 0.5]
        [--sentences 0]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy. Every model is a line of METRICS.jsonl, and is not made
again. The weights are those of the best evaluation on the dev part, one in each epoch; nothing is chosen on the test
part. The best inequality width is chosen by the page, on the dev part.
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
from voting import vote
from wasabi import msg

from spacy_hoseq.features.sequences import sequence_lengths

CONFIG = Path(__file__).parents[1] / "conll2000" / "configs" / "paper_tags.cfg"
NAME = "hoseq_bidirectional_tagger"
STRATEGIES = (
    "left_to_right",
    "right_to_left",
    "dependency_network",
    "easiest_last",
    "easiest_first",
    "full_bidirectional",
)
VOTING = "voting"


def main(
    output: Path,
    corpus: Path,
    orders: str = "1,2",
    seeds: str = "0,1,2",
    widths: str = "0.5",
    sentences: Annotated[int, typer.Option(help="of training, from its beginning; 0: all")] = 0,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for seed in map(int, seeds.split(",")):
        for order in map(int, orders.split(",")):
            for width in map(float, widths.split(",")):
                settings = {"order": order, "width": width, "seed": seed}
                key = {"corpus": corpus.name, "sentences": sentences, **settings}
                if any(key.items() <= row.items() for row in rows):
                    continue
                rows.append({**key, **measured(corpus, sentences, **settings)})
                srsly.write_jsonl(output, rows)
                errors = {name: sum(rows[-1]["words"]) - sum(right) for name, right in rows[-1]["test"].items()}
                msg.text(f"{key}: {rows[-1]['training_seconds']:.0f} s, errors {errors}")


def measured(corpus: Path, sentences: int, order: int, width: float, seed: int) -> Dict[str, Any]:
    """Words that are right for each strategy: of the dev part together, with all its words, and of each sentence of the
    test part. Seconds are the processor's."""
    component = f"components.{NAME}"
    settings = {
        **{f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")},
        f"{component}.width": width,
        f"{component}.model.order": order,
        "corpora.train.limit": sentences,
        "system.seed": seed,
        "training.logger.progress_bar": None,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        start = time.process_time()
        train(CONFIG, Path(folder), overrides=settings)
        seconds = time.process_time() - start
        model = Path(folder) / "model-best"
        dev = strategies(model, corpus / "dev.spacy", order)
        test = strategies(model, corpus / "test.spacy", order)
        size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    of_dev = {name: [sum(right), sum(dev["words"])] for name, right in dev["right"].items()}
    of_test = {"test": test["right"], "words": test["words"], "seconds": test["seconds"]}
    return {"training_seconds": seconds, "model_bytes": size, "dev": of_dev, **of_test}


def strategies(model: Path, part: Path, order: int) -> Dict[str, Any]:
    """right: of each strategy, the words of each sentence whose tag is right. words: all of each sentence. seconds: of
    each strategy."""
    right: Dict[str, List[int]] = {}
    seconds: Dict[str, float] = {}
    nlp = spacy.load(model)
    component: Any = nlp.get_pipe(NAME)
    gold = [s.as_doc() for doc in DocBin().from_disk(part).get_docs(nlp.vocab) for s in doc.sents]
    for strategy in STRATEGIES:
        component.cfg["strategy"] = strategy
        docs = words_of(gold)
        start = time.process_time()
        tagged = list(nlp.pipe(docs))
        seconds[strategy] = time.process_time() - start
        right[strategy] = counts([t.tag for doc in tagged for t in doc], gold)
    if order == 1:
        docs = words_of(gold)
        ids = vote(component.model.predict(docs), sequence_lengths(docs))
        tags = [nlp.vocab.strings[label] for label in component.labels]
        right[VOTING] = counts([tags[i] for i in ids.tolist()], gold)
    return {"right": right, "words": [len(doc) for doc in gold], "seconds": seconds}


def words_of(docs: List[Doc]) -> List[Doc]:
    return [Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]) for doc in docs]


def counts(tags: List[int], gold: List[Doc]) -> List[int]:
    """Tags that are right in each sentence. tags: of all words."""
    found = iter(tags)
    return [sum(token.tag == tag for token, tag in zip(doc, found, strict=False)) for doc in gold]


if __name__ == "__main__":
    typer.run(main)
