"""Labels on Docs: reading gold ones as masks, writing guessed ones."""

import warnings
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, POS, TAG
from spacy.errors import Errors as SpacyErrors
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..arrays import Floats, Floats32, Ints, Mask
from ..errors import Errors, Warnings
from ..features.sequences import by_doc
from ..layers.listening.upstream import Output, UpstreamLabels

Values = NDArray[np.uint64]  # string-store ids of labels, 0 = not annotated
ATTRIBUTES = {"tag": [TAG], "pos": [POS]}  # those of spaCy that labels are written to; all others are extensions
MARGINALS = "hoseq_marginals"  # Doc extension: {component name: {"labels": [...], "probabilities": (n, L) float32}}
DECISIONS = "hoseq_decisions"  # {component name: {"labels": [...], "order": (n,) int32, "probabilities": (n,) float32}}


class Guesses(NamedTuple):
    """Predictions for docs. labels: (len(doc),) int32 each. marginals: (len(doc), L) float32 each, if asked for.
    handed: what listeners of later components have asked for, of all docs."""

    labels: List[NDArray[np.int32]]
    marginals: Optional[List[Floats32]]
    handed: List[Tuple[Output, UpstreamLabels]]


class ScoredLabels(NamedTuple):
    """One of the best label sequences of a Doc. score: the decoder's objective, in score units."""

    labels: List[str]
    score: float


def scored_labels(labels: NDArray[np.int32], scores: Floats, names: Sequence[str]) -> List[ScoredLabels]:
    """labels (k, n): ids, best first. scores (k,). names: of the labels, by id."""
    rows = [[names[y] for y in row] for row in labels.tolist()]
    return [ScoredLabels(row, score) for row, score in zip(rows, scores.tolist(), strict=True)]


def check_attribute(attribute: str) -> None:
    """RAISES ValueError [HS062]: a token attribute that cannot be labelled."""
    if attribute not in ATTRIBUTES and not (attribute.startswith("_.") and attribute[2:].isidentifier()):
        raise ValueError(Errors.HS062.format(attribute=attribute))
    _register(attribute)


def check_label(label: Any, attribute: str) -> None:
    """RAISES ValueError [E187]: no string; [HS065]: spaCy's parts of speech are a closed list."""
    if not isinstance(label, str):
        raise ValueError(SpacyErrors.E187)
    if attribute == "pos" and label not in PARTS_OF_SPEECH:
        raise ValueError(Errors.HS065.format(label=label, known=", ".join(filter(None, PARTS_OF_SPEECH))))


def labels_problem(labels: Any, tag_dictionary: Any) -> str:
    """What is wrong with labels and dictionary read from a file; "" if nothing."""
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        return f"labels must be a list of strings, got {labels!r}"
    if len(set(labels)) < len(labels):
        return f"a label is given twice in {labels}"
    entries = tag_dictionary.items() if isinstance(tag_dictionary, dict) else [(None, None)]
    if not all(isinstance(w, str) and isinstance(tags, list) and set(tags) & set(labels) for w, tags in entries):
        return "the tag dictionary must give a list of known labels for each word"
    return ""


def has_values(doc: Doc, attribute: str) -> bool:
    """Whether any token may have a label: a look at the Doc that costs less than reading its labels."""
    return attribute not in ATTRIBUTES or bool(doc.has_annotation(ATTRIBUTES[attribute][0]))


def read_values(doc: Doc, attribute: str) -> Values:
    """Annotated labels of a Doc as string-store ids. RETURNS (len(doc),) uint64."""
    if attribute in ATTRIBUTES:
        return np.asarray(doc.to_array(ATTRIBUTES[attribute]), np.uint64)
    _register(attribute)
    texts = [getattr(token._, attribute[2:]) or "" for token in doc]
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(Errors.HS066.format(attribute=attribute, value=repr(text), type=type(text).__name__))
    return np.array([doc.vocab.strings.add(text) if text else 0 for text in texts], np.uint64)


def write_values(doc: Doc, attribute: str, values: Values) -> None:
    if attribute in ATTRIBUTES:
        doc.from_array(ATTRIBUTES[attribute], values[:, None])  # type: ignore[arg-type]
        return
    _register(attribute)
    for token, value in zip(doc, values.tolist(), strict=True):
        setattr(token._, attribute[2:], doc.vocab.strings[value] if value else "")


def write_labels(
    docs: Sequence[Doc], attribute: str, labels: Sequence[NDArray[np.int32]], ids: Values, *, overwrite: bool
) -> None:
    """Write the labels of each Doc; those that are set already stay, unless `overwrite`. ids: of the labels (L,)."""
    values = by_doc(ids[np.concatenate([np.zeros(0, np.int32), *labels])], docs)
    for doc, found in zip(docs, values, strict=True):
        if not overwrite and has_values(doc, attribute):
            preset = read_values(doc, attribute)
            found = np.where(preset != 0, preset, found)
        write_values(doc, attribute, found)


def write_marginals(doc: Doc, name: str, labels: Sequence[str], probabilities: Floats32) -> None:
    """Keep the marginals of the component `name` on the Doc, beside those of others."""
    _keep(doc, MARGINALS, name, {"labels": list(labels), "probabilities": probabilities})


def write_decisions(doc: Doc, name: str, labels: List[str], order: NDArray[np.int32], probabilities: Floats32) -> None:
    """Keep on the Doc the label of each token, when it was decided (1 = first of its sentence), and how probable it was
    then."""
    _keep(doc, DECISIONS, name, {"labels": labels, "order": order, "probabilities": probabilities})


