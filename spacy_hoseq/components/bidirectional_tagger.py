"""`hoseq_bidirectional_tagger`: easiest-first and full bidirectional inference over local
classifiers.

Each classifier gives p(label | words, labels of some neighbours). Inference chooses in which order,
or from which sides, the tokens of a sentence are labelled (Tsuruoka & Tsujii 2005). Labels are
written to a token attribute or, as tags of chunks, to a span group.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..arrays import Floats, Ints, Labels
from ..caches import cached_property
from ..decoders.bidirectional.decompositions import classifiers_of, decode_decompositions
from ..decoders.bidirectional.easiest_first import EasiestPath, decision_order, decode_easiest_first
from ..decoders.bidirectional.local import contexts_of, known_slots
from ..errors import wrong_value
from ..features.sequences import WordDocs, sequence_lengths
from ..layers.local_classifiers import (
    BatchScores,
    LocalModel,
    LocalScorer,
    TrainingBatch,
    define_features,
    mean_loss,
    shim_of,
)
from .base import SequenceComponent
from .extensions import write_decisions
from .named import Representation, Strategy
from .predictions import Predictions
from .targets.chunk_tags import ChunkTags
from .targets.target import Target, word_examples
from .targets.token_labels import TokenLabels
from .training import after_earlier_components, batches_with, seed_of

GREEDY = ("easiest_first", "easiest_last")  # strategies that decide token by token


class HoseqBidirectionalTagger(SequenceComponent):
    """Labels tokens, or chunks, by bidirectional inference.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.LocalClassifiers.v1`. name
    (str): its name in the pipeline. Settings, which docs/reference/bidirectional.md describes:

    strategy (str): how labels are inferred; can be changed at loading.
    width (float): how far the counts of a feature may differ from the expected ones.
    passes (int): 0 = learn from each batch; else every update goes to the optimum of its examples,
        in so many passes over them.
    attribute (str): where labels are read and written, without a `representation`.
    representation (str): labels are tags of chunks, in `doc.spans["chunks"]`; None = labels of
        tokens.
    overwrite (bool): replace annotation that is already set.
    save_decisions (bool): keep the order of decisions on the Doc (`doc._.hoseq_decisions`).
    scorer (Callable): the function that scores; None = no score.

    RAISES ValueError [HS027, HS161]: impossible settings.
    """

    prune = 0.01  # labels less probable than this share of the best one are left out

    def __init__(
        self,
        vocab: Vocab,
        model: LocalModel,
        name: str = "hoseq_bidirectional_tagger",
        *,
        strategy: Strategy = "easiest_first",
        width: float = 0.5,
        passes: int = 0,
        attribute: str = "tag",
        representation: Representation | None = None,
        overwrite: bool = False,
        save_decisions: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        classifiers_of(strategy, model.attrs["order"], self.prune)
        if save_decisions and strategy not in GREEDY:
            raise wrong_value(
                "save_decisions", f'true with the strategy "{strategy}"', " or ".join(GREEDY)
            )
        # "!NN" in the gold annotation means "any label but NN", and counts as unknown here
        target: Target = TokenLabels(attribute, neg_prefix="!")
        spans_key = "chunks"
        if representation is not None:
            target = ChunkTags(spans_key, representation)
        cfg: dict[str, object] = {
            "strategy": strategy,
            "attribute": attribute,
            "representation": representation,
            "spans_key": spans_key,
            "overwrite": overwrite,
            "save_decisions": save_decisions,
            "tag_dictionary": {},
        }
        super().__init__(vocab, model, name, scorer=scorer, target=target, cfg=cfg)
        # learn_rate: size of the first step of each weight (AdaGrad)
        self._rule: dict[str, Any] = {"learn_rate": 0.3, "width": width, "passes": passes}
        self._configure_layer(seed=0)

    def _configure_layer(self, *, seed: int) -> None:
        """Set the update rule of the weights. seed (int): of the feature dropout."""
        shim_of(self.model).configure(**self._rule, seed=seed)

    @property
    def knows(self) -> str:
        return "decisions" if self.cfg["strategy"] in GREEDY else "labels"

    def keep_probabilities(self) -> bool:
        self.cfg["save_decisions"] = self.knows == "decisions"
        return bool(self.cfg["save_decisions"])

    def get_loss(self, examples: Iterable[Example], scores: BatchScores) -> tuple[float, None]:
        """Mean over the classifiers of -log p(gold labels | gold labels of the neighbours). scores:
        what `model.predict` returns. It has no gradient: classifiers learn in `update`."""
        examples, docs = word_examples(examples, "HoseqBidirectionalTagger.get_loss")
        gold = self._gold(examples)
        return mean_loss(scores, shim_of(self.model).masks, gold, self._contexts(docs, gold)), None

    def _learn(self, examples: list[Example], docs: WordDocs, drop: float) -> float:
        shim = shim_of(self.model)
        gold = self._gold(examples)
        contexts = self._contexts(docs, gold)
        features = LocalScorer(self.model).features
        rows = features.training_rows(docs, contexts, shim.known)
        loss = shim.gradient(TrainingBatch(rows, gold, known_slots(contexts)), drop)
        # a token's loss is at most the distance of its scores, so it shows when weights diverge
        return self._checked(loss, loss / len(gold), self._rule["learn_rate"])

    def _gold(self, examples: Iterable[Example]) -> Ints:
        return self.gold_ids(examples).astype(np.intp)

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Predictions:
        strategy = self.cfg["strategy"]
        hardest = strategy == "easiest_last"
        # Docs without any word have an empty path
        path: Any = EasiestPath(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.intp))
        if any(map(len, docs)):
            allowed = self.permitted(docs, preset=preset)
            local = self.model.predict(docs), sequence_lengths(docs), self.model.attrs["order"]
            if strategy in GREEDY:
                path = decode_easiest_first(*local, allowed=allowed, hardest=hardest)
            else:
                path = decode_decompositions(*local, strategy, prune=self.prune, allowed=allowed)
        if strategy in GREEDY:
            return Decisions(docs, self.name, self.tags, path, hardest=hardest)
        why = f'the strategy "{strategy}" has no probability of each label'
        return Predictions(docs, self.name, self.tags, None, path.labels, why)

    def _keep(self, docs: Sequence[Doc], reading: Predictions) -> None:
        if not self.cfg["save_decisions"] or not isinstance(reading, Decisions):
            return
        names = self._label_table.names
        orders = reading.by_token(reading.order)
        probabilities = reading.by_token(reading.confidences().astype(np.float32))
        for doc, label_ids, order, p in zip(
            docs, reading.label_ids, orders, probabilities, strict=True
        ):
            labels = [names[y] for y in label_ids.tolist()]
            write_decisions(doc, self.name, labels, order, p)

    def _define(self, examples: list[Example], nlp: Language | None) -> None:
        self._configure_layer(seed=seed_of(nlp))
        docs = [eg.predicted for eg in examples]
        gold = self._gold(examples)
        versions = [(docs, gold)]
        # features that read annotation are numbered twice: with the gold annotation, and as earlier
        # components write it
        if self.model.attrs["reads_annotation"]:
            references = [eg.reference for eg in examples]
            same = [Example(doc, doc) for doc in references]
            copies = after_earlier_components(docs, nlp, self)
            versions = [(references, self._gold(same)), (copies, gold)]
        in_context = [self._in_context(*version) for version in versions]
        define_features(self.model, self.labels, in_context, int((gold >= 0).sum()))
        self.model.set_dim("nO", len(self.labels))
        self.model.initialize(X=docs[:10])

    def _in_context(self, docs: list[Doc], gold: Ints) -> Iterator[tuple[list[Doc], Ints]]:
        """Docs with their gold labels in the slots of all tokens (N, 2k), batch by batch."""
        pairs = batches_with(docs, gold)
        return ((batch, self._contexts(batch, ids)) for batch, ids in pairs if len(ids))

    def _contexts(self, docs: list[Doc], gold: Ints) -> Ints:
        return contexts_of(
            gold, sequence_lengths(docs), self.model.attrs["order"], len(self.labels)
        )

    def _meaning(self) -> dict[str, object]:
        return {**super()._meaning(), "representation": self.cfg["representation"]}


class Decisions(Predictions):
    """Labels of a greedy strategy, which decides token by token. path: the labels, and how probable
    each was when it was decided, given the neighbours decided before. hardest (bool): the least
    certain token came first."""

    def __init__(
        self, docs: WordDocs, name: str, labels: list[str], path: EasiestPath, *, hardest: bool
    ) -> None:
        super().__init__(docs, name, labels, None, path.labels, "labels are decided one by one")
        self._path = path
        self._hardest = hardest

    @cached_property
    def order(self) -> Labels:
        """The step at which each word was decided (N,), 1 = first of its sentence."""
        return decision_order(self._path, hardest=self._hardest)

    def confidences(self) -> Floats:
        """Probability of each label when it was decided (N,)."""
        return np.asarray(np.exp(self._path.log_probabilities))
