"""How a pipeline did on annotated text, as data: what the pages and the JSON of `hoseq report` are
made of.

A layer is what one component writes: labels of tokens, or spans. What counts is what the pipeline
writes on the Doc; probabilities are those of the component, exact, of the same texts. Intervals and
differences are by bootstrap over sentences, of tokens also by McNemar's test.
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

MOST = 20  # examples, texts of a list
MORPH = "morph"  # the place of labels that have features


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
            if before is not None:
                layers.append(_layer(*before, docs, gold, known, other))
            before = None
            if name in wanted:
                pairs = beside(name, docs, examples)
                before = pipe, judge(pipe, pairs) if knows_sums(pipe) else None
    return [layer for layer in layers if layer]


def _layer(
    component: Any,
    judgement: Judgement | None,
    docs: Sequence[Doc],
    gold: Sequence[Doc],
    known: set[str] | None,
    other: Sequence[Doc] | None,
) -> Data:
    """Nothing, if nothing is annotated."""
    place = component.target.place
    pairs = pairs_of(gold, docs, place)
    if not any(pair.gold for pair in pairs):
        return {}
    is_span = component.target.labels_spans
    of_sentence = counts(gold, pairs)
    scores = scores_of(of_sentence, is_span)
    if known is not None and not is_span:
        scores |= by_knowledge(gold, pairs, known)
    return {
        "component": component.name,
        "attribute": place,
        "calibrated": component.is_calibrated,
        "scores": scores,
        "labels": label_scores(pairs),
        "features": feature_scores(pairs) if place == MORPH else [],
        "confusions": confusions_of(gold, pairs, outside(place)),
        "matrix": confusion_matrix(pairs, outside(place)),
        **_of_probabilities(judgement, docs, gold, pairs),
        "comparison": None if other is None else _comparison(gold, pairs, other, place),
        "right": "".join("01"[pair.gold == pair.guess] for pair in pairs if pair.gold),
        "counts": of_sentence.astype(int).tolist(),
    }


def _of_probabilities(
    judgement: Judgement | None,
    docs: Sequence[Doc],
    gold: Sequence[Doc],
    pairs: Sequence[Pair],
) -> Data:
    if judgement is None:
        return {"calibration": None, "uncertain": [], "errors": []}
    is_span = judgement.reading.target.labels_spans
    values = _of_spans(judgement, docs, pairs) if is_span else _of_tokens(judgement)
    bins = values.reliability
    calibration = {
        "ece": values.ece,
        "ece_equal_mass": values.ece_equal_mass,
        "brier": None if is_span else values.brier,
        "log_loss": None if is_span else values.log_loss,
        "area": values.area,
        "expected": bins.expected.tolist(),
        "observed": bins.observed.tolist(),
        "counts": bins.counts.tolist(),
        "curve": values.curve,
    }
    findings = ranked([judgement], n=MOST, k=3)
    errors = [shown_finding(gold[one.doc], one) for one in findings]
    return {"calibration": calibration, "uncertain": _uncertain(judgement), "errors": errors}


def _of_tokens(judgement: Judgement) -> Quality:
    known = np.flatnonzero(judgement.gold >= 0)
    nodes = judgement.reading.posterior.nodes[known]
    return quality(nodes, judgement.gold[known], judgement.reading.best[known])


def _of_spans(judgement: Judgement, docs: Sequence[Doc], pairs: Sequence[Pair]) -> Quality:
    """Quality of the spans that are found, by their probabilities."""
    key = judgement.reading.target.place.partition(".")[2]
    annotated = {(pair.doc, pair.first, pair.end, pair.gold) for pair in pairs}
    found = [
        (p, (number, *span) in annotated)
        for number, doc in enumerate(docs)
        for *span, p in (stretches(doc.spans[key]) if key in doc.spans else ())
        if p is not None
    ]
    p, right = np.array(found, float).reshape(-1, 2).T
    return quality_of(p, right.astype(bool))


def _uncertain(judgement: Judgement) -> list[Data]:
    """Sentences of the largest entropy, the least certain first: entropy in nats, p of the best
    labelling, right: whether that is annotated."""
    reading = judgement.reading
    if not len(reading.ends):
        return []
    entropies = reading.posterior.sequence_entropies()
    rows = []
    for s in np.argsort(-entropies, kind="stable")[:MOST].tolist():
        here = slice(int(reading.ends[s] - reading.lengths[s]), int(reading.ends[s]))
        text = int(reading.text_of[here.start])
        rows.append(
            {
                "doc": text,
                "words": written(reading.texts[text][i] for i in reading.token_of[here].tolist()),
                "entropy": float(entropies[s]),
                "p": float(np.exp(reading.log_p[s])),
                "right": bool((reading.best[here] == judgement.gold[here]).all()),
            }
        )
    return rows


def _comparison(
    docs: Sequence[Doc], pairs: Sequence[Pair], other_docs: Sequence[Doc], place: str
) -> Data | None:
    """A comparison: another pipeline less this one: score; difference of accuracy or F; tokens:
    McNemar's test, of tokens only; gained, lost: places that only the other one has right, and only
    this one. None: it writes nothing of the kind."""
    other = pairs_of(docs, other_docs, place)
    if not any(pair.guess for pair in other):
        return None
    is_span = place.startswith("spans.")
    score = f_score if is_span else accuracy
    none = outside(place)
    theirs = {pair[:4]: pair for pair in other}
    gold = [(pair, theirs[pair[:4]]) for pair in pairs if pair.gold]
    ours, others = (
        np.array([p.gold == p.guess for p in each], bool) for each in zip(*gold, strict=True)
    )
    gained = [place_of(docs, a, none) for a, b in gold if a.guess != a.gold == b.guess]
    lost = [place_of(docs, b, none) for a, b in gold if b.guess != b.gold == a.guess]
    of_sentence = counts(docs, other)
    return {
        "score": share(of_sentence, score, int(of_sentence[:, 2].sum())),
        "difference": paired_bootstrap(counts(docs, pairs), of_sentence, score)._asdict(),
        "tokens": None if is_span else mcnemar(ours, others)._asdict(),
        "gained": gained[:MOST],
        "lost": lost[:MOST],
    }
