"""Texts as one component of a trained pipeline sees them: its labels, p(y | x), and where each word
stands."""

from contextlib import suppress
from functools import cached_property
from typing import Any, Dict, Iterator, List, Sequence, Tuple, Union

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import _pipe, minibatch, raise_error

from ..arrays import Floats, Ints, Labels, Mask
from ..components import Items, SequenceComponent
from ..components import Reading as ComponentReading
from ..decoders import best_labels, best_with, path_score
from ..decoders.bidirectional import OFFSETS, contexts_of, edge_contexts, log_probabilities
from ..errors import Errors
from ..features.sequences import sequence_lengths
from ..layers.scorer import Feature, scorer_of
from ..words import Words

LEAST = -1e300  # in place of log 0, times 0
MOST_TOKENS = 20_000  # of sentences that are decoded together


class ReadTexts(ComponentReading):
    """Labels of some Docs by one component, and where their N words stand.

    texts: the Docs; docs: the same without white space. starts (D,): the first word of each Doc.
    text_of, token_of, sentence_of (N,): Doc, token there, and sentence of each word. lengths, ends
    (S,): of sentences.
    """

    def __init__(
        self, pipe: SequenceComponent, texts: Sequence[Doc], reading: ComponentReading
    ) -> None:
        super().__init__(reading.docs, reading.target, reading.labels, reading._source)
        self.pipe: Any = pipe
        self.texts = list(texts)
        sizes = [len(doc) for doc in self.docs]
        places = [
            doc.places if isinstance(doc, Words) else np.arange(len(doc)) for doc in self.docs
        ]
        self.starts: Ints = np.cumsum([0, *sizes])[:-1]
        self.text_of: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.token_of: Ints = np.concatenate([np.zeros(0, np.intp), *places])
        self.lengths = sequence_lengths(self.docs)
        self.ends: Ints = np.cumsum(self.lengths)
        self.sentence_of: Ints = np.repeat(np.arange(len(self.ends)), self.lengths)
        self._features: Dict[int, List[Feature]] = {}

    def sentence(self, word: int) -> range:
        """The words of the sentence of a word."""
        number = self.sentence_of[word]
        return range(int(self.ends[number] - self.lengths[number]), int(self.ends[number]))

    def word(self, text: int, token: int) -> int:
        """Which of the N words a token of a Doc is. RAISES ValueError [HS141]: it is white space,
        or there is none."""
        first = int(self.starts[text])
        places = self.token_of[first : first + len(self.docs[text])]
        place = int(np.searchsorted(places, token))
        if place == len(places) or places[place] != token:
            raise ValueError(Errors.HS141.format(token=token, n=len(self.texts[text])))
        return first + place

    def span(self, text: int, first: int, end: int) -> Tuple[int, int]:
        """The first word of a span of a Doc, and how many it has. RAISES ValueError [HS141]: it
        begins or ends with white space; [HS106]: it crosses the end of a sentence."""
        start = self.word(text, first)
        last = self.word(text, end - 1)
        if self.sentence_of[start] != self.sentence_of[last]:
            doc = self.texts[text]
            message = Errors.HS106.format(
                span=repr(doc[first:end].text), first=first, end=end, text=repr(doc.text[:40])
            )
            raise ValueError(message)
        return start, last - start + 1

    def tokens(self, first: int, end: int) -> Tuple[int, int]:
        """Where words first <= i < end of one Doc begin and end among its tokens."""
        return int(self.token_of[first]), int(self.token_of[end - 1]) + 1

    def items(self, text: int) -> Items:
        """The spans on a Doc that the component can have found: not those of others that begin or
        end with white space or cross the end of a sentence."""
        found = []
        for item in self.target.items(self.texts[text]):
            with suppress(ValueError):
                self.span(text, *item[:2])
                found.append(item)
        return found

    def text(self, word: int) -> str:
        return str(self.texts[self.text_of[word]][int(self.token_of[word])].text)

    def features(self, word: int) -> List[Feature]:
        """The features that fire at a word and have a weight, by name. Those of its sentence are
        named together, and kept."""
        if word not in self._features:
            sentence = self.sentence(word)
            text = self.text_of[word]
            start = int(self.starts[text])
            self._features.update({w: [] for w in sentence})
            inside = range(sentence.start - start, sentence.stop - start)
            for feature in scorer_of(self.pipe.model.layers[0]).features_at(
                [self.docs[text]], inside
            ):
                self._features[feature.word + start].append(feature)
        return self._features[word]


