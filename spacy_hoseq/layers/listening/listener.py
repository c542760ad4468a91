"""`spacy_hoseq.MarginalListener.v1`: the place in a component's model where an earlier tagger's
labels come in.

Linked by spaCy as its Tok2Vec listeners are. In an update the tagger hands over its labels with a
way back; at prediction, and where the tagger is frozen and annotates, the listener reads what the
tagger has left beside the docs. If it annotated them in another process, it is asked once more.
"""

import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from spacy.tokens import Doc
from thinc.api import Model

from ...decoders.answers import ProbabilityGradient, check_threshold
from ...decoders.exact import decode_exact
from ...errors import Errors
from ...features.label_templates import label_names
from ...words import original_of
from .upstream import Output, Upstream, UpstreamLabels, handed_over, read_upstream

Backprop = Callable[[ProbabilityGradient], Any]
LabelsModel = Model[List[Doc], UpstreamLabels]


def no_sender() -> None:
    """Of a listener that is not linked yet."""


class Inbox:
    """Where a batch waits between the updates of two components, and who sends it. It does not go
    along to other processes."""

    def __init__(self) -> None:
        self.received: Optional[Upstream] = None
        self.sender: Callable[[], Any] = no_sender

    def __reduce__(self) -> Any:
        return Inbox, ()


class MarginalListener(Model):
    """upstream_name (str): the tagger. output: its best labels, or their probabilities. grad_factor
    (float): of the gradient that goes back into the tagger, 0 = none. threshold (float):
    probabilities below are dropped."""

    def __init__(
        self, upstream_name: str, output: Output, grad_factor: float, threshold: float
    ) -> None:
        Model.__init__(self, name="marginal_listener", forward=forward)
        self._configured = upstream_name
        self.output = output
        self.grad_factor = grad_factor
        self.threshold = threshold
        self._inbox = Inbox()

    def _copy(self, seen: Any = None) -> "MarginalListener":
        """What thinc's `copy` calls, which otherwise makes a plain Model of every layer."""
        copied = MarginalListener(self._configured, self.output, self.grad_factor, self.threshold)
        copied.attrs.update(self.attrs)
        return copied

    @property
    def upstream_name(self) -> str:
        """The tagger's name in the pipeline: that of the config, unless it was renamed
        (`nlp.rename_pipe`) since."""
        sender = self.sender
        if sender is not None:
            return sender.name
        configured, now = self.attrs.get("renamed", (self._configured, self._configured))
        return now if configured == self._configured else self._configured

    @property
    def sender(self) -> Any:
        """The component that it is linked to, None if there is none."""
        return self._inbox.sender()

    def link(self, tagger: Any) -> None:
        """Listen to this component, whatever it will be called. Its name is saved with the model if
        it is no longer that of the config, which spaCy does not change."""
        self._inbox.sender = weakref.ref(tagger)
        if tagger.name != self._configured:
            self.attrs["renamed"] = [self._configured, tagger.name]
        else:
            self.attrs.pop("renamed", None)

    def receive(self, upstream: Upstream) -> None:
        """Keep a batch until the component's own update."""
        self._inbox.received = upstream

    def take(self, docs: List[Doc]) -> Optional[Upstream]:
        """The batch that was received, once; None if there is none of these docs: in an earlier
        update the component of this listener may have been left out."""
        received = self._inbox.received
        self._inbox.received = None
        if received is None or len(docs) != len(received.docs):
            return None
        same = all(
            original_of(a) is original_of(b) for a, b in zip(docs, received.docs, strict=True)
        )
        return received if same else None


def make_marginal_listener(
    upstream: str = "hoseq_tagger",
    output: Output = "marginals",
    grad_factor: float = 1.0,
    threshold: float = 0.01,
) -> MarginalListener:
    """Registered as `spacy_hoseq.MarginalListener.v1`: labels of a tagger that comes before.

    upstream (str): name of the tagger, which must come before. output: "one_best" or "marginals".
    grad_factor (float): 0 = the tagger learns from its own loss only (Bunescu 2008), 1 = jointly
        (Azuma & Matsumoto 2011); not used with "one_best", which has no gradient.
    threshold (float): probabilities below are dropped; 0 = none.
    RAISES ValueError [HS101]: a factor below 0 or not finite; [HS027]: a threshold outside 0 <=
    threshold < 1.
    """
    check_threshold(threshold)
    if not 0 <= grad_factor < float("inf"):
        raise ValueError(Errors.HS101.format(grad_factor=grad_factor))
    return MarginalListener(upstream, output, grad_factor, threshold)


