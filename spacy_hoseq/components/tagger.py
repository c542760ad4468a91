"""`hoseq_tagger`: exact higher-order tagging, trained through `spacy train`.

The component owns its learning: update rule and averaging of its config act on the linear weights
at every `finish_update`; `[training.optimizer]` trains neural emissions only. `update` works on raw
weights, `predict` and saving on finished ones (averaged, half precision).
"""

from itertools import chain, pairwise
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

import numpy as np
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..arrays import Labels
from ..decoders.answers import best_labels
from ..decoders.choice import check_n_samples, sample
from ..decoders.problem import Potentials, PotentialsGradient
from ..errors import Errors
from ..features.keys import label_values
from ..features.sequences import WordDocs, on_tokens, pieces_of, words_of
from ..layers.listener import (
    ANY,
    MarginalListener,
    Upstream,
    probable_values,
    write_upstream,
)
from ..layers.scorer import scorer_of
from ..layers.structured import TaggerModel
from ..learning.objectives import ObjectiveName
from ..learning.parameter import UpdateRule
from .base import register_factory
from .reading import LabelsAlone, Reading
from .structured import ADAGRAD, StructuredComponent, default_model
from .targets.token_labels import TokenLabels
from .training import listeners_in


class ScoredLabels(NamedTuple):
    """One of the best label sequences of a Doc. score: the decoder's objective, in score units."""

    labels: List[str]
    score: float


