"""The factories of all components.

spaCy imports every installed factory when it makes its first pipeline, whatever that has in it. So
this module is light: a factory imports its component when it makes one.
"""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from . import extensions as _extensions  # noqa: F401  (registers `doc._.hoseq_marginals`)
from .named import ChunkRepresentation, Representation, Strategy


def sparse_emissions(templates: str, min_count: int = 1) -> dict[str, Any]:
    """The config of a layer over the features of a registered list of templates."""
    return {
        "@architectures": "spacy_hoseq.SparseLinear.v1",
        "min_count": min_count,
        "hash_rows": None,
        "nO": None,
        "templates": {"@misc": "spacy_hoseq.templates.v1", "name": templates},
    }


def tagger_model(emissions: dict[str, Any]) -> dict[str, Any]:
    """The config of a model without patterns over these emissions."""
    return {
        "@architectures": "spacy_hoseq.HigherOrderTagger.v1",
        "patterns": None,
        "emissions": emissions,
    }


def adagrad(
    learn_rate: float = 0.1, l1: float = 0.0, average: bool | str = "late"
) -> dict[str, Any]:
    """The config of an update rule."""
    return {
        "@misc": "spacy_hoseq.adagrad.v1",
        "learn_rate": learn_rate,
        "l1": l1,
        "l2": 0.0,
        "average": average,
    }


TAGGER: dict[str, Any] = {
    "model": tagger_model(sparse_emissions("english_pos")),
    "objective": "log_likelihood",
    "decoder": "exact",
    "update_rule": adagrad(),
    "attribute": "tag",
    "overwrite": False,
    "neg_prefix": "!",
    "save_marginals": False,
    "scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"},
}


@Language.factory(
    "hoseq_tagger",
    assigns=["token.tag"],
    default_config=TAGGER,
    default_score_weights={"tag_acc": 1.0},
)
def make_hoseq_tagger(
    nlp: Language,
    name: str,
    model: Model,
    objective: str | Callable,
    decoder: str | Callable,
    update_rule: Any,
    attribute: str,
    overwrite: bool,
    neg_prefix: str,
    save_marginals: bool,
    scorer: Callable | None,
) -> Any:
    """Labels every token with the best label sequence of its sentence (`HoseqTagger`)."""
    from .tagger import HoseqTagger

    component = HoseqTagger(
        nlp.vocab,
        model,
        name,
        objective=objective,
        decoder=decoder,
        update_rule=update_rule,
        attribute=attribute,
        overwrite=overwrite,
        neg_prefix=neg_prefix,
        save_marginals=save_marginals,
        scorer=scorer,
    )
    component.join(nlp)
    return component


make_hoseq_senter = Language.factory(
    "hoseq_senter",
    assigns=["token.is_sent_start"],
    default_config={
        **TAGGER,
        "model": tagger_model(sparse_emissions("sentences", min_count=2)),
        "objective": "max_margin",
        "attribute": "sent_start",
    },
    default_score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)(make_hoseq_tagger)


