"""The table of a lemmatizer: each form with its analysis is decoded once.

Words of one form and analysis have one lemma wherever they stand, if no feature looks at other
words. Texts repeat their words, so bulk text takes two thirds of the time.
"""

from typing import Any

import numpy as np
from spacy.attrs import IDS, ORTH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Labels
from ..caches import IdentityCache
from ..features.keys import row_keys
from ..features.sequences import WordDocs, values_of, words_of
from ..features.type_cache import MAX_WORD_TYPES, TypeCache
from ..layers.sparse_linear import SparseScorer
from ..layers.structured import HeadScorer, TaggerModel
from ..layers.weights import weights_of
from .predictions import TagDictionary, intersection
from .targets.lemmas import Candidates
from .targets.target import Columns


class LemmaTable:
    """Best labels of word types, decoded when a type is first seen.

    Key: form and analysis of a word, hashed. Bound: `MAX_WORD_TYPES`; beyond it, all are forgotten.
    They are also forgotten when the weights change. The end of a memory zone drops nothing, because
    no strings are held. Threads may share it.

    model: of the lemmatizer. candidates: the labels that fit a form. dictionary: forms that can have
    some labels only; None = there are none.
    """

    def __init__(
        self, model: TaggerModel, candidates: Candidates, dictionary: TagDictionary | None
    ) -> None:
        self._model = model
        self._candidates = candidates
        self._dictionary = dictionary
        self._types: IdentityCache[TypeCache] = IdentityCache()

    @property
    def columns(self) -> Columns | None:
        """Columns of `doc.to_array` that decide about a word's label: its form, and the analysis
        that features read. None: other words count too, so there can be no table."""
        head = HeadScorer(self._model)
        if len(self._model.layers) != 1 or head.source or head.structure.label_pairs:
            return None
        emissions = head.emissions
        if not isinstance(emissions, SparseScorer) or emissions.extractor.reach > 0:
            return None
        analysis = emissions.extractor.contextual
        if not {"pos", "tag", "morph"}.issuperset(analysis):
            return None
        return [ORTH, *(IDS[name.upper()] for name in analysis)]

    def labels(self, docs: WordDocs, columns: Columns) -> Labels:
        """Label ids of all words (N,). columns: those of this table."""
        tokens = values_of(docs, columns)

        def decode(new: Ints) -> Ints:
            types = [values[new] for values in tokens]
            return self._decode(types, columns, docs[0].vocab)

        # the same object until the weights change
        weights = weights_of(self._model.layers[0]).used_rows("table")
        types = self._types.of((weights,), self._empty)
        rows, labels = types.of(row_keys(tokens), decode)
        return labels[rows, 0]

    @staticmethod
    def _empty() -> TypeCache:
        return TypeCache(1, np.int32, MAX_WORD_TYPES, hashed=True)

    def _decode(self, types: list[Keys], columns: Columns, vocab: Vocab) -> Ints:
        """Label ids of n word types (n,). types: their values in the columns, (n,) each."""
        orths, *analysis = types
        words = [vocab.strings[orth] for orth in orths.tolist()]
        # scores are those of a Doc, so the types are written on one: nothing looks beyond a word
        doc = Doc(vocab, words=words)
        if analysis:
            doc.from_array(columns[1:], np.stack(analysis, axis=1))  # type: ignore[arg-type]
        docs = words_of([doc])
        scores = SparseScorer(self._model.layers[0]).fresh_scores(docs)
        permitted = None  # all
        best = scores.argmax(axis=1)
        if self._dictionary is not None:
            permitted = self._dictionary.allowed(docs)
            best = np.where(permitted, scores, -np.inf).argmax(axis=1)
        # The best of all labels mostly fits, and then it is the best of those that fit. To look for
        # all that fit takes longer than to score, so it is done for the other types only.
        scripts = self._candidates.scripts
        misfits = []
        for i, (word, label_id) in enumerate(zip(words, best.tolist(), strict=True)):
            if scripts[label_id].applied(word) is None:
                misfits.append(i)
        if misfits:
            fitting = self._candidates.fitting([words[i] for i in misfits])
            dictionary = None if permitted is None else permitted[misfits]
            allowed: Any = intersection(fitting, dictionary)
            best[misfits] = np.where(allowed, scores[misfits], -np.inf).argmax(axis=1)
        return best
