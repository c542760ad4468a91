"""Examples of .spacy files: gold Docs, and predicted Docs with the gold tokens and sentence
starts."""

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.corpus import FILE_TYPE, walk_corpus
from spacy.util import ensure_path, registry
from spacy.vocab import Vocab

from ..arrays import Ints
from ..errors import Warnings, unknown_name, unreadable, wrong_value
from ..features.sequences import sentence_starts
from .files import NEITHER, nothing_at

KNOWN_ATTRIBUTES = ("tag", "pos", "morph", "lemma", "ent_iob", "ent_type")


def spacy_files(path: str | Path | None) -> list[Path]:
    """The file, or the .spacy files below the folder. RAISES ValueError [E913]: no path; [HS074]:
    there is none."""
    # "" would be the working directory, and all that is below it
    if path in (None, ""):
        raise ValueError(SpacyErrors.E913)
    try:
        files = list(walk_corpus(ensure_path(path), FILE_TYPE))
    except OSError as error:
        raise nothing_at(path, str(error), [FILE_TYPE]) from error
    if not any(file.exists() for file in files):
        problem = "there is no file of this kind" if Path(path).exists() else NEITHER
        raise nothing_at(path, problem, [FILE_TYPE])
    return files


def read_docs(files: Sequence[Path], vocab: Vocab) -> Iterator[Doc]:
    """Docs of .spacy files that are not empty. RAISES ValueError [HS172]: a file is none of
    spaCy's."""
    for file in files:
        try:
            stored = DocBin().from_disk(file)
        except (KeyError, ValueError) as error:
            raise unreadable(file, "a .spacy file, as a DocBin writes it") from error
        # spaCy takes ten times longer to read an empty mapping of msgpack than the Doc it is of
        stored.user_data = [None if data == b"\x80" else data for data in stored.user_data]
        yield from filter(len, stored.get_docs(vocab))


def check_attributes(attributes: list[str]) -> None:
    """Check names of attributes. RAISES ValueError [HS161]: one that cannot be copied."""
    if not set(attributes) <= set(KNOWN_ATTRIBUTES):
        raise unknown_name(attributes, KNOWN_ATTRIBUTES)


def without_crossing(docs: Iterable[Doc]) -> Iterator[Doc]:
    """Docs without the spans that cross the end of a sentence. The tokens of such entities are
    missing annotation. WARNS [HW002] at the end, if there were any."""
    left_out = []
    for doc in docs:
        # a span crosses the end of a sentence if its first and last words have other numbers
        sentence = np.cumsum(sentence_starts(doc), dtype=np.intp)  # (N,)
        for key, group in doc.spans.items():
            crossing, others = _parted(group, sentence)
            if crossing:
                left_out += [f'{span.text!r} of doc.spans["{key}"]' for span in crossing]
                doc.spans[key] = others
        crossing, others = _parted(doc.ents, sentence)
        if crossing:
            left_out += [f"{entity.text!r} of doc.ents" for entity in crossing]
            doc.set_ents(others, missing=crossing, default="unmodified")
        yield doc
    if left_out:
        message = Warnings.HW002.format(n=len(left_out), first=left_out[0])
        warnings.warn(message, stacklevel=2)


def _parted(spans: Iterable[Span], sentence: Ints) -> tuple[list[Span], list[Span]]:
    """The spans that cross the end of a sentence, and the others. sentence (N,): number of the
    sentence of each token."""
    crossing = []
    others = []
    for span in spans:
        if sentence[span.start] != sentence[span.end - 1]:
            crossing.append(span)
        else:
            others.append(span)
    return crossing, others


def annotated_with(reference: Doc, attributes: list[str]) -> Doc:
    """A new Doc with the words and sentence starts of a reference, and these attributes of its
    tokens."""
    words = reference.to_array(["ORTH"]).tolist()
    spaces = reference.to_array(["SPACY"]).tolist()
    names = ["SENT_START", *map(str.upper, attributes)]
    doc = Doc(reference.vocab, words=words, spaces=spaces)
    return doc.from_array(names, reference.to_array(names))  # type: ignore[arg-type]


def case_augmenter(
    lower: float = 0.15, upper: float = 0.1, seed: int = 0
) -> Callable[[Language, Example], Iterator[Example]]:
    """Registered as `spacy_hoseq.case_augmenter.v1`: yields each example, and for some also a copy
    in lower case or capitals, with the same annotation.

    [corpora.train.augmenter]
    @augmenters = "spacy_hoseq.case_augmenter.v1"

    spaCy's `lower_case` augmenter draws anew at each reading and cuts the text into words again.
    Here a text and the seed alone decide, so that initialization and training see the same copies,
    and words stay those of the corpus.

    lower, upper (float): shares of the texts that are seen in lower case, and in capitals, too.
    RAISES ValueError [HS027]: shares below 0, or above 1 together.
    """
    if min(lower, upper) < 0 or lower + upper > 1:
        raise wrong_value("lower and upper", f"{lower}, {upper}", "shares from 0 to 1 together")

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        draw = zlib.crc32(f"{seed} {example.reference.text}".encode()) / 2**32
        # 1 - lower - upper of the texts have no copy
        if draw < lower + upper:
            change = str.lower if draw < lower else str.upper
            predicted = with_words(example.predicted, change)
            yield Example(predicted, with_words(example.reference, change))

    return augment


def with_words(doc: Doc, change: Callable[[str], str]) -> Doc:
    """A copy of a Doc whose words were changed; tokens, spaces, annotation and spans are the
    same."""
    words = [change(token.text) for token in doc]
    copy = Doc(doc.vocab, words=words, spaces=doc.to_array(["SPACY"]).tolist())
    names = ["SENT_START", *map(str.upper, KNOWN_ATTRIBUTES)]
    copy.from_array(names, doc.to_array(names))  # type: ignore[arg-type]
    for key, group in doc.spans.items():
        copy.spans[key] = [Span(copy, span.start, span.end, span.label) for span in group]
    return copy


def dev_examples(nlp: Language, path: Path) -> list[Example]:
    """Examples of a .spacy file, read as the pipeline's config reads its development corpus, or
    else by `spacy.Corpus.v1`."""
    # a config may leave its development corpus to the command line
    block = nlp.config.interpolate().get("corpora", {}).get("dev", {})
    if "path" not in block:
        block = {"@readers": "spacy.Corpus.v1"}
    return list(registry.resolve({"corpus": {**block, "path": str(path)}})["corpus"](nlp))