class Reading(ReadTexts):
    """Docs read by a component that has p(y | x). What is asked for is computed once.

    texts: with what earlier components have set; what this one has set constrains nothing, so that
    annotated Docs can be read. potentials: of all their words. RAISES ValueError [E143]: no labels
    yet; [HS105]: it has no p(y | x); [HS140]: a component of another package.
    """

    def __init__(self, pipe: Any, texts: Sequence[Doc]) -> None:
        sums_of(pipe)
        given = map(_bare, texts) if pipe.target.finds_sentences else texts
        words, self.potentials = pipe.potentials(given, preset=False)
        read = ComponentReading(words, pipe.target, pipe.tags, self.potentials)
        super().__init__(pipe, texts, read)

    @cached_property
    def are_independent(self) -> bool:
        """No label depends on its neighbours."""
        of_texts = (
            self.potentials.edge_scores,
            self.potentials.fired,
            self.potentials.configurations,
        )
        return self.potentials.weights.are_zero and of_texts == (None, None, None)

    @cached_property
    def best_with(self) -> Floats:
        """The score of the best labelling with each label at each word (N, L)."""
        if not self.are_independent:
            return best_with(self.potentials)
        scores = self.potentials.scores.astype(np.float64)
        if self.potentials.allowed is not None:
            scores[~self.potentials.allowed] = -np.inf
        largest = scores.max(axis=1, initial=-np.inf)
        sums = np.bincount(self.sentence_of, largest, minlength=len(self.ends))
        return np.asarray(scores + (sums[self.sentence_of] - largest)[:, None])

    @cached_property
    def log_p(self) -> Floats:
        """log p(y* | x) of the labels of each sentence (S,)."""
        score = path_score(self.potentials, self.best)
        return np.asarray(np.minimum(score - self.posterior.log_z, 0.0))

    @cached_property
    def margins(self) -> Floats:
        """The best score less that of the best labelling with another label at the word (N,)."""
        return margins_of(self.best_with, self.best)

    @cached_property
    def entropies(self) -> Floats:
        """H(y_t | x) of each word in nats (N,)."""
        return np.asarray(self.posterior.entropies())

    @cached_property
    def conditional_entropies(self) -> Floats:
        """H(y_t | y_1..y_{t-1}, x) of each word in nats (N,); those of a sentence add up to its
        entropy. Slow where there are label patterns."""
        return np.asarray(self.posterior.conditional_entropies())

    @cached_property
    def sentence_entropies(self) -> Floats:
        """H(y | x) of each sentence in nats (S,)."""
        return np.asarray(self.posterior.sequence_entropies())

    def labellings(self, words: Ints, labels: Ints) -> List[Labels]:
        """Of the sentence of each word, the best labelling that has a label there: argmax of
        score(x, y) with y_word = label.

        words, labels (M,): each label can stand there. The sentences are copied, one for each
        word, and decoded as one batch, in parts; O(T) decodings of a sentence of T words, or none
        where labels do not depend on each other.
        """
        sentences = [self.sentence(word) for word in words.tolist()]
        rows = [self.best[part.start : part.stop].copy() for part in sentences]
        places = [word - part.start for word, part in zip(words.tolist(), sentences, strict=True)]
        wanted = labels.tolist()
        if self.are_independent:
            for row, place, label in zip(rows, places, wanted, strict=True):
                row[place] = label
            return rows
        left = [i for i, row in enumerate(rows) if row[places[i]] != wanted[i]]
        # what fires in a sentence can be selected once only
        fires = self.potentials.fired is not None or self.potentials.configurations is not None
        most = 1 if fires else max(1, MOST_TOKENS // int(self.lengths.max(initial=1)))
        for part in minibatch(left, most):
            here = self.potentials.select(self.sentence_of[words[part]]).potentials
            allowed: Mask = np.ones(here.scores.shape, bool)
            starts = np.cumsum(here.lengths) - here.lengths
            at = starts + [places[i] for i in part]
            allowed[at] = labels[part, None] == np.arange(len(self.labels))
            found = best_labels(here.permitting(allowed))
            for i, row in zip(part, np.split(found, starts[1:]), strict=True):
                rows[i] = row
        return rows


class Decisions(ReadTexts):
    """Docs read by a bidirectional tagger that decides label by label (easiest first or last).

    turns (N,): when each word was decided, 1 = first of its sentence. visible (N,): which
    neighbours were decided by then, a bit for each slot; contexts (N, 2k): their labels
    (`decoders/bidirectional/local.py`). log_probabilities (N, L): log p(y | x, the neighbours
    decided before). RAISES ValueError [HS140]: a component of another package; [HS140]: another
    strategy.
    """

    def __init__(self, pipe: Any, texts: Sequence[Doc]) -> None:
        if own_component(pipe).knows != "decisions":
            kind = "the strategy \"{}\"".format(pipe.cfg.get("strategy"))
            raise ValueError(Errors.HS140.format(name=pipe.name, kind=kind))
        super().__init__(pipe, texts, pipe.read(texts, preset=False))
        order = scorer_of(pipe.model).order
        n_labels = len(self.labels)
        self.offsets = OFFSETS[order]
        self.turns = self.posterior.order
        self.visible, _ = edge_contexts(self.lengths, order, n_labels)
        self.contexts = contexts_of(self.best.astype(np.intp), self.lengths, order, n_labels)
        inner = self.contexts < n_labels
        for slot, offset in enumerate(self.offsets):
            words = np.flatnonzero(inner[:, slot])
            earlier = self.turns[words + offset] < self.turns[words]
            self.visible[words[earlier]] |= 1 << slot

    @cached_property
    def log_probabilities(self) -> Floats:
        words = np.arange(len(self.best))
        scores = self.pipe.model.predict(self.docs)(words, self.visible, words, self.contexts)
        return log_probabilities(scores, words, self.pipe.permitted(self.docs))

    def confidences(self) -> Floats:
        """How probable each label was when it was decided (N,)."""
        return np.exp(self.log_probabilities[np.arange(len(self.best)), self.best])

    @cached_property
    def log_p(self) -> Floats:
        """log p of all decisions of each sentence (S,)."""
        log_p = np.log(self.confidences())
        return np.asarray(np.bincount(self.sentence_of, log_p, len(self.ends)), float)

    @cached_property
    def margins(self) -> Floats:
        """log p of each label less that of the best other one (N,)."""
        return margins_of(self.log_probabilities, self.best)

    @cached_property
    def entropies(self) -> Floats:
        """Of each decision in nats (N,)."""
        log_p = self.log_probabilities
        return np.asarray(-(np.exp(log_p) * np.maximum(log_p, LEAST)).sum(axis=1) + 0.0)

    @property
    def conditional_entropies(self) -> Floats:
        return self.entropies

    @cached_property
    def sentence_entropies(self) -> Floats:
        """The sum of the entropies of its decisions (S,)."""
        return np.asarray(np.bincount(self.sentence_of, self.entropies, len(self.ends)), float)


Certain = Union[Reading, Decisions]  # knows how sure it is of its labels


def certain_reading(pipe: Any, texts: Sequence[Doc]) -> Certain:
    """RAISES ValueError [HS140]: a component of another package; [HS140]: one that knows nothing of
    its labels."""
    return (Reading if own_component(pipe).knows == "sums" else Decisions)(pipe, texts)


def margins_of(scores: Floats, labels: Labels) -> Floats:
    """The score of each label less the largest one beside it, inf if there is none. scores (N, L),
    labels (N,) -> (N,)."""
    here = np.arange(len(labels)), labels
    others = scores.copy()
    others[here] = -np.inf
    return np.asarray(scores[here] - others.max(axis=1, initial=-np.inf))


def reading_of(pipe: SequenceComponent, texts: Sequence[Doc]) -> ReadTexts:
    """Docs read by any component of this package; a `Reading` where it has p(y | x)."""
    if knows_sums(pipe):
        return Reading(pipe, texts)
    return ReadTexts(pipe, texts, pipe.read(texts, preset=False))


def own_component(pipe: object) -> SequenceComponent:
    """RAISES ValueError [HS140]: a component of another package."""
    if not isinstance(pipe, SequenceComponent):
        raise ValueError(
            Errors.HS140.format(name=getattr(pipe, "name", pipe), kind=type(pipe).__name__)
        )
    return pipe


def own_components(
    nlp: Language, names: Sequence[str] = (), *, with_sentences: bool = False
) -> Dict[str, Any]:
    """Components of this package, by name: those of these names, or all. with_sentences (bool):
    False = those that find sentences only if they are named, or if there are no others. RAISES
    ValueError [HS152]: there are none of these names."""
    own = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)}
    if not own or not set(names) <= set(own):
        raise ValueError(
            Errors.HS152.format(names=", ".join(names) or "any", known=", ".join(own) or "none")
        )
    if names or with_sentences:
        return {name: pipe for name, pipe in own.items() if not names or name in names}
    return {name: pipe for name, pipe in own.items() if not pipe.target.finds_sentences} or own


