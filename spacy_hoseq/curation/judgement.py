"""What a trained component thinks of gold annotation: exact probabilities of every gold label and
span.

A unit is what one decision of an annotator is about: a token; for chunks a gold chunk, or a token
outside of all.

    p        = p(y_unit = gold | x)
    p_given  = p(y_unit = gold | x, gold labels of all other units)
    p_other  = max of p(y_unit = other | x, gold labels of all other units), other than gold

The last two ask the model while the annotation around is believed, and log p_other - log p_given is
what the score of the gold labelling would gain by the best change of this unit alone. They take a
few passes over the whole batch: a feature looks at R neighbouring labels at most, so with
everything between them fixed, units that are R apart say nothing of each other and can be left free
together. Checked against enumeration in tests/curation/test_judgement.py.
"""

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..arrays import AnyInts, Floats, Ints, Mask
from ..components.structured import StructuredComponent
from ..decoders import best_labels, decode_exact, posterior
from ..decoders.problem import Potentials, ranges
from ..errors import Errors
from ..inspection import Reading
from ..inspection.reading import knows_sums, own_components, stages, sums_of

MOST_PASSES = 8  # features that look at more labels: with fewer of the others fixed than could be


class Judgement(NamedTuple):
    """Of the N words of some examples in S sequences, as one component reads them.

    attribute: of its labels, "tag", or "spans.chunks". goes_on (L, L): pairs of labels within one
    chunk, None for a tagger. permitted (N, L): by the gold annotation; gold (N,): ids, -1 where not
    known. gaps (S,): log of p(best labelling) / p(best one that the annotation permits). first,
    sizes (U,): words of each unit. p, p_given, p_other (U,); p_other is 1 - p_given where gold is
    the best.
    """

    reading: Reading
    attribute: str
    goes_on: Optional[Mask]
    permitted: Mask
    gold: Ints
    gaps: Floats
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


def judged(
    nlp: Language, examples: Sequence[Example], names: Sequence[str] = ()
) -> Iterator[Judgement]:
    """By each component of a pipeline that has p(y | x), in its order. names: of some only.

    examples: predicted docs have no labels yet, only what the pipeline is given; components before
        one annotate them.
    RAISES ValueError [HS152]: there is no such component; [HS105]: it has no p(y | x); [HS108]: a
    component before it merges or splits tokens.
    """
    own = own_components(nlp, names, with_sentences=True)
    wanted = [name for name, pipe in own.items() if knows_sums(pipe)]
    if not wanted or len(wanted) < len(names):
        sums_of(next(pipe for name, pipe in own.items() if name not in wanted))
    for name, pipe, docs in stages(nlp, [eg.predicted.copy() for eg in examples]):
        if name in wanted:
            yield judge(pipe, beside(name, docs, examples))


def beside(name: str, docs: Sequence[Doc], examples: Sequence[Example]) -> List[Example]:
    """Docs as a component is given them, copied, with their gold annotation. RAISES ValueError
    [HS108]: they do not have the tokens of the examples any more."""
    same_tokens(name, docs, [eg.predicted for eg in examples])
    return [Example(doc.copy(), eg.reference) for doc, eg in zip(docs, examples, strict=True)]


def same_tokens(name: str, docs: Sequence[Doc], before: Sequence[Doc]) -> None:
    """RAISES ValueError [HS108]: components before this one have merged or split tokens."""
    for doc, other in zip(docs, before, strict=True):
        if len(doc) != len(other):
            raise ValueError(Errors.HS108.format(name=name, text=repr(doc.text[:40])))


def judge(component: StructuredComponent, examples: Sequence[Example]) -> Judgement:
    """As `judged`, by one component. RAISES ValueError [E143]: it has no labels."""
    reading = Reading(component, [eg.predicted for eg in examples])
    potentials = reading.potentials
    permitted: Mask = component.gold(examples)
    if potentials.allowed is not None:
        permitted[~(permitted & potentials.allowed).any(axis=1)] = True
    gold = np.where(permitted.sum(axis=1) == 1, permitted.argmax(axis=1), -1)
    goes_on = component.continues
    firsts = np.flatnonzero(~continues(gold, goes_on, potentials.lengths))
    known = gold[firsts] >= 0
    first = firsts[known]
    sizes = np.diff(firsts, append=len(gold))[known]
    best = decode_exact(potentials).scores
    p = reading.posterior.segments(first, sizes, gold[ranges(first, sizes)], goes_on)
    p_given, p_other = given_the_others(potentials, permitted, first, sizes)
    return Judgement(
        reading=reading,
        attribute=component.target.place,
        goes_on=goes_on,
        permitted=permitted,
        gold=gold,
        gaps=best - decode_exact(potentials.permitting(permitted)).scores,
        first=first,
        sizes=sizes,
        p=p,
        p_given=p_given,
        p_other=p_other,
    )


def continues(labels: AnyInts, goes_on: Optional[Mask], lengths: AnyInts) -> Mask:
    """Whether a word goes on with the chunk of the word before it (N,). labels (N,): ids, -1 = not
    known."""
    result = np.zeros(len(labels), bool)
    if goes_on is not None:
        result[1:] = goes_on[labels[:-1], labels[1:]] & (labels[:-1] >= 0) & (labels[1:] >= 0)
        result[(np.cumsum(lengths) - lengths).astype(np.intp)] = False
    return result


def given_the_others(
    potentials: Potentials, permitted: Mask, first: Ints, sizes: Ints
) -> Tuple[Floats, Floats]:
    """p_given and p_other (U,). permitted (N, L): by the annotation, one label at the words of a
    unit. Time: that of labels and sums, as often as the longest feature has labels."""
    n_passes = min(reach(potentials), MOST_PASSES)
    p_given = np.zeros(len(first))
    p_other = np.zeros(len(first))
    gold = permitted.argmax(axis=1)
    for i in range(n_passes):
        some = first[i::n_passes]
        size = sizes[i::n_passes]
        places = ranges(some, size)
        mask = permitted.copy()
        mask[places] = True
        given = potentials.permitting(mask)
        p = posterior(given)
        best = best_labels(given)[places]
        p_given[i::n_passes] = of_gold = p.segments(some, size, gold[places])
        of_best = p.segments(some, size, best)
        n_changed = np.concatenate([[0], np.cumsum(best != gold[places])])
        ends = np.cumsum(size)
        is_other = n_changed[ends] > n_changed[ends - size]
        p_other[i::n_passes] = np.where(is_other, of_best, np.maximum(1.0 - of_gold, 0.0))
    return p_given, p_other


def reach(potentials: Potentials) -> int:
    """How many neighbouring labels a feature looks at, at most."""
    weights = potentials.weights
    configurations = potentials.configurations
    of_patterns = weights.trie.max_length if weights.has_patterns else 2
    sizes = [] if configurations is None else configurations.sizes.tolist()
    return max([2, of_patterns, *sizes])


def _log(p: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(p, np.finfo(float).tiny)))