def forward(
    model: MarginalListener, docs: List[Doc], is_train: bool
) -> Tuple[UpstreamLabels, Backprop]:
    received = model.take(docs) if is_train else None
    if received is None:
        return known_labels(model, docs), no_backprop
    return heard(received, model.output, model.threshold, model.grad_factor)


def known_labels(model: MarginalListener, docs: List[Doc]) -> UpstreamLabels:
    """What the tagger has left beside docs. Of those that were saved or sent to another process
    since, it is asked once more. RAISES ValueError [HS100]."""
    asked = model.upstream_name, model.output, model.threshold
    try:
        return read_upstream(docs, *asked)
    except ValueError:
        missing = [
            original_of(doc) for doc in docs if len(doc) and handed_over(doc, *asked[:2]) is None
        ]
        if not missing or model.sender is None or not all(map(model.sender.target.is_set, missing)):
            raise
    model.sender.hand_again(missing)
    return read_upstream(docs, *asked)


def heard(
    upstream: Upstream, output: Output, threshold: float, grad_factor: float
) -> Tuple[UpstreamLabels, Backprop]:
    """The labels of an update, and the way back."""
    labels = upstream.labels(output, threshold)
    if output == "one_best" or not grad_factor:
        return labels, no_backprop

    def backprop(gradient: ProbabilityGradient) -> List[Doc]:
        upstream.backprop(labels, ProbabilityGradient(*(grad_factor * part for part in gradient)))
        return []

    return labels, backprop


def no_backprop(gradient: ProbabilityGradient) -> List[Doc]:
    return []


def own_labels(tagger: Model[List[Doc], Any]) -> LabelsModel:
    """A tagger's model in the place of a listener: a copy that belongs to the component
    (`nlp.replace_listeners`).

    Its labels, and what the listener asked for, are saved with it.
    """
    return Model("own_labels", _own_forward, layers=[tagger], attrs={"labels": [], "asked": {}})


def own_layers(model: Model[Any, Any]) -> List[Model[Any, Any]]:
    """All layers of a model, without a tagger that has replaced a listener: that keeps what it has
    learnt."""
    replaced = {
        id(inner) for node in model.walk() if node.name == "own_labels" for inner in node.walk()
    }
    return [node for node in model.walk() if id(node) not in replaced]


def heard_names(source: Model[List[Doc], Any]) -> Dict[int, str]:
    """What the keys of labels stand for that a listener hears, or a tagger in its place finds."""
    sender = source.sender if isinstance(source, MarginalListener) else None
    labels = source.attrs.get("labels", []) if sender is None else sender.tags
    return label_names(labels)


def replace_listener(
    tagger: Model[List[Doc], Any], listener: MarginalListener, component: Any
) -> LabelsModel:
    """What spaCy puts in the place of a listener; called by `nlp.replace_listeners`.

    RAISES ValueError [HS103]: the tagger has a tag dictionary, or for its best labels another
        decoder, which belong to the component and would be lost.
    """
    if component.cfg["tag_dictionary"] or (
        listener.output == "one_best" and component.decoder is not decode_exact
    ):
        raise ValueError(Errors.HS103.format(name=component.name))
    model = own_labels(tagger)
    model.attrs["labels"] = list(component.labels)
    model.attrs["asked"] = {
        "output": listener.output,
        "threshold": listener.threshold,
        "grad_factor": listener.grad_factor,
    }
    return model


def _own_forward(
    model: LabelsModel, docs: List[Doc], is_train: bool
) -> Tuple[UpstreamLabels, Backprop]:
    potentials, backprop = model.layers[0](docs, is_train)
    upstream = Upstream(docs, potentials, model.attrs["labels"], decode_exact, backprop)
    return heard(upstream, **model.attrs["asked"])
