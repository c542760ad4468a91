"""`spacy_hoseq.corpus.v1`: examples from a corpus of any format that `hoseq convert` reads."""

from itertools import islice
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Union

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from .annotated import annotated_with, check_attributes
from .docs import UNSPACED, grouped, sentences_to_doc
from .files import encodings_for, find_files, has_ending
from .formats.columns import check_columns
from .formats.recognised import CHARACTERS, ENDINGS, FORMATS, read_corpus, recognised
from .sentences import Columns, Items, Problem, Sentence, Settings
from .splits import check_split, in_part

AUTO = "auto"


def corpus(  # wide: the settings of a config
    path: Optional[Union[str, Path]],
    format: str = AUTO,
    split: str = "",
    part: str = "",
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
    chunks: Optional[bool] = None,
    unescape: bool = True,
    separator: str = "",
    groups: Optional[Dict[str, str]] = None,
    split_sentences: bool = True,
    word_column: Optional[int] = None,
    tag_column: Optional[int] = None,
    chunk_column: Optional[int] = None,
    entity_column: Optional[int] = None,
    representation: str = AUTO,
    labels: Optional[List[str]] = None,
    spans_key: str = "",
) -> Callable[[Language], Iterator[Example]]:
    """Examples sentence by sentence, with the words of a corpus. The first thing that cannot be read
    is an error, with its file and line. Chunks go to doc.spans["chunks"].

    path: a file or a folder of files.
    format: one of `hoseq convert`; "auto" = by the first lines of each file.
    split: the name of a division of a treebank (splits.py).
    part: "train", "dev" or "test" of that division.
    encoding: "" = UTF-8, and in Chinese pipelines then GB18030.
    attributes: what the predicted words have, too (["tag"]).
    limit (int): so many sentences; 0 = all.
    chunks: trees: by the rules of CoNLL-2000; None = unless the pipeline is Chinese.
    unescape (bool): trees: "(" for -LRB- and "/" for \\/.
    separator: tagged, columns: between words and tags; "" = as found.
    groups: People's Daily: names of entities by tags; None = {"nt": "ORG"}.
    split_sentences (bool): People's Daily: sentences end at 。！？; otherwise with the paragraph.
    word_column: columns, tables: from 1, -1 = the last; None = found by what stands there.
    tag_column: the same of tags, 0 = there is none.
    chunk_column: the same of chunk tags, 0 = there is none.
    entity_column: the same of entity tags, 0 = there is none.
    representation: columns: of entity tags; "auto" = by their letters.
    labels: tokens: the names of numbered entity tags, in order.
    spans_key: where entities go; "" = `doc.ents`.
    RAISES ValueError: spaCy's E913 no path, [HS161] attributes, [HS027] columns, [HS161] no such
    split, [HS027] no such encoding, [HS161] representation, [HS161] no such format; when it reads:
    [HS073] what cannot be read, [HS074] no files, [HS079] no files in the part, [HS085] no corpus.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    check_attributes(attributes or [])
    check_split(split, part)
    settings = Settings(
        encodings=encodings_for(encoding, ""),
        spans_key=spans_key,
        unescape=unescape,
        separator=separator,
        split_sentences=split_sentences,
        columns=Columns(word_column, tag_column, chunk_column, entity_column),
        representation=representation,
        labels=labels or (),
    )
    settings = settings if groups is None else settings._replace(groups=groups)
    check_columns(settings)
    endings = endings_of(format)

    def read(nlp: Language) -> Iterator[Example]:
        lang = nlp.lang or ""
        of_language = settings._replace(
            lang=lang,
            encodings=encodings_for(encoding, lang),
            chunks=lang not in UNSPACED if chunks is None else chunks,
        )
        docs = (
            doc
            for file in in_part(find_files(path, endings), split, part)
            for doc in docs_of(nlp, file, format, of_language)
        )
        for doc in islice(docs, limit or None):
            yield Example(annotated_with(doc, attributes or []), doc)

    return read


def endings_of(format: str) -> List[str]:
    """Endings of the files in a folder that are read. RAISES ValueError [HS161]: no such format."""
    if format == AUTO:
        return list(ENDINGS)
    if format not in FORMATS:
        raise ValueError(Errors.HS161.format(name=format, known=", ".join((AUTO, *FORMATS))))
    return list(FORMATS[format].endings)


def read_file(path: Path, format: str, settings: Settings) -> Items:
    """The sentences and problems of a file in a format, or in that of its first lines."""
    return read_corpus(path, recognised(path, settings) if format == AUTO else format, settings)


def docs_of(nlp: Language, path: Path, format: str, settings: Settings) -> Iterator[Doc]:
    """A Doc for each sentence of a file. RAISES ValueError [HS073]: the first problem."""
    lang = "zh" if is_unspaced(path, format) else settings.lang
    for (sentence,) in grouped(_without_problems(read_file(path, format, settings)), 1):
        yield sentences_to_doc(nlp.vocab, [sentence], lang, entities_key=settings.spans_key)


def is_unspaced(path: Path, format: str) -> bool:
    """Words of the file are characters, without spaces between them."""
    return format == "characters" or (format == AUTO and has_ending(path, CHARACTERS))


def _without_problems(items: Items) -> Iterator[Sentence]:
    for item in items:
        if isinstance(item, Problem):
            raise ValueError(Errors.HS073.format(**item._asdict()))
        yield item
