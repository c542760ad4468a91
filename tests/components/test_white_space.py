"""Texts wrapped at random, beside the same texts unwrapped: labels, probabilities, spans and weights are equal."""

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from ..builders import misc
from . import bidirectional_helpers as local_models
from . import chunker_helpers as chunks
from . import helpers as tags
from .test_listening_pipeline import TOK2VEC

SPACES = ["\n", "\n\n", "  ", "\t", " \n ", "\u3000"]
WORDS = sorted({word for text in chunks.TEXTS for word in text.split()} | {"unseen", "runs", "X1"})
POS = {".": "PUNCT", "A": "ADJ", "D": "DET", "N": "NOUN", "R": "ADV", "V": "VERB"}
WRITES = {"patterns": "tag", "same word": "pos", "annotation": "_.found", "network": "tag"}
SAME_WORD = misc("same_word_pairs", label_sets=[["NOUN", "VERB"], ["DET"]])
SAME_WORD |= {"token": {}, "max_distance": 6}
FEW = settings(max_examples=settings.default.max_examples // 2)


class Wrapped(NamedTuple):
    """words: of a text. starts: whether each begins a sentence; None = unknown. gaps: the white space before each word,
    and after the last. early: whether a sentence begins with the white space before its first word."""

    words: "list[str]"
    starts: "list[bool] | None"
    gaps: "list[list[str]]"
    early: bool = True

    def plain(self, nlp, **annotation):
        return Doc(nlp.vocab, words=self.words, sent_starts=self.starts, **annotation)

    def doc(self, nlp, **annotation):
        """annotation: of the words; white space gets "_SP" as a tag, and nothing else."""
        tokens, starts, of_words = [], [], []
        for i, gap in enumerate(self.gaps):
            group = [*gap, *self.words[i : i + 1]]
            first = self.starts is not None and i < len(self.words) and self.starts[i]
            at = 0 if self.early else len(gap)
            tokens += group
            starts += [first and j == at for j in range(len(group))]
            of_words += [None] * len(gap) + [i] * (len(group) - len(gap))
        spread = {
            name: [("_SP" if name == "tags" else "") if i is None else values[i] for i in of_words]
            for name, values in annotation.items()
        }
        starts = None if self.starts is None else starts
        return Doc(nlp.vocab, words=tokens, sent_starts=starts, **spread)


@st.composite
def wrapped_texts(draw, words=WORDS):
    text = draw(st.lists(st.sampled_from(words), max_size=8))
    starts = draw(st.none() | st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
    gap = st.lists(st.sampled_from(SPACES), max_size=2)
    gaps = draw(st.lists(gap, min_size=len(text) + 1, max_size=len(text) + 1))
    starts = None if starts is None else [i == 0 or start for i, start in enumerate(starts)]
    return Wrapped(text, starts, gaps, draw(st.booleans()))


BATCHES = st.lists(wrapped_texts(), min_size=1, max_size=3)


def places(doc):
    """Which tokens are words."""
    return [token.i for token in doc if not token.is_space]


def pair(nlp, batch, annotate=lambda text: {}):
    """The wrapped docs of a batch, and the unwrapped ones."""
    docs = [text.doc(nlp, **annotate(text)) for text in batch]
    return docs, [text.plain(nlp, **annotate(text)) for text in batch]


def assert_same_rows(doc, plain, rows, expected, absent: Any = 0):
    at = places(doc)
    rows, expected = np.asarray(rows), np.asarray(expected)
    assert np.array_equal(rows[at], expected) and rows.dtype == expected.dtype
    assert len(rows) == len(doc) and (np.delete(np.asarray(rows), at, axis=0) == absent).all()


# Taggers


@cache
def tagger(kind):
    models = {
        "patterns": tags.tagger_model(patterns=tags.ALL_PATTERNS),
        "same word": tags.tagger_model(patterns=SAME_WORD),
        "annotation": tags.tagger_model(
            tags.sparse(["lower[0]", "tag[-1]", "_.hint[1]", "ent_iob[0]", "spacy[-1]"])
        ),
        "network": tags.tagger_model(
            {
                "@architectures": "spacy_hoseq.SumEmissions.v1",
                "first": tags.sparse(),
                "second": {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": TOK2VEC},
            }
        ),
    }
    if not Token.has_extension("hint"):
        Token.set_extension("hint", default="")
    nlp = spacy.blank("xx")
    config = {"model": models[kind], "objective": "log_likelihood", "attribute": WRITES[kind]}
    config["update_rule"] = {**tags.ADAGRAD, "average": False}
    component = nlp.add_pipe("hoseq_tagger", config={**config, "save_marginals": True})
    examples = tags.examples_of(nlp)
    if kind == "same word":
        examples = [
            Example.from_dict(tags.doc_of(nlp, text), {"pos": [POS[tag] for tag in gold.split()]})
            for text, gold in tags.CORPUS
        ]
    names = [POS[tag] if kind == "same word" else tag for tag in tags.LABELS]
    settings = {"labels": names, "tag_dictionary": {"unseen": names[3:5]}}
    component.initialize(lambda: examples, nlp=nlp, **settings)
    return chunks.with_random_weights(nlp)


def read(doc, attribute):
    if attribute[0] == "_":
        return [getattr(t._, attribute[2:]) for t in doc]
    return [getattr(t, f"{attribute}_") for t in doc]


def annotated(doc):
    """Entities and hints that templates read, on the words."""
    at = places(doc)
    for i in range(0, len(at) - 2, 3):
        doc[at[i + 1]]._.hint = "yes"
        doc.set_ents([Span(doc, at[i], at[i + 1] + 1, "X")], default="unmodified")
    return doc


@pytest.mark.long
@pytest.mark.filterwarnings(r"ignore:\[HW005\]")  # no word of a text is annotated
@pytest.mark.parametrize("kind", WRITES)
@FEW
@given(batch=BATCHES)
def test_tagger(kind, batch):
    nlp = tagger(kind)
    component = nlp.get_pipe("hoseq_tagger")
    attribute = component.cfg["attribute"]
    docs, plain = pair(
        nlp, batch, lambda text: {"tags": ["N" if word == "the" else "" for word in text.words]}
    )
    if kind == "annotation":
        docs, plain = [list(map(annotated, some)) for some in (docs, plain)]
    space = {"tag": "_SP", "pos": "SPACE"}.get(attribute, "")
    k_best = [component.top_k(some, 3) for some in (docs, plain)]
    drawn = [component.sample(some, 2, seed=1) for some in (docs, plain)]
    readings, expected = component.predict(docs), component.predict(plain)
    for i, doc in enumerate(docs):
        at = places(doc)
        assert [b.score for b in k_best[0][i]] == [b.score for b in k_best[1][i]]
        pairs = zip(k_best, drawn, strict=True)
        rows, others = ([b.labels for b in best[i]] + some[i] for best, some in pairs)
        for ours, theirs in zip(rows, others, strict=True):
            assert [ours[j] for j in at] == theirs
            assert {label for j, label in enumerate(ours) if doc[j].is_space} <= {space}
        assert_same_rows(doc, plain[i], readings.label_ids[i], expected.label_ids[i], -1)
    for doc, other in zip(component.pipe(docs), component.pipe(plain), strict=True):
        found = read(doc, attribute)
        assert [found[j] for j in places(doc)] == read(other, attribute)
        assert {found[t.i] for t in doc if t.is_space} <= {space}
        rows = [some._.hoseq_marginals["hoseq_tagger"]["probabilities"] for some in (doc, other)]
        assert_same_rows(doc, other, *rows)


def test_what_is_set_at_white_space_stays():
    nlp = tags.ready()
    doc = Doc(nlp.vocab, words=["\n", "the", "\t", "dog"], tags=["D", "", "", ""])
    assert [token.tag_ for token in tags.tagger_of(nlp)(doc)] == ["D", "D", "_SP", "N"]


# Chunkers, alone and over a tagger


# Bidirectional taggers


# Training


def wrapped_gold(nlp, seed, *, predicted=True, reference=True):
    """The corpus of chunks, wrapped; gold chunks begin and end with the white space around them."""
    rng = np.random.default_rng(seed)
    examples = []
    for text, gold_tags, gold_chunks in chunks.CORPUS:
        words = text.split()
        gaps = [list(rng.choice(SPACES, size=rng.integers(0, 3))) for _ in [*words, ""]]
        case = Wrapped(words, None, [[str(space) for space in gap] for gap in gaps])
        gold = (case.doc if reference else case.plain)(nlp, tags=gold_tags.split())
        at, before = places(gold), 0
        gold.spans["chunks"] = []
        for first, end, name in gold_chunks:
            last = at[end] if end < len(at) else len(gold)
            start = max(before, at[first] - 1) if at[first] else 0
            gold.spans["chunks"].append(Span(gold, start, last, name))
            before = last
        examples.append(Example(case.doc(nlp) if predicted else case.plain(nlp), gold))
    return examples


def weights(make, examples):
    nlp = make()
    optimizer = nlp.initialize(lambda: examples(nlp, 0))
    for i in range(3):
        nlp.update(examples(nlp, i), sgd=optimizer, losses={})
    return [(pipe.label_data, pipe.model.to_bytes()) for _, pipe in nlp.pipeline]


MAKERS = {
    "tagger": lambda: tags.blank("all patterns"),
    "words": lambda: chunks.blank("words"),
    "iob2": lambda: chunks.blank("patterns", representation="iob2"),
    "joint": lambda: chunks.blank("joint"),
    "tags": lambda: chunks.blank("tags"),
    "bidirectional": lambda: local_models.blank(),
    "bidirectional chunks": lambda: local_models.blank(representation="iob1"),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
def test_training(kind):
    """The same labels and weights, also if the gold or the predicted docs alone are wrapped."""
    plain = partial(wrapped_gold, predicted=False, reference=False)
    expected = weights(MAKERS[kind], plain)
    assert expected[-1][0]
    for wrapped in ({}, {"predicted": False}, {"reference": False}):
        assert weights(MAKERS[kind], partial(wrapped_gold, **wrapped)) == expected, wrapped
