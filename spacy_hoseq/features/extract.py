"""Docs -> feature keys, a whole batch of sentences at once."""

from typing import Dict, List, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.strings import get_string_id
from spacy.tokens import Doc

from .attributes import check_attribute, lexical_attribute, token_values
from .keys import ABSENT, Keys, mix
from .lexicon import Lexicon
from .sequences import sequence_lengths
from .templates import Template

BEFORE, AFTER = np.uint64(get_string_id("<s>")), np.uint64(get_string_id("</s>"))  # values beyond the sentence's ends


class Columns(NamedTuple):
    """Attribute values of a batch. positions (N,): where each token lies in the padded columns.

    padded: attribute -> its values, sentences laid apart by cells that hold the sentence-end values.
    """

    n_tokens: int
    positions: NDArray[np.intp]
    padded: Dict[str, Keys]


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = list(templates)
        names = dict.fromkeys(p.attribute for t in templates for p in t.parts if p.attribute != "bias")
        for name in names:
            check_attribute(name)
        self._lexical = [name for name in names if lexical_attribute(name)]
        self._contextual = [name for name in names if not lexical_attribute(name)]
        self._margin = max((abs(p.offset) for t in templates for p in t.parts), default=0)
        self._lexicon = Lexicon(self._lexical)

    @property
    def is_lexical(self) -> bool:
        """Whether the features depend on the words and sentence boundaries alone (then they may be cached)."""
        return not self._contextual

    def keys(self, docs: Sequence[Doc]) -> Keys:
        """RETURNS (K, N) uint64: key of each template at each token of the docs, in order; 0 where it does not fire."""
        columns = self.columns(docs)
        return self.keys_between(columns, 0, columns.n_tokens)

    def columns(self, docs: Sequence[Doc]) -> Columns:
        """Attribute values of all tokens, from which keys are made block by block."""
        lengths = sequence_lengths(docs)
        n_tokens = int(lengths.sum())
        positions = _positions(lengths, self._margin)
        if n_tokens == 0:
            return Columns(0, positions, {})
        values = dict(zip(self._lexical, self._lexical_values(docs).T, strict=True))
        values.update({name: np.concatenate([token_values(d, name) for d in docs]) for name in self._contextual})
        padded = {name: self._pad(column, positions, lengths) for name, column in values.items()}
        return Columns(n_tokens, positions, padded)

    def keys_between(self, columns: Columns, start: int, stop: int) -> Keys:
        """Keys of the tokens start <= n < stop. RETURNS (K, n) uint64."""
        positions = columns.positions[start:stop]
        keys = np.zeros((len(self.templates), len(positions)), np.uint64)
        if len(positions):
            for k, template in enumerate(self.templates):
                keys[k] = self._template_keys(template, columns.padded, positions)
        return keys

    def contextual_values(self, doc: Doc) -> List[Keys]:
        """Values of the attributes that are not lexical, as the Doc has them now."""
        return [token_values(doc, name) for name in self._contextual]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        self._lexicon.clear()

    def _lexical_values(self, docs: Sequence[Doc]) -> Keys:
        orths = np.concatenate([doc.to_array(["ORTH"]).reshape(len(doc)) for doc in docs])
        return self._lexicon.values(docs[0].vocab, orths)

    def _pad(self, values: Keys, positions: NDArray[np.intp], lengths: NDArray[np.int32]) -> Keys:
        """Lay sentences apart by `margin` cells that hold the sentence-end values."""
        margin = self._margin
        padded = np.full(len(values) + 2 * margin * len(lengths), AFTER, np.uint64)
        starts = positions[np.cumsum(lengths) - lengths]  # (S,) place of each first token
        padded[(starts[:, None] - np.arange(1, margin + 1)).reshape(-1)] = BEFORE
        padded[positions] = values
        return padded

    def _template_keys(self, template: Template, padded: Dict[str, Keys], positions: NDArray[np.intp]) -> Keys:
        state = np.array([get_string_id(str(template))], np.uint64)
        fires = np.ones(len(positions), bool)
        for part in template.parts:
            if part.attribute == "bias":
                values = np.ones(len(positions), np.uint64)
            else:
                values = padded[part.attribute][positions + part.offset]
            fires &= values != ABSENT
            state = mix(state, values)
        return np.where(fires, state, ABSENT)


def _positions(lengths: NDArray[np.int32], margin: int) -> NDArray[np.intp]:
    """Where each token lies when every sentence has `margin` free cells on both sides. RETURNS (N,) intp."""
    sentence = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
    return np.arange(len(sentence)) + margin * (2 * sentence + 1)
