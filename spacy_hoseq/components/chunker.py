"""`hoseq_chunker`: chunks and entities by a conditional random field over well-formed tags.

It can read the labels of a `hoseq_tagger` before it as probabilities, and train that tagger through
them (Azuma & Matsumoto 2011). Every span comes with the exact probability that it is a chunk.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..arrays import AnyInts, Floats, Ints, Mask
from ..caches import cached_property
from ..chunks import OUTSIDE, Chunks, Grammar, grammar, tag_names
from ..decoders.choice import Decoder
from ..decoders.problem import Potentials, ranges
from ..errors import Errors
from ..features.sequences import sequence_lengths
from ..layers.structured import TaggerModel
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .expected_spans import expected_chunks
from .named import ChunkRepresentation
from .noun_chunks import DEFAULT_KEY, offer_noun_chunks, offer_to_docs
from .predictions import Predictions
from .structured import StructuredComponent, parts_of
from .targets.chunk_tags import ChunkTypes, FoundChunks, found_chunks

WORDS = 8_000  # of a batch, read at once
THRESHOLDS = [n / 20 for n in range(2, 13)]  # among which `fit_threshold` chooses


class ScoredChunks(NamedTuple):
    """One of the best ways to chunk a Doc. spans: (first, end, type). score: of its tags, in score
    units."""

    spans: "list[tuple[int, int, str]]"
    score: float


class HoseqChunker(StructuredComponent):
    """Finds chunks, or entities, that do not overlap.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.HigherOrderTagger.v1`, over
    the tags of the representation. name (str): its name in the pipeline. Settings, which
    docs/reference/chunker.md describes:

    objective (str or function): the loss; only "log_likelihood" trains the probabilities.
    decoder (str or function): how the best tags are found: "exact", or your own.
    update_rule (UpdateRule): how linear weights follow the gradient.
    representation (str): the tags that stand for chunks: "iob2", "bilou" or "start_end".
    spans_key (str): the span group of chunks. Those that are called NP are `doc.noun_chunks`,
        unless `annotate_ents`.
    annotate_ents (bool): also write chunks to `doc.ents`, and learn from it where a
        reference has no span group.
    overwrite (bool): replace the span group and the entities that are already set.
    save_marginals (bool): keep the probabilities of tags on the Doc (`doc._.hoseq_marginals`).
    span_threshold (float): choose chunks by their own probabilities; half of the expected F is
        best, such as 0.47. None = the chunks of the best labelling.
    scorer (Callable): the function that scores; None = no score.

    RAISES ValueError [HS027, HS161]: impossible settings.
    """

    target: ChunkTypes
    made_of_labels = (*StructuredComponent.made_of_labels, "_grammar")

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_chunker",
        *,
        objective: str | Objective = "log_likelihood",
        decoder: str | Decoder = "exact",
        update_rule: UpdateRule,
        representation: ChunkRepresentation = "bilou",
        spans_key: str = DEFAULT_KEY,
        annotate_ents: bool = False,
        overwrite: bool = False,
        save_marginals: bool = False,
        span_threshold: float | None = None,
        scorer: Callable | None = None,
    ) -> None:
        grammar([], representation)
        if span_threshold is not None and not 0 <= span_threshold <= 1:
            wanted = {"name": "span_threshold", "expected": "0 to 1, or null"}
            raise ValueError(Errors.HS027.format(value=span_threshold, **wanted))
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            decoder=decoder,
            update_rule=update_rule,
            scorer=scorer,
            target=ChunkTypes(spans_key, representation, with_entities=annotate_ents),
            cfg={
                "representation": representation,
                "spans_key": spans_key,
                "annotate_ents": annotate_ents,
                "overwrite": overwrite,
                "save_marginals": save_marginals,
                "span_threshold": span_threshold,
            },
        )

    def join_vocab(self, vocab: Vocab) -> None:
        super().join_vocab(vocab)
        if not self.cfg["annotate_ents"]:
            offer_noun_chunks(vocab, self.cfg["spans_key"])

    def initialize(  # type: ignore[override]
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
        weights_from: str | None = None,
    ) -> None:
        """Find chunk types, features and label patterns in the training data, and set all weights
        to zero.

        get_examples (Callable): returns the training examples.
        nlp (Language): the current pipeline.
        labels (Sequence[str]): the types of chunks, from `spacy init labels`; None = those in the
            examples.
        weights_from (str): a trained pipeline, whose component of this name gives labels, features
            and weights instead.
        RAISES ValueError [HS102]: the component that it listens to is missing, comes later, or has
        no marginals.
        """
        super().initialize(get_examples, nlp=nlp, labels=labels, weights_from=weights_from)

    @property
    def tags(self) -> list[str]:
        """The tags that stand for chunks, by id: labels of the tokens. `labels` are the types of
        chunks."""
        return tag_names(self.labels, self.cfg["representation"])

    @property
    def continues(self) -> Mask:
        return self._grammar.pairs & ~self._grammar.first

    def top_k(self, docs: Doc | Iterable[Doc], k: int) -> list[list[ScoredChunks]]:
        """The k best ways to chunk each Doc, best first, under the same constraints as `predict`.
        RAISES ValueError [HS027, HS038, HS099]."""
        tags = self._label_table.tags
        return [
            [
                ScoredChunks(
                    next(found_chunks(words, tags.chunks(labels, labels < 0))).items, score
                )
                for labels, score in zip(best.labels, best.scores.tolist(), strict=True)
            ]
            for words, best in self._k_best(docs, k)
        ]

    def fit_threshold(self, examples: Sequence[Example]) -> float | None:
        """Set the threshold with the largest F on some examples, its neighbours counted in."""
        if self.cfg["span_threshold"] is None:
            return None
        reading = self.read([eg.predicted for eg in examples], preset=False)
        gold = [{*self.target.items(eg.reference)} for eg in examples]
        scores = []
        for threshold in THRESHOLDS:
            guessed = [{*found.items} for found in self.chunks(reading, threshold)]
            right = sum(len(a & b) for a, b in zip(gold, guessed, strict=True))
            scores.append(2 * right / max(1, sum(map(len, [*gold, *guessed]))))
        smooth = np.convolve(np.pad(scores, 1, mode="edge"), np.full(3, 1 / 3), "valid")
        best = THRESHOLDS[int(smooth.argmax())]
        self.cfg["span_threshold"] = best
        return best

    def leave_open(self, types: Sequence[str]) -> None:
        """Gold Docs do not say where there are none of these types: outside of chunks, words may have
        their tags, too, as long as the labels stay the same."""
        table = self._label_table
        tags = [i for i, tag in enumerate(table.labels) if tag[2:] in types]
        table.masks[table.labels.index(OUTSIDE), tags] = True

    def chunks(self, reading: Predictions, threshold: float | None = None) -> Iterator[FoundChunks]:
        """The chunks of each Doc, and the probability that each is there: begins, goes on and ends
        as it does. threshold: those that are right in expectation, of probabilities above it; None
        = those of the best labelling."""
        return found_chunks(reading.docs, *self._chosen(reading, threshold))

    def _chosen(self, reading: Predictions, threshold: float | None) -> tuple[Chunks, Floats]:
        """The same for all words, end to end."""
        representation = self.target.representation
        if threshold is not None:
            return expected_chunks(reading.posterior, reading.labels, representation, threshold)
        posterior = reading.posterior  # first: with it, the best labels are found in less time
        # (no chunk reaches beyond its sequence: tags are well formed)
        chunks = self._label_table.tags.chunks(reading.best, reading.best < 0)
        sizes = chunks.end - chunks.first
        labels = reading.best[ranges(chunks.first, sizes)]
        return chunks, posterior.segments(chunks.first, sizes, labels, self.continues)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotated Docs of a stream, in order. Of a batch, about as many words are read at once as
        stay in the caches of a processor."""
        for docs in minibatch(stream, size=batch_size):
            for part in parts_of(docs, WORDS):
                yield from super().pipe(part, batch_size=len(part))

    def _write(self, docs: Sequence[Doc], reading: Predictions) -> None:
        chunks, p = self._chosen(reading, self.cfg["span_threshold"])
        overwrite = self.cfg["overwrite"]
        self.target.write_chunks(docs, reading.docs, chunks, p, overwrite=overwrite)
        if not self.cfg["annotate_ents"]:
            offer_to_docs(docs)

    @cached_property
    def _grammar(self) -> Grammar:
        return grammar(self.tags, self.cfg["representation"])

    def _gold_rows(self, examples: Sequence[Example]) -> Ints:
        """Rows of permitted labels (N,): everything also where sentences of the predicted docs cut a
        gold chunk."""
        rows = super()._gold_rows(examples)
        masks = self._label_table.masks
        possible = self._edges(sequence_lengths([eg.predicted for eg in examples]))
        return np.where((masks[rows] & possible).any(axis=1), rows, len(masks) - 1)

    def _edges(self, lengths: AnyInts) -> Mask:
        """Tags that can begin and end sequences, at their ends. RETURNS (N, L) bool."""
        first, last, _ = self._grammar
        ends = np.cumsum(lengths)
        allowed = np.ones((int(lengths.sum()), len(first)), bool)
        allowed[ends - lengths] = first
        allowed[ends - 1] &= last
        return allowed

    def _possible(self, potentials: Potentials) -> Potentials:
        """Without the transitions and the ends that tags of chunks cannot make."""
        weights = potentials.weights.permitting(self._grammar.pairs)
        return potentials._replace(weights=weights, allowed=self._edges(potentials.lengths))
