"""Texts as one component of a trained pipeline sees them: all that it decodes them from, and what follows from it."""

from functools import cached_property
from typing import Any, Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Labels
from ..components.structured import StructuredComponent
from ..decoders.answers import Answers, answers_of, best_with
from ..decoders.problem import path_score
from ..errors import Errors
from ..features.sequences import WordDocs, on_tokens, sequence_lengths
from ..words import Words as WithoutSpace


class Words:
    """Where the words of some docs stand.

    words: the docs without white space. starts: of each Doc among all N words. lengths, ends (S,): of sentences.
    features: those that `features_at` has named, of each layer and word.
    """

    def __init__(self, docs: Sequence[Doc], words: WordDocs) -> None:
        self.docs, self.words = list(docs), words
        self.starts: Ints = np.cumsum([0, *map(len, words)])[:-1]
        self.lengths = sequence_lengths(words)
        self.ends: Ints = np.cumsum(self.lengths)
        self.features: Dict[int, Dict[int, List[Any]]] = {}

    @cached_property
    def sentence_of(self) -> Ints:
        """The sentence of each word (N,)."""
        return np.repeat(np.arange(len(self.ends)), self.lengths)

    def word(self, doc: int, token: int) -> int:
        """Which of the N words a token of a Doc is. RAISES ValueError [HS141]: it is white space, or there is none."""
        places = self._places(doc)
        place = int(np.searchsorted(places, token))
        if place == len(places) or places[place] != token:
            raise ValueError(Errors.HS141.format(token=token, n=len(self.docs[doc])))
        return int(self.starts[doc]) + place

    def token(self, word: int) -> "tuple[int, int]":
        """The Doc of a word, and its token there."""
        doc = int(np.searchsorted(self.starts, word, side="right")) - 1
        return doc, int(self._places(doc)[word - int(self.starts[doc])])

    def place(self, word: int) -> "tuple[Doc, int]":
        """The Doc without white space that a word is in, and its place there."""
        doc = int(np.searchsorted(self.starts, word, side="right")) - 1
        return self.words[doc], word - int(self.starts[doc])

    def text(self, word: int) -> str:
        doc, token = self.token(word)
        return str(self.docs[doc][token].text)

    def of_tokens(self, of_words: NDArray[Any], absent: float = 0) -> List[NDArray[Any]]:
        """What belongs to each Doc, by token: `absent` at white space. of_words (N, ...)."""
        return on_tokens(of_words, self.words, absent)

    def _places(self, doc: int) -> Ints:
        words = self.words[doc]
        return words.places if isinstance(words, WithoutSpace) else np.arange(len(words))


class Reading(Words):
    """A batch of docs, read by a tagger or a chunker.

    pipe: the component. docs: with what earlier components have set; what this one has set already constrains nothing,
    so that annotated docs can be read. potentials: of all their words. labels: by id, of tokens (of a chunker: its
    tags). What is asked for is computed once. without: what was found of words that were taken away.
    RAISES ValueError [E143]: no labels yet; [HS140]: a component of another kind; as the pipeline does.
    """

    def __init__(self, pipe: Any, docs: Sequence[Doc]) -> None:
        if not isinstance(pipe, StructuredComponent):
            raise ValueError(Errors.HS140.format(name=getattr(pipe, "name", pipe), kind=type(pipe).__name__))
        plain = pipe.target.finds_sentences
        words, self.potentials = pipe.potentials(map(_bare, docs) if plain else docs, preset=False)
        super().__init__(docs, words)
        self.pipe, self.labels = pipe, pipe.tags
        self.without: Dict[str, Dict[int, Any]] = {}

    @cached_property
    def answers(self) -> Answers:
        return answers_of(self.potentials)

    @cached_property
    def best(self) -> Labels:
        """The best labelling (N,): what the component predicts, unless something is set."""
        return self.answers.best

    @cached_property
    def best_with(self) -> Floats:
        """The score of the best labelling with each label at each word (N, L)."""
        return best_with(self.potentials)

    @cached_property
    def best_scores(self) -> Floats:
        """The score of the best labelling of each sentence (S,)."""
        return path_score(self.potentials, self.best)

    @cached_property
    def entropies(self) -> Floats:
        """H(y_t | x) of each word in nats (N,)."""
        return self.answers.entropies()

    @cached_property
    def conditional_entropies(self) -> Floats:
        """H(y_t | y_1..y_{t-1}, x) of each word in nats (N,); those of a sentence add up to its entropy. Slow where
        there are label patterns."""
        return self.answers.conditional_entropies()

    @cached_property
    def sentence_entropies(self) -> Floats:
        """H(y | x) of each sentence in nats (S,)."""
        return self.answers.sequence_entropies()

    @cached_property
    def shares(self) -> Floats:
        """What each word has of the entropy of its sentence (N,): H(y_t | y_1..y_{t-1}, x) of a chain; with label
        patterns in the proportions of H(y_t | x)."""
        if self.answers.is_chain:
            return self.conditional_entropies
        sums = np.bincount(self.sentence_of, self.entropies, minlength=len(self.ends))
        factor = self.sentence_entropies / np.where(sums > 0, sums, 1.0)
        return np.asarray(self.entropies * factor[self.sentence_of])


def _bare(doc: Doc) -> Doc:
    """The words alone: for a component that finds the sentences."""
    return Doc(doc.vocab, words=[token.text for token in doc], spaces=[bool(token.whitespace_) for token in doc])
