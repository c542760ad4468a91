"""`hoseq_lemmatizer`: the lemma of every token, where spaCy's `trainable_lemmatizer` reads and
writes it.

A tagger whose labels are edit scripts (targets/lemmas.py). Its candidates are the scripts that fit
the word. Words of one form and analysis have one lemma wherever they stand, if no feature looks at
other words: then each is decoded once (`LemmaTable`), and bulk text takes two thirds of the time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.attrs import IDS, ORTH
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Labels, Mask
from ..caches import IdentityCache, cached_property
from ..features.keys import row_keys
from ..features.sequences import WordDocs, values_of, words_of
from ..features.type_cache import MAX_WORD_TYPES, TypeCache
from ..layers.sparse_linear import SparseScorer
from ..layers.structured import HeadScorer, TaggerModel
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .predictions import TagDictionary, intersection
from .tagger import HoseqTagger
from .targets.lemmas import Candidates, LemmaLabels, label_of
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

    def labels(self, docs: WordDocs) -> Labels | None:
        """Label ids of all words (N,). None: other words count too, so there can be no table."""
        emissions = HeadScorer(self._model).alone
        if emissions is None or emissions.extractor.reach > 0:
            return None
        analysis = emissions.extractor.contextual
        if not {"pos", "tag", "morph"}.issuperset(analysis):
            return None
        columns = [ORTH, *(IDS[name.upper()] for name in analysis)]
        tokens = values_of(docs, columns)

        def decode(new: Ints) -> Ints:
            types = [values[new] for values in tokens]
            return self._decode(emissions, types, columns, docs[0].vocab)

        # the same object until the weights change
        weights = emissions.shim.used_rows("table")
        types = self._types.of((weights,), self._empty)
        rows, labels = types.of(row_keys(tokens), decode)
        return labels[rows, 0]

    @staticmethod
    def _empty() -> TypeCache:
        return TypeCache(1, np.int32, MAX_WORD_TYPES, hashed=True)

    def _decode(
        self, emissions: SparseScorer, types: list[Keys], columns: Columns, vocab: Vocab
    ) -> Ints:
        """Label ids of n word types (n,). types: their values in the columns, (n,) each."""
        orths, *analysis = types
        words = [vocab.strings[orth] for orth in orths.tolist()]
        # scores are those of a Doc, so the types are written on one: nothing looks beyond a word
        doc = Doc(vocab, words=words)
        if analysis:
            doc.from_array(columns[1:], np.stack(analysis, axis=1))  # type: ignore[arg-type]
        docs = words_of([doc])
        scores = emissions.fresh_scores(docs)
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
            listed = None if permitted is None else permitted[misfits]
            allowed: Any = intersection(fitting, listed)
            best[misfits] = np.where(allowed, scores[misfits], -np.inf).argmax(axis=1)
        return best


class HoseqLemmatizer(HoseqTagger):
    """Writes the lemma of every token. Settings: those of `HoseqTagger` but `attribute` and
    `neg_prefix` (docs/reference/lemmatizer.md)."""

    made_of_labels = (*HoseqTagger.made_of_labels, "candidates", "_lemma_table")
    target: LemmaLabels
    limits_words = True

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_lemmatizer",
        *,
        objective: str | Objective = "max_margin",
        update_rule: UpdateRule,
        overwrite: bool = False,
        save_marginals: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            update_rule=update_rule,
            overwrite=overwrite,
            save_marginals=save_marginals,
            scorer=scorer,
            target=LemmaLabels(),
        )

    @cached_property
    def candidates(self) -> Candidates:
        """The labels that fit a word."""
        return Candidates(self.labels)

    @cached_property
    def _lemma_table(self) -> LemmaTable:
        return LemmaTable(self.model, self.candidates, self._dictionary)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
        lexicon: Mapping[str, Sequence[str]] | None = None,
        tag_dictionary: dict[str, list[str]] | None = None,
        weights_from: str | None = None,
    ) -> None:
        """Find scripts, features and label patterns in the training data, and set all weights to
        zero. Arguments as in `HoseqTagger.initialize`, and:

        lexicon: word forms with all their lemmas. A form gets no other lemmas, except those in the
            training data.
        tag_dictionary: the same, as scripts.
        """
        validate_get_examples(get_examples, "HoseqLemmatizer.initialize")
        examples = list(get_examples())
        entries = {form: set(scripts) for form, scripts in (tag_dictionary or {}).items()}
        for form, lemmas in (lexicon or {}).items():
            scripts = entries.setdefault(form, set())
            scripts.update(label_of(form, lemma) for lemma in lemmas if lemma)
        # the lexicon must not forbid what the training data have
        if entries:
            for form, script in self.target.scripts_in(examples):
                if form in entries:
                    entries[form].add(script)
        names = set(self.target.labels_in(examples) if labels is None else labels)
        # a form without scripts is not limited
        dictionary = {}
        for form, scripts in entries.items():
            names |= scripts
            if scripts:
                dictionary[form] = sorted(scripts)
        super().initialize(
            lambda: examples,
            nlp=nlp,
            labels=sorted(names),
            tag_dictionary=dictionary,
            weights_from=weights_from,
        )

    def lemma_probabilities(
        self, docs: Iterable[Doc], *, least: float = 0.001
    ) -> list[list[dict[str, float]]]:
        """For each token of each Doc, its possible lemmas, the most probable first: {"see": 0.93,
        "saw": 0.07}. They are calibrated with `objective = "log_likelihood"`, or after
        `hoseq calibrate`.

            p(lemma | x) = sum over scripts y that make this lemma of p(y | x)

        least (float): less probable ones are left out. White space has none. RAISES ValueError
            [E143].
        """
        self._require_labels()
        scripts = self.candidates.scripts

        def lemmas(token: Token, label_id: int) -> list[str]:
            return [scripts[label_id].lemma(token.text)]

        return self._shares(docs, lemmas, least)

    def fitting(self, docs: WordDocs) -> Mask | None:
        """Scripts that fit the words, and that the lexicon permits (N, L)."""
        dictionary = self._dictionary
        listed = None if dictionary is None else dictionary.allowed(docs)
        return intersection(self.candidates.allowed(docs), listed)

    def _best_candidates(self, docs: WordDocs) -> Labels | None:
        return self._lemma_table.labels(docs)
