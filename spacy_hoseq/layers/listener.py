"""`spacy_hoseq.MarginalListener.v1`: the place in a component's model where the labels of an earlier
tagger come in, with their probabilities.

Linked by spaCy as its Tok2Vec listeners are. In an update the tagger hands over its labels
(`Upstream`) with the way back into its weights. At prediction, and where the tagger is frozen and
annotates, they wait beside the Doc as long as it lives in this process: a Doc that is saved, or
sent to another process, is as light as without. If the tagger annotated it in another process, or
tokens were merged or split since, it is asked once more.
"""

import weakref
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import (
    Any,
    NamedTuple,
)
from weakref import WeakKeyDictionary

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..arrays import Ints
from ..decoders.answers import (
    Posterior,
    ProbabilityGradient,
    ProbableLabels,
    check_threshold,
    posterior,
)
from ..decoders.problem import Potentials, PotentialsGradient
from ..errors import Errors
from ..features.keys import label_names, label_values
from ..words import original_of
from .scorer import Backprop, no_backprop

Asked = tuple[str, float]  # name of the tagger, the least probability
ANY = "*"  # the first `hoseq_tagger` of the pipeline, if one comes before


class UpstreamLabels(NamedTuple):
    """Labels of some docs. probable: where they are and how probable, with what stands for each in
    feature keys (`label_values`) in the place of ids. threshold (float): the least probability."""

    probable: ProbableLabels
    threshold: float


LabelsModel = Model[list[Doc], UpstreamLabels]


NOTHING = ProbableLabels(
    *(np.zeros(0, kind) for kind in (np.intp, np.uint64, float, np.intp, np.intp, float))
)
# beside each Doc, how many words it had, and its labels by who asked; entries and tokens from 0
HANDED: "WeakKeyDictionary[Doc, dict[Asked, tuple[int, ProbableLabels]]]" = WeakKeyDictionary()


def make_marginal_listener(
    upstream: str = "hoseq_tagger",
    grad_factor: float = 1.0,
    threshold: float = 0.01,
) -> "MarginalListener":
    """Registered as `spacy_hoseq.MarginalListener.v1`: labels of a tagger that comes before.

    upstream (str): name of the tagger, or of a chunker (which may listen itself), which must come
        before; "*" = the first tagger, if there is any. Its best labels alone are read by
        templates, as `tag[0]`.
    grad_factor (float): 0 = the tagger learns from its own loss only (Bunescu 2008), 1 = jointly
        (Azuma & Matsumoto 2011).
    threshold (float): probabilities below are dropped; 0 = none.
    RAISES ValueError [HS027]: a factor below 0 or not finite; [HS027]: a threshold outside 0 <=
    threshold < 1.
    """
    check_threshold(threshold)
    if not 0 <= grad_factor < float("inf"):
        raise ValueError(
            Errors.HS027.format(
                name="grad_factor", value=grad_factor, expected="0 or a positive number"
            )
        )
    return MarginalListener(upstream, grad_factor, threshold)


