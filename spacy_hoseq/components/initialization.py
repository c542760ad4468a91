"""What a component finds in the training examples before its weights are set to zero."""

from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from thinc.api import Model

from ..arrays import Ints
from ..decoders.bidirectional.local import contexts_of
from ..features.sequences import sequence_lengths
from .annotation import LabelTable, all_gold_values, known_labels

BATCH = 1000  # docs whose features are counted together


def index_features(model: Model[Any, Any], examples: List[Example], nlp: Optional[Language], component: Any) -> None:
    """Number the features of the examples, in every layer of the model that asks for it.

    A layer that reads annotation is shown the gold annotation, and the predicted docs after the components before this
    one have run on them (which may not be trained yet), since that is what it will see.
    """
    copied = {id(inner) for node in model.walk() if node.name == "own_labels" for inner in node.walk()}
    for node in model.walk():
        if "index_features" not in node.attrs or id(node) in copied:
            continue  # a tagger that has replaced a listener keeps its features
        predicted = [eg.predicted for eg in examples]
        if node.attrs["reads_annotation"]:
            annotated = after_earlier_components(predicted, nlp, component)
            node.attrs["index_features"](node, batches([eg.reference for eg in examples]), batches(annotated))
        else:
            node.attrs["index_features"](node, batches(predicted))


def read_examples(get_examples: Callable[[], Iterable[Example]], method: str) -> List[Example]:
    """All training examples. RAISES as spaCy's `validate_get_examples`, which would read all of them once more."""
    if not callable(get_examples):
        validate_get_examples(get_examples, method)
    found = get_examples()
    examples = list(found or ())
    validate_get_examples(lambda: examples or found, method)
    return examples


def gold_sequences(examples: List[Example], attribute: str, table: LabelTable) -> Iterator[NDArray[np.int32]]:
    """Gold label ids of every sequence as it will be decoded, -1 where the label is not known."""
    for start in range(0, len(examples), BATCH):
        batch = examples[start : start + BATCH]
        masks, _ = table.masks(all_gold_values(batch, attribute))
        ids, lengths = known_labels(masks).astype(np.int32), sequence_lengths([eg.predicted for eg in batch])
        yield from np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []


def context_batches(docs: List[Doc], gold: List[Ints], order: int, n_labels: int) -> Iterator[Tuple[List[Doc], Ints]]:
    """Docs with the gold labels in the slots of their tokens (N, 2k), batch by batch; gold: label ids of each doc."""
    for start in range(0, len(docs), BATCH):
        batch, ids = docs[start : start + BATCH], np.concatenate(gold[start : start + BATCH])
        if len(ids):
            yield batch, contexts_of(ids, sequence_lengths(batch), order, n_labels)


def after_earlier_components(docs: List[Doc], nlp: Optional[Language], component: Any) -> List[Doc]:
    """Copies of the docs, annotated by the components before this one."""
    copies = [doc.copy() for doc in docs]
    for _, pipe in nlp.pipeline if nlp is not None else []:
        if pipe is component:
            break
        copies = list(pipe.pipe(copies)) if hasattr(pipe, "pipe") else [pipe(doc) for doc in copies]
    return copies


def batches(docs: List[Doc]) -> Iterator[List[Doc]]:
    """Docs in batches, in order."""
    for start in range(0, len(docs), BATCH):
        yield docs[start : start + BATCH]