@Language.factory(
    "hoseq_bidirectional_tagger",
    assigns=["token.tag"],
    default_config={
        "model": {
            "@architectures": "spacy_hoseq.LocalClassifiers.v1",
            "order": 2,
            "min_count": 1,
            "templates": {"@misc": "spacy_hoseq.templates.v1", "name": "bidirectional_pos"},
        },
        "strategy": "easiest_first",
        "width": 0.5,
        "passes": 0,
        "attribute": "tag",
        "representation": None,
        "overwrite": False,
        "save_decisions": False,
        "scorer": {"@scorers": "spacy_hoseq.label_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0},
)
def make_hoseq_bidirectional_tagger(
    nlp: Language,
    name: str,
    model: Model,
    strategy: Strategy,
    width: float,
    passes: int,
    attribute: str,
    representation: Representation | None,
    overwrite: bool,
    save_decisions: bool,
    scorer: Callable | None,
) -> Any:
    """Labels tokens, or chunks, by bidirectional inference (`HoseqBidirectionalTagger`)."""
    from .bidirectional_tagger import HoseqBidirectionalTagger

    component = HoseqBidirectionalTagger(
        nlp.vocab,
        model,
        name,
        strategy=strategy,
        width=width,
        passes=passes,
        attribute=attribute,
        representation=representation,
        overwrite=overwrite,
        save_decisions=save_decisions,
        scorer=scorer,
    )
    component.join(nlp)
    return component


@Language.factory(
    "hoseq_morphologizer",
    assigns=["token.morph", "token.pos"],
    default_config={
        "model": {
            **tagger_model(sparse_emissions("morphology")),
            "label_pairs": False,
            "parts": {"@misc": "spacy_hoseq.morphological_parts.v1"},
        },
        "objective": "max_margin",
        "decoder": "exact",
        "update_rule": adagrad(learn_rate=0.01),
        "with_tag": False,
        "extend": False,
        "overwrite": True,
        "save_marginals": False,
        "scorer": {"@scorers": "spacy.morphologizer_scorer.v1"},
    },
    default_score_weights={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)
def make_hoseq_morphologizer(
    nlp: Language,
    name: str,
    model: Model,
    objective: str | Callable,
    decoder: str | Callable,
    update_rule: Any,
    with_tag: bool,
    extend: bool,
    overwrite: bool,
    save_marginals: bool,
    scorer: Callable | None,
) -> Any:
    """Labels every token with part of speech and features (`HoseqMorphologizer`)."""
    from .morphologizer import HoseqMorphologizer

    component = HoseqMorphologizer(
        nlp.vocab,
        model,
        name,
        objective=objective,
        decoder=decoder,
        update_rule=update_rule,
        with_tag=with_tag,
        extend=extend,
        overwrite=overwrite,
        save_marginals=save_marginals,
        scorer=scorer,
    )
    component.join(nlp)
    return component


@Language.factory(
    "hoseq_lemmatizer",
    assigns=["token.lemma"],
    requires=["token.pos", "token.morph"],
    default_config={
        "model": {
            **tagger_model(sparse_emissions("lemmas", min_count=2)),
            "label_pairs": False,
        },
        "objective": "max_margin",
        "update_rule": adagrad(),
        "overwrite": False,
        "save_marginals": False,
        "scorer": {"@scorers": "spacy.lemmatizer_scorer.v1"},
    },
    default_score_weights={"lemma_acc": 1.0},
)
def make_hoseq_lemmatizer(
    nlp: Language,
    name: str,
    model: Model,
    objective: str | Callable,
    update_rule: Any,
    overwrite: bool,
    save_marginals: bool,
    scorer: Callable | None,
) -> Any:
    """Writes the lemma of every token (`HoseqLemmatizer`)."""
    from .lemmatizer import HoseqLemmatizer

    component = HoseqLemmatizer(
        nlp.vocab,
        model,
        name,
        objective=objective,
        update_rule=update_rule,
        overwrite=overwrite,
        save_marginals=save_marginals,
        scorer=scorer,
    )
    component.join(nlp)
    return component


CHUNKER: dict[str, Any] = {
    # scores of words, and of the tags of an earlier tagger with their probabilities
    "model": tagger_model(
        {
            "@architectures": "spacy_hoseq.SumEmissions.v1",
            "nO": None,
            "first": sparse_emissions("english_pos"),
            "second": {
                "@architectures": "spacy_hoseq.MarginalLinear.v1",
                "min_count": 2,
                "nO": None,
                "templates": {"@misc": "spacy_hoseq.templates.v1", "name": "upstream_chunks"},
                "upstream": {
                    "@architectures": "spacy_hoseq.MarginalListener.v1",
                    "upstream": "*",
                    "grad_factor": 0.0,
                    "threshold": 0.05,
                },
            },
        }
    ),
    "objective": "log_likelihood",
    "decoder": "exact",
    "update_rule": adagrad(average=True),
    "representation": "bilou",
    "spans_key": "chunks",
    "annotate_ents": False,
    "overwrite": False,
    "save_marginals": False,
    "span_threshold": None,
    "scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"},
}


@Language.factory(
    "hoseq_chunker",
    assigns=["doc.spans"],
    requires=["token.tag"],
    default_config=CHUNKER,
    default_score_weights={"spans_chunks_f": 1.0, "spans_chunks_p": 0.0, "spans_chunks_r": 0.0},
)
def make_hoseq_chunker(
    nlp: Language,
    name: str,
    model: Model,
    objective: str | Callable,
    decoder: str | Callable,
    update_rule: Any,
    representation: ChunkRepresentation,
    spans_key: str,
    annotate_ents: bool,
    overwrite: bool,
    save_marginals: bool,
    span_threshold: float | None,
    scorer: Callable | None,
) -> Any:
    """Finds chunks that do not overlap (`HoseqChunker`)."""
    from .chunker import HoseqChunker

    component = HoseqChunker(
        nlp.vocab,
        model,
        name,
        objective=objective,
        decoder=decoder,
        update_rule=update_rule,
        representation=representation,
        spans_key=spans_key,
        annotate_ents=annotate_ents,
        overwrite=overwrite,
        save_marginals=save_marginals,
        span_threshold=span_threshold,
        scorer=scorer,
    )
    component.join(nlp)
    return component


make_hoseq_ner = Language.factory(
    "hoseq_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type", "doc.spans"],
    default_config={
        **CHUNKER,
        "model": tagger_model(sparse_emissions("entities")),
        "update_rule": adagrad(l1=0.005, average=False),
        "spans_key": "entities",
        "annotate_ents": True,
        "span_threshold": 0.3,
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)(make_hoseq_chunker)


@Language.component(
    "hoseq_merge_noun_chunks", requires=["doc.spans", "token.tag", "token.pos"], retokenizes=True
)
def hoseq_merge_noun_chunks(doc: Doc) -> Doc:
    """Merges the noun phrases of a chunker, or of a parser, into tokens."""
    from .noun_chunks import merge_noun_chunks

    return merge_noun_chunks(doc)
