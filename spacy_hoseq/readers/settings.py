"""How corpus files are read: settings that commands, configs and formats share, and what a format
is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..chunks import check_representation
from ..errors import unknown_name, wrong_value
from .files import encodings_for
from .sentences import Items
from .splits import check_split


class Columns(NamedTuple):
    """Numbers of columns, from 1; 0 = there is none, -1 = the last, None = found by what stands in
    them."""

    word: int | None = None
    tag: int | None = None
    chunk: int | None = None
    entity: int | None = None


CHOICES = {
    "align": ("strict", "contract", "expand"),
    "unanswered": ("missing", "outside", "leave-out"),
}


@dataclass(frozen=True)
class Settings:
    """Registered as `spacy_hoseq.corpus_options.v1`: settings for reading corpus files.

    split: the name of a division of a treebank (splits.py).
    part: "train", "dev" or "test" of that division.
    encoding: the first that fits a file, separated by commas; "" = UTF-8, and for Chinese then
        GB18030.
    chunks: trees: by the rules of CoNLL-2000; null = unless the language is Chinese or Japanese.
    unescape (bool): trees: "(" for -LRB- and "/" for \\/.
    separator: tagged, columns: between words and tags; "" = as found.
    groups: People's Daily: names of entities by tags; null = {"nt": "ORG"}.
    split_sentences (bool): People's Daily: sentences end at 。！？; otherwise with the paragraph.
    word_column: columns, tables: from 1, -1 = the last; null = found by what stands there.
    tag_column: the same of tags, 0 = there is none.
    chunk_column: the same of chunk tags, 0 = there is none.
    entity_column: the same of entity tags, 0 = there is none.
    representation: columns: of entity tags; "auto" = by their letters.
    labels: tokens: the names of numbered entity tags, in order.
    spans_key: where entities go; "" = `doc.ents`, which cannot overlap.
    align: texts with offsets: "strict", or how a span that ends within a word is moved: "contract",
        "expand".
    unanswered: texts that nobody has annotated: "missing" annotation, "outside" of all names, or
        "leave-out".
    lang: the language of the words; "" = that of the pipeline.
    cut (bool): CoNLL-U: a multi-word token that its words spell becomes these words.
    RAISES ValueError: [HS161] no such split, representation or choice, [HS027] columns or an encoding that
    cannot be.
    """

    split: str = ""
    part: str = ""
    encoding: str = ""
    chunks: bool | None = None
    unescape: bool = True
    separator: str = ""
    groups: dict[str, str] | None = None
    split_sentences: bool = True
    word_column: int | None = None
    tag_column: int | None = None
    chunk_column: int | None = None
    entity_column: int | None = None
    representation: str = "auto"
    labels: list[str] | None = None
    spans_key: str = ""
    align: str = "strict"
    unanswered: str = "missing"
    lang: str = ""
    cut: bool = False

    # checked when it is made: before any file is opened, in a config too
    def __post_init__(self) -> None:
        check_split(self.split, self.part)
        encodings_for(self.encoding, self.lang)
        used = [number for number in self.columns if number]
        if self.word_column == 0 or min(used, default=0) < -1 or len(set(used)) < len(used):
            raise wrong_value(
                "columns",
                self.columns._asdict(),
                "one of words, and numbers from 1 (0: there is none, -1: the last), each used once",
            )
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise unknown_name(getattr(self, name), known)
        # "auto" is no representation
        if self.representation != "auto":
            check_representation(self.representation)

    @property
    def encodings(self) -> list[str]:
        """The encodings to try."""
        return encodings_for(self.encoding, self.lang)

    @property
    def columns(self) -> Columns:
        """The four columns together."""
        return Columns(self.word_column, self.tag_column, self.chunk_column, self.entity_column)


class Format(NamedTuple):
    """A corpus format. Register a function that returns one in `spacy.registry.misc`.

    read(path, settings): the sentences and problems of a file.
    endings: of the files in a folder that are read if the format is named.
    what: the files are, for people. details(path, settings): more about one file.
    """

    read: Callable[[Path, Settings], Items]
    endings: Sequence[str]
    what: str
    details: Callable[[Path, Settings], str] | None = None
