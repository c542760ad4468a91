"""Docs of texts that have no annotation."""

from pathlib import Path
from typing import Iterable, Iterator, List

from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ..readers.annotated import read_docs
from ..readers.sentences import Problem
from ..readers.texts import texts_in
from .progress import progress
from .tally import show_problems

SUFFIXES = (".txt", ".jsonl", ".spacy")  # of the files of a folder
META = "meta"  # the key of `doc.user_data` for what a line of .jsonl has beside the text


def docs_of(
    nlp: Language,
    files: Iterable[Path],
    text_key: str,
    problems: List[Problem],
    *,
    words: bool = False,
) -> Iterator[Doc]:
    """Of each line of .jsonl and of plain text, and all of .spacy files. In the end problems are
    shown. problems: is appended to. words: spaces separate them already."""
    yield from progress(_read(nlp, files, text_key, problems, words), "texts read")
    if problems:
        show_problems(msg, problems)


def _read(
    nlp: Language, files: Iterable[Path], text_key: str, problems: List[Problem], words: bool
) -> Iterator[Doc]:
    for file in files:
        if file.suffix == ".spacy":
            yield from read_docs([file], nlp.vocab, 0)
            continue
        for item in texts_in(file, text_key):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            doc = Doc(nlp.vocab, words=item.text.split()) if words else nlp.tokenizer(item.text)
            if item.fields:
                doc.user_data[META] = item.fields
            yield doc