class HoseqTagger(StructuredComponent):
    """Labels every token with the best label sequence of its sentence.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.HigherOrderTagger.v1`. name
    (str): its name in the pipeline. Settings, which docs/reference/tagger.md describes:

    objective (str): the loss. "perceptron" and "max_margin" decode, "log_likelihood" trains
        probabilities.
    update_rule (UpdateRule): how linear weights follow the gradient.
    attribute (str): where labels are read and written: "tag", "pos", "sent_start", or an extension,
        "_.name".
    overwrite (bool): replace labels that are set already; else they constrain the others.
    neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such prefix.
    save_marginals (bool): keep the probabilities of all labels on the Doc
        (`doc._.hoseq_marginals`).
    scorer (Callable): the function that scores; None = no score.

    target (Target): where labels stand, if that is no attribute.
    RAISES ValueError [HS027, HS161]: impossible settings.
    """

    target: TokenLabels
    label_cells = 8_000_000  # scores of labels, tokens x labels, that are decoded at once

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_tagger",
        *,
        objective: ObjectiveName = "max_margin",
        update_rule: UpdateRule,
        attribute: str = "tag",
        overwrite: bool = False,
        neg_prefix: str = "!",
        save_marginals: bool = False,
        scorer: Optional[Callable] = None,
        target: Optional[TokenLabels] = None,
    ) -> None:
        target = TokenLabels(attribute, neg_prefix) if target is None else target
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            update_rule=update_rule,
            scorer=scorer,
            target=target,
            cfg={
                "attribute": target.attribute,
                "overwrite": overwrite,
                "neg_prefix": target.neg_prefix,
                "save_marginals": save_marginals,
                "tag_dictionary": {},
            },
        )
        self.listener_map: Dict[str, List[MarginalListener]] = {}

    def __setstate__(self, state: Any) -> None:
        """The listeners of a copy, or in another process, are linked to it."""
        super().__setstate__(state)
        for name, listeners in self.listener_map.items():
            for listener in listeners:
                listener.link(self, name)

    def top_k(self, docs: Union[Doc, Iterable[Doc]], k: int) -> List[List[ScoredLabels]]:
        """The k best label sequences of each Doc, best first, under the same constraints as
        `predict`. RAISES ValueError [HS027, HS038, HS099]."""
        return [
            [
                ScoredLabels(labels, score)
                for labels, score in zip(
                    self._named(best.labels, words), best.scores.tolist(), strict=True
                )
            ]
            for words, best in self._k_best(docs, k)
        ]

    def sample(
        self, docs: Iterable[Doc], n_samples: int, *, seed: int = 0
    ) -> List[List[List[str]]]:
        """Label sequences of each Doc drawn from p(y | x), under the same constraints as `predict`.
        RAISES ValueError [HS027, HS038, HS099]."""
        check_n_samples(n_samples)
        rng = np.random.default_rng(seed)
        parts = (self._words([doc]) for doc in docs)
        return [
            self._named(sample(self._potentials(words), n_samples, rng), words) for words in parts
        ]

    @property
    def listeners(self) -> List[MarginalListener]:
        """Layers of later components that listen to this one (spaCy's protocol, as with
        Tok2Vec)."""
        return list(chain.from_iterable(self.listener_map.values()))

    @property
    def listening_components(self) -> List[str]:
        """Their names."""
        return list(self.listener_map)

    @property
    def limits_words(self) -> bool:
        """True if words can have some labels only, whatever the model says."""
        return bool(self.cfg["tag_dictionary"])

    def add_listener(self, listener: MarginalListener, component_name: str) -> None:
        """Called by spaCy."""
        if listener not in self.listeners:
            self.listener_map.setdefault(component_name, []).append(listener)

    def remove_listener(self, listener: MarginalListener, component_name: str) -> bool:
        """Called by spaCy. RETURNS (bool): whether it was there."""
        listeners = self.listener_map.get(component_name, [])
        # a new list: spaCy is going through the old one
        rest = [other for other in listeners if other is not listener]
        self.listener_map[component_name] = rest
        if not rest:
            del self.listener_map[component_name]
        return len(rest) < len(listeners)

    def find_listeners(self, component: Any) -> None:
        """Add the listeners in a later component's model that name this one, or did before it was
        renamed. Called by spaCy."""
        names = [self.name, *([ANY] if self.target.place == "tag" else [])]
        for listener in listeners_in(component):
            if listener.upstream_name in names:
                listener.link(self, component.name)
                self.add_listener(listener, component.name)

    def hand_again(self, docs: Sequence[Doc], listener: MarginalListener) -> None:
        """Hand over the labels of docs that have been annotated: for a listener that spaCy may have
        forgotten. What is set on them constrains nothing, since it is what was found."""
        self.add_listener(listener, listener.reader)
        self._hand_labels(
            self.read(docs, preset=False, labels_alone=self._writes_labels_alone)
        )

    def _named(self, rows: Labels, words: WordDocs) -> List[List[str]]:
        """Several label sequences of one Doc, with what stands at white space. rows (k, n): ids of
        its words."""
        (of_tokens,) = on_tokens(rows.T, words, -1)
        return [[self._label_table.names[y] for y in row] for row in of_tokens.T.tolist()]

    @property
    def _writes_labels_alone(self) -> bool:
        return not self.cfg["save_marginals"] and not self.listeners

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Reading:
        parts = self._parts(docs) if labels_alone else [docs]
        if len(parts) == 1:
            return self._read_together(docs, preset=preset)
        labels = [self._read_together(part, preset=preset).best for part in parts]
        reason = "of so many texts at once, labels alone were asked for"
        alone = LabelsAlone(np.concatenate(labels), self.name, reason)
        return Reading(docs, self.target, self.tags, alone)

    def _read_together(self, docs: WordDocs, *, preset: bool) -> Reading:
        potentials = self._potentials(docs, preset=preset)
        labels = best_labels(potentials)
        return Reading(docs, self.target, self._label_table.labels, potentials, labels)

    def _parts(self, docs: WordDocs) -> List[WordDocs]:
        """Docs whose labels are decoded together: scores of many labels take memory. Where the text
        around a sentence does not matter, a long Doc is cut between sentences."""
        most = max(1, self.label_cells // max(1, len(self._label_table.labels)))
        if sum(map(len, docs)) <= most:
            return [docs]
        if scorer_of(self.model).sees_sentences_alone:
            docs = words_of([piece for doc in docs for piece in pieces_of(doc, most)])
        before = np.cumsum([0, *map(len, docs[:-1])]) // most
        bounds = [0, *np.flatnonzero(np.diff(before)) + 1, len(docs)]
        return [words_of(docs[start:end]) for start, end in pairwise(bounds)]

    def _keep(self, docs: Sequence[Doc], reading: Reading) -> None:
        super()._keep(docs, reading)
        self._hand_labels(reading)

    def _hand_labels(self, reading: Reading) -> None:
        """Leave beside docs what listeners ask of their labels: each output once."""
        for asked in {listener.asked for listener in self.listeners}:
            _, threshold = asked
            entries = reading.posterior.probable(threshold)
            labels = probable_values(entries, label_values(reading.labels), threshold)
            write_upstream(reading.docs, asked, labels)

    def _hand_over(
        self,
        docs: WordDocs,
        potentials: Potentials,
        backprop: Callable[[PotentialsGradient], object],
    ) -> None:
        learns = [each for each in self.listeners if each.grad_factor]
        if learns and any(isinstance(node, Tok2VecListener) for node in self.model.walk()):
            # spaCy's Tok2Vec would count the first of two gradients twice
            raise ValueError(Errors.HS104.format(name=self.name))
        if self.listeners:
            potentials = potentials.permitting(self.permitted(docs, preset=False))
            upstream = Upstream(docs, potentials, self.labels, backprop)
            for listener in self.listeners:
                listener.receive(upstream)


DEFAULTS = {
    "model": default_model("english_pos"),
    "update_rule": ADAGRAD,
    "scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"},
}
make_hoseq_tagger = register_factory(
    HoseqTagger, "hoseq_tagger", DEFAULTS, {"tag_acc": 1.0}, assigns=["token.tag"]
)
make_hoseq_senter = register_factory(
    HoseqTagger,
    "hoseq_senter",
    {**DEFAULTS, "model": default_model("sentences", min_count=2), "attribute": "sent_start"},
    {"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
    assigns=["token.is_sent_start"],
)
