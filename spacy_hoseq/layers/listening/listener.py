"""`spacy_hoseq.MarginalListener.v1`: the place in a component's model where the labels of an earlier
tagger come in, with their probabilities.

Linked by spaCy as its Tok2Vec listeners are. In an update the tagger hands over its labels
(`Upstream`) with the way back into its weights. At prediction, and where the tagger is frozen and
annotates, they wait beside the Doc, as long as it lives in this process: a Doc that is saved, or
sent to another process, is as light as without. If the tagger annotated it in another process, or
tokens were merged or split since, it is asked once more.
"""

import weakref
from functools import cached_property
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model

from ...arrays import Ints, distinct
from ...decoders.answers import (
    Posterior,
    ProbabilityGradient,
    ProbableLabels,
    certain_labels,
    check_threshold,
    posterior,
)
from ...decoders.choice import Decoder, decode_exact
from ...decoders.problem import Potentials, PotentialsGradient
from ...errors import Errors
from ...features.keys import Keys, label_names, label_values
from ...features.sequences import WordDocs, by_doc, sequence_lengths
from ...words import original_of

Output = Literal["one_best", "marginals"]
# {component name: {output: {"size": words, "entries": (E,), "pairs": (A,)}}}
OnDoc = Dict[str, Dict[str, Any]]
HANDED: "WeakKeyDictionary[Doc, OnDoc]" = WeakKeyDictionary()
SAVED = (
    "._.",
    "hoseq_upstream",
    None,
    None,
)  # where Docs have it that were saved by earlier versions
ENTRY = np.dtype([("token", "<i4"), ("key", "<u8"), ("probability", "<f4")])
PAIR = np.dtype([("earlier", "<i4"), ("later", "<i4"), ("probability", "<f4")])


class UpstreamLabels(NamedTuple):
    """Labels of a batch of docs. keys (n,): what stands for each label id in feature keys, then the
    places before and after a sequence. threshold (float): the least probability."""

    probable: ProbableLabels
    keys: Keys
    threshold: float

    def best(self, n_words: int) -> Optional[Keys]:
        """What stands in keys for the label of each word (N,); None if one of them has none, or it
        is not certain."""
        probable = self.probable
        each_has_one = len(probable.tokens) == n_words and (np.diff(probable.tokens) == 1).all()
        if not each_has_one or probable.probabilities.min(initial=1.0) < 1:
            return None
        return None if probable.pairs.min(initial=1.0) < 1 else self.keys.take(probable.labels)


class CertainLabels:
    """The same where each word has one label, with probability 1. docs: of the words. values (N,): what
    stands for its label in feature keys."""

    threshold = 0.0

    def __init__(self, docs: Sequence[Doc], values: Keys) -> None:
        self._docs = docs
        self._values = values

    @cached_property
    def keys(self) -> Keys:
        return np.concatenate([distinct(self._values), label_values([])])

    @cached_property
    def probable(self) -> ProbableLabels:
        ids = np.searchsorted(self.keys[: -len(label_values([]))], self._values)
        return certain_labels(ids, sequence_lengths(self._docs))

    def best(self, n_words: int) -> Keys:
        return self._values


Heard = Union[UpstreamLabels, CertainLabels]


