"""Train morphologizers on UD treebanks, and measure them: gold words and sentences.

    python experiments/treebanks/morphology.py OUTPUT [--folders "FOLDER FOLDER"] [--environment FOLDER]
        [--systems parts,spaCy] [--epochs 10]

Writes OUTPUT/TREEBANK.json. A folder has *train.conllu and, if there are, *dev.conllu and *test.conllu, plain or
gzipped. Without a dev part every fifth block of ten sentences of the training part stands for it, and is not trained
on. All settings are those of the recipe `morphologizer` for all treebanks, but for what a system is to show. "spaCy" is
spaCy's own morphologizer, with the settings of `spacy init config --pipeline morphologizer`, and 3,000 updates at most.
"""

import gzip
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.cli.init_config import init_config
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.converters import conllu_to_docs

from spacy_hoseq.layers.weights import weights_in

BELOW = "ud_hu_szeged ud_fi_tdt en_ewt zh_ud_gsd"
NAME = "hoseq_morphologizer"
MODEL = f"--components.{NAME}.model"
SPACY = "spaCy"
SYSTEMS: dict[str, list[str]] = {  # what each changes
    "parts": [],
    "parts without agreement": [f"{MODEL}.parts.agreement", "false"],
    "whole labels": [f"{MODEL}.parts", "null", f"{MODEL}.label_pairs", "true"],
    SPACY: ["--training.max_steps", "3000"],
}
TRAIN = Path(__file__).parents[1] / "common" / "train.py"


def main(
    output: Path, folders: str = "", environment: str = "", systems: str = "", epochs: int = 10
) -> None:
    chosen = [name for name in SYSTEMS if not systems or name in systems.split(",")]
    given = [Path(folder) for folder in folders.split()] or [
        Path(environment) / name for name in BELOW.split()
    ]
    for folder in given:
        work = output / folder.name
        parts = corpora(folder, work)
        path = output / f"{folder.name}.json"
        known: dict[str, Any] = srsly.read_json(path) if path.exists() else {"systems": {}}
        known["sizes"] = {part: sum(map(len, docs)) for part, docs in parts.items()}
        for name in chosen:
            known["systems"][name] = trained(work, name, parts, epochs)
            srsly.write_json(path, known)


def corpora(folder: Path, work: Path) -> dict[str, list[Doc]]:
    """Docs of ten sentences, also written as .spacy files."""
    parts = {
        part: docs
        for part in ("train", "dev", "test")
        if (docs := read(folder, f"{part}.conllu")) is not None
    }
    if "dev" not in parts:
        parts["dev"] = parts["train"][4::5]
        parts["train"] = [doc for i, doc in enumerate(parts["train"]) if i % 5 != 4]
    work.mkdir(parents=True, exist_ok=True)
    for part, docs in parts.items():
        DocBin(docs=docs).to_disk(work / f"{part}.spacy")
    return parts


def read(folder: Path, ending: str) -> list[Doc] | None:
    files = sorted([*folder.glob(f"*{ending}"), *folder.glob(f"*{ending}.gz")])
    if not files:
        return None
    data = files[0].read_bytes()
    text = (gzip.decompress(data) if files[0].suffix == ".gz" else data).decode("utf8")
    return list(conllu_to_docs(text, n_sents=10, no_print=True))


def trained(work: Path, system: str, parts: dict[str, list[Doc]], epochs: int) -> dict[str, Any]:
    """Accuracy of the best model of a training, seconds and bytes."""
    files = [str(work / "train.spacy"), str(work / "dev.spacy"), str(work / "model")]
    config, settings, name = (
        "morphologizer/xx",
        ["--training.max_epochs", str(epochs), *SYSTEMS[system]],
        NAME,
    )
    if system == SPACY:
        config, settings, name = str(work / "spacy.cfg"), SYSTEMS[SPACY], "morphologizer"
        init_config(lang="xx", pipeline=[name], optimize="efficiency").to_disk(config)
    subprocess.run([sys.executable, str(TRAIN), config, *files, *settings], check=True)
    nlp = spacy.load(work / "model" / "model-best")
    component = nlp.get_pipe(name)
    arrays = [p.values for s in weights_in(component.model) for p in s.parameters.values()]
    networks = [node for _, pipe in nlp.pipeline if not arrays for node in pipe.model.walk()]
    arrays += [
        node.get_param(key) for node in networks for key in node.param_names if node.has_param(key)
    ]
    result: dict[str, Any] = {
        "labels": len(component.labels),
        "weights": sum(int((values != 0).sum()) for values in arrays),
        **srsly.read_json(work / "model" / "timings.json"),
    }
    for part in parts:
        if part != "train":
            docs = list(DocBin().from_disk(work / f"{part}.spacy").get_docs(nlp.vocab))
            result[part] = accuracy(nlp, component, docs)
    return result


def accuracy(nlp: spacy.Language, component: Any, docs: list[Doc]) -> dict[str, float]:
    """Shares of words with the right part of speech, features, and both; and tokens a processor second, of one call."""
    words = [
        Doc(nlp.vocab, words=[t.text for t in d], sent_starts=[t.is_sent_start for t in d])
        for d in docs
    ]
    copies = [doc.copy() for doc in words]
    list(nlp.pipe(copies))  # (what is remembered of words is made now)
    start = time.process_time()
    tagged = list(nlp.pipe(words))
    seconds = time.process_time() - start
    pairs = [
        (t, g)
        for doc, gold in zip(tagged, docs, strict=True)
        for t, g in zip(doc, gold, strict=True)
    ]
    pos = [t.pos_ == g.pos_ for t, g in pairs]
    morph = [str(t.morph) == str(g.morph) for t, g in pairs]
    scores = component.score([Example(doc, gold) for doc, gold in zip(tagged, docs, strict=True)])
    both = sum(a and b for a, b in zip(pos, morph, strict=True))
    per_feature = {name: values["f"] for name, values in (scores["morph_per_feat"] or {}).items()}
    return {
        "pos": sum(pos) / len(pairs),
        "morph": sum(morph) / len(pairs),
        "both": both / len(pairs),
        "feature_f": scores["morph_micro_f"],
        "case_f": per_feature.get("Case"),
        "tokens_per_second": len(pairs) / seconds,
    }


if __name__ == "__main__":
    typer.run(main)
