"""`hoseq_chunker`: chunks and entities by a conditional random field over well-formed tags.

It can read the labels of a `hoseq_tagger` before it as probabilities, and train that tagger through them (Azuma &
Matsumoto 2011). Every span comes with the exact probability that it is a chunk.
"""

from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterable, List, Literal, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer, set_dropout_rate

from ..arrays import AnyInts, Mask
from ..chunks import Grammar, TagTable, grammar, tag_names
from ..decoders.exact import decode_exact
from ..decoders.kbest import combine, k_best_of
from ..decoders.posterior.predictions import labels_and_segments
from ..decoders.problem.potentials import Potentials, PotentialsGradient
from ..features.sequences import sentence_starts, sequence_lengths
from ..layers.structured import TaggerModel, define_patterns
from ..layers.weights.shim import weights_in
from ..learning.objectives import objective_named
from ..learning.parameter import UpdateRule
from .annotation import LabelTable, known_labels, permitted_labels, write_marginals
from .initialization import index_features, read_examples
from .listening import index_upstream
from .loading import checked_loading, weights_from_disk
from .memory import forgetting_words
from .settings import check_update_rule
from .spans.annotation import ChunkTags
from .spans.entities import preset_mask, write_entities
from .spans.guesses import FoundChunks, ScoredChunks, found_chunks, no_chunks, spans_of, write_spans

DEFAULT_MODEL = """
[model]
@architectures = "spacy_hoseq.HigherOrderTagger.v1"
patterns = null

[model.emissions]
@architectures = "spacy_hoseq.SparseLinear.v1"
min_count = 1
hash_rows = null
nO = null

[model.emissions.templates]
@misc = "spacy_hoseq.english_pos_templates.v1"
"""


@Language.factory(
    "hoseq_chunker",
    assigns=["doc.spans"],
    default_config={
        "model": Config().from_str(DEFAULT_MODEL)["model"],
        "objective": "log_likelihood",
        "update_rule": {"@misc": "spacy_hoseq.adagrad.v1", "learn_rate": 0.1, "l1": 0.0, "l2": 0.0},
        "average": True,
        "representation": "bilou",
        "spans_key": "chunks",
        "annotate_ents": False,
        "overwrite": False,
        "save_marginals": False,
        "seed": 0,
        "scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
    },
    default_score_weights={"spans_chunks_f": 1.0, "spans_chunks_p": 0.0, "spans_chunks_r": 0.0},
)
def make_hoseq_chunker(
    nlp: Language,
    name: str,
    model: Model,
    objective: Literal["perceptron", "max_margin", "log_likelihood"],
    update_rule: UpdateRule,
    average: bool,
    representation: Literal["iob2", "bilou", "start_end"],
    spans_key: str,
    annotate_ents: bool,
    overwrite: bool,
    save_marginals: bool,
    seed: int,
    scorer: Optional[Callable],
) -> "HoseqChunker":
    """Build the component from its config (docs/chunker.md describes every setting)."""
    return HoseqChunker(
        nlp.vocab,
        model,
        name,
        objective=objective,
        update_rule=update_rule,
        average=average,
        representation=representation,
        spans_key=spans_key,
        annotate_ents=annotate_ents,
        overwrite=overwrite,
        save_marginals=save_marginals,
        seed=seed,
        scorer=scorer,
    )


