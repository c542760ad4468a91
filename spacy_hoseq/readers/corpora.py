"""`spacy_hoseq.corpus.v1`: examples from .spacy files, or from a corpus of any format that `hoseq
convert` reads.

`spacy.Corpus.v1` gives predicted Docs without annotation, so that a text is one long sequence, or
with `gold_preproc` single sentences without the span groups of the reference. Here predicted Docs
have the gold tokens and sentences, and files are read once (`corpus_cache.py`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors, wrong_value
from .annotated import annotated_with, check_attributes, read_docs, spacy_files, without_crossing
from .corpus_cache import cached
from .docs import sentences_to_doc
from .files import find_files, has_ending
from .formats.columns import CHARACTER_ENDINGS, read_characters
from .formats.recognised import FORMATS, format_named, read_corpus, recognised
from .sentences import Problem
from .settings import Format, Settings
from .splits import in_part


def corpus(
    path: str | Path | None,
    format: str | Format = "auto",
    attributes: list[str] | None = None,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
    options: Settings | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Registered as `spacy_hoseq.corpus.v1`: examples with the tokens and sentence starts of a
    corpus, one for each Doc of .spacy files, or for each sentence of other files. Chunks go to
    doc.spans["chunks"]. Anything that cannot be read is an error with file and line.

    path: a file or a folder of files.
    format: "spacy", one of `hoseq convert`, or a registered format of your own; "auto" = .spacy
        files if there are any, else by the first lines of each file.
    attributes: what the predicted words have, too (["tag"]); null = nothing.
    limit (int): so many Docs or sentences; 0 = all.
    augmenter: makes more examples of each, or others.
    options: how files are read (`spacy_hoseq.corpus_options.v1`); null = as they are found.
    RAISES ValueError: spaCy's E913 no path, [HS027] limit, [HS161] no such format or attribute; when it reads:
    [HS073] what cannot be read, [HS074] no files, [HS079] no files in the part, [HS085] no corpus.
    """
    if path in (None, ""):
        raise ValueError(SpacyErrors.E913)
    if limit < 0:
        raise wrong_value("limit", limit, "0 or more")
    check_attributes(attributes or [])
    if isinstance(format, str) and format not in ("auto", "spacy"):
        format = format_named(format)
    endings = endings_of(format)
    # the language is known when there is a pipeline
    given = options or Settings()

    def read(nlp: Language) -> Iterator[Example]:
        settings = replace(given, lang=given.lang or nlp.lang or "")
        if format == "spacy" or (format == "auto" and has_docs(Path(path))):
            files = in_part(spacy_files(path), settings.split, settings.part)
            docs = read_docs(files, nlp.vocab)
        else:
            files = in_part(find_files(path, endings), settings.split, settings.part)
            docs = docs_of(nlp, files, format, settings)
        docs = without_crossing(islice(docs, limit or None))
        # made once for training, initialization and all evaluations
        for reference in cached(nlp, (str(format), limit, repr(settings)), files, docs):
            example = Example(annotated_with(reference, attributes or []), reference)
            if augmenter is None:
                yield example
            else:
                yield from augmenter(nlp, example)

    return read


def endings_of(format: str | Format) -> Sequence[str]:
    """Endings of the files in a folder that are read: of a format, or of all."""
    if isinstance(format, Format):
        return format.endings
    endings = {}  # in order
    for make in FORMATS.values():
        endings.update(dict.fromkeys(make().endings))
    return [*endings]


def has_docs(path: Path) -> bool:
    """True if it is a .spacy file, or a folder with one."""
    return path.suffix == ".spacy" or any(path.rglob("*.spacy"))


def docs_of(
    nlp: Language, files: Sequence[Path], format: str | Format, settings: Settings
) -> Iterator[Doc]:
    """A Doc for each sentence of files. RAISES ValueError [HS073]: the first problem."""
    for path in files:
        lang = "zh" if is_unspaced(path, format) else settings.lang
        name = recognised(path, settings) if format == "auto" else format
        for item in read_corpus(path, name, settings):
            if isinstance(item, Problem):
                raise ValueError(Errors.HS073.format(**item._asdict()))
            if item.words:
                yield sentences_to_doc(nlp.vocab, [item], lang, entities_key=settings.spans_key)


def is_unspaced(path: Path, format: str | Format) -> bool:
    """True if the words of a file are characters, without spaces between them. format: or
    "auto"."""
    if isinstance(format, Format):
        return format.read is read_characters
    return has_ending(path, CHARACTER_ENDINGS)
