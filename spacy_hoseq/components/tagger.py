"""`hoseq_tagger`: exact higher-order tagging, trained through `spacy train`.

The component owns its learning: update rule and averaging of its config act on the linear weights
at every `finish_update`; `[training.optimizer]` trains neural emissions only. `update` works on raw
weights, `predict` and saving on finished ones (averaged, half precision).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from ..arrays import Labels
from ..decoders.choice import Decoder, check_n_samples, sample
from ..features.sequences import WordDocs, pieces_of, words_of
from ..layers.scorer import scorer_of
from ..layers.structured import TaggerModel
from ..learning.objectives import Objective
from ..learning.parameter import UpdateRule
from .predictions import Predictions
from .structured import StructuredComponent, parts_of
from .targets.token_labels import TokenLabels


class ScoredLabels(NamedTuple):
    """One of the best label sequences of a Doc. score: the decoder's objective, in score units."""

    labels: list[str]
    score: float


class HoseqTagger(StructuredComponent):
    """Labels every token with the best label sequence of its sentence.

    vocab (Vocab): the shared vocabulary. model (Model): `spacy_hoseq.HigherOrderTagger.v1`. name
    (str): its name in the pipeline. Settings, which docs/reference/tagger.md describes:

    objective (str or function): the loss. "perceptron" and "max_margin" decode, "log_likelihood"
        trains probabilities.
    decoder (str or function): how labels are found, in training too: "exact" gives the best label
        sequence, "max_marginal" the most probable label of each token.
    update_rule (UpdateRule): how linear weights follow the gradient.
    attribute (str): where labels are read and written: "tag", "pos", "sent_start", or an extension,
        "_.name".
    overwrite (bool): replace labels that are set already; else they constrain the others.
    neg_prefix (str): "!NN" in the gold annotation means "any label but NN"; "" = no such prefix.
    save_marginals (bool): keep the probabilities of all labels on the Doc
        (`doc._.hoseq_marginals`).
    scorer (Callable): the function that scores; None = no score.

    target (Target): where labels stand, if that is no attribute.
    RAISES ValueError [HS027, HS161]: impossible settings.
    """

    target: TokenLabels
    label_cells = 8_000_000  # scores of labels, tokens x labels, that are decoded at once

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "hoseq_tagger",
        *,
        objective: str | Objective = "log_likelihood",
        decoder: str | Decoder = "exact",
        update_rule: UpdateRule,
        attribute: str = "tag",
        overwrite: bool = False,
        neg_prefix: str = "!",
        save_marginals: bool = False,
        scorer: Callable | None = None,
        target: TokenLabels | None = None,
    ) -> None:
        target = TokenLabels(attribute, neg_prefix) if target is None else target
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            decoder=decoder,
            update_rule=update_rule,
            scorer=scorer,
            target=target,
            cfg={
                "attribute": target.attribute,
                "overwrite": overwrite,
                "neg_prefix": target.neg_prefix,
                "save_marginals": save_marginals,
                "tag_dictionary": {},
            },
        )

    def top_k(self, docs: Doc | Iterable[Doc], k: int) -> list[list[ScoredLabels]]:
        """The k best label sequences of each Doc, best first, under the same constraints as
        `predict`. RAISES ValueError [HS027, HS038, HS099]."""
        return [
            [
                ScoredLabels(labels, score)
                for labels, score in zip(
                    self._named(best.labels, words), best.scores.tolist(), strict=True
                )
            ]
            for words, best in self._k_best(docs, k)
        ]

    def sample(
        self, docs: Iterable[Doc], n_samples: int, *, seed: int = 0
    ) -> list[list[list[str]]]:
        """Label sequences of each Doc drawn from p(y | x), under the same constraints as `predict`.
        RAISES ValueError [HS027, HS038, HS099]."""
        check_n_samples(n_samples)
        rng = np.random.default_rng(seed)
        readings = (self.read([doc]) for doc in docs)
        return [
            self._named(sample(reading.potentials, n_samples, rng), reading.docs)
            for reading in readings
        ]

    def _shares(
        self, docs: Iterable[Doc], names_of: Callable[[Token, int], Iterable[str]], least: float
    ) -> list[list[dict[str, float]]]:
        """For each token of each Doc, names of its labels with their probabilities, sums of those of
        all labels with the name, most probable first. names_of: of a label at a token. least
        (float): less probable ones are left out."""
        result = []
        for doc in docs:
            reading = self.read([doc])
            (nodes,) = reading.by_token(reading.posterior.nodes)
            shares: list[dict[str, float]] = [defaultdict(float) for _ in doc]
            for i, label_id in np.argwhere(nodes).tolist():
                for name in names_of(doc[i], label_id):
                    shares[i][name] += float(nodes[i, label_id])
            ordered = (sorted(of.items(), key=lambda pair: (-pair[1], pair[0])) for of in shares)
            result.append([{name: min(p, 1.0) for name, p in of if p >= least} for of in ordered])
        return result

    def _named(self, rows: Labels, words: WordDocs) -> list[list[str]]:
        """Several label sequences of one Doc, with what stands at white space. rows (k, n): ids of
        its words."""
        tokens = words.on_tokens(rows.T, -1)
        return [[self._label_table.names[y] for y in row] for row in tokens.T.tolist()]

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Predictions:
        if labels_alone and any(map(len, docs)):
            # a label that is set already constrains one token, not all words like it
            is_preset = preset and not self.cfg["overwrite"] and self.target.are_set(docs)
            best = None if is_preset else self._best_candidates(docs)
            if best is not None:
                why = "labels alone were asked for"
                return Predictions(docs, self.name, self._label_table.labels, None, best, why)
        parts = self._parts(docs) if labels_alone else [docs]
        read = super()._read
        if len(parts) == 1:
            return read(docs, preset=preset, labels_alone=labels_alone)
        best = np.concatenate([read(part, preset=preset, labels_alone=True).best for part in parts])
        why = "of so many texts at once, labels alone were asked for"
        return Predictions(docs, self.name, self._label_table.labels, None, best, why)

    def _best_candidates(self, docs: WordDocs) -> Labels | None:
        """The best labels of words that do not depend on each other (N,), of their candidates, which
        alone are scored; None = labels depend on others, or there are no candidates."""
        return None

    def _parts(self, docs: WordDocs) -> list[WordDocs]:
        """Docs whose labels are decoded together: scores of many labels take memory. Where the text
        around a sentence does not matter, a long Doc is cut between sentences."""
        most = max(1, self.label_cells // max(1, len(self._label_table.labels)))
        if sum(map(len, docs)) <= most:
            return [docs]
        if scorer_of(self.model).sees_sentences_alone:
            docs = words_of([piece for doc in docs for piece in pieces_of(doc, most)])
        return [words_of(part) for part in parts_of(docs, most)]
