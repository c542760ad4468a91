"""`hoseq_bidirectional_tagger`: easiest-first and full bidirectional inference over local classifiers.

Each classifier gives p(label | words, labels of some neighbours), and inference chooses in which order, or from which
sides, the tokens of a sentence are labelled (Tsuruoka & Tsujii 2005). Labels go to a token attribute, or, read as
chunks, to a span group.
"""

from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterable, List, Literal, Optional, Sequence, Tuple, Union

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer

from ..arrays import Ints, Mask
from ..chunks import TagTable
from ..decoders.bidirectional.local import contexts_of, known_slots
from ..features.sequences import sequence_lengths
from ..layers.local.classifiers import LocalModel, Strategy, define_features, shim_of
from ..layers.local.scores import BatchScores, mean_loss
from ..layers.local.training import Batch
from .annotation import (
    LabelTable,
    Values,
    check_attribute,
    check_label,
    gold_values,
    known_labels,
    names_in,
    permitted_labels,
    read_values,
    write_decisions,
    write_labels,
)
from .constraints import TagDictionary, allowed_labels
from .initialization import after_earlier_components, context_batches, read_examples
from .loading import checked_loading
from .memory import forgetting_words
from .spans.annotation import ChunkTags
from .strategies import Decided, check_strategy, infer, nothing_decided

DEFAULT_MODEL = """
[model]
@architectures = "spacy_hoseq.LocalClassifiers.v1"
order = 2
min_count = 1
train_for = null

[model.templates]
@misc = "spacy_hoseq.bidirectional_pos_templates.v1"
"""


