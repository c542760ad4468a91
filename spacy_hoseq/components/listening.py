"""Components that listen to a tagger, and what they hear of it when it predicts."""

import warnings
from itertools import takewhile
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..arrays import Labels
from ..decoders.answers import certain_labels
from ..errors import Errors, Warnings
from ..features.keys import label_values
from ..features.sequences import sequence_lengths
from ..layers.listener import MarginalListener, UpstreamLabels, probable_values
from .initialization import after_earlier_components, batches


def listeners_in(component: object) -> List[MarginalListener]:
    """The listeners in the model of any component."""
    model = getattr(component, "model", None)
    return (
        [node for node in model.walk() if isinstance(node, MarginalListener)]
        if isinstance(model, Model)
        else []
    )


class ComponentTexts:
    """The examples of a component, as its layers ask for them (`layers.scorer.TrainingTexts`).
    gold: label ids of each sequence."""

    def __init__(
        self,
        component: Any,
        examples: Sequence[Example],
        nlp: Optional[Language],
        gold: Sequence[Labels],
    ) -> None:
        self.labels: Sequence[str] = component.tags
        self.gold = gold
        self._component = component
        self._examples = examples
        self._nlp = nlp

    def docs(self) -> Iterator[List[Doc]]:
        return batches([eg.predicted for eg in self._examples])

    def annotated(self) -> List[Iterator[List[Doc]]]:
        """Earlier components may not be trained yet."""
        predicted = [eg.predicted for eg in self._examples]
        copies = after_earlier_components(predicted, self._nlp, self._component)
        return [batches([eg.reference for eg in self._examples]), batches(copies)]

    def heard(self, source: Model[List[Doc], Any]) -> Iterator[Tuple[List[Doc], UpstreamLabels]]:
        """The gold labels of an earlier component, or if there are none, those that it finds.
        RAISES ValueError
        [HS102]: it is missing, comes later, or cannot be listened to."""
        if not isinstance(source, MarginalListener):
            return ((batch, source.predict(batch)) for batch in self.docs())
        tagger = upstream_of(self._component, source.upstream_name, self._nlp)
        if source.output == "marginals" and source.threshold and not tagger.is_calibrated:
            reader = (
                f'"{self._component.name}", which listens with the threshold {source.threshold}'
            )
            warn_uncalibrated(tagger, reader)
        return _labelled(tagger, source, self._examples, self._nlp)


def upstream_of(component: Any, name: str, nlp: Optional[Language]) -> Any:
    """The component of this name before another. RAISES ValueError [HS102]."""
    # frozen ones are disabled while spaCy initializes
    pipes = () if nlp is None else nlp.components
    earlier = dict(takewhile(lambda named: named[1] is not component, pipes))
    tagger = earlier.get(name)
    if not hasattr(tagger, "hand_again"):
        there = ", ".join(earlier) or "none"
        raise ValueError(Errors.HS102.format(name=component.name, upstream=name, there=there))
    return tagger


def warn_uncalibrated(component: Any, reader: str) -> None:
    """WARNS [HW003]. reader: who asks for the probabilities."""
    warning = Warnings.HW003.format(
        name=component.name, objective=component.objective_name, reader=reader
    )
    warnings.warn(warning, stacklevel=2)


def _labelled(
    tagger: Any, listener: MarginalListener, examples: Sequence[Example], nlp: Optional[Language]
) -> Iterator[Tuple[List[Doc], UpstreamLabels]]:
    docs = [eg.predicted for eg in examples]
    gold = tagger.gold_ids(examples)
    if (gold >= 0).any():
        values = label_values(tagger.labels)
        start = 0
        for batch in batches(docs):
            ids = gold[start : start + sum(map(len, batch))]
            start += len(ids)
            known = certain_labels(ids, sequence_lengths(batch))
            yield batch, probable_values(known, values, 0.0)
        return
    for batch in batches(list(tagger.pipe(after_earlier_components(docs, nlp, tagger)))):
        yield batch, listener.predict(batch)


def check_tok2vec(model: Model[Any, Any], listeners: Sequence[MarginalListener], name: str) -> None:
    """RAISES ValueError [HS104]: the tagger would go back twice into a network that it shares with
    others, and spaCy's Tok2Vec then counts the first gradient twice."""
    learns = any(listener.output == "marginals" and listener.grad_factor for listener in listeners)
    if learns and any(isinstance(node, Tok2VecListener) for node in model.walk()):
        raise ValueError(Errors.HS104.format(name=name))
