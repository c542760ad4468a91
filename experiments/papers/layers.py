"""Two layers, trained apart or jointly (Azuma & Matsumoto 2011, Table 2), with Gaussian priors as in the paper or with
L1, and with all marginals or those above a threshold.

    python layers.py METRICS.jsonl CORPUS [--seeds 0,1,2] [--priors l1=0.005,l2=0.001] [--thresholds 0.01,0]
        [--evaluate 100] [--sentences 0]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy, with tags and chunks. Every system is a line of
METRICS.jsonl; what is there is not made again. Each training keeps the weights of the best evaluation on the dev part.

    best tags    CRF + CRF: the chunker reads the best tags of a tagger that stays as it is
    marginals    CRF + CRF-MF: the tags' probabilities
    joint        CRF + CRF-BP: trained on from `marginals`, both layers
    control      the same restart without the chunker's gradient in the tagger
"""

import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import spacy
import srsly
import typer
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from wasabi import msg

CONFIGS = Path(__file__).parents[1] / "conll2000" / "configs" / "multilayer"
SYSTEMS = ("best tags", "marginals", "joint", "control")
LISTENERS = (
    "components.hoseq_chunker.model.emissions.second.upstream",
    "components.hoseq_chunker.model.transitions.upstream",
)
KEY = "chunks"


def main(
    output: Path,
    corpus: Path,
    seeds: str = "0,1,2",
    priors: str = "l1=0.005,l2=0.001",
    thresholds: str = "0.01,0",
    epochs: int = 12,
    evaluate: Annotated[int, typer.Option(help="updates between two evaluations")] = 100,
    sentences: Annotated[int, typer.Option(help="of training, from its beginning; 0: all")] = 0,
) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = list(srsly.read_jsonl(output)) if output.exists() else []
    for prior in priors.split(","):
        for seed in map(int, seeds.split(",")):
            key = {
                "corpus": corpus.name,
                "prior": prior,
                "seed": seed,
                "epochs": epochs,
                "evaluate": evaluate,
                "limit": sentences,
            }
            made = {
                row["threshold"]
                for row in rows
                if key.items() <= row.items() and row["system"] == SYSTEMS[-1]
            }
            missing = [
                threshold
                for threshold in map(float, thresholds.split(","))
                if threshold not in made
            ]
            if not missing:
                continue
            # Systems of a run that was stopped are made again, since the later ones start from them.
            rows = [
                row
                for row in rows
                if not (key.items() <= row.items() and row["threshold"] in missing)
            ]
            settings = {
                "corpora.train.limit": sentences,
                "system.seed": seed,
                "training.max_epochs": epochs,
                "training.eval_frequency": evaluate,
            }
            for row in trained(corpus, prior, missing, settings):
                rows.append({**key, **row})
                srsly.write_jsonl(output, rows)
                msg.text(
                    f"{key} {row['threshold']:g} {row['system']}: F {100 * row['f']:.2f}, {row['seconds']:.0f} s"
                )


def trained(
    corpus: Path, prior: str, thresholds: list[float], chosen: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """A row for each threshold and system; the tagger below them is trained once, and so is what
    reads its best tags, which no threshold changes. chosen: settings of all trainings."""
    best: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {
            **{f"paths.{part}": str(corpus / f"{part}.spacy") for part in ("train", "dev")},
            **chosen,
            "training.logger.progress_bar": None,
        }
        fit("tagger", folder / "tagger", {**settings, **prior_of(prior, "hoseq_tagger")})
        of_chunker = prior_of(prior, "hoseq_chunker")
        for threshold in thresholds:
            above = {f"{listener}.threshold": threshold for listener in LISTENERS}
            chunker = {
                **settings,
                **of_chunker,
                **above,
                "paths.tagger": str(folder / "tagger" / "model-best"),
            }
            both = {**settings, **of_chunker, **above, **prior_of(prior, "hoseq_tagger")}
            both["paths.start"] = str(folder / "marginals" / "model-best")
            apart = {f"{listener}.grad_factor": 0.0 for listener in LISTENERS}
            runs: dict[str, tuple[str, dict[str, Any]]] = {
                "best tags": ("1best", {k: v for k, v in chunker.items() if k not in above}),
                "marginals": ("marginal", chunker),
                "joint": ("joint", both),
                "control": ("joint", {**both, **apart}),
            }
            for system in SYSTEMS:
                if system == "best tags" and best:
                    yield {**best, "threshold": threshold}
                    continue
                config, changes = runs[system]
                seconds = fit(config, folder / system, changes)
                measured = counts(folder / system / "model-best", corpus / "test.spacy")
                row = {"threshold": threshold, "system": system, "seconds": seconds, **measured}
                best = best or row  # the first system
                yield row


def prior_of(prior: str, component: str) -> dict[str, float]:
    """ "l1=0.005" or "l2=0.001" (a Gaussian prior), the other is 0."""
    name, value = prior.split("=")
    return {
        f"components.{component}.update_rule.{one}": float(value) * (one == name)
        for one in ("l1", "l2")
    }


def fit(config: str, output: Path, changes: dict[str, Any]) -> float:
    """RETURNS processor seconds."""
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        train(CONFIGS / f"{config}.cfg", output, overrides=changes)
    return time.process_time() - start


def counts(model: Path, part: Path) -> dict[str, Any]:
    """F and the share of tags; of each sentence: chunks that are right, found and gold, tags that are right, words."""
    nlp = spacy.load(model)
    gold = list(DocBin().from_disk(part).get_docs(nlp.vocab))
    texts = [
        Doc(nlp.vocab, [t.text for t in doc], sent_starts=[t.is_sent_start for t in doc])
        for doc in gold
    ]
    rows = []
    for right, found in zip(gold, nlp.pipe(texts), strict=True):
        rows += of_sentences(right, found)
    n_right, n_found, n_gold, tags, words = map(sum, zip(*rows, strict=True))
    return {"f": 2 * n_right / max(1, n_found + n_gold), "tags": tags / words, "sentences": rows}


def of_sentences(gold: Doc, found: Doc) -> list[list[int]]:
    rows = []
    for sent in gold.sents:
        first, end = sent.start, sent.end
        a, b = (
            {(s.start, s.end, s.label_) for s in doc.spans[KEY] if first <= s.start < end}
            for doc in (found, gold)
        )
        tags = sum(found[i].tag == gold[i].tag for i in range(first, end))
        rows.append([len(a & b), len(a), len(b), tags, end - first])
    return rows


if __name__ == "__main__":
    typer.run(main)