@Language.factory(
    "hoseq_bidirectional_tagger",
    assigns=["token.tag"],
    default_config={
        "model": Config().from_str(DEFAULT_MODEL)["model"],
        "strategy": "easiest_first",
        "prune": 0.01,
        "learn_rate": 0.1,
        "width": 0.5,
        "n_process": 1,
        "attribute": "tag",
        "representation": None,
        "spans_key": "chunks",
        "overwrite": False,
        "neg_prefix": "!",
        "save_decisions": False,
        "seed": 0,
        "scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0},
)
def make_hoseq_bidirectional_tagger(
    nlp: Language,
    name: str,
    model: Model,
    strategy: Strategy,
    prune: float,
    learn_rate: float,
    width: float,
    n_process: int,
    attribute: str,
    representation: Optional[Literal["iob1", "iob2", "ioe1", "ioe2", "bilou", "start_end"]],
    spans_key: str,
    overwrite: bool,
    neg_prefix: str,
    save_decisions: bool,
    seed: int,
    scorer: Optional[Callable],
) -> "HoseqBidirectionalTagger":
    """Build the component from its config (docs/bidirectional.md describes every setting)."""
    return HoseqBidirectionalTagger(
        nlp.vocab,
        model,
        name,
        strategy=strategy,
        prune=prune,
        learn_rate=learn_rate,
        width=width,
        n_process=n_process,
        attribute=attribute,
        representation=representation,
        spans_key=spans_key,
        overwrite=overwrite,
        neg_prefix=neg_prefix,
        save_decisions=save_decisions,
        seed=seed,
        scorer=scorer,
    )


class HoseqBidirectionalTagger(TrainablePipe):
    """Labels tokens, or chunks, by bidirectional inference.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.LocalClassifiers.v1`. name (str): its name in the
    pipeline. All other settings: docs/bidirectional.md.
    RAISES ValueError [HS027, HS040, HS062, HS081, HS092, HS096]: impossible settings.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: LocalModel,
        name: str = "hoseq_bidirectional_tagger",
        *,
        strategy: Strategy = "easiest_first",
        prune: float = 0.01,
        learn_rate: float = 0.1,
        width: float = 0.5,
        n_process: int = 1,
        attribute: str = "tag",
        representation: Optional[str] = None,
        spans_key: str = "chunks",
        overwrite: bool = False,
        neg_prefix: str = "!",
        save_decisions: bool = False,
        seed: int = 0,
        scorer: Optional[Callable] = None,
    ) -> None:
        check_attribute(attribute)
        check_strategy(strategy, model.attrs["order"], prune, with_order=save_decisions)
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        self.cfg: Dict[str, Any] = {
            "labels": [],
            "strategy": strategy,
            "prune": prune,
            "attribute": attribute,
            "representation": representation,
            "spans_key": spans_key,
            "overwrite": overwrite,
            "neg_prefix": neg_prefix,
            "save_decisions": save_decisions,
            "tag_dictionary": {},
        }
        self._chunks = None if representation is None else ChunkTags(spans_key, representation)
        shim_of(model).configure(learn_rate=learn_rate, width=width, n_process=n_process, seed=seed)
        self._tables: Optional[Tuple[LabelTable, Optional[TagDictionary], Optional[TagTable]]] = None

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
        tag_dictionary: Optional[Dict[str, List[str]]] = None,
    ) -> None:
        """Find labels and features in the training data, and set all weights to zero.

        get_examples (Callable): returns the training examples.
        nlp (Language): the current pipeline.
        labels (Sequence[str]): the labels, from `spacy init labels`; None = those in the examples.
        tag_dictionary (Dict[str, List[str]]): words that can have some labels only. Stored with the component.
        """
        examples = read_examples(get_examples, "HoseqBidirectionalTagger.initialize")
        if labels is None:
            found = ((self._read_values(eg.reference), eg.reference) for eg in examples)
            labels = names_in(found, "" if self._chunks else self.cfg["neg_prefix"])
        for label in labels:
            self.add_label(label)
        self._require_labels()
        self.cfg["tag_dictionary"] = dict(tag_dictionary or {})
        self._tables = None
        if not examples:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        order, n_labels = self.model.attrs["order"], len(self.labels)
        docs, gold = [eg.predicted for eg in examples], [self._gold_ids([eg]) for eg in examples]
        versions = [context_batches(docs, gold, order, n_labels)]
        if self.model.attrs["reads_annotation"]:  # as in the gold annotation, and as earlier components write it
            same = [Example(eg.reference, eg.reference) for eg in examples]
            annotated = after_earlier_components(docs, nlp, self)
            versions = [
                context_batches([eg.reference for eg in same], [self._gold_ids([eg]) for eg in same], order, n_labels),
                context_batches(annotated, gold, order, n_labels),
            ]
        define_features(self.model, self.labels, versions, int(sum((ids >= 0).sum() for ids in gold)))
        sample = [eg.predicted for eg in examples[:10]]
        self.model.set_dim("nO", len(self.labels))
        self.model.initialize(X=sample)

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels, by id; with a representation, the tags of chunks."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Tuple[str, ...]:
        """What `spacy init labels` writes and `initialize` takes."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label before initialization. RETURNS (int): 1 if it is new, else 0."""
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        if self._chunks is not None:
            TagTable([label])
        else:
            check_label(label, self.cfg["attribute"])
        if label in self.cfg["labels"]:
            return 0
        self._allow_extra_label()
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        self._tables = None
        return 1

    def predict(self, docs: Iterable[Doc]) -> Decided:
        """Labels by the component's strategy, without touching the docs; docs may be empty."""
        docs = list(docs)
        if not any(len(doc) for doc in docs):
            return nothing_decided(len(docs), with_order=self.cfg["save_decisions"])
        self._require_labels()
        return infer(
            self.model.predict(docs),
            docs,
            self.cfg["strategy"],
            self.model.attrs["order"],
            prune=self.cfg["prune"],
            allowed=self._allowed(docs),
            with_order=self.cfg["save_decisions"],
        )

    def set_annotations(self, docs: Union[Doc, Sequence[Doc]], guesses: Decided) -> None:
        """Write labels or chunks, and decisions if asked for. What is set already stays, unless `overwrite`."""
        docs = [docs] if isinstance(docs, Doc) else docs
        table, _, tags = self._lookup()
        if self._chunks is None or tags is None:
            write_labels(docs, self.cfg["attribute"], guesses.labels, table.ids, overwrite=self.cfg["overwrite"])
        for i, doc in enumerate(docs):
            if self._chunks is not None and tags is not None:
                if self.cfg["overwrite"] or self.cfg["spans_key"] not in doc.spans:
                    self._chunks.write(doc, guesses.labels[i], tags)
            if guesses.order is not None and guesses.probabilities is not None:
                names = [self.labels[y] for y in guesses.labels[i].tolist()]
                write_decisions(doc, self.name, names, guesses.order[i], guesses.probabilities[i])

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch. drop (float): share of features left out at random. sgd: not used, but None = wait."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "HoseqBidirectionalTagger.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        self._require_labels()
        shim, features = shim_of(self.model), self.model.attrs["features"]
        docs, gold = [eg.predicted for eg in examples], self._gold_ids(examples)
        contexts = self._contexts(docs, gold)
        rows = features.training_rows(docs, contexts, shim.values(), shim.keys())
        loss = shim.gradient(Batch(rows, gold, known_slots(contexts)), drop)
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: BatchScores) -> Tuple[float, None]:
        """-log p(gold labels | gold labels of the neighbours), mean of the classifiers, of what `model.predict` gave.
        There is no gradient with respect to it: classifiers learn in `update`."""
        examples = list(examples)
        validate_examples(examples, "HoseqBidirectionalTagger.get_loss")
        gold = self._gold_ids(examples)
        contexts = self._contexts([eg.predicted for eg in examples], gold)
        return mean_loss(scores, shim_of(self.model).masks, gold, contexts), None

    def memory_zone(self, mem: Any = None) -> ContextManager[Any]:
        """At the end of a zone, forget what was remembered of its words."""
        return forgetting_words(self.model, mem)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "HoseqBidirectionalTagger":
        """RAISES ValueError [HS064]: the data cannot be read."""
        with checked_loading(self, "bytes", is_of=shim_of(self.model).is_of):
            super().from_bytes(bytes_data, exclude=exclude)
        return self

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "HoseqBidirectionalTagger":
        """RAISES ValueError [HS064]: a file cannot be read."""
        with checked_loading(self, str(path), is_of=shim_of(self.model).is_of):
            super().from_disk(path, exclude=exclude)
        return self

    def _lookup(self) -> Tuple[LabelTable, Optional[TagDictionary], Optional[TagTable]]:
        if self._tables is None:
            entries = self.cfg["tag_dictionary"]
            dictionary = TagDictionary(entries, self.labels) if entries else None
            tags = None if self._chunks is None else TagTable(self.labels)
            neg_prefix = self.cfg["neg_prefix"] if self._chunks is None else ""
            self._tables = LabelTable(self.labels, self.vocab.strings, neg_prefix), dictionary, tags
        return self._tables

    def _read_values(self, doc: Doc) -> Values:
        return self._chunks.read_values(doc) if self._chunks else read_values(doc, self.cfg["attribute"])

    def _gold_ids(self, examples: Sequence[Example]) -> Ints:
        """Gold labels of the predicted docs, end to end; -1 where the annotation does not name one known label."""
        read = self._chunks.gold_values if self._chunks else lambda eg: gold_values(eg, self.cfg["attribute"])
        values = np.concatenate([read(eg) for eg in examples])
        return known_labels(permitted_labels(values, examples, self._lookup()[0]))

    def _contexts(self, docs: List[Doc], gold: Ints) -> Ints:
        return contexts_of(gold, sequence_lengths(docs), self.model.attrs["order"], len(self.labels))

    def _allowed(self, docs: List[Doc]) -> Optional[Mask]:
        table, dictionary, _ = self._lookup()
        keep_preset = not self.cfg["overwrite"] and self._chunks is None
        return allowed_labels(docs, table, dictionary, self.cfg["attribute"], keep_preset=keep_preset)
