"""Scores of components, under spaCy's names: those of the annotated attribute, not of the component."""

from collections.abc import Iterable
from operator import methodcaller
from typing import Any

from spacy.pipeline.morphologizer import morphologizer_score
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from .words import trimmed


def _extension_value(token: Token, name: str) -> object:
    """Hash of the label in an extension, 0 if there is none."""
    label = getattr(token._, name)
    return token.vocab.strings.add(label) if label else 0


def label_score(
    examples: Iterable[Example], *, attribute: str = "tag", **_: object
) -> dict[str, Any]:
    """Accuracy of token labels as "{attribute}_acc": spaCy's `Scorer.score_token_attr` on the
    component's attribute. For sentence starts, precision, recall and F of sentences, as spaCy's
    `senter` has them."""
    if attribute == "sent_start":
        has_sentences = methodcaller("has_annotation", "SENT_START")
        return Scorer.score_spans(
            examples, "sents", getter=_sentences, has_annotation=has_sentences
        )
    if attribute.startswith("_."):
        return Scorer.score_token_attr(examples, attribute[2:], getter=_extension_value)
    return Scorer.score_token_attr(examples, attribute)


def _sentences(doc: Doc, _: str) -> Iterable[Span]:
    """Sentences without white space at their ends."""
    return trimmed(doc.sents)


def make_label_scorer() -> Any:
    """Registered as `spacy_hoseq.label_scorer.v1`: accuracy of the component's attribute, as
    `{attribute}_acc`."""
    return label_score


def analysis_score(examples: Iterable[Example], **settings: object) -> dict[str, Any]:
    """Scores of parts of speech and features, as spaCy has them, and "tag_acc", because a
    `hoseq_morphologizer` may write tags, too."""
    examples = list(examples)
    return {**morphologizer_score(examples, **settings), **label_score(examples, attribute="tag")}


def make_analysis_scorer() -> Any:
    """Registered as `spacy_hoseq.analysis_scorer.v1`: scores of parts of speech and features as spaCy
    has them, and `tag_acc`."""
    return analysis_score


def chunk_score(
    examples: Iterable[Example], *, spans_key: str = "chunks", **_: object
) -> dict[str, Any]:
    """Precision, recall and F of whole chunks as "spans_{spans_key}_{p,r,f,per_type}": spaCy's
    `Scorer.score_spans`, of chunks without white space at their ends."""
    attribute = f"spans_{spans_key}"

    def chunks(doc: Doc, _: str) -> Iterable[Span]:
        return trimmed(doc.spans.get(spans_key, []))

    scores = Scorer.score_spans(
        examples, attribute, getter=chunks, has_annotation=lambda doc: spans_key in doc.spans
    )
    # spaCy's order of types is that of a set: another one in each process, in saved pipelines, too
    name = f"{attribute}_per_type"
    if scores.get(name):
        scores[name] = dict(sorted(scores[name].items()))
    return scores


def make_chunk_scorer() -> Any:
    """Registered as `spacy_hoseq.chunk_scorer.v1`: precision, recall and F of whole chunks, as
    `spans_{spans_key}_f` and so on."""
    return chunk_score
