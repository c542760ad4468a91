"""Texts as one component of a trained pipeline sees them: its reading, and where each of their
words stands."""

from contextlib import suppress
from functools import cached_property
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Labels
from ..components import Items, SequenceComponent
from ..components import Reading as ComponentReading
from ..decoders import best_labels, best_with, decode_exact, max_marginal, path_score
from ..errors import Errors
from ..features.sequences import sequence_lengths
from ..words import Words as WithoutSpace


class ReadTexts(ComponentReading):
    """What a component made of some Docs, and where their words stand.

    texts: the Docs; docs: the same without white space. starts: of each Doc among all N words.
    lengths, ends (S,): of sentences. features: those that `features_at` has named, of each layer
    and word.
    """

    def __init__(
        self, pipe: SequenceComponent, texts: Sequence[Doc], reading: ComponentReading
    ) -> None:
        super().__init__(reading.docs, reading.target, reading.labels, reading._source)
        self.pipe: Any = pipe
        self.texts = list(texts)
        self.starts: Ints = np.cumsum([0, *map(len, self.docs)])[:-1]
        self.lengths = sequence_lengths(self.docs)
        self.ends: Ints = np.cumsum(self.lengths)
        self.features: Dict[int, Dict[int, List[Any]]] = {}

    @cached_property
    def sentence_of(self) -> Ints:
        """The sentence of each word (N,)."""
        return np.repeat(np.arange(len(self.ends)), self.lengths)

    def sentence(self, word: int) -> range:
        """The words of the sentence of a word."""
        number = int(self.sentence_of[word])
        end = int(self.ends[number])
        return range(end - int(self.lengths[number]), end)

    def word(self, text: int, token: int) -> int:
        """Which of the N words a token of a Doc is. RAISES ValueError [HS141]: it is white space,
        or there is none."""
        places = self._places(text)
        place = int(np.searchsorted(places, token))
        if place == len(places) or places[place] != token:
            raise ValueError(Errors.HS141.format(token=token, n=len(self.texts[text])))
        return int(self.starts[text]) + place

    def span(self, text: int, first: int, end: int) -> Tuple[int, int]:
        """The first of the N words that a span of a Doc has, and how many it has. RAISES ValueError
        [HS141]: it begins or ends with white space; [HS106]: it crosses the end of a sentence."""
        start = self.word(text, first)
        last = self.word(text, end - 1)
        if self.sentence_of[start] != self.sentence_of[last]:
            doc = self.texts[text]
            message = Errors.HS106.format(
                span=repr(doc[first:end].text), first=first, end=end, text=repr(doc.text[:40])
            )
            raise ValueError(message)
        return start, last - start + 1

    def items(self, text: int) -> Items:
        """The spans on a Doc that the component can have found; others can have written some, too,
        that begin or end with white space or cross the end of a sentence."""
        found = []
        for item in self.target.items(self.texts[text]):
            with suppress(ValueError):
                self.span(text, *item[:2])
                found.append(item)
        return found

    def token(self, word: int) -> Tuple[int, int]:
        """The Doc of a word, and its token there."""
        text = self._text_of(word)
        return text, int(self._places(text)[word - int(self.starts[text])])

    def place(self, word: int) -> Tuple[Doc, int]:
        """The Doc without white space that a word is in, and its place there."""
        text = self._text_of(word)
        return self.docs[text], word - int(self.starts[text])

    def text(self, word: int) -> str:
        text, token = self.token(word)
        return str(self.texts[text][token].text)

    def _text_of(self, word: int) -> int:
        return int(np.searchsorted(self.starts, word, side="right")) - 1

    def _places(self, text: int) -> Ints:
        words = self.docs[text]
        return words.places if isinstance(words, WithoutSpace) else np.arange(len(words))


class Reading(ReadTexts):
    """Docs read by a component that has p(y | x).

    pipe: the component. texts: with what earlier components have set; what this one has set already
    constrains nothing, so that annotated Docs can be read. potentials: of all their words. What is
    asked for is computed once. without: what was found of words that were taken away.
    RAISES ValueError [E143]: no labels yet; [HS105]: it has no p(y | x); [HS140]: a component of
    another package; as the pipeline does.
    """

    def __init__(self, pipe: Any, texts: Sequence[Doc]) -> None:
        sums_of(pipe)
        given = map(_bare, texts) if pipe.target.finds_sentences else texts
        words, self.potentials = pipe.potentials(given, preset=False)
        super().__init__(
            pipe,
            texts,
            ComponentReading(words, pipe.target, pipe.tags, self.potentials),
        )
        self.without: Dict[str, Dict[int, Any]] = {}

    @cached_property
    def best(self) -> Labels:
        """Label ids of the words (N,), as the pipeline sets them: by the decoder of the config."""
        exact = self.pipe.decoder is decode_exact
        return best_labels(self.potentials) if exact else self.pipe.decoder(self.potentials).labels

    @cached_property
    def ranking(self) -> Floats:
        """By what the decoder prefers labels at each word (N, L): the score of the best labelling
        with each, or the logarithm of its probability."""
        if self.pipe.decoder is not max_marginal:
            return self.best_with
        with np.errstate(divide="ignore"):
            return np.log(self.posterior.nodes)

    @cached_property
    def best_with(self) -> Floats:
        """The score of the best labelling with each label at each word (N, L)."""
        return best_with(self.potentials)

    @cached_property
    def best_scores(self) -> Floats:
        """The score of the labels of each sentence (S,)."""
        return path_score(self.potentials, self.best)

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

    @cached_property
    def shares(self) -> Floats:
        """What each word has of the entropy of its sentence (N,): H(y_t | y_1..y_{t-1}, x) of a
        chain; with label patterns in the proportions of H(y_t | x)."""
        if self.potentials.is_chain:
            return self.conditional_entropies
        sums = np.bincount(self.sentence_of, self.entropies, minlength=len(self.ends))
        factor = self.sentence_entropies / np.where(sums > 0, sums, 1.0)
        return np.asarray(self.entropies * factor[self.sentence_of])


def reading_of(pipe: SequenceComponent, texts: Sequence[Doc]) -> ReadTexts:
    """Docs read by any component of this package; as `Reading` where it has p(y | x)."""
    return (
        Reading(pipe, texts)
        if knows_sums(pipe)
        else ReadTexts(pipe, texts, pipe.read(texts, preset=False))
    )


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
    """Those of this package, by name: of these names, or all. with_sentences (bool): False = those
    that find sentences only if they are named, or if there are no others. RAISES ValueError
    [HS152]: there are none of these names."""
    own = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)}
    if not own or not set(names) <= set(own):
        raise ValueError(
            Errors.HS152.format(names=", ".join(names) or "any", known=", ".join(own) or "none")
        )
    if names or with_sentences:
        return {name: pipe for name, pipe in own.items() if not names or name in names}
    return {name: pipe for name, pipe in own.items() if not pipe.target.finds_sentences} or dict(
        own
    )


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


def _bare(doc: Doc) -> Doc:
    """A copy without sentences: for a component that finds them."""
    copy = doc.copy()
    copy.from_array([SENT_START], np.zeros((len(doc), 1), np.uint64))  # type: ignore[arg-type]
    return copy
