"""`decoded_tagger`: a `hoseq_tagger` that learns and labels with a decoder of its own.

[components.hoseq_tagger]
factory = "decoded_tagger"

[components.hoseq_tagger.decoder]
@misc = "spacy_hoseq.dual_decomposition_decoder.v1"
"""

from collections.abc import Callable
from typing import Any

from spacy.vocab import Vocab

from spacy_hoseq.components.base import register_factory
from spacy_hoseq.components.reading import Reading
from spacy_hoseq.components.tagger import DEFAULTS, HoseqTagger
from spacy_hoseq.decoders import Decoder
from spacy_hoseq.layers.structured import TaggerModel
from spacy_hoseq.learning.objectives import ObjectiveName
from spacy_hoseq.learning.parameter import UpdateRule


class DecodedTagger(HoseqTagger):
    """decoder (Decoder): how labels are found, in prediction and in training. Else as `HoseqTagger`."""

    def __init__(
        self,
        vocab: Vocab,
        model: TaggerModel,
        name: str = "decoded_tagger",
        *,
        decoder: Decoder,
        objective: ObjectiveName = "max_margin",
        update_rule: UpdateRule,
        attribute: str = "tag",
        overwrite: bool = False,
        neg_prefix: str = "!",
        save_marginals: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        super().__init__(
            vocab,
            model,
            name,
            objective=objective,
            update_rule=update_rule,
            attribute=attribute,
            overwrite=overwrite,
            neg_prefix=neg_prefix,
            save_marginals=save_marginals,
            scorer=scorer,
        )
        self.decoder = decoder

    def _read(self, docs: Any, *, preset: bool, labels_alone: bool) -> Reading:
        potentials = super()._read(docs, preset=preset, labels_alone=False).potentials
        return Reading(docs, self.name, self.tags, potentials, self.decoder(potentials).labels)


decoder = {"@misc": "spacy_hoseq.beam_decoder.v1"}
make_decoded_tagger = register_factory(
    DecodedTagger,
    "decoded_tagger",
    {**DEFAULTS, "decoder": decoder},
    {"tag_acc": 1.0},
    assigns=["token.tag"],
)


def decoded(settings: dict[str, Any], name: str) -> None:
    """Let a tagger of a config use a decoder. name: as registered, without prefix and version; "exact" = as it is."""
    if name != "exact":
        settings.update(
            factory="decoded_tagger", decoder={"@misc": f"spacy_hoseq.{name}_decoder.v1"}
        )
