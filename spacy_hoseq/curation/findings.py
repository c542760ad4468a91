"""Annotation that is likely wrong, the most likely first, and why a model that has not seen the text
prefers another.

Units (judgement.py) are ranked by how much more probable the best other label is than the gold one,
to a model that has not seen the text, while the annotation around is believed:

    log max over other than gold of p(y_unit = other | x, others) - log p(y_unit = gold | x, others)

A model is often unsure of what the gold labels around decide: what is left by them is the
annotator's mistake, or its own.

One disagreement is one finding. Its region is the smallest stretch of words in which neither the
gold labelling nor the best one has a chunk that reaches beyond it; its alternatives are the k best
labellings of the region, each with its exact probability given the gold labels around.

Beside it stand words that are labelled differently in the same context, one word on either side
(Dickinson & Meurers 2003, variation n-grams): there a word rarely has two labels, so one of them is
likely wrong.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc, Span
from thinc.api import Config

from ..arrays import AnyInts
from ..chunks import OUTSIDE, TagTable
from ..components.targets.places import target_at
from ..decoders import k_best, posterior
from ..errors import Errors
from ..inspection import Explanation, Reading
from ..inspection.explanation import explain, explain_span
from .folds import Fold, trained_without
from .judgement import Judgement, continues, judged

EXPLAINED = 500  # findings
EDGE = 0  # stands before the first and after the last word of a sequence
Stretch = Tuple[int, int, str]  # tokens first <= i < end, and their label
Context = Tuple[int, int, int]


class Alternative(NamedTuple):
    """spans: of the region, tokens first <= i < end of the Doc and their label; none: outside of
    all chunks. p: of this labelling given x and the gold labels around the region."""

    spans: List[Stretch]
    p: float


class Finding(NamedTuple):
    """doc (int): number in the corpus. component: its name. first, end: tokens of the region.
    sentence: first token and end of its sequence.

    gold: what is annotated in the region, with its probability as of `Alternative`. alternatives:
        the k best others.
    doubt: of the unit by which it was found, in nats; p, p_given: of its gold label. gap: log of
    p(best labelling) / p(gold labelling) of the sentence. variants: labels of the same word between
    the same neighbours in the corpus, with their counts, if there are several. why: what the model
    that has not seen the text says for another label, or against the annotated chunk.
    """

    doc: int
    component: str
    attribute: str
    first: int
    end: int
    sentence: Tuple[int, int]
    gold: Alternative
    alternatives: List[Alternative]
    doubt: float
    p: float
    p_given: float
    gap: float
    variants: Dict[str, int]
    why: Optional[Explanation] = None


class Judged(NamedTuple):
    """A judgement, and the numbers of its Docs in the corpus."""

    judgement: Judgement
    docs: List[int]


def find_errors(
    config: Config,
    docs: Sequence[Doc],
    *,
    n_folds: int = 5,
    n: int = 200,
    k: int = 3,
    seed: int = 0,
    folder: Optional[Path] = None,
    progress: Callable[[Iterable[Fold]], Iterable[Fold]] = iter,
) -> List[Finding]:
    """Train the config n_folds times, each time without a part of the Docs, and judge that part.

    config: for `spacy train`, not interpolated. docs: annotated. n, k: findings, and alternatives
        of each, at most. folder: where trainings stay, and are taken up again.
    RAISES ValueError [HS150, HS159, HS152, HS108].
    """
    parts = [
        Judged(judgement, fold.docs)
        for fold in progress(trained_without(config, docs, n_folds, seed=seed, folder=folder))
        for judgement in judged(fold.nlp, fold.examples)
    ]
    return ranked(parts, n=n, k=k, with_reasons=True)


def ranked(parts: Sequence[Judged], *, n: int, k: int, with_reasons: bool = False) -> List[Finding]:
    """The n likeliest errors of judged parts of a corpus, of those that are likelier than not.
    Ties: in the order of the parts. with_reasons: the first EXPLAINED with `why`."""
    doubts = np.concatenate([np.zeros(0), *(part.judgement.doubts for part in parts)])
    sizes = [len(part.judgement.first) for part in parts]
    ends = np.cumsum(sizes)
    reported: List[Set[int]] = [set() for _ in parts]
    contexts = variants([part.judgement for part in parts])
    findings: List[Finding] = []
    for at in np.argsort(-doubts, kind="stable").tolist():
        if len(findings) == n or doubts[at] <= 0:
            break
        i = int(np.searchsorted(ends, at, side="right"))
        unit = at - int(ends[i]) + sizes[i]
        region = region_of(parts[i].judgement, unit)
        if reported[i].isdisjoint(range(*region)):
            reported[i].update(range(*region))
            finding = _finding(parts[i], unit, region, k, contexts[i])
            if with_reasons and len(findings) < EXPLAINED:
                finding = finding._replace(why=_reasons(parts[i].judgement, unit, region))
            findings.append(finding)
    return findings


def corrected(docs: Sequence[Doc], tasks: Iterable[Dict[str, Any]]) -> int:
    """Write what was accepted of findings on the Docs. tasks: lines of findings.jsonl with answers,
    `"accept": ["1"]` (and no `"answer": "reject"` or "ignore", as Prodigy has it); lines without
    are left as annotated.

    RETURNS (int): how many were changed. RAISES ValueError [HS172]: a line that is no finding in
    these Docs.
    """
    n_changed = 0
    for number, task in enumerate(tasks, 1):
        try:
            chosen = task.get("accept") or []
            if task.get("answer", "accept") != "accept" or not chosen or chosen[0] == "0":
                continue
            finding = task["finding"]
            doc = docs[finding["doc"]]
            spans = finding["alternatives"][int(chosen[0]) - 1][0]
            words = [token.text for token in doc[slice(*finding["sentence"])]]
            if [token["text"] for token in task["tokens"]] != words:
                raise ValueError
            target_at(finding["attribute"]).put(doc, finding["first"], finding["end"], spans)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            actual = f"line {number} of the answers"
            expected = "a finding in the corpus that find-errors was given"
            raise ValueError(Errors.HS172.format(actual=actual, expected=expected)) from error
        n_changed += 1
    return n_changed


def region_of(judgement: Judgement, unit: int) -> Tuple[int, int]:
    """The words first <= i < end around a unit that neither labelling has a chunk across the ends
    of."""
    first = int(judgement.first[unit])
    end = first + int(judgement.sizes[unit])
    if judgement.goes_on is None:
        return first, end
    lengths = judgement.reading.lengths
    together = continues(judgement.gold, judgement.goes_on, lengths)
    together |= continues(judgement.reading.best, judgement.goes_on, lengths)
    while together[first]:
        first -= 1
    while end < len(together) and together[end]:
        end += 1
    return first, end


def variants(parts: Sequence[Judgement]) -> List[List[Dict[str, int]]]:
    """Of each part of a corpus, for each word: how often it has each label in its context, if it
    has several there, else nothing. Components have labels of their own."""
    contexts = [_contexts(part.reading) for part in parts]
    counts: Dict[Tuple[str, Context], Counter[str]] = defaultdict(Counter)
    for of_part, (reading, gold) in zip(
        contexts, ((p.reading, p.gold) for p in parts), strict=True
    ):
        for context, label in zip(of_part, gold.tolist(), strict=True):
            if label >= 0:
                counts[reading.pipe.name, context][reading.labels[label]] += 1
    several = {key: dict(count.most_common()) for key, count in counts.items() if len(count) > 1}
    return [
        [several.get((part.reading.pipe.name, context), {}) for context in of_part]
        for part, of_part in zip(parts, contexts, strict=True)
    ]


def _contexts(reading: Reading) -> List[Context]:
    """The word before, the word and the word after, for all words."""
    orths, _ = reading.docs.words_and_lengths
    before = np.roll(orths, 1)
    after = np.roll(orths, -1)
    before[reading.ends - reading.lengths] = EDGE
    after[reading.ends - 1] = EDGE
    return list(zip(before.tolist(), orths.tolist(), after.tolist(), strict=True))


def _finding(
    part: Judged, unit: int, region: Tuple[int, int], k: int, contexts: List[Dict[str, int]]
) -> Finding:
    judgement = part.judgement
    reading = judgement.reading
    sentence = reading.sentence(region[0])
    gold, others = _labellings(judgement, sentence.start, region, k)
    varying = [contexts[t] for t in range(*region) if contexts[t]]
    annotated = spans_in(judgement, region[0], judgement.gold[slice(*region)])
    first, end = reading.tokens(*region)
    return Finding(
        doc=part.docs[reading.text_of[region[0]]],
        component=reading.pipe.name,
        attribute=judgement.attribute,
        first=first,
        end=end,
        sentence=reading.tokens(sentence.start, sentence.stop),
        gold=Alternative(annotated, gold),
        alternatives=[
            Alternative(spans_in(judgement, region[0], labels), p) for labels, p in others
        ],
        doubt=float(judgement.doubts[unit]),
        p=float(judgement.p[unit]),
        p_given=float(judgement.p_given[unit]),
        gap=float(judgement.gaps[reading.sentence_of[region[0]]]),
        variants=varying[0] if varying else {},
    )


def _labellings(
    judgement: Judgement, start: int, region: Tuple[int, int], k: int
) -> Tuple[float, List[Tuple[AnyInts, float]]]:
    """p(what gold permits in the region), and its k best other labellings with theirs, given the
    gold labels around. start (int): the first word of the sentence."""
    reading = judgement.reading
    some = reading.potentials.select(reading.sentence_of[[start]])
    within = slice(region[0] - start, region[1] - start)
    permitted = judgement.permitted[some.tokens]
    mask = permitted.copy()
    mask[within] = True
    free = some.potentials.permitting(mask)
    log_z = posterior(free).log_z[0]
    gold = float(np.exp(posterior(some.potentials.permitting(permitted)).log_z[0] - log_z))
    best = k_best(free, k + 1)
    p_of: Dict[Tuple[int, ...], float] = {}
    for labels, score in zip(best.labels[:, within], best.scores, strict=True):
        if not permitted[within][np.arange(len(labels)), labels].all():
            p_of.setdefault(tuple(labels.tolist()), float(np.exp(score - log_z)))
    return gold, [(np.array(labels), p) for labels, p in p_of.items()][:k]


def spans_in(judgement: Judgement, first: int, labels: AnyInts) -> List[Stretch]:
    """What labels of the words from `first` on stand for, -1 = not known: a label a token, or
    chunks, with their tokens."""
    reading = judgement.reading
    if judgement.goes_on is None:
        known = [(i, int(y)) for i, y in enumerate(labels, first) if y >= 0]
        return [(*reading.tokens(i, i + 1), reading.labels[y]) for i, y in known]
    tags = np.where(labels < 0, reading.labels.index(OUTSIDE), labels)
    chunks = TagTable(reading.labels).chunks(tags, np.zeros(len(labels), bool))
    bounds = zip(chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True)
    return [(*reading.tokens(first + a, first + b), name) for a, b, name in bounds]


def _reasons(judgement: Judgement, unit: int, region: Tuple[int, int]) -> Optional[Explanation]:
    """Why the best label of a word is not the gold one; of the annotated chunk or, outside of all,
    of the one that the model finds. None: there is nothing to compare with."""
    reading = judgement.reading
    word = int(judgement.first[unit])
    gold = judgement.gold[word : word + int(judgement.sizes[unit])]
    text = reading.texts[int(reading.text_of[word])]
    try:
        if judgement.goes_on is None:
            is_other = gold[0] != reading.best[word]
            against = reading.labels[gold[0]] if is_other else None
            why = explain(reading.pipe, text, int(reading.token_of[word]), against)
        else:
            found = spans_in(judgement, region[0], reading.best[slice(*region)])
            why = explain_span(
                reading.pipe, Span(text, *[*spans_in(judgement, word, gold), *found][0])
            )
    except (ValueError, IndexError):  # nothing else can stand there, or there is no chunk
        return None
    return why
