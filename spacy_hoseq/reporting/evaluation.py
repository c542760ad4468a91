"""How a pipeline did on annotated text: one object, from which the pages and the JSON of `hoseq
report` are made.

A layer is what one component writes: labels of tokens, or spans. What counts is what the pipeline
writes on the Doc; probabilities are those of the component, exact, of the same texts. Intervals and
differences are by bootstrap over sentences, of tokens also by McNemar's test.
"""

import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..curation.findings import Finding, Judged, ranked
from ..curation.judgement import Judgement, beside, judge
from ..inspection import quality, reliability
from ..inspection.measures import curve_of, risk_coverage
from ..inspection.reading import knows_sums, own_components, stages
from .findings import shown_finding
from .scores import (
    Confusion,
    ConfusionMatrix,
    Items,
    LabelScore,
    Place,
    Share,
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
from .significance import Difference, Discordance, f_score, mcnemar, paired_bootstrap

MOST = 20  # examples, texts of a list
MORPH = "morph"  # the place of labels that have features


class Calibration(NamedTuple):
    """Are probabilities right? As `inspection.measures` has them, of tokens whose gold label is
    known to the component, and of the spans that it has found; brier and log_loss of tokens only.
    expected, observed, counts: of bins of equal mass. curve: (share of the surest predictions,
    share of errors among them)."""

    ece: float
    ece_equal_mass: float
    brier: Optional[float]
    log_loss: Optional[float]
    area: float
    expected: List[float]
    observed: List[float]
    counts: List[int]
    curve: List[Tuple[float, float]]


class Uncertain(NamedTuple):
    """A sentence. entropy: H(y | x) in nats. p: of its best labelling. right: whether that is
    annotated."""

    doc: int
    words: List[str]
    entropy: float
    p: float
    right: bool


class Comparison(NamedTuple):
    """With another pipeline, less this one. difference: of accuracy or F; tokens: McNemar's test,
    of tokens only.
    gained, lost: places that only the other one has right, and only this one."""

    score: Share
    difference: Difference
    tokens: Optional[Discordance]
    gained: List[Place]
    lost: List[Place]


class Layer(NamedTuple):
    """What a component writes.

    calibrated: whether its probabilities are (`is_calibrated`). scores: "accuracy", or "precision",
    "recall" and "f"; "sentences" without any error; "known words" and "unknown words". features: of
    labels of morphology, how well each feature is found, the part of speech as "POS". calibration:
    None, and no uncertain sentences and likely errors, of a bidirectional tagger, which has no p(y
    | x). errors: likely errors of the annotation. right: "1" or "0" of each gold item, in order;
    counts: right, found and gold items of each sentence: what other tests of significance need.
    """

    component: str
    attribute: str
    calibrated: bool
    scores: Dict[str, Share]
    labels: List[LabelScore]
    features: List[LabelScore]
    confusions: List[Confusion]
    matrix: ConfusionMatrix
    calibration: Optional[Calibration]
    uncertain: List[Uncertain]
    errors: List[Dict[str, object]]
    comparison: Optional[Comparison]
    right: str
    counts: List[List[int]]


def evaluated(
    nlp: Language,
    examples: Sequence[Example],
    known: Optional[Set[str]] = None,
    other: Optional[Sequence[Doc]] = None,
) -> List[Layer]:
    """All layers that components of this package write and that are annotated; sentences only if
    there is nothing else.

    examples: predicted docs have the tokens of the references, and what the pipeline is given.
    known: words of the training corpus. other: the same Docs, annotated by another pipeline. RAISES
    ValueError [HS152].
    """
    # labels that the pipeline does not know are wrong, as all others
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[HW001\]")
        return _layers(nlp, examples, known, other)


def _layers(
    nlp: Language,
    examples: Sequence[Example],
    known: Optional[Set[str]],
    other: Optional[Sequence[Doc]],
) -> List[Layer]:
    gold_docs = [eg.reference for eg in examples]
    wanted = own_components(nlp)
    layers = []
    before: Optional[Tuple[Any, Optional[Judgement]]] = None
    for name, pipe, docs in stages(nlp, [eg.predicted.copy() for eg in examples]):
        place = before[0].target.place if before else ""
        if before and any(label for gold in gold_docs for _, _, label in items_of(gold, place)):
            layers.append(_layer(*before, docs, gold_docs, known, other))
        before = None
        if name in wanted:
            judgement = judge(pipe, beside(name, docs, examples)) if knows_sums(pipe) else None
            before = pipe, judgement
    return layers


def _layer(
    component: Any,
    judgement: Optional[Judgement],
    docs: Sequence[Doc],
    gold_docs: Sequence[Doc],
    known: Optional[Set[str]],
    other_docs: Optional[Sequence[Doc]],
) -> Layer:
    attribute = component.target.place
    is_span = component.target.of_spans
    gold = [items_of(doc, attribute) for doc in gold_docs]
    guess = [items_of(doc, attribute) for doc in docs]
    of_sentence = counts(gold_docs, gold, guess)
    scores = scores_of(of_sentence, is_span)
    if known is not None and not is_span:
        scores |= by_knowledge(gold_docs, gold, guess, known)
    calibration: Optional[Calibration] = None
    findings: List[Finding] = []
    if judgement is not None:
        calibration = _of_spans(judgement, docs, gold) if is_span else _of_tokens(judgement)
        findings = list(ranked([Judged(judgement, list(range(len(docs))))], n=MOST, k=3))
    return Layer(
        component=component.name,
        attribute=attribute,
        calibrated=component.is_calibrated,
        scores=scores,
        labels=label_scores(gold, guess),
        features=feature_scores(gold, guess) if attribute == MORPH else [],
        confusions=confusions_of(gold_docs, gold, guess, outside(attribute)),
        matrix=confusion_matrix(gold, guess, outside(attribute)),
        calibration=calibration,
        uncertain=[] if judgement is None else _uncertain(judgement),
        errors=[shown_finding(gold_docs[one.doc], one) for one in findings],
        comparison=None
        if other_docs is None
        else _comparison(gold_docs, gold, guess, other_docs, attribute),
        right="".join(map(_hits, gold, guess)),
        counts=of_sentence.astype(int).tolist(),
    )


def _hits(of_gold: Items, of_guess: Items) -> str:
    guessed = set(of_guess)
    return "".join("01"[item in guessed] for item in of_gold if item[2])


def _of_tokens(judgement: Judgement) -> Calibration:
    known = np.flatnonzero(judgement.gold >= 0)
    nodes = judgement.reading.posterior.nodes[known]
    values = quality(nodes, judgement.gold[known], judgement.reading.best[known])
    bins = values.reliability
    return Calibration(
        values.ece,
        values.ece_equal_mass,
        values.brier,
        values.log_loss,
        values.area,
        bins.expected.tolist(),
        bins.observed.tolist(),
        bins.counts.tolist(),
        values.curve,
    )


def _of_spans(judgement: Judgement, docs: Sequence[Doc], gold: Sequence[Items]) -> Calibration:
    """Of the spans that are found, by their probabilities."""
    key = judgement.attribute.partition(".")[2]
    right = [np.zeros(0, bool)]
    p = [np.zeros(0)]
    for doc, of_gold in zip(docs, gold, strict=True):
        group = doc.spans.get(key, [])
        there = set(of_gold)
        scores = getattr(group, "attrs", {}).get("scores")
        if scores is not None:
            p.append(np.asarray(scores, float))
            right.append(
                np.array([(span.start, span.end, span.label_) in there for span in group], bool)
            )
    probabilities = np.concatenate(p)
    hits = np.concatenate(right)
    bins = reliability(probabilities, hits, equal_mass=True)
    risks = risk_coverage(probabilities, hits)
    return Calibration(
        reliability(probabilities, hits).error,
        bins.error,
        None,
        None,
        float(risks.mean()) if len(risks) else 0.0,
        bins.expected.tolist(),
        bins.observed.tolist(),
        bins.counts.tolist(),
        curve_of(probabilities, hits),
    )


def _uncertain(judgement: Judgement) -> List[Uncertain]:
    """Sentences of the largest entropy, the least certain first."""
    reading = judgement.reading
    if not len(reading.ends):
        return []
    entropies = reading.sentence_entropies
    p = np.exp(np.minimum(reading.best_scores - reading.posterior.log_z, 0.0))
    rows = []
    for s in np.argsort(-entropies, kind="stable")[:MOST].tolist():
        end = int(reading.ends[s])
        start = int(reading.ends[s] - reading.lengths[s])
        text = int(reading.text_of[start])
        words = written(reading.texts[text][i] for i in reading.token_of[start:end].tolist())
        right = bool((reading.best[start:end] == judgement.gold[start:end]).all())
        rows.append(Uncertain(text, words, float(entropies[s]), float(p[s]), right))
    return rows


def _comparison(
    docs: Sequence[Doc],
    gold: Sequence[Items],
    guess: Sequence[Items],
    other_docs: Sequence[Doc],
    attribute: str,
) -> Optional[Comparison]:
    """None if the other pipeline writes nothing of the kind."""
    other = [items_of(doc, attribute) for doc in other_docs]
    if not any(label for items in other for _, _, label in items):
        return None
    a = counts(docs, gold, guess)
    b = counts(docs, gold, other)
    is_span = attribute.startswith("spans.")
    score = f_score if is_span else accuracy
    none = outside(attribute)
    changed: Dict[bool, List[Place]] = {True: [], False: []}
    right: List[Tuple[bool, bool]] = []
    for number, (of_gold, of_guess, of_other) in enumerate(zip(gold, guess, other, strict=True)):
        ours, theirs = ({item[:2]: item[2] for item in items} for items in (of_guess, of_other))
        for first, end, label in of_gold:
            both = ours.get((first, end)) == label, theirs.get((first, end)) == label
            right += [both] if label else []
            if label and both[0] != both[1]:
                wrong = (theirs if both[0] else ours).get((first, end), none)
                changed[both[1]].append(place_of(docs[number], number, first, end, label, wrong))
    hits = np.array(right, bool).reshape(-1, 2)
    return Comparison(
        share(b, score, int(b[:, 2].sum())),
        paired_bootstrap(a, b, score),
        None if is_span else mcnemar(hits[:, 0], hits[:, 1]),
        changed[True][:MOST],
        changed[False][:MOST],
    )
