"""Damaged files of whole pipelines: each is refused with a code, or says what it said before."""

import json
import random
import shutil

import pytest

import spacy_hoseq
from spacy_hoseq.pipelines import embedded_path

from ..components import bidirectional_helpers as bidirectional
from ..components import chunker_helpers as chunks
from ..components import lemma_helpers as lemmas
from ..components import morphology_helpers as morphology

TEXTS = [*chunks.TEXTS, "She saw ponies in Rome, walked mice", "the old dogs run .", "a\n\nb"]
LOCAL = {"model": bidirectional.local(order=1), "save_decisions": True}
# of n passes over the data
TRAINED = {
    "chunks": lambda n: chunks.trained("joint", n),
    "bidirectional": lambda n: bidirectional.trained(n, **LOCAL),
    "morphology": morphology.trained,
    "lemmas": lemmas.trained,
}
KINDS = ["bit", "bit", "bit", "cut", "empty", "zeros", "another file", "another training"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Each pipeline, and beside it the same of another training; one of the package."""
    folder = tmp_path_factory.mktemp("pipelines")
    for name, train in TRAINED.items():
        train(7).to_disk(folder / name)
        train(5).to_disk(folder / f"{name}-other")
    for name in ("cy", "cy-other"):
        shutil.copytree(embedded_path("cy"), folder / name)
    return folder


def annotation(nlp):
    """Everything that stands on the Docs."""
    return json.dumps([doc.to_json() for doc in nlp.pipe(TEXTS)], sort_keys=True)


def damaged(data, kind, others, rng):
    """The bytes of a file after some damage. others: of another file, and of another training."""
    at = rng.randrange(len(data)) if data else 0
    if kind == "bit" and data:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    zeros = data[:at] + bytes(min(8, len(data) - at)) + data[at + 8 :]
    another_file, another_training = others
    results = {"cut": data[:at], "empty": b"", "zeros": zeros, "another file": another_file}
    return {**results, "another training": another_training}.get(kind, data)


@pytest.mark.long
@pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # the lemmatizer alone
@pytest.mark.parametrize("name", [*TRAINED, "cy"])
def test_damaged_files(folder, tmp_path, name):
    rng = random.Random(name)
    expected = annotation(spacy_hoseq.load(folder / name))
    files = [path.relative_to(folder / name) for path in sorted((folder / name).rglob("*"))]
    read = [file for file in files if (folder / name / file).is_file() and file.suffix != ".md"]
    for i in range(12):
        file = rng.choice(read)
        kind = rng.choice(KINDS)
        copy = shutil.copytree(folder / name, tmp_path / str(i))
        other = folder / f"{name}-other" / file
        others = [(folder / name / rng.choice(read)).read_bytes(), other.read_bytes()]
        (copy / file).write_bytes(damaged((copy / file).read_bytes(), kind, others, rng))
        try:
            found = annotation(spacy_hoseq.load(copy))
        except ValueError as error:
            assert str(error).startswith(("[HS", "[E")), (file, kind)  # ours, and spaCy's
        else:
            assert found == expected or file.name == "config.cfg", (file, kind)