class Upstream:
    """One update of a tagger, for its listeners.

    docs: of the batch. potentials: of these docs. labels: the tagger's, by id. decode: how it finds
        its labels.
    backprop: takes the gradient of a loss with respect to the potentials.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        potentials: Potentials,
        labels: Sequence[str],
        decode: Decoder,
        backprop: Callable[[PotentialsGradient], Any],
    ) -> None:
        self.docs = docs
        self._potentials = potentials
        self._decode = decode
        self._backprop = backprop
        self._keys = label_values(labels)

    @cached_property
    def _posterior(self) -> Posterior:
        return posterior(self._potentials)

    def labels(self, output: Output, threshold: float) -> UpstreamLabels:
        """output: the best labels, with probability 1, or all that are probable."""
        lengths = self._potentials.lengths
        if output == "one_best":
            return UpstreamLabels(
                certain_labels(self._decode(self._potentials).labels, lengths), self._keys, 0.0
            )
        return UpstreamLabels(self._posterior.probable(threshold), self._keys, threshold)

    def backprop(self, labels: UpstreamLabels, gradient: ProbabilityGradient) -> None:
        """Back through the marginals into the tagger. gradient: with respect to the probabilities
        of `labels`."""
        probable = labels.probable
        scores = self._potentials.scores
        d_nodes = np.zeros(scores.shape, scores.dtype)
        d_nodes[probable.tokens, probable.labels] = gradient.probabilities
        self._backprop(self._posterior.backprop(d_nodes, probable.arcs, gradient.pairs))


def write_upstream(
    docs: Sequence[Doc],
    name: str,
    output: Output,
    labels: UpstreamLabels,
    sizes: Optional[List[int]] = None,
) -> None:
    """Leave the labels of the component `name` beside its docs. sizes: words of each Doc, which
    alone are counted in what lies there, and when it is read; None = all tokens are words."""
    tokens, _, _, _, later, _ = labels.probable
    n_words = list(map(len, docs)) if sizes is None else sizes
    entries, pairs = _records(labels)
    parts: Iterable[Tuple[NDArray[Any], NDArray[Any]]] = [(entries, pairs)]
    if len(docs) != 1:
        ends = np.cumsum(n_words, dtype=np.intp)
        starts = np.append(0, ends)[:-1]
        entry_ends = np.searchsorted(tokens, ends)
        entry_starts = np.searchsorted(tokens, starts)
        doc_of = np.repeat(np.arange(len(docs)), entry_ends - entry_starts)
        entries["token"] -= starts[doc_of]
        first_entry = entry_starts[doc_of[later]]
        pairs["earlier"] -= first_entry
        pairs["later"] -= first_entry
        pair_ends = np.searchsorted(later, entry_ends)
        pair_starts = np.searchsorted(later, entry_starts)
        parts = zip(
            _split(entries, entry_starts, entry_ends),
            _split(pairs, pair_starts, pair_ends),
            strict=True,
        )
    for doc, size, (entries_here, pairs_here) in zip(docs, n_words, parts, strict=True):
        HANDED.setdefault(doc, {}).setdefault(name, {})[output] = {
            "size": size,
            "entries": entries_here,
            "pairs": pairs_here,
        }


def _records(labels: Heard) -> Tuple[NDArray[Any], NDArray[Any]]:
    """ENTRY and PAIR of all labels."""
    tokens, ids, probabilities, earlier, later, pair_probabilities = labels.probable
    entries = np.empty(len(tokens), ENTRY)
    pairs = np.empty(len(earlier), PAIR)
    entries["token"] = tokens
    entries["key"] = labels.keys.take(ids)
    entries["probability"] = probabilities
    pairs["earlier"] = earlier
    pairs["later"] = later
    pairs["probability"] = pair_probabilities
    return entries, pairs


def write_best(docs: Sequence[Doc], name: str, words: WordDocs, values: Keys) -> None:
    """The same of the best labels, each with probability 1. values (N,): what stands for them in
    keys, of all words."""
    for doc, of_doc in zip(docs, by_doc(values, words), strict=True):
        HANDED.setdefault(doc, {}).setdefault(name, {})["one_best"] = {
            "size": len(of_doc),
            "values": of_doc.copy(),
        }


def _split(records: NDArray[Any], starts: Ints, ends: Ints) -> Iterator[NDArray[Any]]:
    """Copies of some stretches: of their bytes, since a copy of records takes three times as
    long."""
    data = records.tobytes()
    size = records.itemsize
    yield from (
        np.frombuffer(data[start:end], records.dtype)
        for start, end in zip((starts * size).tolist(), (ends * size).tolist(), strict=True)
    )


def read_upstream(docs: Sequence[Doc], name: str, output: Output, threshold: float) -> Heard:
    """What the component `name` has left beside the docs. RAISES ValueError [HS100]: nothing of one
    that has words."""
    known = [handed_over(doc, name, output) for doc in docs]
    for doc, handed in zip(docs, known, strict=True):
        if handed is None and len(doc):
            raise ValueError(
                Errors.HS100.format(name=name, text=repr(doc.text[:40]), output=output)
            )
    values = [handed.get("values") for handed in known if handed is not None]
    if values and all(of_doc is not None for of_doc in values):
        return CertainLabels(docs, values[0] if len(values) == 1 else np.concatenate(values))
    there = [(doc, handed) for doc, handed in zip(docs, known, strict=True) if handed is not None]
    records = [
        _records(CertainLabels([doc], handed["values"]))
        if "values" in handed  # beside Docs that were saved by earlier versions
        else (handed["entries"], handed["pairs"])
        for doc, handed in there
    ]
    entries: List[Any] = [np.empty(0, ENTRY), *(of_doc for of_doc, _ in records)]
    pairs: List[Any] = [np.empty(0, PAIR), *(of_doc for _, of_doc in records)]
    token_shifts = np.cumsum([0, 0, *(len(doc) for doc, _ in there)])[:-1]
    entry_shifts = np.cumsum([0, *map(len, entries)])[:-1]
    entry = np.frombuffer(b"".join(entries), ENTRY)  # quicker than to concatenate records
    pair = np.frombuffer(b"".join(pairs), PAIR)
    keys = np.unique(entry["key"])
    tokens = entry["token"].astype(np.intp) + np.repeat(
        token_shifts, [len(part) for part in entries]
    )
    shift = np.repeat(entry_shifts, [len(part) for part in pairs])
    probable = ProbableLabels(
        tokens,
        np.searchsorted(keys, entry["key"]),  # quicker than to ask `unique` for it
        entry["probability"].astype(np.float64),
        pair["earlier"] + shift,
        pair["later"] + shift,
        pair["probability"].astype(np.float64),
    )
    kept = probable if threshold == 0 else _at_least(probable, threshold)
    return UpstreamLabels(kept, np.concatenate([keys, label_values([])]), threshold)


def handed_over(doc: Doc, name: str, output: Output) -> Any:
    """What lies beside a Doc, None if there is nothing, or it is of other tokens: they were merged
    or split since."""
    original: Any = original_of(doc)
    known = HANDED.get(original) or original.user_data.get(SAVED) or {}
    handed = known.get(name, {}).get(output, {})
    return handed if handed and handed.get("size", len(doc)) == len(doc) else None


def _at_least(probable: ProbableLabels, threshold: float) -> ProbableLabels:
    """Those above a listener's own threshold; another listener may have asked for more."""
    least = float(np.float32(threshold))  # what lies on Docs is in single precision
    entries = probable.probabilities >= least
    pairs = probable.pairs >= least
    if entries.all() and pairs.all():
        return probable
    place = np.cumsum(entries) - 1
    return ProbableLabels(
        probable.tokens[entries],
        probable.labels[entries],
        probable.probabilities[entries],
        place[probable.earlier[pairs]],
        place[probable.later[pairs]],
        probable.pairs[pairs],
    )


