"""Figures of a pipeline on annotated text: the data of the pages and of the JSON of `hoseq report`.

A layer is what one component writes: labels of tokens, or spans. Scores compare what the pipeline
writes on the Doc; probabilities are exact ones of the component, about the same texts. Intervals and
differences are by bootstrap over sentences; for tokens there is McNemar's test, too.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..inspection import Quality, quality, quality_of
from ..inspection.findings import Judgement, beside, judge, ranked
from ..inspection.reading import knows_sums, own_components, stages
from .findings import shown_finding
from .layers import stretches
from .scores import (
    MAX_ROWS,
    Data,
    Pair,
    by_knowledge,
    confusion_matrix,
    confusions_of,
    counts,
    feature_scores,
    label_scores,
    outside,
    pairs_of,
    place_of,
    scores_of,
    share,
)
from .sentence import written
from .significance import accuracy, f_score, mcnemar, paired_bootstrap


def evaluated(
    nlp: Language,
    examples: Sequence[Example],
    known: set[str] | None = None,
    other: Sequence[Doc] | None = None,
) -> list[Data]:
    """Figures of the layers that components of this package write and that are annotated; sentences
    only if there is nothing else.

    examples: predicted docs have the tokens of the references, and what the pipeline is given.
    known: words of the training corpus. other: the same Docs, annotated by another pipeline.
    RETURNS for each layer, by name:

    component, attribute; calibrated: whether its probabilities are. scores: "accuracy", or
    "precision", "recall" and "f"; "sentences" without any error; "known words" and "unknown words",
    each a `Share`. labels, and features of labels of morphology, the part of speech as "POS".
    confusions, matrix. calibration: as of `Quality`, brier and log_loss of tokens only; uncertain:
    sentences of the largest entropy; errors: likely errors of the annotation: none of these of a
    bidirectional tagger, which has no p(y | x). comparison: with the other pipeline. right: "1" or
    "0" of each gold item, in order; counts: right, found and gold items of each sentence: what
    other tests of significance need.
    RAISES ValueError [HS152]; [HS108]: a component before one of ours merges or splits tokens.
    """
    gold = [eg.reference for eg in examples]
    wanted = own_components(nlp)
    layers = []
    before: tuple[Any, Judgement | None] | None = None
    with warnings.catch_warnings():
        # labels that the pipeline does not know are wrong, as all others
        warnings.filterwarnings("ignore", r"\[HW001\]")
        for name, pipe, docs in stages(nlp, [eg.predicted.copy() for eg in examples]):
            # the next component is given what the one before has written
            if before is not None:
                layers.append(_layer(*before, docs, gold, known, other))
            before = None
            if name in wanted:
                pairs = beside(name, docs, examples)
                judgement = None
                if knows_sums(pipe):
                    judgement = judge(pipe, pairs)
                before = pipe, judgement
    return [layer for layer in layers if layer]


def _layer(
    component: Any,
    judgement: Judgement | None,
    docs: Sequence[Doc],
    gold: Sequence[Doc],
    known: set[str] | None,
    other: Sequence[Doc] | None,
) -> Data:
    """Figures of one component; {} = nothing is annotated."""
    place = component.target.place
    pairs = pairs_of(gold, docs, place)
    if not any(pair.gold for pair in pairs):
        return {}
    # a share of known words is for tokens: a span has several words
    is_span = component.target.labels_spans
    sentence_counts = counts(gold, pairs)
    scores = scores_of(sentence_counts, is_span)
    if known is not None and not is_span:
        scores |= by_knowledge(gold, pairs, known)
    features: list[Data] = []
    if place == "morph":
        features = feature_scores(pairs)
    comparison = None
    if other is not None:
        comparison = _comparison(gold, pairs, other, place)
    return {
        "component": component.name,
        "attribute": place,
        "calibrated": component.is_calibrated,
        "scores": scores,
        "labels": label_scores(pairs),
        "features": features,
        "confusions": confusions_of(gold, pairs, outside(place)),
        "matrix": confusion_matrix(pairs, outside(place)),
        **_probability_figures(judgement, docs, gold, pairs),
        "comparison": comparison,
        "right": "".join("01"[pair.gold == pair.guess] for pair in pairs if pair.gold),
        "counts": sentence_counts.astype(int).tolist(),
    }


def _probability_figures(
    judgement: Judgement | None,
    docs: Sequence[Doc],
    gold: Sequence[Doc],
    pairs: Sequence[Pair],
) -> Data:
    """Calibration, uncertain sentences and likely errors; without values if the component has no
    p(y | x)."""
    if judgement is None:
        return {"calibration": None, "uncertain": [], "errors": []}
    calibration: Data
    if judgement.reading.target.labels_spans:
        figures = _span_quality(judgement, docs, pairs)
        # these are about all labels of a token; spans that are not found have no labels
        calibration = {"brier": None, "log_loss": None}
    else:
        figures = _token_quality(judgement)
        calibration = {"brier": figures.brier, "log_loss": figures.log_loss}
    bins = figures.reliability
    calibration = {
        "ece": figures.ece,
        "ece_equal_mass": figures.ece_equal_mass,
        **calibration,
        "area": figures.area,
        "expected": bins.expected.tolist(),
        "observed": bins.observed.tolist(),
        "counts": bins.counts.tolist(),
        "curve": figures.curve,
    }
    # likely errors of the annotation: by this pipeline, which may have been trained on the same text
    findings = ranked([judgement], n=MAX_ROWS, k=3)
    errors = [shown_finding(gold[one.doc], one) for one in findings]
    return {"calibration": calibration, "uncertain": _uncertain(judgement), "errors": errors}


def _token_quality(judgement: Judgement) -> Quality:
    """Quality of the best labels, where the gold label is known."""
    known = np.flatnonzero(judgement.gold >= 0)
    nodes = judgement.reading.posterior.nodes[known]
    return quality(nodes, judgement.gold[known], judgement.reading.best[known])


def _span_quality(judgement: Judgement, docs: Sequence[Doc], pairs: Sequence[Pair]) -> Quality:
    """Quality of the spans on the Docs, by their probabilities."""
    key = judgement.reading.target.place.partition(".")[2]
    annotated = {(pair.doc, pair.first, pair.end, pair.gold) for pair in pairs}
    probabilities = []
    right = []
    for number, doc in enumerate(docs):
        for first, end, label, p in stretches(doc.spans[key]) if key in doc.spans else ():
            if p is not None:
                probabilities.append(p)
                right.append((number, first, end, label) in annotated)
    return quality_of(np.array(probabilities, float), np.array(right, bool))


def _uncertain(judgement: Judgement) -> list[Data]:
    """Sentences of the largest entropy, the least certain first: entropy in nats, p of the best
    labelling, right: whether that is annotated."""
    reading = judgement.reading
    if not len(reading.ends):
        return []
    entropies = reading.posterior.sequence_entropies()
    rows = []
    for s in np.argsort(-entropies, kind="stable")[:MAX_ROWS].tolist():
        here = slice(int(reading.ends[s] - reading.lengths[s]), int(reading.ends[s]))
        number = int(reading.text_of[here.start])
        doc = reading.texts[number]
        row = {
            "doc": number,
            "words": written(doc[i] for i in reading.token_of[here].tolist()),
            "entropy": float(entropies[s]),
            "p": float(np.exp(reading.log_p[s])),
            "right": bool((reading.best[here] == judgement.gold[here]).all()),
        }
        rows.append(row)
    return rows


def _comparison(
    docs: Sequence[Doc], pairs: Sequence[Pair], other_docs: Sequence[Doc], place: str
) -> Data | None:
    """Another pipeline compared with this one: its score; the difference of accuracy or F, its own
    less this one's; tokens: McNemar's test, for tokens only; gained, lost: places that only the
    other one has right, and only this one. None: it writes nothing at this place."""
    other = pairs_of(docs, other_docs, place)
    if not any(pair.guess for pair in other):
        return None
    none = outside(place)
    # Both have the same gold items: document, tokens and label find the other guess.
    guesses = {pair[:4]: pair for pair in other}
    ours = []
    others = []
    gained = []
    lost = []
    for pair in pairs:
        if pair.gold:
            other_pair = guesses[pair[:4]]
            ours.append(pair.guess == pair.gold)
            others.append(other_pair.guess == pair.gold)
            if others[-1] and not ours[-1]:
                gained.append(place_of(docs, pair, none))
            elif ours[-1] and not others[-1]:
                lost.append(place_of(docs, other_pair, none))
    score = accuracy
    tokens = None
    if place.startswith("spans."):
        score = f_score
    else:
        # tokens are the same for both, and so they can be compared one by one
        tokens = mcnemar(np.array(ours, bool), np.array(others, bool))._asdict()
    other_counts = counts(docs, other)
    return {
        "score": share(other_counts, score, int(other_counts[:, 2].sum())),
        "difference": paired_bootstrap(counts(docs, pairs), other_counts, score)._asdict(),
        "tokens": tokens,
        "gained": gained[:MAX_ROWS],
        "lost": lost[:MAX_ROWS],
    }
