"""Texts as one component of a trained pipeline sees them: its labels, p(y | x), and where each word
stands."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import _pipe, raise_error

from ..arrays import Floats, Ints, Labels
from ..caches import cached_property
from ..components.base import SequenceComponent
from ..components.predictions import Predictions
from ..components.targets.target import Items
from ..decoders import Potentials, Weights, best_with, path_score
from ..decoders.bidirectional import OFFSETS, contexts_of, edge_contexts, log_probabilities
from ..errors import Errors
from ..features.sequences import WordDocs, sequence_lengths
from ..layers.local_classifiers import LocalScorer, shim_of
from ..layers.scorer import Feature, TemplateFeature, scorer_of
from ..words import Words
from .names import FeatureNames
from .wording import Wording, wording_of

Read = tuple[WordDocs, Potentials, Labels | None]  # words, and what their labels are decoded from


class Reading(Predictions):
    """Docs read by a component that has p(y | x), and the places of their N words.

    texts: with what earlier components have set. Labels that this component has set are ignored, so
    that annotated Docs can be read. docs: the same without white space. potentials: of all words.
    starts (D,): the first word of each Doc. text_of, token_of, sentence_of (N,): Doc, token there,
    and sentence of each word. turns (N,): when each was decided, None = all together. lengths, ends
    (S,): of sentences.
    RAISES ValueError [E143]: no labels yet; [HS105]: it has no p(y | x); [HS140]: a component of
    another package.
    """

    def __init__(self, pipe: Any, texts: Sequence[Doc]) -> None:
        self.turns: Ints | None = None
        # None: then the best labels are decoded when they are needed
        words, potentials, best = self._read(pipe, texts)
        super().__init__(words, pipe.name, pipe.tags, potentials, best)
        self.target = pipe.target
        self.pipe: Any = pipe
        self.texts = list(texts)
        sizes = [len(doc) for doc in words]
        places = [doc.places if isinstance(doc, Words) else np.arange(len(doc)) for doc in words]
        self.starts: Ints = np.cumsum([0, *sizes])[:-1]
        self.text_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.token_of: Ints = np.concatenate([np.zeros(0, np.intp), *places])
        self.lengths = self.potentials.lengths
        self.ends: Ints = np.cumsum(self.lengths)
        self.sentence_of: Ints = np.repeat(np.arange(len(self.ends)), self.lengths)
        self._features: dict[int, list[Feature]] = {}

    def _read(self, pipe: Any, texts: Sequence[Doc]) -> Read:
        sums_of(pipe)
        if pipe.target.finds_sentences:
            texts = [_without_sentences(doc) for doc in texts]
        reading = pipe.read(texts, preset=False)
        return reading.docs, reading.potentials, None

    def sentence(self, word: int) -> range:
        """The words of the sentence of a word."""
        number = self.sentence_of[word]
        return range(int(self.ends[number] - self.lengths[number]), int(self.ends[number]))

    def word(self, text: int, token: int) -> int:
        """Which of the N words a token of a Doc is. RAISES ValueError [HS141]: it is white space,
        or there is none."""
        words = np.flatnonzero((self.text_of == text) & (self.token_of == token))
        if not len(words):
            raise ValueError(Errors.HS141.format(token=token, n=len(self.texts[text])))
        return int(words[0])

    def span(self, text: int, first: int, end: int) -> tuple[int, int]:
        """The first word of a span of a Doc, and how many it has. RAISES ValueError [HS141]: it
        begins or ends with white space; [HS106]: it crosses the end of a sentence."""
        start = self.word(text, first)
        last = self.word(text, end - 1)
        if self.sentence_of[start] != self.sentence_of[last]:
            doc = self.texts[text]
            texts = {"span": repr(doc[first:end].text), "text": repr(doc.text[:40])}
            raise ValueError(Errors.HS106.format(first=first, end=end, **texts))
        return start, last - start + 1

    def tokens(self, first: int, end: int) -> tuple[int, int]:
        """The tokens at which words first <= i < end of one Doc begin and end."""
        return int(self.token_of[first]), int(self.token_of[end - 1]) + 1

    def items(self, text: int) -> Items:
        """The spans on a Doc that the component can have found: without those that begin or end
        with white space or cross the end of a sentence."""
        items = []
        for item in self.target.items(self.texts[text]):
            with suppress(ValueError):  # a span of another component
                self.span(text, *item[:2])
                items.append(item)
        return items

    def features(self, word: int) -> list[Feature]:
        """The features that fire at a word and have a weight, by name; those of its sentence are
        named together. Their weights add up to the scores of its labels."""
        if word not in self._features:
            # naming reads the text: once for all words of the sentence
            sentence = self.sentence(word)
            text = self.text_of[word]
            start = int(self.starts[text])
            self._features |= {each: [] for each in sentence}
            inside = range(sentence.start - start, sentence.stop - start)
            docs = [self.docs[text]]
            names = FeatureNames(docs)
            for feature in scorer_of(self.pipe.model.layers[0]).features_at(docs, inside):
                self._features[feature.word + start].append(names.named(feature))
        return self._features[word]

    @cached_property
    def wording(self) -> Wording:
        """How features of the component are put into words."""
        return wording_of(self.labels, self.pipe.vocab)

    @cached_property
    def log_p(self) -> Floats:
        """log p(y* | x) of the labels of each sentence (S,)."""
        score = path_score(self.potentials, self.best)
        # a logarithm above 0 is rounding
        return np.asarray(np.minimum(score - self.posterior.log_z, 0.0))

    @cached_property
    def margins(self) -> Floats:
        """The best score less that of the best labelling with another label at the word (N,), inf
        if there is none."""
        potentials = self.potentials
        scores = potentials.scores.astype(np.float64)
        if not potentials.is_chain or potentials.edge_scores is not None or potentials.trans.any():
            scores = best_with(potentials)
        elif potentials.allowed is not None:
            # labels that do not depend on each other need no max-marginals
            scores[~potentials.allowed] = -np.inf
        here = np.arange(len(self.best)), self.best
        best_scores = scores[here]
        scores[here] = -np.inf
        return np.asarray(best_scores - scores.max(axis=1, initial=-np.inf))


class Decisions(Reading):
    """Docs read by a bidirectional tagger that decides label by label (easiest first or last).

    p(y | x) is that of its decisions, each given the neighbours decided before: labels that do not
    depend on each other, with scores log p(y_t | x, those neighbours). visible (N,): which
    neighbours these are, a bit for each slot; contexts (N, 2k): their labels
    (`decoders/bidirectional/local.py`). RAISES ValueError [HS140]: another strategy.
    """

    def _read(self, pipe: Any, texts: Sequence[Doc]) -> Read:
        if getattr(pipe, "knows", "") != "decisions":
            kind = type(pipe).__name__
            if isinstance(pipe, SequenceComponent):
                kind = f'the strategy "{pipe.cfg["strategy"]}"'
            raise ValueError(Errors.HS140.format(name=pipe.name, kind=kind))
        decided = pipe.read(texts, preset=False)
        docs = decided.docs
        best = decided.best
        self.turns = order = decided.order
        lengths = sequence_lengths(docs)
        reach = pipe.model.attrs["order"]
        n_labels = len(pipe.tags)
        self.offsets = OFFSETS[reach]
        self.visible, _ = edge_contexts(lengths, reach, n_labels)
        self.contexts = contexts_of(best.astype(np.intp), lengths, reach, n_labels)
        # a neighbour is visible at a word if it was decided earlier
        for slot, offset in enumerate(self.offsets):
            inner = np.flatnonzero(self.contexts[:, slot] < n_labels)
            self.visible[inner[order[inner + offset] < order[inner]]] |= 1 << slot
        words = np.arange(len(best))
        scores = pipe.model.predict(docs)(words, self.visible, words, self.contexts)
        log_p = log_probabilities(scores, words, pipe.permitted(docs, preset=False))
        possible = np.isfinite(log_p)
        # labels that do not depend on each other: transitions are 0
        weights = Weights(np.zeros((n_labels, n_labels)))
        return (
            docs,
            Potentials(np.where(possible, log_p, 0.0), weights, lengths, allowed=possible),
            best,
        )

    def features(self, word: int) -> list[Feature]:
        """Features of the classifier that decided; their weights add up to its scores."""
        shim = shim_of(self.pipe.model)
        stacked = shim.stacked()
        visible = int(self.visible[word])
        context = self.contexts[word]
        # beyond the ends of a sentence there are two labels more
        labels = np.array([*self.labels, "<s>", "</s>"])[np.minimum(context, len(self.labels) + 1)]
        near = dict(zip(self.offsets, labels.tolist(), strict=True))
        names = FeatureNames(self.docs)
        features = []
        fired = LocalScorer(self.pipe.model).features.fired(
            self.docs, word, context, visible, shim.known
        )
        for parts, number in fired:
            weights = stacked.table[stacked.rows[visible, number]].astype(np.float64)
            if weights.any():
                given = {part: near[part.offset] for part in parts if part.attribute == "label"}
                feature = TemplateFeature(parts, word, weights, given=given)
                features.append(names.named(feature))
        return features


def reading_of(pipe: Any, texts: Sequence[Doc]) -> Reading:
    """Docs read by a component that has probabilities. RAISES ValueError [HS140]: a component of
    another package, or one that has none."""
    if knows_sums(pipe):
        return Reading(pipe, texts)
    return Decisions(pipe, texts)


def own_components(
    nlp: Language, names: Sequence[str] = (), *, with_sentences: bool = False
) -> dict[str, Any]:
    """Components of this package, by name: those of these names, or all. with_sentences (bool):
    False = those that find sentences only if they are named, or if there are no others. RAISES
    ValueError [HS152]: there are none of these names."""
    own = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)}
    if not own or not set(names) <= set(own):
        wanted = ", ".join(names) or "any"
        raise ValueError(Errors.HS152.format(names=wanted, known=", ".join(own) or "none"))
    if names:
        return {name: pipe for name, pipe in own.items() if name in names}
    if with_sentences:
        return own
    return {name: pipe for name, pipe in own.items() if not pipe.target.finds_sentences} or own


def knows_sums(pipe: object) -> bool:
    """True if a component of any package has p(y | x)."""
    return isinstance(pipe, SequenceComponent) and pipe.knows == "sums"


def sums_of(pipe: Any) -> SequenceComponent:
    """A component that has p(y | x). RAISES ValueError [HS140]: a component of another package;
    [HS105]: it decides without sums over labellings."""
    if not isinstance(pipe, SequenceComponent):
        raise ValueError(Errors.HS140.format(name=pipe.name, kind=type(pipe).__name__))
    if pipe.knows != "sums":
        reason = "it labels by local classifiers, without sums over all labellings"
        raise ValueError(Errors.HS105.format(name=pipe.name, asked="p(y | x)", reason=reason))
    return pipe


def stages(nlp: Language, docs: Sequence[Doc]) -> Iterator[tuple[str, Any, list[Doc]]]:
    """Name and component, and the Docs as it is given them, one component after the other; then
    ("", None, the Docs at the end). It runs them as `nlp.pipe` does: functions, too."""
    docs = list(docs)
    for name, pipe in nlp.pipeline:
        yield name, pipe, docs
        docs = list(_pipe(docs, pipe, name, raise_error, {}))
    yield "", None, docs


def _without_sentences(doc: Doc) -> Doc:
    """A copy for a component that finds sentences."""
    copy = doc.copy()
    copy.from_array([SENT_START], np.zeros((len(doc), 1), np.uint64))  # type: ignore[arg-type]
    return copy
