"""How a pipeline did on annotated text, as data: what the pages and the JSON of `hoseq report` are
made of.

A layer is what one component writes: labels of tokens, or spans. What counts is what the pipeline
writes on the Doc; probabilities are those of the component, exact, of the same texts. Intervals and
differences are by bootstrap over sentences, of tokens also by McNemar's test.
"""

import warnings
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..curation import Judgement, judge, ranked
from ..curation.findings import beside
from ..inspection import Quality, quality, quality_of
from ..inspection.reading import knows_sums, own_components, stages
from .findings import shown_finding
from .scores import (
    Data,
    Items,
    accuracy,
    by_knowledge,
    confusion_matrix,
    confusions_of,
    counts,
    feature_scores,
    items_of,
    label_scores,
    outside,
    place_of,
    scores_of,
    share,
)
from .sentence import written
from .significance import f_score, mcnemar, paired_bootstrap

MOST = 20  # examples, texts of a list
MORPH = "morph"  # the place of labels that have features


def evaluated(
    nlp: Language,
    examples: Sequence[Example],
    known: Optional[Set[str]] = None,
    other: Optional[Sequence[Doc]] = None,
) -> List[Data]:
    """All layers that components of this package write and that are annotated; sentences only if
    there is nothing else.

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
    gold_docs = [eg.reference for eg in examples]
    wanted = own_components(nlp)
    layers = []
    before: Optional[Tuple[Any, Optional[Judgement]]] = None
    with warnings.catch_warnings():
        # labels that the pipeline does not know are wrong, as all others
        warnings.filterwarnings("ignore", r"\[HW001\]")
        for name, pipe, docs in stages(nlp, [eg.predicted.copy() for eg in examples]):
            if before is not None:
                layers.append(_layer(*before, docs, gold_docs, known, other))
            before = None
            if name in wanted:
                pairs = beside(name, docs, examples)
                before = pipe, judge(pipe, pairs) if knows_sums(pipe) else None
    return [layer for layer in layers if layer]


def _layer(
    component: Any,
    judgement: Optional[Judgement],
    docs: Sequence[Doc],
    gold_docs: Sequence[Doc],
    known: Optional[Set[str]],
    other: Optional[Sequence[Doc]],
) -> Data:
    """Nothing, if nothing is annotated."""
    place = component.target.place
    is_span = component.target.of_spans
    gold = [items_of(doc, place) for doc in gold_docs]
    if not any(label for items in gold for _, _, label in items):
        return {}
    guess = [items_of(doc, place) for doc in docs]
    of_sentence = counts(gold_docs, gold, guess)
    scores = scores_of(of_sentence, is_span)
    if known is not None and not is_span:
        scores |= by_knowledge(gold_docs, gold, guess, known)
    none = outside(place)
    found = [(set(of_guess), of_gold) for of_gold, of_guess in zip(gold, guess, strict=True)]
    return {
        "component": component.name,
        "attribute": place,
        "calibrated": component.is_calibrated,
        "scores": scores,
        "labels": label_scores(gold, guess),
        "features": feature_scores(gold, guess) if place == MORPH else [],
        "confusions": confusions_of(gold_docs, gold, guess, none),
        "matrix": confusion_matrix(gold, guess, none),
        **_of_probabilities(judgement, docs, gold_docs, gold),
        "comparison": None if other is None else _comparison(gold_docs, gold, guess, other, place),
        "right": "".join("01"[x in of_guess] for of_guess, of in found for x in of if x[2]),
        "counts": of_sentence.astype(int).tolist(),
    }


def _of_probabilities(
    judgement: Optional[Judgement],
    docs: Sequence[Doc],
    gold_docs: Sequence[Doc],
    gold: Sequence[Items],
) -> Data:
    if judgement is None:
        return {"calibration": None, "uncertain": [], "errors": []}
    is_span = judgement.reading.target.of_spans
    values = _of_spans(judgement, docs, gold) if is_span else _of_tokens(judgement)
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
    errors = [shown_finding(gold_docs[one.doc], one) for one in findings]
    return {"calibration": calibration, "uncertain": _uncertain(judgement), "errors": errors}


def _of_tokens(judgement: Judgement) -> Quality:
    known = np.flatnonzero(judgement.gold >= 0)
    nodes = judgement.reading.posterior.nodes[known]
    return quality(nodes, judgement.gold[known], judgement.reading.best[known])


def _of_spans(judgement: Judgement, docs: Sequence[Doc], gold: Sequence[Items]) -> Quality:
    """Of the spans that are found, by their probabilities."""
    key = judgement.reading.target.place.partition(".")[2]
    right: List[bool] = []
    p: List[float] = []
    for doc, of_gold in zip(docs, gold, strict=True):
        group = doc.spans.get(key, [])
        scores = getattr(group, "attrs", {}).get("scores")
        if scores is not None:
            p += list(map(float, scores))
            right += [(span.start, span.end, span.label_) in of_gold for span in group]
    return quality_of(np.array(p, float), np.array(right, bool))


def _uncertain(judgement: Judgement) -> List[Data]:
    """Sentences of the largest entropy, the least certain first: entropy in nats, p of the best
    labelling, right: whether that is annotated."""
    reading = judgement.reading
    if not len(reading.ends):
        return []
    entropies = reading.posterior.sequence_entropies()
    p = np.exp(reading.log_p)
    rows = []
    for s in np.argsort(-entropies, kind="stable")[:MOST].tolist():
        here = slice(int(reading.ends[s] - reading.lengths[s]), int(reading.ends[s]))
        text = int(reading.text_of[here.start])
        words = written(reading.texts[text][i] for i in reading.token_of[here].tolist())
        right = bool((reading.best[here] == judgement.gold[here]).all())
        row = {"doc": text, "words": words, "entropy": float(entropies[s]), "p": float(p[s])}
        rows.append({**row, "right": right})
    return rows


def _comparison(
    docs: Sequence[Doc],
    gold: Sequence[Items],
    guess: Sequence[Items],
    other_docs: Sequence[Doc],
    place: str,
) -> Optional[Data]:
    """With another pipeline, less this one: score; difference of accuracy or F; tokens: McNemar's
    test, of tokens only; gained, lost: places that only the other one has right, and only this one.
    None: it writes nothing of the kind."""
    other = [items_of(doc, place) for doc in other_docs]
    if not any(label for items in other for _, _, label in items):
        return None
    is_span = place.startswith("spans.")
    score = f_score if is_span else accuracy
    changed: Dict[bool, List[Data]] = {True: [], False: []}
    right: List[Tuple[bool, bool]] = []
    for number, (of_gold, of_guess, of_other) in enumerate(zip(gold, guess, other, strict=True)):
        ours, theirs = ({item[:2]: item[2] for item in items} for items in (of_guess, of_other))
        for first, end, label in of_gold:
            both = ours.get((first, end)) == label, theirs.get((first, end)) == label
            right += [both] if label else []
            if label and both[0] != both[1]:
                wrong = (theirs if both[0] else ours).get((first, end), outside(place))
                changed[both[1]].append(place_of(docs[number], number, first, end, label, wrong))
    of_sentence = counts(docs, gold, other)
    hits = np.array(right, bool).reshape(-1, 2)
    return {
        "score": share(of_sentence, score, int(of_sentence[:, 2].sum())),
        "difference": paired_bootstrap(counts(docs, gold, guess), of_sentence, score),
        "tokens": None if is_span else mcnemar(hits[:, 0], hits[:, 1]),
        "gained": changed[True][:MOST],
        "lost": changed[False][:MOST],
    }
