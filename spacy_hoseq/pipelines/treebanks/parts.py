"""Training, development and test Docs of a treebank.

A part that the treebank has is taken as it is. A part that it does not have is made of the training
files (of all files, if there are none of training), in groups of ten sentences: of every ten groups
the ninth is for the test, the tenth for development. Training never sees either.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ...errors import Errors
from ...readers.docs import ATTRIBUTES, grouped, sentences_to_doc
from ...readers.formats.recognised import read_corpus
from ...readers.sentences import Problem, Sentence
from ...readers.settings import Settings
from .source import PARTS, Treebank

SENTENCES = 10  # of a Doc
SOURCE = "treebank"  # key in parts.json
MULTIWORD = "multiword"  # of `doc.user_data`
DIVIDED = {"test": 8, "dev": 9}  # of ten groups, from 0
LEAST = {"train": 1, "dev": 2, "test": 1}  # texts; calibration needs two
LAYERS = {"TAG": "tag_", "POS": "pos_", "MORPH": "morph", "LEMMA": "lemma_"}  # -> of tokens


class Contents(NamedTuple):
    """Contents of a part. words (int): their number. layers: annotation that it has. made: True if
    it was made of the training files."""

    words: int
    layers: list[str]
    made: bool


Progress = Callable[[Iterable[Doc]], Iterable[Doc]]


def contents_of(treebank: Treebank, folder: Path, progress: Progress = iter) -> dict[str, Contents]:
    """Contents of the parts, which are made if they are not there. RAISES ValueError [HS191]: as
    `write_parts`, or they are those of another treebank."""
    path = folder / "parts.json"
    source = [treebank.name, treebank.lang]
    if not path.exists():
        parts = write_parts(treebank, folder, progress)
        contents = {part: each._asdict() for part, each in parts.items()}
        srsly.write_json(path, {SOURCE: source, **contents})
    contents = srsly.read_json(path)
    name, lang = contents.pop(SOURCE)
    if [name, lang] != source:
        problem = f"{path} is of {name}, language {lang}; give another --output, or remove {path.parents[1]}"
        raise ValueError(Errors.HS191.format(name=treebank.name, problem=problem))
    return {part: Contents(**fields) for part, fields in contents.items()}


def write_parts(treebank: Treebank, folder: Path, progress: Progress = iter) -> dict[str, Contents]:
    """One .spacy file for each part, and the multi-word tokens of training. RETURNS what is in them.
    RAISES ValueError [HS191]: a line cannot be read, or there are too few sentences."""
    docs = {part: list(progress(docs_of(treebank, part))) for part in (*PARTS, "")}
    pool = docs["train"] + docs.pop("")
    given = {part for part in PARTS if docs[part]}
    if not docs["train"]:
        pool += docs["dev"] + docs["test"]
        given = set()
        docs = {part: [] for part in PARTS}
    missing = {DIVIDED[part]: part for part in DIVIDED if part not in given}
    docs["train"] = [doc for i, doc in enumerate(pool) if i % SENTENCES not in missing]
    for place, part in missing.items():
        docs[part] = pool[place::SENTENCES]
    if len(docs["dev"]) < LEAST["dev"]:
        docs["dev"] = [sentence.as_doc() for doc in docs["dev"] for sentence in doc.sents]
    problems = [
        f"too few sentences for the part {part}: {len(pool)} groups of {SENTENCES} sentences in all"
        for part, least in LEAST.items()
        if len(docs[part]) < least
    ]
    if not problems and not layers_of(docs["train"]):
        problems.append("its training sentences have no tags, parts of speech, features or lemmas")
    if problems:
        raise ValueError(Errors.HS191.format(name=treebank.name, problem=problems[0]))
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        DocBin([*ATTRIBUTES, "SPACY"], docs=docs[part]).to_disk(folder / f"{part}.spacy")
    multiword = [each for doc in docs["train"] for each in doc.user_data[MULTIWORD]]
    srsly.write_json(folder / f"{MULTIWORD}.json", multiword)
    return {
        part: Contents(sum(map(len, of_part)), layers_of(of_part), part in missing.values())
        for part, of_part in docs.items()
    }


def docs_of(treebank: Treebank, part: str) -> Iterator[Doc]:
    """The sentences of a part, ten in each Doc."""
    vocab = Vocab()
    for file in treebank.files.get(part, ()):
        for group in grouped(
            _sentences(treebank.name, read_corpus(file, "conllu", Settings(cut=True))), SENTENCES
        ):
            doc = sentences_to_doc(vocab, group, treebank.lang)
            doc.user_data[MULTIWORD] = [
                each for sentence in group for each in sentence.multiword or ()
            ]
            yield doc


def layers_of(docs: list[Doc]) -> list[str]:
    """Layers that the Docs have, of "TAG", "POS", "MORPH" and "LEMMA"."""
    return [
        name
        for name, attribute in LAYERS.items()
        if any(str(getattr(token, attribute)) for doc in docs for token in doc)
    ]


def _sentences(name: str, items: Iterable[Any]) -> Iterator[Sentence]:
    """Sentences that were read. RAISES ValueError [HS191]: a line cannot be read."""
    for item in items:
        if isinstance(item, Problem):
            problem = (
                f"{item.path}, line {item.line}: expected {item.expected}, found {item.actual}"
            )
            raise ValueError(Errors.HS191.format(name=name, problem=problem))
        yield item._replace(heads=None)  # nothing learns from them
