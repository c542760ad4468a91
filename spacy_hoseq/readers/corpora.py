"""`spacy_hoseq.corpus.v1`: examples from .spacy files, or from a corpus of any format that `hoseq
convert` reads.

`spacy.Corpus.v1` gives predicted Docs without annotation, so that a text is one long sequence, or
with `gold_preproc` single sentences without the span groups of the reference. Here predicted Docs
have the gold tokens and sentences, and files are read once (`corpus_cache.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from .annotated import annotated_with, check_attributes, read_docs, spacy_files, without_crossing
from .corpus_cache import cached
from .docs import UNSPACED, sentences_to_doc
from .files import encodings_for, find_files, has_ending
from .formats.columns import check_columns
from .formats.recognised import CHARACTERS, ENDINGS, FORMATS, read_corpus, recognised
from .sentences import Columns, Problem, Settings
from .splits import check_split, in_part

AUTO = "auto"
SPACY = "spacy"


def corpus(
    path: str | Path | None,
    format: str = AUTO,
    attributes: list[str] | None = None,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
    options: Callable[[str], Settings] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Examples with the tokens and sentence starts of a corpus: of each Doc of .spacy files, of
    each sentence of others. The first thing that cannot be read is an error, with its file and
    line. Chunks go to doc.spans["chunks"].

    path: a file or a folder of files.
    format: "spacy", or one of `hoseq convert`; "auto" = .spacy files if there are any, else by the
        first lines of each file.
    attributes: what the predicted words have, too (["tag"]); null = nothing.
    limit (int): so many Docs or sentences; 0 = all.
    augmenter: makes more examples of each, or others.
    options: how files are read (`spacy_hoseq.corpus_options.v1`); null = as they are found.
    RAISES ValueError: spaCy's E913 no path, [HS161] no such format or attribute; when it reads:
    [HS073] what cannot be read, [HS074] no files, [HS079] no files in the part, [HS085] no corpus.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    check_attributes(attributes or [])
    endings = endings_of(format)

    def read(nlp: Language) -> Iterator[Example]:
        settings = (options or corpus_options())(nlp.lang or "")
        is_spacy = format == SPACY or (format == AUTO and has_docs(Path(path)))
        files = spacy_files(path) if is_spacy else find_files(path, endings)
        files = in_part(files, settings.split, settings.part)
        docs = read_docs(files, nlp.vocab) if is_spacy else docs_of(nlp, files, format, settings)
        docs = without_crossing(islice(docs, limit or None))
        for reference in cached(nlp, (format, limit, repr(settings)), files, docs):
            example = Example(annotated_with(reference, attributes or []), reference)
            yield from [example] if augmenter is None else augmenter(nlp, example)

    return read


def corpus_options(  # wide: the settings of a config
    split: str = "",
    part: str = "",
    encoding: str = "",
    chunks: bool | None = None,
    unescape: bool = True,
    separator: str = "",
    groups: dict[str, str] | None = None,
    split_sentences: bool = True,
    word_column: int | None = None,
    tag_column: int | None = None,
    chunk_column: int | None = None,
    entity_column: int | None = None,
    representation: str = AUTO,
    labels: list[str] | None = None,
    spans_key: str = "",
) -> Callable[[str], Settings]:
    """How files of corpora are read: settings by the language of a pipeline.

    split: the name of a division of a treebank (splits.py).
    part: "train", "dev" or "test" of that division.
    encoding: "" = UTF-8, and in Chinese pipelines then GB18030.
    chunks: trees: by the rules of CoNLL-2000; null = unless the pipeline is Chinese.
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
    spans_key: where entities go; "" = `doc.ents`.
    RAISES ValueError: [HS161] no such split or representation, [HS027] columns or an encoding that
    cannot be.
    """
    check_split(split, part)

    def settings_of(lang: str) -> Settings:
        return Settings(
            lang=lang,
            split=split,
            part=part,
            encodings=encodings_for(encoding, lang),
            spans_key=spans_key,
            chunks=lang not in UNSPACED if chunks is None else chunks,
            unescape=unescape,
            separator=separator,
            groups={"nt": "ORG"} if groups is None else groups,
            split_sentences=split_sentences,
            columns=Columns(word_column, tag_column, chunk_column, entity_column),
            representation=representation,
            labels=labels or (),
        )

    check_columns(settings_of(""))
    return settings_of


def endings_of(format: str) -> Sequence[str]:
    """Endings of the files in a folder that are read. RAISES ValueError [HS161]: no such format."""
    if format in (AUTO, SPACY):
        return ENDINGS
    if format not in FORMATS:
        raise ValueError(Errors.HS161.format(name=format, known=", ".join((AUTO, SPACY, *FORMATS))))
    return FORMATS[format].endings


def has_docs(path: Path) -> bool:
    """True if it is a .spacy file, or a folder with one."""
    return path.suffix == ".spacy" or any(path.rglob("*.spacy"))


def docs_of(nlp: Language, files: Sequence[Path], format: str, settings: Settings) -> Iterator[Doc]:
    """A Doc for each sentence of files. RAISES ValueError [HS073]: the first problem."""
    for path in files:
        lang = "zh" if is_unspaced(path, format) else settings.lang
        name = recognised(path, settings) if format == AUTO else format
        for item in read_corpus(path, name, settings):
            if isinstance(item, Problem):
                raise ValueError(Errors.HS073.format(**item._asdict()))
            if item.words:
                yield sentences_to_doc(nlp.vocab, [item], lang, entities_key=settings.spans_key)


def is_unspaced(path: Path, format: str) -> bool:
    """Words of the file are characters, without spaces between them."""
    return format == "characters" or (format == AUTO and has_ending(path, CHARACTERS))
