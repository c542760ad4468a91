"""Registered readers of treebanks, tagged text and columns: examples sentence by sentence, with the
corpus's tokens.

The words that are predicted have no annotation but the `attributes` asked for (as in annotated.py).
The first thing that cannot be read is an error, with its file and line.
"""

from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Union

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from .annotated import annotated_with, check_attributes
from .docs import UNSPACED, sentences_to_doc
from .files import encodings_for, find_files
from .formats.columns import Columns
from .formats.peoples_daily import ENTITIES
from .formats.table import Format, column_format, peoples_daily_format, tagged_format, tree_format
from .sentences import Problem
from .splits import check_split, in_part

Source = Optional[Union[str, Path]]
Reader = Callable[[Language], Iterator[Example]]


def tree_corpus(
    path: Source,
    split: str = "",
    part: str = "",
    chunks: Optional[bool] = None,
    spans_key: str = "chunks",
    unescape: bool = True,
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
) -> Reader:
    """Bracketed trees: a file, or a folder of files: tags, and chunks in `doc.spans[spans_key]`.

    split, part: the files of a named division (splits.py). chunks: by the rules of CoNLL-2000; None
    = unless the pipeline is Chinese. unescape: "(" for -LRB- and "/" for \\/. encoding: "" = UTF-8,
    or GB18030 in Chinese pipelines. attributes: what the predicted words have, too. limit (int): so
    many sentences; 0 = all.
    RAISES ValueError: spaCy's E913 no path, [HS072] attributes, [HS076] no such split, [HS077] no
    such encoding; when it reads: [HS073] what cannot be read, [HS074] no files, [HS079] no files in
    the part.
    """
    form = tree_format(chunks is not False, unescape)
    unspaced = tree_format(bool(chunks), unescape)
    return _reader(
        path,
        form,
        encoding,
        attributes,
        limit,
        split,
        part,
        chunks_key=spans_key,
        unspaced_form=unspaced,
    )


def tagged_corpus(
    path: Source,
    separator: str = "/",
    split: str = "",
    part: str = "",
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
) -> Reader:
    """Words with tags, `word/TAG`, a sentence a line. Settings as of `tree_corpus`. RAISES [HS078]:
    no separator."""
    return _reader(path, tagged_format(separator), encoding, attributes, limit, split, part)


def peoples_daily_corpus(
    path: Source,
    entities: Optional[Dict[str, str]] = None,
    split_sentences: bool = True,
    spans_key: str = "",
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
) -> Reader:
    """The People's Daily corpus: tags, and entities of bracketed groups and tags.

    entities: names of entities by tags; None = {"nt": "ORG"}. split_sentences: paragraphs at 。！？.
    spans_key: where entities go; "" = `doc.ents`. Other settings and errors as of `tree_corpus`.
    """
    names = ENTITIES if entities is None else entities
    form = peoples_daily_format(names, split_sentences)
    return _reader(path, form, encoding, attributes, limit, entities_key=spans_key)


def column_corpus(
    path: Source,
    word_column: int = 1,
    tag_column: int = 2,
    entity_column: int = 0,
    separator: str = "",
    representation: str = "auto",
    spans_key: str = "",
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
) -> Reader:
    """A token a line in columns, which count from 1 (0 = there is none, -1 = the last).

    separator: "" = a tab, or spaces. representation: of the tags in the entity column; "auto" = by
        their letters.
    spans_key: entities go to these spans; "" = `doc.ents`. Other settings and errors as of
    `tree_corpus`; [HS075]: columns that cannot be; [HS081]: no such representation.
    """
    columns = Columns(word_column, tag_column, entity_column, separator, representation)
    return _reader(
        path, column_format(columns), encoding, attributes, limit, entities_key=spans_key
    )


def character_corpus(
    path: Source,
    representation: str = "auto",
    spans_key: str = "",
    encoding: str = "",
    attributes: Optional[List[str]] = None,
    limit: int = 0,
) -> Reader:
    """One character and its entity tag a line, for text without spaces. Settings as for
    `column_corpus`."""
    form = column_format(Columns(1, 0, -1, "", representation))
    return _reader(path, form, encoding, attributes, limit, entities_key=spans_key, lang="zh")


def _reader(
    path: Source,
    form: Format,
    encoding: str,
    attributes: Optional[List[str]],
    limit: int,
    split: str = "",
    part: str = "",
    *,
    chunks_key: str = "chunks",
    entities_key: str = "",
    lang: str = "",
    unspaced_form: Optional[Format] = None,
) -> Reader:
    """chunks_key, entities_key: as of docs.py. lang: "" = that of the pipeline. unspaced_form: for
    languages without spaces, if it is another one."""
    if path is None:
        raise ValueError(SpacyErrors.E913)
    check_attributes(attributes or [])
    check_split(split, part)
    encodings_for(encoding, "")

    def read(nlp: Language) -> Iterator[Example]:
        n_read = 0
        language = lang or nlp.lang or ""
        chosen = unspaced_form if unspaced_form and language in UNSPACED else form
        for file in in_part(find_files(path, form.suffixes), split, part):
            for item in chosen.read(file, encodings_for(encoding, language)):
                if isinstance(item, Problem):
                    raise ValueError(Errors.HS073.format(**item._asdict()))
                if not item.words:
                    continue
                doc = sentences_to_doc(nlp.vocab, [item], language, chunks_key, entities_key)
                yield Example(annotated_with(doc, attributes or []), doc)
                n_read += 1
                if n_read == limit:
                    return

    return read
