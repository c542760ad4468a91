"""Likely annotation errors, the most likely first, and why a model that has not seen the text
prefers other labels.

A unit is one decision of an annotator: a token; for chunks a gold chunk, or a token outside of all.
Units are ranked by how much more probable the best other label is than the gold one, if the
annotation around is right:

    p        = p(y_unit = gold | x)
    p_given  = p(y_unit = gold | x, gold labels of all other units)
    p_other  = max of p(y_unit = other | x, gold labels of all other units), other than gold
    doubt    = log p_other - log p_given

A model is often unsure of a label that the gold labels around decide. If it still prefers another
label, then the annotator is wrong, or the model. The last two take a few passes over the batch: a
feature looks at R neighbouring labels at most, so with everything between them fixed, units that
are R apart do not depend on each other and can be left free together. Checked against enumeration in
tests/inspection/test_findings.py.

One disagreement is one finding. No chunk of the gold labelling or of the best one crosses the ends
of its region, which is the smallest stretch of words of this kind; its alternatives are the k best
labellings of the region, each with its exact probability given the gold labels around.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Config

from ..arrays import AnyInts, Floats, Ints, Mask
from ..chunks import OUTSIDE, TagTable
from ..components.structured import StructuredComponent
from ..components.targets.places import target_at
from ..decoders import Potentials, best_labels, decode_exact, k_best, posterior
from ..decoders.problem import ranges
from ..errors import Errors, unreadable
from . import Explanation, Reading, explain, explain_span
from .folds import Fold, trained_without
from .reading import knows_sums, own_components, stages, sums_of

Stretch = tuple[int, int, str]  # tokens first <= i < end, and their label


class Alternative(NamedTuple):
    """One labelling of a region. spans: tokens first <= i < end of the Doc and their label; none:
    outside of all chunks. p: its probability given x and the gold labels around the region."""

    spans: list[Stretch]
    p: float


class Finding(NamedTuple):
    """A likely error. doc (int): number in the corpus. component: its name. first, end: tokens of
    the region. sentence: first token and end of its sequence.

    gold: what is annotated in the region, with its probability as of `Alternative`. alternatives:
        the k best others.
    doubt: of the unit by which it was found, in nats; p, p_given: of its gold label. gap: log of
    p(best labelling) / p(gold labelling) of the sentence. why: reasons of the model for another
    label, or against the annotated chunk.
    """

    doc: int
    component: str
    attribute: str
    first: int
    end: int
    sentence: tuple[int, int]
    gold: Alternative
    alternatives: list[Alternative]
    doubt: float
    p: float
    p_given: float
    gap: float
    why: Explanation | None = None


class Judgement(NamedTuple):
    """Probabilities of the annotation of N words, by one component.

    docs: numbers of the examples in the corpus. permitted (N, L): by the gold annotation; gold
    (N,): ids, -1 where not known. first, sizes (U,): words of each unit. p, p_given, p_other (U,);
    p_other is 1 - p_given where gold is the best.
    """

    reading: Reading
    docs: list[int]
    permitted: Mask
    gold: Ints
    first: Ints
    sizes: Ints
    p: Floats
    p_given: Floats
    p_other: Floats

    @property
    def doubts(self) -> Floats:
        """log p_other - log p_given of each unit, in nats: above 0 where another labelling is
        better. RETURNS (U,).

        A unit that the best labelling has as annotated is doubtful only if it is without the gold
        labels around, too: log (1 - p) - log p; else they are what is wrong.
        """
        n_wrong = np.concatenate([[0], np.cumsum(self.reading.best != self.gold)])
        agrees = n_wrong[self.first + self.sizes] == n_wrong[self.first]
        doubts = _log(self.p_other) - _log(self.p_given)
        alone = _log(1.0 - self.p) - _log(self.p)
        return np.where(agrees, np.minimum(doubts, alone), doubts)


def find_errors(
    config: Config,
    docs: Sequence[Doc],
    *,
    n_folds: int = 5,
    n: int = 200,
    k: int = 3,
    seed: int = 0,
    progress: Callable[[Iterable[Fold]], Iterable[Fold]] = iter,
) -> list[Finding]:
    """Likely errors of annotated Docs: train the config n_folds times, each time without a part of
    the Docs, and judge that part.

    config: for `spacy train`, not interpolated. n, k: findings, and alternatives of each, at most.
    RAISES ValueError [HS150, HS159, HS152, HS108].
    """
    parts = []
    for fold in progress(trained_without(config, docs, n_folds, seed=seed)):
        for judgement in judged(fold.nlp, fold.examples):
            parts.append(judgement._replace(docs=fold.docs))
    return ranked(parts, n=n, k=k, with_reasons=True)


def ranked(
    parts: Sequence[Judgement], *, n: int, k: int, with_reasons: bool = False
) -> list[Finding]:
    """The n likeliest errors of judged parts of a corpus, if another labelling is better. Ties: in
    the order of the parts. with_reasons: each with `why`."""
    units = []
    for i, part in enumerate(parts):
        for unit, doubt in enumerate(part.doubts.tolist()):
            if doubt > 0:
                units.append((-doubt, i, unit))
    # words of a region that is reported are not reported again
    reported = [np.zeros(len(part.gold), bool) for part in parts]
    findings: list[Finding] = []
    for _, i, unit in sorted(units):
        region = slice(*region_of(parts[i], unit))
        if len(findings) < n and not reported[i][region].any():
            reported[i][region] = True
            finding = _finding(parts[i], unit, region, k)
            if with_reasons:
                finding = finding._replace(why=_reasons(parts[i], unit, region))
            findings.append(finding)
    return findings


def corrected(docs: Sequence[Doc], tasks: Iterable[dict[str, Any]]) -> int:
    """Write accepted findings on the Docs. RETURNS the number of changes. tasks: lines of
    findings.jsonl with answers, `"accept": ["1"]` (and no `"answer": "reject"` or "ignore", as
    Prodigy has it); without an answer nothing is changed.

    RAISES ValueError [HS172]: a line that is no finding in these Docs.
    """
    n_changed = 0
    for number, task in enumerate(tasks, 1):
        try:
            chosen = task.get("accept") or ["0"]
            if task.get("answer", "accept") != "accept" or chosen[0] == "0":
                continue
            finding = task["finding"]
            doc = docs[finding["doc"]]
            spans = finding["alternatives"][int(chosen[0]) - 1][0]
            # the words of the task show whether the corpus is the one of the finding
            words = [token.text for token in doc[slice(*finding["sentence"])]]
            if [token["text"] for token in task["tokens"]] != words:
                raise ValueError
            target_at(finding["attribute"]).put(doc, finding["first"], finding["end"], spans)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise unreadable(
                f"line {number} of the answers",
                "a finding in the corpus that find-errors was given",
            ) from error
        n_changed += 1
    return n_changed


def judged(nlp: Language, examples: Sequence[Example]) -> Iterator[Judgement]:
    """Judgements of each component of a pipeline that has p(y | x), in its order.

    examples: predicted docs have no labels yet, only what the pipeline is given; components before
        one annotate them.
    RAISES ValueError [HS152]: there is no component of this package; [HS105]: none has p(y | x);
    [HS108]: a component before one merges or splits tokens.
    """
    own = own_components(nlp, with_sentences=True)
    wanted = [name for name, pipe in own.items() if knows_sums(pipe)]
    if not wanted:
        sums_of(next(iter(own.values())))
    for name, pipe, docs in stages(nlp, [eg.predicted.copy() for eg in examples]):
        if name in wanted:
            yield judge(pipe, beside(name, docs, examples))


def beside(name: str, docs: Sequence[Doc], examples: Sequence[Example]) -> list[Example]:
    """Examples of the Docs as a component is given them, copied, and their gold annotation. RAISES ValueError
    [HS108]."""
    same_tokens(name, docs, [eg.predicted for eg in examples])
    return [Example(doc.copy(), eg.reference) for doc, eg in zip(docs, examples, strict=True)]


def same_tokens(name: str, docs: Sequence[Doc], before: Sequence[Doc]) -> None:
    """Check that Docs have the tokens that they had. RAISES ValueError [HS108]: components before
    this one have merged or split tokens."""
    for doc, other in zip(docs, before, strict=True):
        if len(doc) != len(other):
            raise ValueError(Errors.HS108.format(name=name, text=repr(doc.text[:40])))


def judge(component: StructuredComponent, examples: Sequence[Example]) -> Judgement:
    """The judgement of one component, as `judged`. RAISES ValueError [E143]: it has no labels."""
    reading = Reading(component, [eg.predicted for eg in examples])
    potentials = reading.potentials
    permitted: Mask = component.gold(examples)
    if potentials.allowed is not None:
        # gold labels that cannot stand there are as good as none
        permitted[~(permitted & potentials.allowed).any(axis=1)] = True
    gold = np.where(permitted.sum(axis=1) == 1, permitted.argmax(axis=1), -1)
    # units: a word that goes on with a chunk belongs to the unit of the word before it
    firsts = np.flatnonzero(~_continues(reading, gold))
    known = gold[firsts] >= 0
    first = firsts[known]
    sizes = np.diff(firsts, append=len(gold))[known]
    p = reading.posterior.segments(first, sizes, gold[ranges(first, sizes)], component.continues)
    given = given_the_others(potentials, permitted, first, sizes)
    docs = list(range(len(examples)))
    return Judgement(reading, docs, permitted, gold, first, sizes, p, *given)


def given_the_others(
    potentials: Potentials, permitted: Mask, first: Ints, sizes: Ints
) -> tuple[Floats, Floats]:
    """p_given and p_other of units (U,). permitted (N, L): by the annotation, one label at the words of a
    unit. Time: that of labels and sums, as often as the longest feature has labels."""
    lengths = [2, potentials.weights.trie.max_length]  # of features: transitions, patterns
    if potentials.configurations is not None:
        lengths += potentials.configurations.sizes.tolist()
    # With features of more than eight labels some units of a pass depend on each other: then fewer
    # gold labels are given than could be.
    n_passes = min(max(lengths), 8)
    p_given = np.zeros(len(first))
    p_other = np.zeros(len(first))
    gold = permitted.argmax(axis=1)
    for i in range(n_passes):
        # every n-th unit is free, all others have their gold labels
        here = slice(i, None, n_passes)
        units = first[here], sizes[here]
        places = ranges(*units)
        mask = permitted.copy()
        mask[places] = True
        given = potentials.permitting(mask)
        p = posterior(given)
        best = best_labels(given)[places]
        p_given[here] = p.segments(*units, gold[places])
        # a unit whose best labels are other ones has p_other; else its rest is 1 - p_given
        n_changed = np.concatenate([[0], np.cumsum(best != gold[places])])
        is_other = np.diff(n_changed[np.cumsum([0, *sizes[here]])]) > 0
        p_other[here] = np.where(
            is_other, p.segments(*units, best), np.maximum(1.0 - p_given[here], 0.0)
        )
    return p_given, p_other


def region_of(judgement: Judgement, unit: int) -> tuple[int, int]:
    """Words first <= i < end around a unit: the smallest stretch across whose ends neither the
    gold labelling nor the best one has a chunk."""
    first = int(judgement.first[unit])
    end = first + int(judgement.sizes[unit])
    reading = judgement.reading
    together = _continues(reading, judgement.gold) | _continues(reading, reading.best)
    while together[first]:
        first -= 1
    while end < len(together) and together[end]:
        end += 1
    return first, end


def spans_in(judgement: Judgement, first: int, labels: AnyInts) -> list[Stretch]:
    """Spans that labels of words from `first` on stand for, -1 = not known: a label for each token,
    or chunks."""
    reading = judgement.reading
    if not reading.target.labels_spans:
        spans = []
        for i, y in enumerate(labels, first):
            if y >= 0:
                spans.append((*reading.tokens(i, i + 1), reading.labels[y]))
        return spans
    tags = np.where(labels < 0, reading.labels.index(OUTSIDE), labels)
    starts, ends, types = TagTable(reading.labels).chunks(tags, np.zeros(len(labels), bool))
    bounds = zip((first + starts).tolist(), (first + ends).tolist(), types, strict=True)
    return [(*reading.tokens(a, b), name) for a, b, name in bounds]


def _continues(reading: Reading, labels: AnyInts) -> Mask:
    """True where a word goes on with the chunk of the word before it (N,). labels (N,): ids, -1 =
    not known."""
    result = np.zeros(len(labels), bool)
    if reading.target.labels_spans:
        goes_on = reading.pipe.continues[labels[:-1], labels[1:]]
        result[1:] = goes_on & (labels[:-1] >= 0) & (labels[1:] >= 0)
        result[reading.ends - reading.lengths] = False
    return result


def _finding(judgement: Judgement, unit: int, region: slice, k: int) -> Finding:
    """A finding with the labellings of its region, given the gold labels around."""
    reading = judgement.reading
    sentence = reading.sentence(region.start)
    part = reading.potentials.select(reading.sentence_of[[sentence.start]])
    within = slice(region.start - sentence.start, region.stop - sentence.start)
    permitted = judgement.permitted[part.tokens]
    mask = permitted.copy()
    mask[within] = True
    # around the region only gold labels, in it all labels, or also only gold labels
    free = part.potentials.permitting(mask)
    as_gold = part.potentials.permitting(permitted)
    log_z = posterior(free).log_z[0]
    best = k_best(free, k + 1)  # one more: the gold labelling can be among them
    p_of: dict[tuple[int, ...], float] = {}
    for labels, score in zip(best.labels[:, within], best.scores, strict=True):
        if not permitted[within][np.arange(len(labels)), labels].all():
            p_of.setdefault(tuple(labels.tolist()), float(np.exp(score - log_z)))
    p_gold = float(np.exp(posterior(as_gold).log_z[0] - log_z))
    gap = decode_exact(part.potentials).scores[0] - decode_exact(as_gold).scores[0]
    alternatives = []
    for region_labels, p in list(p_of.items())[:k]:
        spans = spans_in(judgement, region.start, np.array(region_labels))
        alternatives.append(Alternative(spans, p))
    first, end = reading.tokens(region.start, region.stop)
    return Finding(
        doc=judgement.docs[reading.text_of[region.start]],
        component=reading.pipe.name,
        attribute=reading.target.place,
        first=first,
        end=end,
        sentence=reading.tokens(sentence.start, sentence.stop),
        gold=Alternative(spans_in(judgement, region.start, judgement.gold[region]), p_gold),
        alternatives=alternatives,
        doubt=float(judgement.doubts[unit]),
        p=float(judgement.p[unit]),
        p_given=float(judgement.p_given[unit]),
        gap=float(gap),
    )


def _reasons(judgement: Judgement, unit: int, region: slice) -> Explanation | None:
    """Why the best label of a word is not the gold one; why the annotated chunk is none, or why
    there is a chunk where none is annotated. None: there is nothing to compare with."""
    reading = judgement.reading
    word = int(judgement.first[unit])
    gold = judgement.gold[word : word + int(judgement.sizes[unit])]
    text = reading.texts[int(reading.text_of[word])]
    with suppress(ValueError):  # nothing else can stand there
        if not reading.target.labels_spans:
            against = None if gold[0] == reading.best[word] else reading.labels[gold[0]]
            return explain(reading.pipe, text, int(reading.token_of[word]), against)
        found = spans_in(judgement, region.start, reading.best[region])
        for chunk in [*spans_in(judgement, word, gold), *found][:1]:
            return explain_span(reading.pipe, Span(text, *chunk))
    return None


def _log(p: Floats) -> Floats:
    """log p, finite where p is 0."""
    return np.asarray(np.log(np.maximum(p, np.finfo(float).tiny)))