class MarginalListener(Model):
    """upstream_name (str): the tagger. grad_factor (float): of the gradient that goes back into the
    tagger, 0 = none. threshold (float): probabilities below are dropped. reader (str): the
    component that listens."""

    def __init__(
        self,
        upstream_name: str,
        grad_factor: float,
        threshold: float,
        attrs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__("marginal_listener", forward, attrs=attrs or {})
        self._configured = upstream_name
        self.grad_factor = grad_factor
        self.threshold = threshold
        self.reader = ""
        self.received: Upstream | None = None  # a batch, between the updates of two components
        self._sender: Callable[[], Any] | None = None

    def __reduce__(self) -> Any:
        """A copy, or one in another process, is not linked yet."""
        settings = (self._configured, self.grad_factor, self.threshold)
        return MarginalListener, (*settings, dict(self.attrs))

    def _copy(self, seen: Any = None) -> "MarginalListener":
        """thinc's `copy` makes a plain Model of every layer that does not say otherwise."""
        return copy(self)

    @property
    def upstream_name(self) -> str:
        """The tagger's name in the pipeline: that of the config, unless it was renamed
        (`nlp.rename_pipe`) since. "*": it is not linked yet. "": there was none in training."""
        configured, now = self.attrs.get("renamed", (self._configured, self._configured))
        name = now if configured == self._configured else self._configured
        sender = self.sender
        return sender.name if name and sender is not None else name

    @property
    def takes_any(self) -> bool:
        """True if the config names no tagger."""
        return self._configured == ANY

    @property
    def hears_nobody(self) -> bool:
        """True if it may listen to any tagger, and there is none."""
        return self.upstream_name in (ANY, "")

    @property
    def sender(self) -> Any:
        """The component that it is linked to, None if there is none."""
        return None if self._sender is None else self._sender()

    @property
    def asked(self) -> Asked:
        return self.upstream_name, self.threshold

    def link(self, tagger: Any, reader: str) -> None:
        """Listen to this component, whatever it will be called. Its name is saved with the model if
        it is no longer that of the config, which spaCy does not change."""
        self._sender = weakref.ref(tagger)
        self.reader = reader
        self.attrs.pop("renamed", None)
        if tagger.name != self._configured:
            self.attrs["renamed"] = [self._configured, tagger.name]

    def unlink(self, name: str = ANY) -> None:
        """Listen to nobody, where any tagger would do. name: "*" until one comes, "" for good."""
        self._sender = None
        self.attrs["renamed"] = [self._configured, name]

    def take(self, docs: Sequence[Doc]) -> "Upstream | None":
        """The batch that was received, once; None if there is none of these docs: in an earlier
        update the component of this listener may have been left out."""
        received = self.received
        self.received = None
        of_docs = [] if received is None else [*map(original_of, received.docs)]
        return received if [*map(original_of, docs)] == of_docs else None


def forward(
    model: MarginalListener, docs: list[Doc], is_train: bool
) -> tuple[UpstreamLabels, Backprop]:
    """Labels of the batch that was received, or else those that the tagger has left beside docs. Of
    those that were saved, sent to another process or retokenized since, it is asked once more; and
    if it was linked anew, without this listener: while its component was disabled, or in another
    pipeline. RAISES ValueError [HS100]."""
    received = model.take(docs) if is_train else None
    if received is not None:
        return received.heard(model.threshold, model.grad_factor)
    missing = [doc for doc in docs if len(doc) and handed_over(doc, model.asked) is None]
    if missing and not model.hears_nobody:
        annotated = [original_of(doc) for doc in missing]
        sender = model.sender
        is_lost = sender is not None and model not in sender.listeners
        if sender is None or not (is_lost or all(map(sender.target.is_set, annotated))):
            text = repr(missing[0].text[:40])
            raise ValueError(Errors.HS100.format(name=model.upstream_name, text=text))
        sender.hand_again(annotated, model)
    return read_upstream(docs, model.asked), no_backprop


@dataclass
class Upstream:
    """One update of a tagger, for its listeners.

    docs: of the batch. potentials: of these docs. labels: the tagger's, by id.
    backprop: takes the gradient of a loss with respect to the potentials.
    """

    docs: Sequence[Doc]
    potentials: Potentials
    labels: Sequence[str]
    backprop: Callable[[PotentialsGradient], Any]

    @cached_property
    def _posterior(self) -> Posterior:
        return posterior(self.potentials)

    def heard(self, threshold: float, grad_factor: float) -> tuple[UpstreamLabels, Backprop]:
        """Labels, and the way back through the marginals into the tagger: it takes the gradient
        with respect to the probabilities."""
        probable = self._posterior.probable(threshold)

        def backprop(gradient: ProbabilityGradient) -> None:
            d_nodes = np.zeros_like(self.potentials.scores)
            d_nodes[probable.tokens, probable.labels] = grad_factor * gradient.probabilities
            d_pairs = grad_factor * gradient.pairs
            self.backprop(self._posterior.backprop(d_nodes, probable.arcs, d_pairs))

        labels = upstream_labels(probable, self.labels, threshold)
        return labels, backprop if grad_factor else no_backprop


def upstream_labels(
    probable: ProbableLabels, labels: Sequence[str], threshold: float
) -> UpstreamLabels:
    """Labels of a posterior. labels: names, by id."""
    values: Any = label_values(labels).take(probable.labels)
    return UpstreamLabels(probable._replace(labels=values), threshold)


def write_upstream(words: Sequence[Doc], asked: Asked, labels: UpstreamLabels) -> None:
    """Leave labels beside their docs: copies, so that one Doc does not keep a batch. words: the
    docs without white space."""
    sizes = [len(doc) for doc in words]
    starts = np.cumsum([0, *sizes])
    entries = labels.probable.tokens.searchsorted(starts)
    pairs = labels.probable.later.searchsorted(entries)
    columns = _moved(labels.probable, -starts[:-1], -entries[:-1], np.diff(entries), np.diff(pairs))
    bounds = [*[entries.tolist()] * 3, *[pairs.tolist()] * 3]
    parts = [
        [column[a:b].copy() for a, b in pairwise(ends)]
        for column, ends in zip(columns, bounds, strict=True)
    ]
    for doc, *of_doc in zip(words, *parts, strict=True):
        HANDED.setdefault(original_of(doc), {})[asked] = len(doc), ProbableLabels(*of_doc)


def read_upstream(docs: Sequence[Doc], asked: Asked) -> UpstreamLabels:
    """The labels that were left beside docs."""
    parts = [handed_over(doc, asked) or NOTHING for doc in docs]
    together = ProbableLabels(*map(np.concatenate, zip(NOTHING, *parts, strict=True)))
    n_entries = np.array([len(part.tokens) for part in parts], np.intp)
    n_pairs = np.array([len(part.pairs) for part in parts], np.intp)
    starts = np.cumsum([0, *map(len, docs)])[:-1]
    first = np.cumsum(n_entries) - n_entries
    return UpstreamLabels(_moved(together, starts, first, n_entries, n_pairs), asked[1])


def _moved(
    labels: ProbableLabels, tokens: Ints, entries: Ints, n_entries: Ints, n_pairs: Ints
) -> ProbableLabels:
    """With other numbers of tokens and entries: of each Doc (D,) by how much they are larger, and
    how many entries and pairs it has."""
    by = entries.repeat(n_pairs)
    return labels._replace(
        tokens=labels.tokens + tokens.repeat(n_entries),
        earlier=labels.earlier + by,
        later=labels.later + by,
    )


def handed_over(doc: Doc, asked: Asked) -> ProbableLabels | None:
    """Labels beside a Doc, None if there is nothing, or it is of other tokens: they were merged
    or split since."""
    size, labels = HANDED.get(original_of(doc), {}).get(asked, (-1, None))
    return labels if size == len(doc) else None


def own_labels(
    tagger: Model[list[Doc], Any],
    labels: Sequence[str] = (),
    asked: dict[str, Any] | None = None,
) -> LabelsModel:
    """A tagger's model in the place of a listener: a copy that belongs to the component
    (`nlp.replace_listeners`).

    Its labels, and what the listener asked for, are saved with it.
    """
    attrs = {"labels": list(labels), "asked": asked or {}}
    return Model("own_labels", _own_forward, layers=[tagger], attrs=attrs)


def _own_forward(
    model: LabelsModel, docs: list[Doc], is_train: bool
) -> tuple[UpstreamLabels, Backprop]:
    potentials, backprop = model.layers[0](docs, is_train)
    upstream = Upstream(docs, potentials, model.attrs["labels"], backprop)
    return upstream.heard(**model.attrs["asked"])


def replace_listener(
    tagger: Model[list[Doc], Any], listener: MarginalListener, component: Any
) -> LabelsModel:
    """Layer in the place of a listener; called by `nlp.replace_listeners`.

    RAISES ValueError [HS103]: the tagger has a tag dictionary, candidates as a lemmatizer, or tags of
        chunks, which belong to the component and would be lost; or tables of words of its own.
    """
    if component.limits_words or component.has_own_tables:
        raise ValueError(Errors.HS103.format(name=component.name))
    asked = {"threshold": listener.threshold, "grad_factor": listener.grad_factor}
    return own_labels(tagger, component.labels, asked)


def own_layers(model: Model[Any, Any]) -> list[Model[Any, Any]]:
    """All layers of a model, without a tagger that has replaced a listener: that keeps what it has
    learnt."""
    replaced = {
        id(inner) for node in model.walk() if node.name == "own_labels" for inner in node.walk()
    }
    return [node for node in model.walk() if id(node) not in replaced]


def heard_names(source: Model[list[Doc], Any]) -> dict[int, str]:
    """The names of labels that a listener hears, or a tagger in its place finds, by their values in
    keys."""
    sender = source.sender if isinstance(source, MarginalListener) else None
    return label_names(source.attrs.get("labels", []) if sender is None else sender.tags)
