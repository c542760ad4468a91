"""Decoders of `hoseq_tagger` by their short names: it learns and labels with them.

[components.hoseq_tagger.decoder]
@misc = "spacy_hoseq.dual_decomposition_decoder.v1"
"""

from typing import Any


def decoded(settings: dict[str, Any], name: str) -> None:
    """Let a tagger of a config use a decoder. name: as registered, without prefix and version; "exact" = as it is."""
    if name != "exact":
        settings["decoder"] = {"@misc": f"spacy_hoseq.{name}_decoder.v1"}
