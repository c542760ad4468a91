"""Components that others listen to: they hand over labels with their probabilities, as spaCy's Tok2Vec hands over
its vectors."""

from itertools import chain
from typing import Any, Callable, Dict, List, Sequence

from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc

from ..decoders.problem import Potentials, PotentialsGradient
from ..errors import Errors
from ..features.sequences import WordDocs
from ..layers.listener import ANY, MarginalListener, Upstream, upstream_labels, write_upstream
from .reading import Reading
from .structured import StructuredComponent
from .training import listeners_in


class ListenedComponent(StructuredComponent):
    """`nlp` links the listeners of later components (`spacy.ty.ListenedToComponent`)."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.listener_map: Dict[str, List[MarginalListener]] = {}

    def __setstate__(self, state: Any) -> None:
        """The listeners of a copy, or in another process, are linked to it."""
        super().__setstate__(state)
        for name, listeners in self.listener_map.items():
            for listener in listeners:
                listener.link(self, name)

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
        """True if labels are limited by more than the model, which a copy of the model would not have."""
        raise NotImplementedError

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
        self._hand_labels(self.read(docs, preset=False, labels_alone=self._writes_labels_alone))

    @property
    def _writes_labels_alone(self) -> bool:
        return not self.cfg["save_marginals"] and not self.listeners

    def _keep(self, docs: Sequence[Doc], reading: Reading) -> None:
        super()._keep(docs, reading)
        self._hand_labels(reading)

    def _hand_labels(self, reading: Reading) -> None:
        """Leave beside docs what listeners ask of their labels: each output once."""
        for asked in {listener.asked for listener in self.listeners}:
            _, threshold = asked
            entries = reading.posterior.probable(threshold)
            labels = upstream_labels(entries, reading.labels, threshold)
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
            potentials = self._possible(potentials).permitting(self.permitted(docs, preset=False))
            upstream = Upstream(docs, potentials, self.tags, backprop)
            for listener in self.listeners:
                listener.receive(upstream)
