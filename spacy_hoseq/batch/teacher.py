"""A pipeline as a teacher, and the texts that it annotates for a student."""

import re
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..components.base import SequenceComponent
from ..components.extensions import CONFIDENCES, MARGINALS
from ..readers.account import Account
from ..readers.sentences import Problem
from .annotator import Annotated, Annotator, Convert
from .columns import Docs
from .inputs import Files, InputOptions, Row, rows_in
from .pipeline import LoadedPipeline, Text

# a word, a sign, or a character of Chinese or Japanese, which have no spaces between words
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]")
Texts = dict[str, tuple[int, dict[str, str]]]  # digest -> number of words, id and text


class Teacher(Annotator):
    """Annotates texts, and keeps of each Doc only what a student learns from: user data of others, such
    as the vectors of a transformer, is dropped.

    probable (bool): keep the probability of each tag, if a component knows it. soft (bool): keep the
        probabilities of all labels.
    """

    def __init__(
        self, pipeline: str | Path, *, probable: bool, soft: bool, code: str | Path | None = None
    ) -> None:
        outputs = ["word", "prob"] if probable else ["word"]
        super().__init__(pipeline, outputs=outputs, code=code)
        # a teacher that knows no probabilities of tags may know those of spans
        self._needs_prob = False
        self._soft = soft
        self.fingerprint = f"{self.fingerprint}-{'soft' if soft else 'hard'}"

    def annotate(self, texts: Sequence[Text], convert: Convert) -> Annotated:
        return super().annotate(texts, partial(_lean, convert))

    def _load(self) -> LoadedPipeline:
        loaded = super()._load()
        for _, pipe in loaded.nlp.pipeline:
            if self._soft and isinstance(pipe, SequenceComponent):
                pipe.keep_probabilities()
        return loaded


def _lean(convert: Convert, docs: Docs, rows: slice) -> Any:
    for doc in docs:
        if doc is None:
            continue
        for key in [*doc.user_data]:
            if key != CONFIDENCES and MARGINALS not in key:
                del doc.user_data[key]
    return convert(docs, rows)


def choose_texts(
    files: Files, options: InputOptions, n_words: int, account: Account
) -> list[dict[str, str]]:
    """Texts of about n_words in all, drawn from all files, each only once. The digests of the texts
    decide, so that the same files give the same texts, in the same order."""
    texts: Texts = {}
    total = 0
    for name, path in files.items():
        for row in account.read(path, rows_in(name, path, options)):
            if isinstance(row, Problem):
                continue
            text = _text_of(row)
            digest = blake2b(text.encode("utf8"), digest_size=16).hexdigest()
            if text.strip() and digest not in texts:
                size = len(WORD.findall(text))
                texts[digest] = (size, {"id": row.id, "text": text})
                total += size
            # texts beyond the limit would be beyond it with more texts, too
            if total > 2 * n_words:
                texts = _first(texts, n_words)
                total = sum(size for size, _ in texts.values())
    return [row for _, row in _first(texts, n_words).values()]


def _first(texts: Texts, n_words: int) -> Texts:
    """The texts with the smallest digests, of n_words in all, at most."""
    chosen: Texts = {}
    for digest in sorted(texts):
        n_words -= texts[digest][0]
        if n_words < 0:
            break
        chosen[digest] = texts[digest]
    return chosen


def _text_of(row: Row) -> str:
    """The text of a row; "" if it has none."""
    if row.text is None:
        return ""
    # the annotation of a Doc is not that of the teacher
    if isinstance(row.text, bytes):
        return Doc(Vocab()).from_bytes(row.text).text
    return row.text