Backprop = Callable[[ProbabilityGradient], Any]
LabelsModel = Model[List[Doc], Heard]


class Inbox:
    """Where a batch waits between the updates of two components, who sends it, and the name of who
    reads it. It does not go along to other processes."""

    def __init__(self) -> None:
        self.received: Optional[Upstream] = None
        self.sender: Callable[[], Any] = lambda: None  # it is not linked yet
        self.reader = ""

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

    def link(self, tagger: Any, reader: str) -> None:
        """Listen to this component, whatever it will be called. Its name is saved with the model if
        it is no longer that of the config, which spaCy does not change. reader (str): the name of
        the component that listens."""
        self._inbox.sender = weakref.ref(tagger)
        self._inbox.reader = reader
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
        of_docs = [] if received is None else [*map(original_of, received.docs)]
        return received if [*map(original_of, docs)] == of_docs else None


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


def forward(model: MarginalListener, docs: List[Doc], is_train: bool) -> Tuple[Heard, Backprop]:
    received = model.take(docs) if is_train else None
    if received is None:
        return known_labels(model, docs), no_backprop
    return heard(received, model.output, model.threshold, model.grad_factor)


def known_labels(model: MarginalListener, docs: List[Doc]) -> Heard:
    """What the tagger has left beside docs. Of those that were saved, sent to another process or
    retokenized since, it is asked once more; and if it was linked anew, without this listener:
    while its component was disabled, or in another pipeline. RAISES ValueError [HS100]."""
    asked = model.upstream_name, model.output, model.threshold
    try:
        return read_upstream(docs, *asked)
    except ValueError:
        missing = [
            original_of(doc) for doc in docs if len(doc) and handed_over(doc, *asked[:2]) is None
        ]
        sender = model.sender
        is_lost = sender is not None and model not in sender.listeners
        if not missing or not (is_lost or (sender and all(map(sender.target.is_set, missing)))):
            raise
    sender.hand_again(missing, model, model._inbox.reader)
    return read_upstream(docs, *asked)


def heard(
    upstream: Upstream, output: Output, threshold: float, grad_factor: float
) -> Tuple[Heard, Backprop]:
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

    RAISES ValueError [HS103]: the tagger has a tag dictionary, or candidates as a lemmatizer, or
        for its best labels another decoder, which belong to the component and would be lost.
    """
    if component.limits_words or (
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


def _own_forward(model: LabelsModel, docs: List[Doc], is_train: bool) -> Tuple[Heard, Backprop]:
    potentials, backprop = model.layers[0](docs, is_train)
    upstream = Upstream(docs, potentials, model.attrs["labels"], decode_exact, backprop)
    return heard(upstream, **model.attrs["asked"])
