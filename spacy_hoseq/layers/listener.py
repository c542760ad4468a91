"""`spacy_hoseq.MarginalListener.v1`: the layer that reads the labels of an earlier tagger, with their
probabilities.

spaCy links it to the tagger as it links its Tok2Vec listeners. In an update the tagger sends its
labels (`Upstream`), and gradients go back through them into its weights. At prediction, and where
the tagger is frozen and annotates, the labels are beside the Doc (`upstream.py`). If they are not,
because the tagger annotated the Doc in another process, or tokens were merged or split since, the
tagger is asked to send them again.
"""

import weakref
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..caches import cached_property
from ..decoders.answers import Posterior, ProbabilityGradient, check_threshold, posterior
from ..decoders.problem import Potentials, PotentialsGradient
from ..errors import Errors, wrong_value
from ..features.keys import label_names
from ..words import original_of
from .scorer import Backprop, no_backprop
from .upstream import UpstreamKey, UpstreamLabels, labels_beside, read_upstream, upstream_labels

ANY = "*"  # the first `hoseq_tagger` of the pipeline, if one comes before
LabelsModel = Model[list[Doc], UpstreamLabels]


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
        raise wrong_value("grad_factor", grad_factor, "0 or a positive number")
    return MarginalListener(upstream, grad_factor, threshold)


class MarginalListener(Model):
    """The layer. upstream_name, grad_factor, threshold: as in `make_marginal_listener`. reader (str):
    the component that listens. received: the update of the tagger, until the reader's own."""

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
        self.received: Upstream | None = None
        self._sender: Callable[[], Any] | None = None

    def __reduce__(self) -> Any:
        """A copy, or one in another process, is not linked yet."""
        settings = (self._configured, self.grad_factor, self.threshold)
        return MarginalListener, (*settings, dict(self.attrs))

    def _copy(self, seen: Any = None) -> "MarginalListener":
        # thinc would make a plain Model of it
        return copy(self)

    @property
    def upstream_name(self) -> str:
        """The tagger's name in the pipeline: that of the config, unless it was renamed
        (`nlp.rename_pipe`) since. "*": it is not linked yet. "": there was none in training."""
        name = self._configured
        configured, renamed = self.attrs.get("renamed", (name, name))
        if configured == name:  # else it was saved for another config
            name = renamed
        if name and self.sender is not None:
            return self.sender.name
        return name

    @property
    def takes_any(self) -> bool:
        """True if the config names no tagger."""
        return self._configured == ANY

    @property
    def is_unlinked(self) -> bool:
        """True if it may listen to any tagger, and there is none."""
        return self.upstream_name in (ANY, "")

    @property
    def sender(self) -> Any:
        """The component that it is linked to, None if there is none."""
        return None if self._sender is None else self._sender()

    @property
    def key(self) -> UpstreamKey:
        """What it requests of the labels beside a Doc."""
        return UpstreamKey(self.upstream_name, self.threshold)

    def link(self, tagger: Any, reader: str) -> None:
        """Listen to this component, whatever it will be called."""
        # a weak reference, because the component has a list of its listeners
        self._sender = weakref.ref(tagger)
        self.reader = reader
        # spaCy does not change the name in the config, so a new one is saved with the model
        self.attrs.pop("renamed", None)
        if tagger.name != self._configured:
            self.attrs["renamed"] = [self._configured, tagger.name]

    def unlink(self, name: str = ANY) -> None:
        """Listen to nobody, where any tagger would do. name: "*" until one comes, "" for good."""
        self._sender = None
        self.attrs["renamed"] = [self._configured, name]

    def take(self, docs: Sequence[Doc]) -> "Upstream | None":
        """The batch that was received, once. None: there is none, or it is of other docs, because
        the component of this listener was left out of the last update."""
        received = self.received
        self.received = None
        if received is None:
            return None
        is_same_batch = [*map(original_of, docs)] == [*map(original_of, received.docs)]
        return received if is_same_batch else None


