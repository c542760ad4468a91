"""Give the morphologizer of a pipeline that was trained before the candidates of each tag: the labels that it has in
the training texts. Training does the same.

    python experiments/released/candidates.py PIPELINE TRAIN.spacy ... [--component hoseq_morphologizer]
"""

from pathlib import Path
from typing import Any

import typer
from spacy.tokens import DocBin
from spacy.training import Example
from wasabi import msg

import spacy_hoseq


def main(pipeline: Path, texts: list[Path], component: str = "hoseq_morphologizer") -> None:
    pipe: Any = spacy_hoseq.load(pipeline).get_pipe(component)
    docs = [doc for path in texts for doc in DocBin().from_disk(path).get_docs(pipe.vocab)]
    pipe.find_candidates([Example(doc, doc) for doc in docs])
    pipe.to_disk(pipeline / component, exclude=["vocab"])
    sizes = [len(labels) for labels in pipe.cfg["candidates"].values()]
    msg.good(f"{len(sizes)} tags with {min(sizes)} to {max(sizes)} labels of {len(pipe.labels)}")


if __name__ == "__main__":
    typer.run(main)
