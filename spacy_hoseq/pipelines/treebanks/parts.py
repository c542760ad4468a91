"""Training, development and test Docs of a treebank.

A part that the treebank has is taken as it is. A part that it lacks is made from the training files
(from all files, if there are none for training), in groups of ten sentences: of every ten groups the
ninth is for the test, the tenth for development. Training never sees either.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ...errors import Errors
from ...readers.account import Account, whole
from ...readers.docs import ATTRIBUTES, grouped, sentences_to_doc
from ...readers.formats.recognised import read_corpus
from ...readers.sentences import Problem, Sentence
from ...readers.settings import Settings
from .source import PARTS, Treebank

LAYERS = {"TAG": "tag_", "POS": "pos_", "MORPH": "morph", "LEMMA": "lemma_"}  # -> of tokens

Progress = Callable[[Iterable[Doc]], Iterable[Doc]]


class Contents(NamedTuple):
    """Contents of a part. words (int): their number. layers: the annotation that it has. made: True
    if it was made from the training files."""

    words: int
    layers: list[str]
    made: bool


def contents_of(
    treebank: Treebank,
    folder: Path,
    account: Account,
    others: Sequence[Path] = (),
    progress: Progress = iter,
) -> dict[str, Contents]:
    """Contents of the parts in a folder, which are written if they are not there. others: files of
    which the pipeline is made, too. RAISES ValueError [HS191]: as `write_parts`, or they are parts of
    another treebank, or of files that have changed."""
    path = folder / "parts.json"
    files = [*chain.from_iterable(treebank.files.values()), *others]
    source = [treebank.name, treebank.lang, digest_of(files, account)]
    data = _read(path)
    if not data:
        data = {"treebank": source}
        for part, contents in write_parts(treebank, folder, account, progress).items():
            data[part] = contents._asdict()
        # written last: an interrupted run begins anew
        with whole(path) as new:
            srsly.write_json(new, data)
    name, lang, *digest = data.pop("treebank")
    if [name, lang, *digest] != source:
        what = f"{name}, language {lang}"
        if [name, lang] == source[:2]:
            what = "other files or options than these"
        problem = f"{path} is of {what}; give another --output, or remove {path.parents[1]}"
        raise ValueError(Errors.HS191.format(name=treebank.name, problem=problem))
    return {part: Contents(**fields) for part, fields in data.items()}


def digest_of(files: Iterable[Path], account: Account) -> str:
    """A digest of the names and the bytes of files."""
    digest = sha256()
    for file in files:
        data = sha256(file.read_bytes()).hexdigest()
        for _ in account.read(file, [data]):
            digest.update(f"{file.name} {data}\n".encode())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """What parts.json says; nothing if it is not there, or not complete."""
    with suppress(OSError, ValueError):
        return dict(srsly.read_json(path))
    return {}


def write_parts(
    treebank: Treebank, folder: Path, account: Account, progress: Progress = iter
) -> dict[str, Contents]:
    """Write a .spacy file for each part, and the multi-word tokens of training. RETURNS what is in
    them. RAISES ValueError [HS191]: a line cannot be read, or there are too few sentences."""
    docs = {part: list(progress(docs_of(treebank, part, account))) for part in (*PARTS, "")}
    parts, made = divide(treebank.name, docs)
    folder.mkdir(parents=True, exist_ok=True)
    contents = {}
    for part, part_docs in parts.items():
        DocBin([*ATTRIBUTES, "SPACY"], docs=part_docs).to_disk(folder / f"{part}.spacy")
        n_words = sum(map(len, part_docs))
        contents[part] = Contents(n_words, layers_of(part_docs), part in made)
    multiword = [*chain.from_iterable(doc.user_data["multiword"] for doc in parts["train"])]
    srsly.write_json(folder / "multiword.json", multiword)
    return contents


def divide(name: str, docs: dict[str, list[Doc]]) -> tuple[dict[str, list[Doc]], list[str]]:
    """Docs of the three parts, and the parts that were made from the training Docs.

    name: that of the treebank. docs: those that it has of each part, and of none ("").
    RAISES ValueError [HS191]: a part has too few sentences, or training has no annotation.
    """
    pool = docs["train"] + docs[""]
    parts = {part: docs[part] for part in PARTS}
    if not docs["train"]:
        # nothing to train with: all that there is becomes training files
        pool += docs["dev"] + docs["test"]
        parts = {part: [] for part in PARTS}
    made = []
    places = []
    for part, place in (("test", 8), ("dev", 9)):
        if not parts[part]:
            made.append(part)
            places.append(place)
            parts[part] = pool[place::10]
    parts["train"] = [doc for i, doc in enumerate(pool) if i % 10 not in places]
    # calibration needs two texts
    if len(parts["dev"]) < 2:
        sentences = chain.from_iterable(doc.sents for doc in parts["dev"])
        parts["dev"] = [sentence.as_doc() for sentence in sentences]
    problem = ""
    if not layers_of(parts["train"]):
        problem = "its training sentences have no tags, parts of speech, features or lemmas"
    for part, fewest in (("test", 1), ("dev", 2), ("train", 1)):
        if len(parts[part]) < fewest:
            groups = f"{len(pool)} groups of 10 sentences in all"
            problem = f"too few sentences for the part {part}: {groups}"
    if problem:
        raise ValueError(Errors.HS191.format(name=name, problem=problem))
    return parts, made


def docs_of(treebank: Treebank, part: str, account: Account) -> Iterator[Doc]:
    """The sentences of a part, ten in each Doc."""
    vocab = Vocab()
    for file in treebank.files.get(part, ()):
        items = account.read(file, read_corpus(file, "conllu", Settings(cut=True)))
        for group in grouped(_sentences(treebank.name, items), 10):
            doc = sentences_to_doc(vocab, group, treebank.lang)
            multiword = (sentence.multiword or () for sentence in group)
            doc.user_data["multiword"] = [*chain.from_iterable(multiword)]
            yield doc


def layers_of(docs: list[Doc]) -> list[str]:
    """The layers that any token has: "TAG", "POS", "MORPH" and "LEMMA"."""
    layers = []
    for layer, attribute in LAYERS.items():
        if any(str(getattr(token, attribute)) for token in chain.from_iterable(docs)):
            layers.append(layer)
    return layers


def _sentences(name: str, items: Iterable[Any]) -> Iterator[Sentence]:
    """Sentences that were read. RAISES ValueError [HS191]: a line cannot be read."""
    for item in items:
        if isinstance(item, Problem):
            place = f"{item.path}, line {item.line}"
            problem = f"{place}: expected {item.expected}, found {item.actual}"
            raise ValueError(Errors.HS191.format(name=name, problem=problem))
        # nothing learns from heads, and several roots would make several sentences
        yield item._replace(heads=None)