class HoseqChunker(TrainablePipe):
    """Finds chunks, or entities, that do not overlap.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.HigherOrderTagger.v1`, over the tags of the
    representation. name (str): its name in the pipeline. All other settings: docs/chunker.md.
    RAISES ValueError [HS060, HS067, HS081, HS084]: impossible settings.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_chunker",
        *,
        objective: str,
        update_rule: UpdateRule,
        average: bool = True,
        representation: str = "bilou",
        spans_key: str = "chunks",
        annotate_ents: bool = False,
        overwrite: bool = False,
        save_marginals: bool = False,
        seed: int = 0,
        scorer: Optional[Callable] = None,
    ) -> None:
        check_update_rule(update_rule)
        grammar([], representation)
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        self.objective = objective_named(objective)
        self.cfg: Dict[str, Any] = {
            "labels": [],
            "representation": representation,
            "spans_key": spans_key,
            "annotate_ents": annotate_ents,
            "overwrite": overwrite,
            "save_marginals": save_marginals,
        }
        self._annotation = ChunkTags(spans_key, representation, with_entities=annotate_ents)
        for i, shim in enumerate(weights_in(model)):
            shim.configure(update_rule, averaged=average, seed=seed + i)
        self._tables: Optional[Tuple[LabelTable, TagTable, Grammar]] = None

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
        weights_from: Optional[str] = None,
    ) -> None:
        """Find chunk types, features and label patterns in the training data, and set all weights to zero.

        get_examples (Callable): returns the training examples.
        nlp (Language): the current pipeline.
        labels (Sequence[str]): the types of chunks, from `spacy init labels`; None = those in the examples.
        weights_from (str): a trained pipeline, whose component of this name gives labels, features and weights instead.
        RAISES ValueError [HS102]: the component that it listens to is missing, comes later, or has no marginals.
        """
        examples = read_examples(get_examples, "HoseqChunker.initialize")
        if weights_from is not None:
            weights_from_disk(self, weights_from)
            return
        for label in self._annotation.types(examples) if labels is None else labels:
            self.add_label(label)
        self._require_labels()
        index_upstream(self, examples, nlp)
        index_features(self.model, examples, nlp, self)
        define_patterns(self.model, self.tags, self._gold_sequences(examples))
        sample = examples[:10]
        if not sample:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        shapes = [np.zeros((len(eg.predicted), len(self.tags)), np.float32) for eg in sample]
        self.model.initialize(X=[eg.predicted for eg in sample], Y=shapes)

    @property
    def labels(self) -> Tuple[str, ...]:
        """The types of chunks."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Tuple[str, ...]:
        """What `spacy init labels` writes and `initialize` takes."""
        return self.labels

    @property
    def tags(self) -> List[str]:
        """The tags that stand for chunks, by id: labels of the tokens."""
        return tag_names(self.labels, self.cfg["representation"])

    def add_label(self, label: str) -> int:
        """Add a type of chunks before initialization. RETURNS (int): 1 if it is new, else 0.

        RAISES ValueError [E187]: no string; [HS080]: an empty one.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        TagTable(tag_names([label], self.cfg["representation"]))
        if label in self.cfg["labels"]:
            return 0
        if self.model.has_dim("nO"):  # as `_allow_extra_label`, which compares the tags' columns with the types
            raise ValueError(SpacyErrors.E922.format(name=self.name, nO=self.model.get_dim("nO")))
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        self._tables = None
        return 1

    def predict(self, docs: Iterable[Doc]) -> List[FoundChunks]:
        """The best chunks of each Doc with their probabilities, without touching the docs; docs may be empty."""
        docs, with_marginals = list(docs), self.cfg["save_marginals"]
        if not any(len(doc) for doc in docs):
            return [no_chunks(len(self.tags), with_marginals=with_marginals) for _ in docs]
        _, tags, rules = self._lookup()
        potentials, allowed = self._potentials(docs)
        goes_on = rules.pairs & ~rules.first  # a tag that cannot be first continues the one before
        found = labels_and_segments(potentials, goes_on, allowed=allowed, with_nodes=with_marginals)
        return found_chunks(docs, potentials.lengths, found, tags, with_marginals=with_marginals)

    def set_annotations(self, docs: Union[Doc, Sequence[Doc]], guesses: List[FoundChunks]) -> None:
        """Write spans with their scores, and what else is asked for. Spans that are set already stay, unless
        `overwrite`."""
        docs = [docs] if isinstance(docs, Doc) else docs
        key, overwrite = self.cfg["spans_key"], self.cfg["overwrite"]
        ids = {label: self.vocab.strings.add(label) for label in self.labels}
        for doc, found in zip(docs, guesses, strict=True):
            spans = spans_of(doc, found, ids)
            if overwrite or key not in doc.spans:
                write_spans(doc, key, spans, found.probabilities)
            if self.cfg["annotate_ents"]:
                write_entities(doc, spans, overwrite=overwrite)
            if found.marginals is not None:
                write_marginals(doc, self.name, self.tags, found.marginals)

    def top_k(self, docs: Iterable[Doc], k: int) -> List[List[ScoredChunks]]:
        """The k best ways to chunk each Doc, best first, under the same constraints as `predict`. RAISES ValueError
        [HS026, HS038, HS099]."""
        result = []
        _, tags, _ = self._lookup()
        for doc in docs:
            best = k_best_of(*self._potentials([doc]), k) if len(doc) else combine([], k)
            starts = sentence_starts(doc)
            found = []
            for labels, score in zip(best.labels, best.scores.tolist(), strict=True):
                first, end, types = tags.chunks(labels, starts)
                found.append(ScoredChunks(list(zip(first.tolist(), end.tolist(), types, strict=True)), score))
            result.append(found)
        return result

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch. drop (float): share of features left out at random. sgd: for neural emissions only."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "HoseqChunker.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        self._require_labels()
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update([eg.predicted for eg in examples])
        loss, gradient = self.get_loss(examples, self._well_formed(potentials))
        backprop(gradient)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Potentials) -> Tuple[float, PotentialsGradient]:
        """Loss of the objective over the batch, and its gradient with respect to the potentials."""
        examples = list(examples)
        validate_examples(examples, "HoseqChunker.get_loss")
        allowed = self._edges(scores.lengths)
        loss, gradient = self.objective(scores, self._gold_mask(examples) & allowed, decode_exact, allowed=allowed)
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        return loss, gradient

    def memory_zone(self, mem: Any = None) -> ContextManager[Any]:
        """At the end of a zone, forget what was remembered of its words."""
        return forgetting_words(self.model, mem)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "HoseqChunker":
        """RAISES ValueError [HS064]: the data cannot be read."""
        with checked_loading(self, "bytes", self._n_tags):
            super().from_bytes(bytes_data, exclude=exclude)
        return self

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "HoseqChunker":
        """RAISES ValueError [HS064]: a file cannot be read."""
        with checked_loading(self, str(path), self._n_tags):
            super().from_disk(path, exclude=exclude)
        return self

    def _lookup(self) -> Tuple[LabelTable, TagTable, Grammar]:
        if self._tables is None:
            tags = self.tags
            table = LabelTable(tags, self.vocab.strings, "")
            self._tables = table, TagTable(tags), grammar(tags, self.cfg["representation"])
        return self._tables

    def _gold_mask(self, examples: Sequence[Example]) -> Mask:
        """Tags that the annotation permits (N, L); all where nothing is known, and where sentences of the predicted
        docs cut a gold chunk."""
        values = np.concatenate([self._annotation.gold_values(eg) for eg in examples])
        mask = permitted_labels(values, examples, self._lookup()[0])
        possible = self._edges(sequence_lengths([eg.predicted for eg in examples]))
        mask[~(mask & possible).any(axis=1)] = True
        return mask

    def _gold_sequences(self, examples: Sequence[Example]) -> List[NDArray[np.int32]]:
        """Gold tag ids of every sequence as it will be decoded, -1 where not known."""
        ids = known_labels(self._gold_mask(examples)).astype(np.int32)
        return np.split(ids, np.cumsum(sequence_lengths([eg.predicted for eg in examples]))[:-1])

    def _edges(self, lengths: AnyInts) -> Mask:
        """Tags that can begin and end sequences, at their ends. RETURNS (N, L) bool."""
        first, last, _ = self._lookup()[2]
        ends = np.cumsum(lengths)
        allowed = np.ones((int(lengths.sum()), len(first)), bool)
        allowed[ends - lengths] = first
        allowed[ends - 1] &= last
        return allowed

    def _well_formed(self, potentials: Potentials) -> Potentials:
        """Without the transitions that tags of chunks cannot make."""
        pairs = self._lookup()[2].pairs
        return potentials._replace(trans=np.where(pairs, potentials.trans, -np.inf))

    def _potentials(self, docs: List[Doc]) -> Tuple[Potentials, Mask]:
        self._require_labels()
        potentials = self._well_formed(self.model.predict(docs))
        allowed = self._edges(potentials.lengths)
        if self.cfg["annotate_ents"] and not self.cfg["overwrite"]:
            preset = preset_mask(docs, self.tags, self.cfg["representation"], self._lookup()[2].first)
            allowed = allowed if preset is None else allowed & preset
        return potentials, allowed

    def _n_tags(self, labels: Sequence[str]) -> int:
        return len(tag_names(labels, self.cfg["representation"]))
