"""`hoseq_lemmatizer`: the lemma of every token, where spaCy's `trainable_lemmatizer` reads and
writes it.

A tagger whose labels are edit scripts (targets/lemmas.py). Its candidates are the scripts that fit
the word. In bulk it decodes each word type once (lemma_table.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab

from ..arrays import Mask
from ..caches import cached_property
from ..decoders.problem import Potentials, PotentialsGradient
from ..features.sequences import WordDocs, words_of
from ..layers.structured import TaggerModel
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .lemma_table import LemmaTable
from .predictions import Predictions, intersection
from .tagger import HoseqTagger
from .targets.lemmas import Candidates, LemmaLabels, label_of


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

    def _loss(
        self, examples: list[Example], scores: Potentials
    ) -> tuple[float, PotentialsGradient]:
        """Loss over the labels that fit: those that can never be a guess need not be learnt."""
        allowed = self.permitted(words_of([eg.predicted for eg in examples]), preset=False)
        return super()._loss(examples, scores.permitting(allowed))

    def permitted(self, docs: WordDocs, *, preset: bool) -> Mask | None:
        """Scripts that fit the words (N, L) and are permitted otherwise."""
        others = super().permitted(docs, preset=preset)
        return intersection(self.candidates.allowed(docs), others)

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Predictions:
        columns = self._lemma_table.columns
        # a lemma that is set already constrains one token, not all of its type
        is_preset = preset and not self.cfg["overwrite"] and self.target.are_set(docs)
        if columns is None or is_preset or not labels_alone or not any(map(len, docs)):
            return super()._read(docs, preset=preset, labels_alone=labels_alone)
        label_ids = self._lemma_table.labels(docs, columns)
        why = "labels alone were asked for"
        return Predictions(docs, self.name, self._label_table.labels, None, label_ids, why)