def forward(
    model: MarginalListener, docs: list[Doc], is_train: bool
) -> tuple[UpstreamLabels, Backprop]:
    """Labels of the batch that was received, or else those beside docs, which the tagger sends again
    if there are none. RAISES ValueError [HS100]: it has not annotated them."""
    received = model.take(docs) if is_train else None
    if received is not None:
        return received.listen(model.threshold, model.grad_factor)
    missing = [doc for doc in docs if len(doc) and labels_beside(doc, model.key) is None]
    if missing and not model.is_unlinked:
        _request(model, missing)
    return read_upstream(docs, model.key), no_backprop


def _request(listener: MarginalListener, docs: list[Doc]) -> None:
    """Have the tagger send the labels of docs again. RAISES ValueError [HS100]."""
    annotated = [original_of(doc) for doc in docs]
    sender = listener.sender
    if sender is not None:
        # The docs were saved, sent to another process or retokenized since they were annotated; or
        # the tagger was linked anew while this component was disabled, and did not know of it.
        if listener not in sender.listeners or all(map(sender.target.is_set, annotated)):
            sender.resend(annotated, listener)
            return
    text = repr(docs[0].text[:40])
    raise ValueError(Errors.HS100.format(name=listener.upstream_name, text=text))


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

    def listen(self, threshold: float, grad_factor: float) -> tuple[UpstreamLabels, Backprop]:
        """Labels, and the way back through the marginals into the tagger: it takes the gradient
        with respect to the probabilities."""
        probable = self._posterior.probable(threshold)

        def backprop(gradient: ProbabilityGradient) -> None:
            d_nodes = np.zeros_like(self.potentials.scores)  # of the marginals (N, L)
            d_nodes[probable.tokens, probable.labels] = grad_factor * gradient.probabilities
            d_pairs = grad_factor * gradient.pairs
            self.backprop(self._posterior.backprop(d_nodes, probable.arcs, d_pairs))

        labels = upstream_labels(probable, self.labels, threshold)
        return labels, backprop if grad_factor else no_backprop


def own_labels(
    tagger: Model[list[Doc], Any],
    labels: Sequence[str] = (),
    requested: dict[str, Any] | None = None,
) -> LabelsModel:
    """A copy of a tagger's model in the place of a listener, which belongs to the component
    (`nlp.replace_listeners`). Saved with it: labels, names by id; and requested, the listener's
    "threshold" and "grad_factor"."""
    # these names, and that of the layer, are those in saved models
    attrs = {"labels": list(labels), "asked": requested or {}}
    return Model("own_labels", _own_forward, layers=[tagger], attrs=attrs)


def _own_forward(
    model: LabelsModel, docs: list[Doc], is_train: bool
) -> tuple[UpstreamLabels, Backprop]:
    potentials, backprop = model.layers[0](docs, is_train)
    upstream = Upstream(docs, potentials, model.attrs["labels"], backprop)
    return upstream.listen(**model.attrs["asked"])


def replace_listener(
    tagger: Model[list[Doc], Any], listener: MarginalListener, component: Any
) -> LabelsModel:
    """The layer that takes the place of a listener; called by `nlp.replace_listeners`.

    RAISES ValueError [HS103]: the tagger has a tag dictionary, candidates as a lemmatizer, or tags of
        chunks, which belong to the component and would be lost; or tables of words of its own.
    """
    if component.limits_words or component.has_own_tables:
        raise ValueError(Errors.HS103.format(name=component.name))
    requested = {"threshold": listener.threshold, "grad_factor": listener.grad_factor}
    return own_labels(tagger, component.labels, requested)


def own_layers(model: Model[Any, Any]) -> list[Model[Any, Any]]:
    """All layers of a model, less those of a tagger that has replaced a listener: it keeps its
    weights."""
    replaced: set[int] = set()
    for node in model.walk():
        if node.name == "own_labels":
            replaced.update(id(inner) for inner in node.walk())
    return [node for node in model.walk() if id(node) not in replaced]


def upstream_names(source: Model[list[Doc], Any]) -> dict[int, str]:
    """Names of the labels that a listener, or a tagger in its place, gives: by their values in
    feature keys."""
    if isinstance(source, MarginalListener) and source.sender is not None:
        return label_names(source.sender.tags)
    return label_names(source.attrs.get("labels", []))
