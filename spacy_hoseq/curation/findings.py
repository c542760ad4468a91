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

from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc, Span
from thinc.api import Config

from ..arrays import AnyInts, Ints
from ..chunks import OUTSIDE, TagTable
from ..decoders import k_best, posterior
from ..inspection import Explanation, Reading
from ..inspection.accounts import Account
from ..inspection.chunk_explanation import explain_chunk
from ..inspection.explanation import explain_word
from .folds import Fold, trained_without
from .judgement import Judgement, continues, judged

EXPLAINED = 500  # findings
Stretch = Tuple[int, int, str]  # tokens first <= i < end, and their label


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
    why: Optional[Account] = None


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
    RAISES ValueError [HS150, HS151, HS152].
    """
    parts = [
        Judged(judgement, fold.docs)
        for fold in progress(trained_without(config, docs, n_folds, seed=seed, folder=folder))
        for judgement in judged(fold.nlp, fold.examples)
    ]
    return ranked(parts, n=n, k=k, with_reasons=True)


def ranked(parts: Sequence[Judged], *, n: int, k: int, with_reasons: bool = False) -> List[Finding]:
    """The n likeliest errors of judged parts of a corpus, of those that are likelier than not.
    Ties: in the order of the parts. with_reasons: the first EXPLAINED with `why`, which takes some
    hundredths of a second each."""
    doubts = np.concatenate([np.zeros(0), *(part.judgement.doubts for part in parts)])
    sizes = [len(part.judgement.first) for part in parts]
    ends = np.cumsum(sizes)
    reported: List[Set[int]] = [set() for _ in parts]
    contexts = _variants(parts)
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
            explained = with_reasons and len(findings) < EXPLAINED
            findings.append(
                finding._replace(why=_reasons(parts[i].judgement, unit, region))
                if explained
                else finding
            )
    return findings


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


def _finding(
    part: Judged, unit: int, region: Tuple[int, int], k: int, contexts: List[Dict[str, int]]
) -> Finding:
    judgement = part.judgement
    reading = part.judgement.reading
    sequence = int(reading.sentence_of[region[0]])
    start = int(reading.ends[sequence] - reading.lengths[sequence])
    end = int(reading.ends[sequence])

    def places(first: int, last: int) -> Tuple[int, int]:
        return reading.token(first)[1], reading.token(last - 1)[1] + 1

    def stretches(labels: AnyInts) -> List[Stretch]:
        return [(*places(a, b), name) for a, b, name in spans_in(judgement, region[0], labels)]

    gold, others = labellings(judgement, sequence, start, region, k)
    varying = [contexts[t] for t in range(*region) if contexts[t]]
    return Finding(
        doc=part.docs[reading.token(region[0])[0]],
        component=reading.pipe.name,
        attribute=judgement.attribute,
        first=places(*region)[0],
        end=places(*region)[1],
        sentence=places(start, end),
        gold=Alternative(stretches(judgement.gold[slice(*region)]), gold),
        alternatives=[Alternative(stretches(labels), p) for labels, p in others],
        doubt=float(judgement.doubts[unit]),
        p=float(judgement.p[unit]),
        p_given=float(judgement.p_given[unit]),
        gap=float(judgement.gaps[sequence]),
        variants=varying[0] if varying else {},
    )


def _reasons(judgement: Judgement, unit: int, region: Tuple[int, int]) -> Optional[Account]:
    """Of the annotated chunk, or, outside of all, of the one that the model finds."""
    word = int(judgement.first[unit])
    size = int(judgement.sizes[unit])
    best = judgement.reading.best[slice(*region)]
    spans = [
        *spans_in(judgement, word, judgement.gold[word : word + size]),
        *spans_in(judgement, region[0], best),
    ]
    placed = [
        (judgement.reading.token(a)[1], judgement.reading.token(b - 1)[1] + 1, name)
        for a, b, name in spans
    ]
    return reasons(judgement, word, placed)


def labellings(
    judgement: Judgement, sequence: int, start: int, region: Tuple[int, int], k: int
) -> Tuple[float, List[Tuple[AnyInts, float]]]:
    """p(what gold permits in the region), and its k best other labellings with theirs, given the
    gold labels around.

    start (int): the first word of the sequence."""
    some = judgement.reading.potentials.select(np.array([sequence]))
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
    """What labels of the words from `first` on stand for, -1 = not known: a label a word, or
    chunks."""
    if judgement.goes_on is None:
        return [
            (first + i, first + i + 1, judgement.reading.labels[y])
            for i, y in enumerate(labels.tolist())
            if y >= 0
        ]
    outside = np.where(labels < 0, judgement.reading.labels.index(OUTSIDE), labels)
    chunks = TagTable(judgement.reading.labels).chunks(outside, np.zeros(len(labels), bool))
    bounds = zip(
        (first + chunks.first).tolist(), (first + chunks.end).tolist(), chunks.types, strict=True
    )
    return list(bounds)


def _variants(parts: Sequence[Judged]) -> List[List[Dict[str, int]]]:
    """Of each part, for each word; components have labels of their own."""
    contexts: List[List[Dict[str, int]]] = [[] for _ in parts]
    for name in {part.judgement.reading.pipe.name for part in parts}:
        at = [i for i, part in enumerate(parts) if part.judgement.reading.pipe.name == name]
        of_component = variants([(parts[i].judgement.reading, parts[i].judgement.gold) for i in at])
        for i, of_part in zip(at, of_component, strict=True):
            contexts[i] = of_part
    return contexts


def reasons(
    judgement: Judgement, word: int, chunks: List[Tuple[int, int, str]]
) -> Optional[Account]:
    """Of a word of a judgement: why its best label is not the gold one. chunks: tokens and labels
    of the chunk that is annotated there, or else of the one that the model finds; none of a tagger.
    RETURNS None if there is nothing to compare with."""
    reading = judgement.reading
    number, token = reading.token(word)
    doc = reading.texts[number]
    one = Reading(reading.pipe, [doc])
    try:
        if judgement.goes_on is not None:
            first, end, label = chunks[0]
            why = explain_chunk(one, Span(doc, first, end, label))
        else:
            gold = int(judgement.gold[word])
            best = int(reading.best[word])
            why = explain_word(one, token, None if gold in (-1, best) else reading.labels[gold])
    except (ValueError, IndexError):  # nothing else can stand there, or there is no chunk
        return None
    return _account(why)


def _account(why: Explanation) -> Account:
    alternatives = sorted(
        [(why.label, why.p), (why.against, why.p_against)], key=lambda pair: -pair[1]
    )
    return Account(why.first, why.end, why.label, why.p, alternatives, why)


EDGE = 0  # stands before the first and after the last word of a sequence
Context = Tuple[int, int, int]


def variants(parts: Sequence[Tuple[Reading, Ints]]) -> List[List[Dict[str, int]]]:
    """How often each word has each label in its context, if it has several there; else nothing.

    parts: of a corpus, with gold label ids (N,), -1 = not known. RETURNS for each part a dictionary
        a word.
    """
    contexts = [contexts_of(reading) for reading, _ in parts]
    counts: Dict[Context, Counter[str]] = {}
    for of_part, (reading, gold) in zip(contexts, parts, strict=True):
        for context, label in zip(of_part, gold.tolist(), strict=True):
            if label >= 0:
                counts.setdefault(context, Counter())[reading.labels[label]] += 1
    several = {
        context: dict(count.most_common()) for context, count in counts.items() if len(count) > 1
    }
    return [[several.get(context, {}) for context in of_part] for of_part in contexts]


def contexts_of(reading: Reading) -> List[Context]:
    """The word before, the word and the word after, for all words."""
    orths, _ = reading.docs.words_and_lengths
    before = np.roll(orths, 1)
    after = np.roll(orths, -1)
    before[reading.ends - reading.lengths] = EDGE
    after[reading.ends - 1] = EDGE
    return list(zip(before.tolist(), orths.tolist(), after.tolist(), strict=True))
