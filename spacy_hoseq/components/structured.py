"""Components over `spacy_hoseq.HigherOrderTagger.v1`: they predict and learn from potentials, and
send labels with their probabilities to components that listen, as spaCy's Tok2Vec sends its
vectors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import set_dropout_rate

from ..arrays import Floats, Floats32, Mask
from ..decoders.choice import DECODERS, Decoder, KBest, k_best
from ..decoders.problem import Potentials, PotentialsGradient, Weights
from ..errors import Errors, wrong_value
from ..features.sequences import WordDocs, sequence_lengths, words_of
from ..layers.listener import (
    ANY,
    MarginalListener,
    Upstream,
    own_layers,
)
from ..layers.scorer import scorer_of
from ..layers.structured import TaggerModel
from ..layers.upstream import upstream_labels, write_upstream
from ..layers.weights import weights_in
from ..learning.objectives import OBJECTIVES, Objective, distillation, log_likelihood
from ..learning.parameter import UpdateRule
from ..words import Words
from .base import SequenceComponent
from .extensions import MARGINALS, values_on, write_marginals
from .named import function_named, name_of
from .predictions import Predictions
from .saving import CANDIDATES, OF_CALIBRATION
from .targets.target import Target, word_examples
from .training import ComponentTexts, listeners_in, seed_of, warn_uncalibrated


class StructuredComponent(SequenceComponent):
    """A component whose model gives potentials. `nlp` links the listeners of later components
    (`spacy.ty.ListenedToComponent`). RAISES ValueError [HS161, HS027]: impossible settings."""

    knows = "sums"

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str,
        *,
        objective: str | Objective,
        decoder: str | Decoder = "exact",
        update_rule: UpdateRule,
        scorer: Callable | None,
        target: Target,
        cfg: dict[str, Any],
    ) -> None:
        super().__init__(vocab, model, name, scorer=scorer, target=target, cfg=cfg)
        # (spaCy does not check what a registered function returns)
        if not isinstance(update_rule, UpdateRule):
            expected = 'one that is registered, such as "spacy_hoseq.adagrad.v1"'
            raise wrong_value("`update_rule`", update_rule, expected)
        self.objective: Objective = function_named("objective", objective, OBJECTIVES)
        self.objective_name = name_of(self.objective, OBJECTIVES)
        self.decoder: Decoder = function_named("decoder", decoder, DECODERS)
        self._update_rule = update_rule
        self._configure_layers(seed=0)
        self.listener_map: dict[str, list[MarginalListener]] = {}

    def __setstate__(self, state: Any) -> None:
        """The listeners of a copy, or in another process, are linked to it."""
        super().__setstate__(state)
        for name, listeners in self.listener_map.items():
            for listener in listeners:
                listener.link(self, name)

    def _configure_layers(self, *, seed: int) -> None:
        """seed (int): of the feature dropout."""
        for i, shim in enumerate(weights_in(self.model)):
            shim.configure(self._update_rule, seed=seed + i)

    @contextmanager
    def learning_by(self, rule: UpdateRule, objective: Objective, *, seed: int) -> Iterator[None]:
        """Learn by another update rule and objective than those of the config. seed (int): of the
        feature dropout."""
        settings = self._update_rule, self.objective
        self._update_rule = rule
        self.objective = objective
        self._configure_layers(seed=seed)
        try:
            yield
        finally:
            self._update_rule, self.objective = settings
            self._configure_layers(seed=0)

    @property
    def is_calibrated(self) -> bool:
        """True if the objective learns p(y | x), or it was calibrated since: labels with probability
        0.9 are then right nine times in ten."""
        return self.objective is log_likelihood or not self.cfg.keys().isdisjoint(OF_CALIBRATION)

    @property
    def limits_words(self) -> bool:
        """True if labels are limited by more than the model, which a copy of the model would not have."""
        return bool(self.cfg.get("tag_dictionary", True) or self.cfg.get(CANDIDATES))

    def keep_probabilities(self) -> bool:
        self.cfg["save_marginals"] = True
        return True

    def get_loss(
        self, examples: Iterable[Example], scores: Potentials
    ) -> tuple[float, PotentialsGradient]:
        """Loss of the objective over the batch, and its gradient with respect to the potentials."""
        return self._loss(word_examples(examples, f"{type(self).__name__}.get_loss")[0], scores)

    def _loss(
        self, examples: list[Example], scores: Potentials
    ) -> tuple[float, PotentialsGradient]:
        potentials = self._possible(scores)
        gold: Any = self._label_table.masks[self._gold_rows(examples)]
        candidates = self.fitting(words_of([eg.predicted for eg in examples]))
        if candidates is not None:
            # what can never be a guess need not be learnt; gold labels are learnt in any case
            is_outside = ~(candidates & gold).any(axis=1)
            potentials = potentials.permitting(candidates | (gold & is_outside[:, None]))
        gold = gold if potentials.allowed is None else gold & potentials.allowed
        if self.objective is distillation:
            gold = soft_gold([eg.reference for eg in examples], self.tags, gold)
        loss, gradient = self.objective(potentials, gold, self.decoder, self._costs())
        return self._checked(loss), gradient

    def _learn(self, examples: list[Example], docs: WordDocs, drop: float) -> float:
        self.forget_calibration()
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update(docs)
        tables = (potentials.scores, potentials.trans)
        size = max(float(np.abs(table).max(initial=0)) for table in tables)
        self._checked(0.0, size, getattr(self._update_rule, "learn_rate", "unknown"))
        loss, gradient = self._loss(examples, potentials)
        backprop(gradient)
        if self.listeners:
            self._send_update(docs, potentials, backprop)
        return loss

    def _define(self, examples: list[Example], nlp: Language | None) -> None:
        self.forget_calibration()
        if self.cfg["save_marginals"] and not self.is_calibrated:
            warn_uncalibrated(self, "`save_marginals`")
        self._configure_layers(seed=seed_of(nlp))
        docs = [eg.predicted for eg in examples]
        # of each sequence as it will be decoded; gold spans that are no chunks are refused now
        gold = np.split(self.gold_ids(examples), np.cumsum(sequence_lengths(docs)))[:-1]
        texts = ComponentTexts(self, examples, nlp, gold)
        for layer in own_layers(self.model):
            scorer_of(layer).define(texts)
        shapes = [np.zeros((len(doc), len(self.tags)), np.float32) for doc in docs[:10]]
        self.model.initialize(X=docs[:10], Y=shapes)

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Predictions:
        labels = self._label_table.labels
        if any(map(len, docs)):
            potentials = self._possible(self.model.predict(docs))
            potentials = potentials.permitting(self.permitted(docs, preset=preset))
        else:
            trans = np.zeros((len(labels), len(labels)), np.float32)
            potentials = Potentials(trans[:0], Weights(trans), np.zeros(0, np.int32))
        return Predictions(docs, self.name, labels, potentials, decoder=self.decoder)

    def _k_best(self, docs: Doc | Iterable[Doc], k: int) -> Iterator[tuple[WordDocs, KBest]]:
        """The words of each Doc, and their labels. RAISES ValueError [E143, HS027, HS038,
        HS099]."""
        for doc in [docs] if isinstance(docs, Doc) else docs:
            reading = self.read([doc])
            yield reading.docs, k_best(reading.potentials, k)

    def _costs(self) -> Floats32 | None:
        """Costs of wrong labels in learning, [right, wrong] (L, L); None = all the same."""
        return None

    def _possible(self, potentials: Potentials) -> Potentials:
        """Without labellings that cannot be at all, whatever is known of the texts."""
        return potentials

    def _keep(self, docs: Sequence[Doc], reading: Predictions) -> None:
        if self.cfg["save_marginals"]:
            of_docs = reading.by_token(reading.posterior.nodes.astype(np.float32))
            for doc, marginals in zip(docs, of_docs, strict=True):
                write_marginals(doc, self.name, self.tags, marginals)
        self._send_labels(reading)

    # What listens to this component

    @property
    def listeners(self) -> list[MarginalListener]:
        """Layers of later components that listen to this one (spaCy's protocol, as with
        Tok2Vec)."""
        return list(chain.from_iterable(self.listener_map.values()))

    @property
    def listening_components(self) -> list[str]:
        """Their names."""
        return list(self.listener_map)

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

    def resend(self, docs: Sequence[Doc], listener: MarginalListener) -> None:
        """Send the labels of docs that are annotated again, to a listener that spaCy may have
        forgotten. What is set on them constrains nothing, since it is what was found."""
        self.add_listener(listener, listener.reader)
        self._send_labels(self.read(docs, preset=False, labels_alone=self._writes_labels_alone))

    @property
    def _writes_labels_alone(self) -> bool:
        return not self.cfg["save_marginals"] and not self.listeners

    def _send_labels(self, reading: Predictions) -> None:
        """Leave labels beside docs, once for each request of the listeners."""
        for key in {listener.key for listener in self.listeners}:
            entries = reading.posterior.probable(key.threshold)
            labels = upstream_labels(entries, reading.labels, key.threshold)
            write_upstream(reading.docs, key, labels)

    def _send_update(
        self,
        docs: WordDocs,
        potentials: Potentials,
        backprop: Callable[[PotentialsGradient], object],
    ) -> None:
        """An update, to those that listen."""
        learns = any(listener.grad_factor for listener in self.listeners)
        if learns and any(isinstance(node, Tok2VecListener) for node in self.model.walk()):
            # spaCy's Tok2Vec would count the first of two gradients twice
            raise ValueError(Errors.HS104.format(name=self.name))
        potentials = self._possible(potentials).permitting(self.permitted(docs, preset=False))
        upstream = Upstream(docs, potentials, self.tags, backprop)
        for listener in self.listeners:
            listener.received = upstream


def parts_of(docs: Sequence[Doc], most: int) -> list[Sequence[Doc]]:
    """Docs in parts of about so many tokens, in order."""
    before = np.cumsum([0, *map(len, docs[:-1])]) // most
    bounds = [0, *np.flatnonzero(np.diff(before)) + 1, len(docs)]
    return [docs[start:end] for start, end in pairwise(bounds)]


def soft_gold(docs: Sequence[Doc], labels: Sequence[str], gold: Mask) -> Mask | Floats:
    """Probabilities of labels that a teacher has saved on gold Docs (N, L). Of Docs without any, the
    one label that is right, if it is known. RETURNS `gold` if no Doc has any.

    gold (N, L): labels that may be right.
    """
    if not any(values_on(doc, MARGINALS) for doc in docs):
        return gold
    is_decided = gold.sum(axis=1, keepdims=True) == 1
    q = np.where(is_decided, gold, 0.0)
    start = 0
    for doc in docs:
        end = start + len(doc)
        p = _probabilities(doc, labels)
        total = p.sum(axis=1, keepdims=True)
        if total.any():
            q[start:end] = np.divide(p, total, out=p, where=total > 0)
        start = end
    return q


def _probabilities(doc: Doc, labels: Sequence[str]) -> Floats:
    """Saved marginals of these labels (n, L), by the component that has most of them; 0 if none has
    half of them."""
    p = np.zeros((len(doc), len(labels)))
    column = {label: i for i, label in enumerate(labels)}
    most = (len(labels) - 1) // 2
    for values in (values_on(doc, MARGINALS) or {}).values():
        known = [i for i, label in enumerate(values["labels"]) if label in column]
        if len(known) > most:
            most = len(known)
            rows = values["probabilities"]
            if isinstance(doc, Words):
                rows = rows[doc.places]
            # types of entities that were renamed may have become one: their columns are added up
            is_same = np.zeros((rows.shape[1], len(labels)))
            is_same[known, [column[values["labels"][i]] for i in known]] = 1
            p = rows @ is_same
    return p
