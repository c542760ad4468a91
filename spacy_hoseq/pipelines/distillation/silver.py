"""Silver annotation: Docs that a teacher has annotated, made ready to learn from, as train.spacy,
dev.spacy and test.spacy.

Every tenth text is for development, and every tenth for the test, but about MAX_WORDS_HELD_OUT of
each at most.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans

from ...components.extensions import CONFIDENCES, MARGINALS, values_on
from ...errors import not_found

KINDS = ("sentences", "tags", "features", "lemmas", "chunks", "names")  # in the order of a pipeline
ATTRIBUTES = ("ORTH", "SPACY", "SENT_START", "TAG", "POS", "MORPH", "LEMMA", "ENT_IOB", "ENT_TYPE")
MAX_WORDS_HELD_OUT = 30_000
ENTITIES_KEY = "entities"  # spans that repeat doc.ents, with their probabilities


class Silver(NamedTuple):
    """What is in the corpus. kinds: those of KINDS that are learnt. keys: of `doc.spans`, if there are
    chunks. words, texts: their numbers in "train", "dev" and "test"; in "gold" those that people have
    annotated, as often as they count."""

    kinds: list[str]
    keys: list[str]
    words: dict[str, int]
    texts: dict[str, int]


def kinds_in(docs: Iterable[Doc]) -> list[str]:
    """The kinds of annotation that any Doc has, in the order of KINDS."""
    kinds: set[str] = set()
    for doc in docs:
        if len(doc) > 1 and doc.has_annotation("SENT_START"):
            kinds.add("sentences")
        if doc.has_annotation("TAG"):
            kinds.add("tags")
        if doc.has_annotation("POS") or doc.has_annotation("MORPH"):
            kinds.add("features")
        if doc.has_annotation("LEMMA"):
            kinds.add("lemmas")
        if keys_in([doc]):
            kinds.add("chunks")
        if doc.ents:
            kinds.add("names")
    return [kind for kind in KINDS if kind in kinds]


def keys_in(docs: Iterable[Doc]) -> list[str]:
    """Keys of the groups of spans that have any; that of entities repeats them."""
    keys: set[str] = set()
    for doc in docs:
        keys.update(key for key, spans in doc.spans.items() if len(spans))
    return sorted(keys - {ENTITIES_KEY})


def write_corpus(
    folder: Path,
    docs: Sequence[Doc],
    kinds: Sequence[str],
    gold: Sequence[Doc],
    gold_weight: int,
) -> Silver:
    """Write the parts. gold: Docs that people have annotated, each of which counts `gold_weight` times;
    the same text by the teacher is left out. RAISES ValueError [HS159]: too few texts."""
    known = {doc.text for doc in gold}
    docs = [doc for doc in docs if doc.text not in known]
    # docs are in the order of digests of their texts: any share of them is a fair one
    if len(docs) < 10:
        raise not_found("corpus", "TEXTS", f"at least 10 texts with annotation, not {len(docs)}")
    n_words = sum(map(len, docs))
    step = max(10, n_words // MAX_WORDS_HELD_OUT)
    parts = {"dev": docs[step - 1 :: step], "test": docs[step - 2 :: step]}
    parts["gold"] = [*gold] * gold_weight
    held_out = {*map(id, parts["dev"]), *map(id, parts["test"])}
    parts["train"] = [doc for doc in docs if id(doc) not in held_out]
    keys = []
    if "chunks" in kinds:
        keys = keys_in(parts["train"])
    # a student that learns no sentences has those of the punctuation
    if "sentences" not in kinds:
        for doc in docs:
            Sentencizer(overwrite=True)(doc)
    silver = Silver(
        [*kinds],
        keys,
        {part: sum(map(len, part_docs)) for part, part_docs in parts.items()},
        {part: len(part_docs) for part, part_docs in parts.items()},
    )
    parts["train"] = parts.pop("gold") + parts["train"]
    folder.mkdir(parents=True, exist_ok=True)
    for part, part_docs in parts.items():
        bin = DocBin(ATTRIBUTES, docs=part_docs, store_user_data=True)
        bin.to_disk(folder / f"{part}.spacy")
    return silver


def refine(doc: Doc, rename: Mapping[str, str], threshold: float = 0.0) -> Doc:
    """The Doc with what is learnt of its annotation, changed in place.

    rename: types of entities and spans -> their new names; "" = they are left out; "*" stands for all
        types that are not named. threshold: entities and tags that are less probable are missing, where
        the teacher says how probable they are.
    """
    unsure = unsure_entities(doc, threshold)
    if doc.has_annotation("ENT_IOB"):
        sure = [entity for entity in doc.ents if (entity.start, entity.end) not in unsure]
        missing = [doc[start:end] for start, end in sorted(unsure)]
        doc.set_ents(renamed(sure, rename), missing=missing, default="outside")
    # the component for names would read them in place of doc.ents
    doc.spans.pop(ENTITIES_KEY, None)
    for key, spans in doc.spans.items():
        # a chunker labels each word once: of spans that overlap the longest stay
        doc.spans[key] = filter_spans(renamed(spans, rename))
    _, probabilities = doc.user_data.pop(CONFIDENCES, ((), ()))
    for token, probability in zip(doc, probabilities, strict=False):
        if probability < threshold:
            token.tag_ = ""
    for values in (values_on(doc, MARGINALS) or {}).values():
        values["labels"] = [renamed_tag(label, rename) for label in values["labels"]]
    return doc


def unsure_entities(doc: Doc, threshold: float) -> set[tuple[int, int]]:
    """First and end token of the entities that are less probable than this."""
    spans = doc.spans.get(ENTITIES_KEY, [])
    scores = getattr(spans, "attrs", {}).get("scores", [])
    unsure = set()
    for span, score in zip(spans, scores, strict=False):
        if score < threshold:
            unsure.add((span.start, span.end))
    return unsure & {(entity.start, entity.end) for entity in doc.ents}


def renamed(spans: Iterable[Span], rename: Mapping[str, str]) -> list[Span]:
    """The spans with their new types, without those that are left out."""
    result = []
    for span in spans:
        label = rename.get(span.label_, rename.get("*", span.label_))
        if label:
            result.append(Span(span.doc, span.start, span.end, label))
    return result


def renamed_tag(tag: str, rename: Mapping[str, str]) -> str:
    """A tag of a chunk, such as B-PERSON, with the new type; "O" if that is left out. Others stay."""
    prefix, dash, label = tag.partition("-")
    if not dash or prefix not in ("B", "I", "L", "U"):
        return tag
    new = rename.get(label, rename.get("*", label))
    return f"{prefix}-{new}" if new else "O"
