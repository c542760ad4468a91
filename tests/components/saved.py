"""Components that were saved by earlier versions, and what they said of a few sentences then.

`python -m tests.components.saved DIRECTORY` trains and writes them anew, in the format of the version that runs.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import srsly

from . import bidirectional_helpers as bidirectional
from . import chunker_helpers as chunks
from . import helpers as tags

DATA = Path(__file__).parent / "data"
NAMES = ["hoseq_tagger", "upstream_tagger", "hoseq_bidirectional_tagger", "hoseq_chunker"]
TEXTS = [*(text for text, _ in tags.CORPUS), *chunks.TEXTS, "the unseen Zebra runs", "cat"]


def pipelines(make):
    """One with each of the components. make: of a module of helpers, what makes a pipeline: "blank" or "trained"."""
    return {
        "hoseq_tagger": getattr(tags, make)("frequent", save_marginals=True),
        "hoseq_bidirectional_tagger": getattr(bidirectional, make)(
            model=bidirectional.local(order=1), save_decisions=True
        ),
        "hoseq_chunker": getattr(chunks, make)("joint", save_marginals=True, tagger={"save_marginals": True}),
    }


def trained_pipelines():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[HW003\]")  # marginals of a margin
        return pipelines("trained")


def components(nlps):
    """By the folder they are saved in."""
    upstream = nlps["hoseq_chunker"].get_pipe("hoseq_tagger")
    return {**{name: nlp.get_pipe(name) for name, nlp in nlps.items()}, "upstream_tagger": upstream}


def saved(folder):
    """Pipelines of the components that are saved there, without a digest, and the components."""
    nlps = pipelines("blank")
    pipes = components(nlps)
    for name in NAMES:
        with pytest.warns(UserWarning, match="HW007"):
            pipes[name].from_disk(folder / name, exclude=["vocab"])
    return nlps, pipes


def formats_in(model):
    """Of each layer with weights in the file of a model; None where it has no number, as in the first one."""
    shims = (srsly.msgpack_loads(data[0]) for data in srsly.msgpack_loads(model)["shims"] if data)
    return [shim.get("format") for shim in shims]


def said(nlps):
    """What the pipelines say of each text: labels, chunks, and all their numbers, which JSON keeps to the last bit."""
    return {name: [_of(doc) for doc in nlp.pipe(_docs(nlp))] for name, nlp in nlps.items()}


def _docs(nlp):
    return [tags.doc_of(nlp, text) for text in TEXTS]


def _of(doc):
    found = {"words": [token.text for token in doc], "tags": [token.tag_ for token in doc]}
    if "chunks" in doc.spans:
        found["chunks"] = [[span.start, span.end, span.label_] for span in doc.spans["chunks"]]
        found["scores"] = doc.spans["chunks"].attrs["scores"].tolist()
    for extension in ("hoseq_marginals", "hoseq_decisions"):
        for name, kept in (doc._.get(extension) or {} if doc.has_extension(extension) else {}).items():
            found[f"{extension} {name}"] = {key: np.asarray(value).tolist() for key, value in kept.items()}
    return found


def write(folder):
    folder.mkdir()
    nlps = trained_pipelines()
    for name, pipe in components(nlps).items():
        pipe.to_disk(folder / name, exclude=["vocab"])
    texts = (json.dumps({name: docs}) for name, docs in said(nlps).items())
    (folder / "said.jsonl").write_text("\n".join(texts) + "\n", encoding="utf8")


def said_then(folder):
    """What was written beside the components."""
    lines = (folder / "said.jsonl").read_text(encoding="utf8").splitlines()
    return {name: docs for line in lines for name, docs in json.loads(line).items()}


if __name__ == "__main__":
    write(Path(sys.argv[1]))
