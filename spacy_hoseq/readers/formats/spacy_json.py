"""The JSON of spaCy 2 for training, as `spacy convert` reads it."""

from pathlib import Path

from spacy.tokens import Span
from spacy.training.converters import json_to_docs

from ..files import read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence
from ..settings import Format, Settings


def spacy_json_format() -> Format:
    """Registered as `spacy_hoseq.spacy_json_format.v1`: the JSON of spaCy 2 for training."""
    return Format(read_spacy_json, (".json",), "JSON of spaCy")


def read_spacy_json(path: Path, settings: Settings) -> Items:
    """The sentences of a file, or one Problem."""
    texts = []
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Problem):
            yield line
            return
        texts.append(line.text)
    try:
        docs = list(json_to_docs("\n".join(texts)))
    except Exception as error:  # of any kind: whatever the JSON has in place of what is expected
        yield Problem(path, 1, f"{type(error).__name__}: {error}"[:100], "JSON as spaCy trains on")
        return
    for doc in docs:
        yield from map(_sentence, doc.sents)


def _sentence(sent: Span) -> Sentence:
    entities = []
    for entity in sent.ents:
        first = entity.start - sent.start
        entities.append(LabelledSpan(first, first + len(entity), entity.label_))
    heads = None
    # without relations, every word is its own head
    if sent[0].has_dep():
        heads = [token.head.i - sent.start for token in sent]
    return Sentence(
        [token.text for token in sent],
        tags=[token.tag_ for token in sent],
        entities=entities,
        pos=[token.pos_ for token in sent],
        morphs=[str(token.morph) for token in sent],
        lemmas=[token.lemma_ for token in sent],
        heads=heads,
        deps=[token.dep_ for token in sent],
    )
