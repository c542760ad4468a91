"""`hoseq_tagger`: exact higher-order tagging, trained through `spacy train`.

The component owns its learning: update rule and averaging of its config act on the linear weights at every
`finish_update`; `[training.optimizer]` trains neural emissions only. `update` works on raw weights, `predict` and
saving on finished ones (averaged, half precision).
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

from ..arrays import Mask
from ..decoders.choice import Decoder
from ..decoders.exact import decode_exact, exact_posterior
from ..decoders.kbest import combine, k_best_of
from ..decoders.problem.potentials import Potentials, PotentialsGradient
from ..decoders.sampling import check_n_samples, samples_of
from ..features.sequences import by_doc
from ..layers.listening.listener import MarginalListener
from ..layers.listening.upstream import Upstream, write_upstream
from ..layers.structured import TaggerModel, define_patterns
from ..layers.weights.shim import Averaging, weights_in
from ..learning.objectives import objective_named
from ..learning.parameter import UpdateRule
from .annotation import (
    Guesses,
    LabelTable,
    ScoredLabels,
    check_attribute,
    check_label,
    gold_mask,
    label_names,
    scored_labels,
    write_labels,
    write_marginals,
)
from .constraints import TagDictionary, allowed_labels
from .initialization import gold_sequences, index_features, read_examples
from .listening import check_tok2vec, decode_for, hand_over, index_upstream, listeners_in, removed
from .loading import checked_loading, weights_from_disk
from .memory import forgetting_words
from .settings import check_settings

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
    "hoseq_tagger",
    assigns=["token.tag"],
    default_config={
        "model": Config().from_str(DEFAULT_MODEL)["model"],
        "objective": "max_margin",
        "decoder": {"@misc": "spacy_hoseq.exact_decoder.v1"},
        "update_rule": {"@misc": "spacy_hoseq.adagrad.v1", "learn_rate": 0.1, "l1": 0.0, "l2": 0.0},
        "average": "late",
        "attribute": "tag",
        "overwrite": False,
        "neg_prefix": "!",
        "save_marginals": False,
        "seed": 0,
        "scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0},
)
def make_hoseq_tagger(
    nlp: Language,
    name: str,
    model: Model,
    objective: Literal["perceptron", "max_margin", "log_likelihood"],
    decoder: Decoder,
    update_rule: UpdateRule,
    average: Averaging,
    attribute: str,
    overwrite: bool,
    neg_prefix: str,
    save_marginals: bool,
    seed: int,
    scorer: Optional[Callable],
) -> "HoseqTagger":
    """Build the component from its config (docs/components.md describes every setting)."""
    return HoseqTagger(
        nlp.vocab,
        model,
        name,
        objective=objective,
        decoder=decoder,
        update_rule=update_rule,
        average=average,
        attribute=attribute,
        overwrite=overwrite,
        neg_prefix=neg_prefix,
        save_marginals=save_marginals,
        seed=seed,
        scorer=scorer,
    )


class HoseqTagger(TrainablePipe):
    """Labels every token with the best label sequence of its sentence. All settings: docs/components.md.

    RAISES ValueError [HS060, HS062, HS067]: impossible settings."""

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_tagger",
        *,
        objective: str,
        update_rule: UpdateRule,
        decoder: Decoder = decode_exact,
        average: Averaging = "late",
        attribute: str = "tag",
        overwrite: bool = False,
        neg_prefix: str = "!",
        save_marginals: bool = False,
        seed: int = 0,
        scorer: Optional[Callable] = None,
    ) -> None:
        check_attribute(attribute)
        check_settings(decoder, update_rule)
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        self.objective, self.decoder = objective_named(objective), decoder
        self.cfg: Dict[str, Any] = {
            "labels": [],
            "attribute": attribute,
            "overwrite": overwrite,
            "neg_prefix": neg_prefix,
            "save_marginals": save_marginals,
            "tag_dictionary": {},
        }
        for i, shim in enumerate(weights_in(model)):
            shim.configure(update_rule, averaged=average, seed=seed + i)
        self._tables: Optional[Tuple[LabelTable, Optional[TagDictionary]]] = None
        self.listener_map: Dict[str, List[MarginalListener]] = {}

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
        tag_dictionary: Optional[Dict[str, List[str]]] = None,
        weights_from: Optional[str] = None,
    ) -> None:
        """Find labels, features and label patterns in the training data, and set all weights to zero.

        get_examples (Callable): returns the training examples.
        nlp (Language): the current pipeline.
        labels (Sequence[str]): from `spacy init labels`; None = those in the examples.
        tag_dictionary (Dict[str, List[str]]): words that can have some labels only. Stored with the component.
        weights_from (str): a trained pipeline, whose component of this name gives labels, features and weights instead.
        """
        examples = read_examples(get_examples, "HoseqTagger.initialize")
        if weights_from is not None:
            weights_from_disk(self, weights_from)
            return
        for label in label_names(examples, self.cfg["attribute"], self.cfg["neg_prefix"]) if labels is None else labels:
            self.add_label(label)
        self._require_labels()
        self.cfg["tag_dictionary"] = dict(tag_dictionary or {})
        self._tables = None
        table, _ = self._lookup()
        index_upstream(self, examples, nlp)
        index_features(self.model, examples, nlp, self)
        define_patterns(self.model, self.labels, gold_sequences(examples, self.cfg["attribute"], table))
        sample = examples[:10]
        if not sample:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        shapes = [np.zeros((len(eg.predicted), len(self.labels)), np.float32) for eg in sample]
        self.model.initialize(X=[eg.predicted for eg in sample], Y=shapes)

    @property
    def labels(self) -> Tuple[str, ...]:
        """By id."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Tuple[str, ...]:
        """What `spacy init labels` writes and `initialize` takes."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label before initialization. RETURNS (int): 1 if it is new, else 0."""
        check_label(label, self.cfg["attribute"])
        if label in self.cfg["labels"]:
            return 0
        self._allow_extra_label()
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        self._tables = None
        return 1

    def predict(self, docs: Iterable[Doc]) -> Guesses:
        """The best label sequences, without touching the docs; docs may be empty."""
        docs, with_marginals = list(docs), self.cfg["save_marginals"]
        if not any(len(doc) for doc in docs):
            nothing = [np.zeros((0, len(self.labels)), np.float32) for _ in docs] if with_marginals else None
            return Guesses([np.zeros(0, np.int32) for _ in docs], nothing, [])
        potentials, allowed = self._potentials(docs)
        labels, handed = decode_for(self.listeners, potentials, allowed, self.decoder, self.labels)
        if not with_marginals:
            return Guesses(by_doc(labels, docs), None, handed)
        marginals = exact_posterior(potentials, allowed=allowed).marginals.astype(np.float32)
        return Guesses(by_doc(labels, docs), by_doc(marginals, docs), handed)

    def set_annotations(self, docs: Union[Doc, Sequence[Doc]], guesses: Guesses) -> None:
        """Write labels, and marginals if asked for. Labels that are set already stay, unless `overwrite`."""
        docs = [docs] if isinstance(docs, Doc) else docs
        ids = self._lookup()[0].ids
        write_labels(docs, self.cfg["attribute"], guesses.labels, ids, overwrite=self.cfg["overwrite"])
        for doc, marginals in zip(docs, guesses.marginals or (), strict=False):
            write_marginals(doc, self.name, self.labels, marginals)
        for output, found in guesses.handed:
            write_upstream(docs, self.name, output, found)

    def top_k(self, docs: Iterable[Doc], k: int) -> List[List[ScoredLabels]]:
        """The k best label sequences of each Doc, best first, under the same constraints as `predict`. RAISES
        ValueError [HS026, HS038, HS099]."""
        found = (k_best_of(*self._potentials([doc]), k) if len(doc) else combine([], k) for doc in docs)
        return [scored_labels(best.labels, best.scores, self.labels) for best in found]

    def sample(self, docs: Iterable[Doc], n_samples: int, *, seed: int = 0) -> List[List[List[str]]]:
        """Label sequences of each Doc drawn from p(y | x), under the same constraints as `predict`. RAISES ValueError
        [HS029, HS038, HS099]."""
        check_n_samples(n_samples)
        rng = np.random.default_rng(seed)
        nothing = np.zeros((n_samples, 0), np.int32)
        drawn = (samples_of(*self._potentials([doc]), n_samples, rng) if len(doc) else nothing for doc in docs)
        return [[[self.labels[y] for y in row] for row in rows.tolist()] for rows in drawn]

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
        validate_examples(examples, "HoseqTagger.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        self._require_labels()
        set_dropout_rate(self.model, drop)
        docs = [eg.predicted for eg in examples]
        potentials, backprop = self.model.begin_update(docs)
        loss, gradient = self.get_loss(examples, potentials)
        backprop(gradient)
        if self.listeners:
            check_tok2vec(self.model, self.listeners, self.name)
            hand_over(self.listeners, Upstream(docs, potentials, self.labels, self.decoder, backprop))
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(self, examples: Iterable[Example], scores: Potentials) -> Tuple[float, PotentialsGradient]:
        """Loss of the objective over the batch, and its gradient with respect to the potentials."""
        examples = list(examples)
        validate_examples(examples, "HoseqTagger.get_loss")
        table, _ = self._lookup()
        loss, gradient = self.objective(scores, gold_mask(examples, self.cfg["attribute"], table), self.decoder)
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        return loss, gradient

    def memory_zone(self, mem: Any = None) -> ContextManager[Any]:
        """At the end of a zone, forget what was remembered of its words."""
        return forgetting_words(self.model, mem)

    @property
    def listeners(self) -> List[MarginalListener]:
        """Layers of later components that listen to this one (spaCy's protocol, as with Tok2Vec)."""
        return [listener for name in self.listener_map for listener in self.listener_map[name]]

    @property
    def listening_components(self) -> List[str]:
        """Their names."""
        return list(self.listener_map)

    def add_listener(self, listener: MarginalListener, component_name: str) -> None:
        """Called by spaCy."""
        if listener not in self.listeners:
            self.listener_map.setdefault(component_name, []).append(listener)

    def remove_listener(self, listener: MarginalListener, component_name: str) -> bool:
        """Called by spaCy. RETURNS (bool): whether it was there."""
        return removed(self.listener_map, listener, component_name)

    def find_listeners(self, component: Any) -> None:
        """Add the listeners in a later component's model that name this one. Called by spaCy."""
        for listener in listeners_in(component):
            if listener.upstream_name == self.name:
                self.add_listener(listener, component.name)

    def gold_labels(self, examples: Sequence[Example]) -> NDArray[np.int32]:
        """Gold label ids of the predicted docs, end to end, -1 where not known: for a listener's features."""
        found = gold_sequences(list(examples), self.cfg["attribute"], self._lookup()[0])
        return np.concatenate([np.zeros(0, np.int32), *found])

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "HoseqTagger":
        """RAISES ValueError [HS064]: the data cannot be read."""
        with checked_loading(self, "bytes"):
            super().from_bytes(bytes_data, exclude=exclude)
        return self

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "HoseqTagger":
        """RAISES ValueError [HS064]: a file cannot be read."""
        with checked_loading(self, str(path)):
            super().from_disk(path, exclude=exclude)
        return self

    def _lookup(self) -> Tuple[LabelTable, Optional[TagDictionary]]:
        if self._tables is None:
            entries = self.cfg["tag_dictionary"]
            dictionary = TagDictionary(entries, self.labels) if entries else None
            self._tables = LabelTable(self.labels, self.vocab.strings, self.cfg["neg_prefix"]), dictionary
        return self._tables

    def _potentials(self, docs: List[Doc]) -> Tuple[Potentials, Optional[Mask]]:
        self._require_labels()
        table, dictionary = self._lookup()
        keep_preset = not self.cfg["overwrite"]
        allowed = allowed_labels(docs, table, dictionary, self.cfg["attribute"], keep_preset=keep_preset)
        return self.model.predict(docs), allowed