def knows_sums(pipe: object) -> bool:
    """Whether a component of any package has p(y | x)."""
    return isinstance(pipe, SequenceComponent) and pipe.knows == "sums"


def sums_of(pipe: Any) -> SequenceComponent:
    """A component that has p(y | x). RAISES ValueError [HS140]; [HS105]: it decides without sums
    over labellings."""
    if own_component(pipe).knows != "sums":
        reason = "it labels by local classifiers, without sums over all labellings"
        raise ValueError(Errors.HS105.format(name=pipe.name, asked="p(y | x)", reason=reason))
    return pipe


def stages(nlp: Language, docs: Sequence[Doc]) -> Iterator[Tuple[str, Any, List[Doc]]]:
    """Name and component, and the Docs as it is given them, one component after the other; then
    ("", None, the Docs at the end). It runs them as `nlp.pipe` does: functions, too."""
    docs = list(docs)
    for name, pipe in nlp.pipeline:
        yield name, pipe, docs
        docs = list(_pipe(docs, pipe, name, raise_error, {}))
    yield "", None, docs


def _bare(doc: Doc) -> Doc:
    """A copy without sentences: for a component that finds them."""
    copy = doc.copy()
    copy.from_array([SENT_START], np.zeros((len(doc), 1), np.uint64))  # type: ignore[arg-type]
    return copy
