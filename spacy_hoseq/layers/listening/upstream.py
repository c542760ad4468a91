"""What a tagger hands to the components that listen to it: its labels with their probabilities.

In training they come with the way back into the tagger's weights; at prediction they lie on the Doc.
"""

from functools import cached_property
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...arrays import Ints
from ...decoders.answers import Answers, ProbabilityGradient, ProbableLabels, answers_of, certain_labels
from ...decoders.choice import Decoder
from ...decoders.problem import Potentials, PotentialsGradient
from ...errors import Errors
from ...features.keys import Keys
from ...features.label_templates import label_values

Output = Literal["one_best", "marginals"]
EXTENSION = "hoseq_upstream"  # Doc extension: {component name: {output: {"entries": (E,), "pairs": (A,)}}}
DATA = ("._.", EXTENSION, None, None)  # where spaCy keeps it; `doc._` costs as much as all else that is done for a Doc
ENTRY = np.dtype([("token", "<i4"), ("key", "<u8"), ("probability", "<f4")])
PAIR = np.dtype([("earlier", "<i4"), ("later", "<i4"), ("probability", "<f4")])


class UpstreamLabels(NamedTuple):
    """Labels of a batch of docs. keys (n,): what stands for each label id in feature keys, then the places before and
    after a sequence. threshold (float): the least probability."""

    probable: ProbableLabels
    keys: Keys
    threshold: float


class Upstream:
    """One update of a tagger, for its listeners.

    docs: of the batch. potentials: of these docs. labels: the tagger's, by id. decode: how it finds its labels.
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
        self._potentials, self._decode, self._backprop = potentials, decode, backprop
        self._keys = label_values(labels)

    @cached_property
    def _answers(self) -> Answers:
        return answers_of(self._potentials)

    def labels(self, output: Output, threshold: float) -> UpstreamLabels:
        """output: the best labels, with probability 1, or all that are probable."""
        lengths = self._potentials.lengths
        if output == "one_best":
            return UpstreamLabels(certain_labels(self._decode(self._potentials).labels, lengths), self._keys, 0.0)
        return UpstreamLabels(self._answers.probable(threshold), self._keys, threshold)

    def backprop(self, labels: UpstreamLabels, gradient: ProbabilityGradient) -> None:
        """Back through the marginals into the tagger. gradient: with respect to the probabilities of `labels`."""
        probable, scores = labels.probable, self._potentials.scores
        d_nodes = np.zeros(scores.shape, scores.dtype)
        d_nodes[probable.tokens, probable.labels] = gradient.probabilities
        self._backprop(self._answers.backprop(d_nodes, probable.arcs, gradient.pairs))


def write_upstream(
    docs: Sequence[Doc], name: str, output: Output, labels: UpstreamLabels, sizes: Optional[Ints] = None
) -> None:
    """Leave the labels of the component `name` on its docs. sizes: words of each Doc, which alone are counted in what
    lies there, and when it is read; None = all tokens are words."""
    tokens, ids, probabilities, earlier, later, pair_probabilities = labels.probable
    entries, pairs = np.empty(len(tokens), ENTRY), np.empty(len(earlier), PAIR)
    entries["token"], entries["key"], entries["probability"] = tokens, labels.keys.take(ids), probabilities
    pairs["earlier"], pairs["later"], pairs["probability"] = earlier, later, pair_probabilities
    if not Doc.has_extension(EXTENSION):
        Doc.set_extension(EXTENSION, default=None)
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
        pair_ends, pair_starts = np.searchsorted(later, entry_ends), np.searchsorted(later, entry_starts)
        parts = zip(_split(entries, entry_starts, entry_ends), _split(pairs, pair_starts, pair_ends), strict=True)
    for doc, (entries_here, pairs_here) in zip(docs, parts, strict=True):
        data: Dict[Any, Any] = doc.user_data
        known = data.get(DATA)
        labels_here = {output: {"entries": entries_here, "pairs": pairs_here}}
        data[DATA] = {**known, name: {**known.get(name, {}), **labels_here}} if known else {name: labels_here}


def _split(records: NDArray[Any], starts: Ints, ends: Ints) -> Iterator[NDArray[Any]]:
    """Copies of some stretches: of their bytes, since a copy of records takes three times as long."""
    data, size = records.tobytes(), records.itemsize
    for start, end in zip((starts * size).tolist(), (ends * size).tolist(), strict=True):
        yield np.frombuffer(data[start:end], records.dtype)


def read_upstream(docs: Sequence[Doc], name: str, output: Output, threshold: float) -> UpstreamLabels:
    """What the component `name` has left on the docs. RAISES ValueError [HS100]: nothing on one that is not empty."""
    entries: List[Any] = [np.empty(0, ENTRY)]
    pairs: List[Any] = [np.empty(0, PAIR)]
    n_tokens = n_entries = 0
    token_shifts, entry_shifts = [0], [0]
    for doc in docs:
        data: Dict[Any, Any] = doc.user_data
        handed = (data.get(DATA) or {}).get(name, {}).get(output)
        if handed is None:
            if len(doc):
                raise ValueError(Errors.HS100.format(name=name, text=repr(doc.text[:40]), output=output))
            continue
        entries.append(handed["entries"])
        pairs.append(handed["pairs"])
        token_shifts.append(n_tokens)
        entry_shifts.append(n_entries)
        n_tokens, n_entries = n_tokens + len(doc), n_entries + len(handed["entries"])
    entry = np.frombuffer(b"".join(entries), ENTRY)  # quicker than to concatenate records
    pair = np.frombuffer(b"".join(pairs), PAIR)
    keys = np.unique(entry["key"])
    tokens = entry["token"].astype(np.intp) + np.repeat(token_shifts, [len(part) for part in entries])
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


def _at_least(probable: ProbableLabels, threshold: float) -> ProbableLabels:
    """Those above a listener's own threshold; another listener may have asked for more."""
    least = float(np.float32(threshold))  # what lies on Docs is in single precision
    entries, pairs = probable.probabilities >= least, probable.pairs >= least
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
