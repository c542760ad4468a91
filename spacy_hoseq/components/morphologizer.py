"""`hoseq_morphologizer`: part of speech and features of every token, where spaCy's `morphologizer`
reads and writes them.

A tagger whose labels are a part of speech with features, learnt by their parts
(layers/label_parts.py).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from spacy import attrs
from spacy.language import Language
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..arrays import Floats32, Labels, Mask
from ..caches import cached_property
from ..decoders.choice import Decoder, decode_exact
from ..features.sequences import WordDocs
from ..layers.scorer import scorer_of
from ..layers.structured import HeadScorer, TaggerModel
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .predictions import TagDictionary
from .saving import CANDIDATES
from .tagger import HoseqTagger
from .targets.morphology import (
    MorphologyLabels,
    analysis_of,
    costs_of,
    label_of,
    named_features,
    normalized,
)
from .targets.target import word_examples


class HoseqMorphologizer(HoseqTagger):
    """Labels every token with part of speech and features. Settings: those of `HoseqTagger` but
    `attribute` and `neg_prefix`, and (docs/reference/morphologizer.md)

    with_tag (bool): labels also have `token.tag`.
    extend (bool): keep features that are already set, and add the predicted ones.
    overwrite (bool): replace annotation that is already set.
    """

    made_of_labels = (*HoseqTagger.made_of_labels, "_by_tag")
    target: MorphologyLabels

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_morphologizer",
        *,
        objective: str | Objective = "max_margin",
        decoder: str | Decoder = "exact",
        update_rule: UpdateRule,
        with_tag: bool = False,
        extend: bool = False,
        overwrite: bool = True,
        save_marginals: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            decoder=decoder,
            update_rule=update_rule,
            overwrite=overwrite,
            save_marginals=save_marginals,
            scorer=scorer,
            target=MorphologyLabels(with_tag, extend),
        )
        self.cfg[CANDIDATES] = {}

    @property
    def label_data(self) -> dict[str, dict[str, Any]]:
        """Labels for `spacy init labels` and `initialize`: features and part of speech of
        each label, as spaCy's morphologizer has them."""
        data: dict[str, dict[str, Any]] = {"morph": {}, "pos": {}}
        for label in self.labels:
            analysis = analysis_of(label)
            data["morph"][label] = analysis.morph
            data["pos"][label] = PARTS_OF_SPEECH[analysis.pos]
        return data

    def add_label(self, label: str) -> int:
        """Add a label before initialization, with features in any order: "POS=NOUN|Case=Gen".
        RETURNS and RAISES what all components do."""
        if isinstance(label, str):
            label = normalized(label)
        return super().add_label(label)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
        tag_dictionary: dict[str, list[str]] | None = None,
        weights_from: str | None = None,
    ) -> None:
        """Find labels and features in the training data, and set all weights to zero. Arguments as
        in `HoseqTagger.initialize`, but:

        labels: from `spacy init labels`, of this component or spaCy's.
        tag_dictionary: labels, also as "NOUN|Case=Nom|Number=Sing".
        """
        # the labels of spaCy's morphologizer are the keys of two mappings
        if isinstance(labels, Mapping):
            labels = list(labels["morph"])
        entries: dict[str, list[str]] = {}
        for word, names in (tag_dictionary or {}).items():
            entries[word] = [_label(name) for name in names]
        super().initialize(
            get_examples, nlp=nlp, labels=labels, tag_dictionary=entries, weights_from=weights_from
        )

    def feature_probabilities(
        self, docs: Iterable[Doc], *, least: float = 0.001
    ) -> list[list[dict[str, float]]]:
        """For each token of each Doc, the probabilities of its features: {"POS=NOUN": 0.99,
        "Case=Gen": 0.93, ...}. Each is the sum over all labels with the feature, under the same
        constraints as `predict`. They are calibrated with `objective = "log_likelihood"`, or after
        `hoseq calibrate`.

        least (float): less probable ones are left out. White space has none. RAISES ValueError
            [E143].
        """
        features = [named_features(label) for label in self.labels]
        return self._shares(docs, lambda _, y: features[y], least)

    def fitting(self, docs: WordDocs) -> Mask | None:
        """The labels that training saw with the tags of the words; all, with other tags."""
        return None if self._by_tag is None else self._by_tag.allowed(docs)

    @cached_property
    def _by_tag(self) -> TagDictionary | None:
        entries = self.cfg[CANDIDATES]
        return TagDictionary(entries, self.labels, attrs.TAG) if entries else None

    def find_candidates(self, examples: Iterable[Example]) -> None:
        """Set the candidates of each tag: all labels that it has in the gold annotation, if features
        read tags."""
        labels_of: dict[str, set[str]] = defaultdict(set)
        reads_tags = attrs.TAG in scorer_of(self.model).annotation
        if reads_tags and attrs.TAG not in self.target.columns:
            examples, _ = word_examples(examples)
            tags = chain.from_iterable(eg.get_aligned("TAG", as_string=True) for eg in examples)
            for tag, label_id in zip(tags, self.gold_ids(examples).tolist(), strict=True):
                if tag and label_id >= 0:
                    labels_of[tag].add(self.labels[label_id])
        self.cfg[CANDIDATES] = {tag: sorted(labels) for tag, labels in sorted(labels_of.items())}
        self.labels_changed()

    def _define(self, examples: list[Example], nlp: Language | None) -> None:
        self.find_candidates(examples)
        super()._define(examples, nlp)

    def _best_candidates(self, docs: WordDocs) -> Labels | None:
        emissions = HeadScorer(self.model).alone
        is_limited = self._dictionary is not None or self.decoder is not decode_exact
        if emissions is None or self._by_tag is None or is_limited:
            return None
        return emissions.best_of(docs, self._by_tag.lists, self._by_tag.rows(docs))

    def _costs(self) -> Floats32:
        return costs_of(self.labels)


def _label(name: str) -> str:
    """The label of "NOUN|Case=Nom|Number=Sing", or of "NOUN"; other names stay."""
    pos, _, morph = name.partition("|")
    if pos in PARTS_OF_SPEECH:
        return label_of(pos, morph)
    return name
