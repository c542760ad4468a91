"""`hoseq_lemmatizer`: the lemma of every token, as spaCy's `trainable_lemmatizer` reads and writes
it.

A tagger whose labels are edit scripts (targets/lemmas.py), of which only those that fit a word are
candidates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.attrs import IDS, ORTH
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab

from ..arrays import Ints, Labels, Mask
from ..caches import IdentityCache, cached_property
from ..decoders.problem import Potentials, PotentialsGradient
from ..features.index import KeyedValues
from ..features.keys import row_keys
from ..features.sequences import WordDocs, values_of, words_of
from ..layers.scorer import scorer_of
from ..layers.sparse_linear import SparseScorer
from ..layers.structured import TaggerModel
from ..layers.weights import weights_of
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .base import register_factory
from .reading import Reading, intersection
from .structured import ADAGRAD, default_model
from .tagger import HoseqTagger
from .targets.lemmas import Candidates, LemmaLabels, label_of
from .targets.target import Columns

ANALYSIS = {"pos", "tag", "morph"}  # what their features may look at, beside the form


class HoseqLemmatizer(HoseqTagger):
    """Writes the lemma of every token. Settings: those of `HoseqTagger` but `attribute` and
    `neg_prefix` (docs/reference/lemmatizer.md)."""

    made_of_labels = (*HoseqTagger.made_of_labels, "candidates")
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
        self._known: IdentityCache[KeyedValues] = IdentityCache()  # labels, by form and analysis

    @cached_property
    def candidates(self) -> Candidates:
        """Labels by the words that they fit."""
        return Candidates(self.labels)

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

        lexicon: word forms with all their lemmas: a form gets no others, but those that it has in
            training.
        tag_dictionary: the same, as scripts.
        """
        validate_get_examples(get_examples, "HoseqLemmatizer.initialize")
        examples = list(get_examples())
        entries = {form: {*scripts} for form, scripts in (tag_dictionary or {}).items()}
        for form, lemmas in (lexicon or {}).items():
            scripts = {label_of(form, lemma) for lemma in lemmas if lemma}
            entries[form] = entries.get(form, set()) | scripts
        for form, script in self.target.scripts_in(examples) if entries else ():
            if form in entries:
                entries[form].add(script)
        names = self.target.labels_in(examples) if labels is None else labels
        names = sorted({*names}.union(*entries.values()))
        dictionary = {form: sorted(scripts) for form, scripts in entries.items() if scripts}
        super().initialize(
            lambda: examples,
            nlp=nlp,
            labels=names,
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
        return self._shares(docs, lambda token, y: [scripts[y].lemma(token.text)], least)

    def _loss(
        self, examples: list[Example], scores: Potentials
    ) -> tuple[float, PotentialsGradient]:
        """Over labels that fit: what never can be a guess need not be learnt."""
        allowed = self.permitted(words_of([eg.predicted for eg in examples]), preset=False)
        return super()._loss(examples, scores.permitting(allowed))

    def permitted(self, docs: WordDocs, *, preset: bool) -> Mask | None:
        """Scripts that fit the words (N, L), of those that are permitted otherwise."""
        return intersection(self.candidates.allowed(docs), super().permitted(docs, preset=preset))

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Reading:
        is_preset = preset and not self.cfg["overwrite"] and self.target.are_set(docs)
        analysis = (
            self._analysis if labels_alone and not is_preset and any(map(len, docs)) else None
        )
        if analysis is None:
            return super()._read(docs, preset=preset, labels_alone=labels_alone)
        labels = self._labels_of_tokens(docs, [ORTH, *(IDS[name.upper()] for name in analysis)])
        why = "labels alone were asked for"
        return Reading(docs, self.name, self._label_table.labels, None, labels, why)

    @property
    def _analysis(self) -> Sequence[str] | None:
        """Attributes on which labels depend beside the form of the word, if these are its analysis:
        then words of one form and analysis have one lemma, wherever they stand."""
        head = scorer_of(self.model)
        is_alone = (
            len(self.model.layers) == 1 and not head.source and not head.structure.label_pairs
        )
        if not is_alone or not isinstance(head.emissions, SparseScorer) or head.emissions.reach:
            return None
        analysis = head.emissions.features.extractor.contextual
        return analysis if {*analysis} <= ANALYSIS else None

    def _labels_of_tokens(self, docs: WordDocs, columns: Columns) -> Labels:
        """Label ids of all tokens (N,). Texts repeat forms with their analyses, so each is decoded
        once. columns: of `doc.to_array`, on which they depend."""
        tokens = values_of(docs, columns)
        vocab = docs[0].vocab
        scripts = self.candidates.scripts

        def decoded(new: Ints) -> Labels:
            orths, *analysis = (values[new] for values in tokens)
            words = [vocab.strings[orth] for orth in orths.tolist()]
            doc = Doc(vocab, words=words, sent_starts=[True] * len(words))
            doc.from_array(columns[1:], np.stack(analysis, axis=1))  # type: ignore[arg-type]
            types = words_of([doc])
            scores = scorer_of(self.model.layers[0]).fresh_scores(types)
            others = super(HoseqLemmatizer, self).permitted(types, preset=False)
            best = np.where(True if others is None else others, scores, -np.inf).argmax(axis=1)
            # the best of all labels mostly fits: then it is the best of those that do
            pairs = enumerate(zip(words, best.tolist(), strict=True))
            wrong = [i for i, (word, y) in pairs if scripts[y].applied(word) is None]
            if wrong:
                fitting = self.candidates.fitting([words[i] for i in wrong])
                allowed: Any = intersection(fitting, None if others is None else others[wrong])
                best[wrong] = np.where(allowed, scores[wrong], -np.inf).argmax(axis=1)
            return best.astype(np.int32)

        # the same object until they change
        weights = weights_of(self.model.layers[0]).used_rows("table")
        known = self._known.of((weights,), lambda: KeyedValues(np.int32))
        return known.of(row_keys(tokens), decoded)


make_hoseq_lemmatizer = register_factory(
    HoseqLemmatizer,
    "hoseq_lemmatizer",
    {
        "model": {**default_model("lemmas", min_count=2), "label_pairs": False},
        "update_rule": ADAGRAD,
        "scorer": {"@scorers": "spacy.lemmatizer_scorer.v1"},
    },
    {"lemma_acc": 1.0},
    assigns=["token.lemma"],
    requires=["token.pos", "token.morph"],
)