def _keep(doc: Doc, extension: str, name: str, found: Dict[str, Any]) -> None:
    if not Doc.has_extension(extension):
        Doc.set_extension(extension, default=None)
    doc._.set(extension, {**(doc._.get(extension) or {}), name: found})


def _register(attribute: str) -> None:
    """Extensions belong to the process, not to the component: one that was unpickled must register its own."""
    if attribute.startswith("_.") and not Token.has_extension(attribute[2:]):
        Token.set_extension(attribute[2:], default="")


def gold_values(example: Example, attribute: str) -> Values:
    """Gold labels for the tokens of `example.predicted`; 0 where missing or where tokens do not align to one label."""
    predicted, reference = example.predicted, example.reference
    gold = read_values(reference, attribute)
    if len(predicted) == len(reference) and np.array_equal(predicted.to_array("ORTH"), reference.to_array("ORTH")):
        return gold
    alignment = example.alignment.x2y
    values = np.zeros(len(predicted), np.uint64)
    for i in range(len(predicted)):
        aligned = gold[np.asarray(alignment[i], np.intp).reshape(-1)]
        if len(aligned) and (aligned == aligned[0]).all():
            values[i] = aligned[0]
    return values


def all_gold_values(examples: Sequence[Example], attribute: str) -> Values:
    """`gold_values` of all examples, end to end: at once where predicted and gold tokens are the same."""
    if attribute in ATTRIBUTES and all(len(eg.predicted) == len(eg.reference) for eg in examples):
        names = [ORTH, *ATTRIBUTES[attribute]]
        gold = np.concatenate([eg.reference.to_array(names) for eg in examples])
        orths = np.concatenate([eg.predicted.to_array(ORTH) for eg in examples])
        if np.array_equal(gold[:, 0], orths):
            return gold[:, 1]
    return np.concatenate([gold_values(eg, attribute) for eg in examples])


class LabelTable:
    """From string-store ids to labels and to masks of permitted labels.

    labels: all labels, by id. neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such
    prefix.
    """

    def __init__(self, labels: Sequence[str], strings: StringStore, neg_prefix: str) -> None:
        n = len(labels)
        self.ids = np.array([strings.add(label) for label in labels], np.uint64)
        names, masks = list(self.ids), [np.eye(n, dtype=bool)]
        if neg_prefix:
            names += [strings.as_int(f"{neg_prefix}{label}") for label in labels]
            masks.append(~np.eye(n, dtype=bool))
        everything = np.ones((1, n), bool)
        order = np.argsort(np.array(names, np.uint64), kind="stable")
        self._names = np.array(names, np.uint64)[order]
        self._masks = np.concatenate([np.concatenate(masks)[order], everything])  # last row: no annotation

    def masks(self, values: Values) -> "tuple[Mask, Mask]":
        """RETURNS permitted labels (N, L) bool, and where an annotation names no known label (N,) bool."""
        at = np.minimum(np.searchsorted(self._names, values), len(self._names) - 1)
        known = self._names[at] == values
        return self._masks[np.where(known, at, len(self._names))], ~known & (values != 0)


def gold_mask(examples: Sequence[Example], attribute: str, table: LabelTable) -> Mask:
    """Permitted labels at every token of the predicted docs, end to end. RETURNS (N, L) bool; all True = not annotated.

    Labels that the component does not know count as missing. WARNS [HW001] of them.
    """
    return permitted_labels(all_gold_values(examples, attribute), examples, table)


def permitted_labels(values: Values, examples: Sequence[Example], table: LabelTable) -> Mask:
    """The labels that gold values permit, as `gold_mask` has them. values (N,): of these examples. RETURNS (N, L) bool.
    WARNS [HW001]."""
    masks, unknown = table.masks(values)
    if unknown.any():
        names = sorted({_name_of(value, examples) for value in set(values[unknown].tolist())})
        warnings.warn(Warnings.HW001.format(labels=", ".join(names), n=int(unknown.sum())), stacklevel=2)
    return masks


def _name_of(value: int, examples: Sequence[Example]) -> str:
    """The string of an id, which is that of some Doc's vocabulary: they may have several."""
    stores = (doc.vocab.strings for eg in examples for doc in (eg.reference, eg.predicted))
    return next((store[value] for store in stores if value in store), str(value))  # type: ignore[operator]


def known_labels(masks: Mask) -> Ints:
    """Label ids where the gold annotation permits one label only, -1 elsewhere. masks (N, L). RETURNS (N,)."""
    return np.where(masks.sum(axis=1) == 1, masks.argmax(axis=1), -1)


def label_names(examples: Sequence[Example], attribute: str, neg_prefix: str) -> List[str]:
    """All labels in the gold annotation, sorted."""
    values = [read_values(eg.reference, attribute) for eg in examples]
    return names_in([(np.unique(np.concatenate(values)), examples[0].reference)] if values else [], neg_prefix)


def names_in(annotated: Iterable[Tuple[Values, Doc]], neg_prefix: str) -> List[str]:
    """All labels among values and their Docs, sorted."""
    names: Set[str] = set()
    for values, doc in annotated:
        for value in set(values.tolist()):
            name = doc.vocab.strings[value] if value else ""
            names.add(name[len(neg_prefix) :] if neg_prefix and name.startswith(neg_prefix) else name)
    return sorted(names - {""})
