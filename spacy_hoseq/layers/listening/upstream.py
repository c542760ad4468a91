"""What a tagger hands to the components that listen to it: its labels with their probabilities.

In training they come with the way back into the tagger's weights; at prediction they wait beside
the Doc, as long as it lives in this process. They are no part of it: a Doc that is saved, or sent
to another process, is as light as without.
"""

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
)
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...arrays import Ints
from ...decoders.answers import (
    Answers,
    ProbabilityGradient,
    ProbableLabels,
    answers_of,
    certain_labels,
)
from ...decoders.choice import Decoder
from ...decoders.problem import Potentials, PotentialsGradient
from ...errors import Errors
from ...features.keys import Keys
from ...features.label_templates import label_values
from ...words import original_of

Output = Literal["one_best", "marginals"]
OnDoc = Dict[str, Dict[str, Any]]  # {component name: {output: {"entries": (E,), "pairs": (A,)}}}
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
    def _answers(self) -> Answers:
        return answers_of(self._potentials)

    def labels(self, output: Output, threshold: float) -> UpstreamLabels:
        """output: the best labels, with probability 1, or all that are probable."""
        lengths = self._potentials.lengths
        if output == "one_best":
            return UpstreamLabels(
                certain_labels(self._decode(self._potentials).labels, lengths), self._keys, 0.0
            )
        return UpstreamLabels(self._answers.probable(threshold), self._keys, threshold)

    def backprop(self, labels: UpstreamLabels, gradient: ProbabilityGradient) -> None:
        """Back through the marginals into the tagger. gradient: with respect to the probabilities
        of `labels`."""
        probable = labels.probable
        scores = self._potentials.scores
        d_nodes = np.zeros(scores.shape, scores.dtype)
        d_nodes[probable.tokens, probable.labels] = gradient.probabilities
        self._backprop(self._answers.backprop(d_nodes, probable.arcs, gradient.pairs))


def write_upstream(
    docs: Sequence[Doc],
    name: str,
    output: Output,
    labels: UpstreamLabels,
    sizes: Optional[Ints] = None,
) -> None:
    """Leave the labels of the component `name` beside its docs. sizes: words of each Doc, which
    alone are counted in what lies there, and when it is read; None = all tokens are words."""
    tokens, ids, probabilities, earlier, later, pair_probabilities = labels.probable
    entries = np.empty(len(tokens), ENTRY)
    pairs = np.empty(len(earlier), PAIR)
    entries["token"] = tokens
    entries["key"] = labels.keys.take(ids)
    entries["probability"] = probabilities
    pairs["earlier"] = earlier
    pairs["later"] = later
    pairs["probability"] = pair_probabilities
    parts: Iterable[Tuple[NDArray[Any], NDArray[Any]]] = [(entries, pairs)]
    if len(docs) != 1:
        ends = np.cumsum([len(doc) for doc in docs] if sizes is None else sizes, dtype=np.intp)
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
    for doc, (entries_here, pairs_here) in zip(docs, parts, strict=True):
        HANDED.setdefault(doc, {}).setdefault(name, {})[output] = {
            "entries": entries_here,
            "pairs": pairs_here,
        }


def _split(records: NDArray[Any], starts: Ints, ends: Ints) -> Iterator[NDArray[Any]]:
    """Copies of some stretches: of their bytes, since a copy of records takes three times as
    long."""
    data = records.tobytes()
    size = records.itemsize
    for start, end in zip((starts * size).tolist(), (ends * size).tolist(), strict=True):
        yield np.frombuffer(data[start:end], records.dtype)


def read_upstream(
    docs: Sequence[Doc], name: str, output: Output, threshold: float
) -> UpstreamLabels:
    """What the component `name` has left beside the docs. RAISES ValueError [HS100]: nothing of one
    that has words."""
    entries: List[Any] = [np.empty(0, ENTRY)]
    pairs: List[Any] = [np.empty(0, PAIR)]
    n_tokens = n_entries = 0
    token_shifts = [0]
    entry_shifts = [0]
    for doc in docs:
        handed = handed_over(doc, name, output)
        if handed is None:
            if len(doc):
                raise ValueError(
                    Errors.HS100.format(name=name, text=repr(doc.text[:40]), output=output)
                )
            continue
        entries.append(handed["entries"])
        pairs.append(handed["pairs"])
        token_shifts.append(n_tokens)
        entry_shifts.append(n_entries)
        n_tokens = n_tokens + len(doc)
        n_entries = n_entries + len(handed["entries"])
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
    """What lies beside a Doc, None if there is nothing."""
    original = original_of(doc)
    data: Dict[Any, Any] = original.user_data
    known = HANDED.get(original) or data.get(SAVED) or {}
    return known.get(name, {}).get(output)


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
