"""Train bidirectional taggers on gold tags, and count the words that each strategy tags right (Tsuruoka & Tsujii 2005,
Tables 2 and 3).

    python strategies.py METRICS.jsonl CORPUS [--orders 1,2] [--seeds 0,1,2] [--widths 0.5] [--templates paper_pos]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy. Every model is a line of METRICS.jsonl, and is not made
again. The weights are those of the best evaluation on the dev part, one in each epoch; nothing is chosen on the test
part. The best inequality width is chosen by the page, on the dev part.
"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from voting import vote
from wasabi import msg

from spacy_hoseq.features.sequences import sequence_lengths
from spacy_hoseq.recipes import recipe

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
PARTS = ("dev", "test")


def main(
    output: Path,
    corpus: Path,
    orders: str = "1,2",
    seeds: str = "0,1,2",
    widths: str = "0.5",
    templates: str = "paper_pos",
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for seed in map(int, seeds.split(",")):
        for order in map(int, orders.split(",")):
            for width in map(float, widths.split(",")):
                key = {"corpus": corpus.name, "templates": templates, "order": order, "width": width, "seed": seed}
                if any(key.items() <= row.items() for row in rows):
                    continue
                rows.append({**key, **measured(corpus, templates, order, width, seed)})
                srsly.write_jsonl(output, rows)
                errors = {name: right.count("0") for name, right in rows[-1]["test"].items()}
                msg.text(f"{key}: {rows[-1]['training_seconds']:.0f} s, errors {errors}")


def measured(corpus: Path, templates: str, order: int, width: float, seed: int) -> Dict[str, Any]:
    """Of each part and strategy: which words are right, and processor seconds."""
    component = f"components.{NAME}"
    settings = {
        **{f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")},
        f"{component}.width": width,
        f"{component}.model.order": order,
        f"{component}.model.templates.@misc": f"spacy_hoseq.{templates}_templates.v1",
        "system.seed": seed,
        "training.logger.progress_bar": None,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        config = Path(folder) / "config.cfg"
        config.write_text(recipe("bidirectional"), encoding="utf8")
        start = time.process_time()
        train(config, Path(folder), overrides=settings)
        seconds = time.process_time() - start
        model = Path(folder) / "model-best"
        result = {part: strategies(model, corpus / f"{part}.spacy", order) for part in PARTS}
        size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    sentences = {part: result[part].pop("sentences") for part in PARTS}
    tagging = {part: result[part].pop("seconds") for part in PARTS}
    return {"training_seconds": seconds, "model_bytes": size, **result, "sentences": sentences, "seconds": tagging}


def strategies(model: Path, part: Path, order: int) -> Dict[str, Any]:
    """A string of 0 and 1 for each strategy, the words of each sentence, and seconds."""
    result: Dict[str, Any] = {"seconds": {}}
    for strategy in STRATEGIES:
        nlp = spacy.load(model, config={"components": {NAME: {"strategy": strategy}}})
        gold = [s.as_doc() for doc in DocBin().from_disk(part).get_docs(nlp.vocab) for s in doc.sents]
        docs = words_of(gold)
        start = time.process_time()
        tagged = list(nlp.pipe(docs))
        result["seconds"][strategy] = time.process_time() - start
        result[strategy] = marks([t.tag for doc in tagged for t in doc], gold)
    if order == 1:
        component = nlp.get_pipe(NAME)
        docs = words_of(gold)
        ids = vote(component.model.predict(docs), sequence_lengths(docs))
        tags = [nlp.vocab.strings[label] for label in component.labels]
        result[VOTING] = marks([tags[i] for i in ids.tolist()], gold)
    result["sentences"] = [len(doc) for doc in gold]
    return result


def words_of(docs: List[Doc]) -> List[Doc]:
    return [Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]) for doc in docs]


def marks(tags: List[int], gold: List[Doc]) -> str:
    """1 where the tag is right."""
    right = [token.tag for doc in gold for token in doc]
    return "".join("01"[a == b] for a, b in zip(tags, right, strict=True))


if __name__ == "__main__":
    typer.run(main)
