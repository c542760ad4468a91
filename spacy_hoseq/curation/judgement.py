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

from typing import Any, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..arrays import AnyInts, Floats, Ints, Mask
from ..components import StructuredComponent, known_labels
from ..decoders import best_labels, decode_exact, posterior
from ..decoders.problem import Potentials, ranges
from ..inspection import Reading
from ..inspection.reading import knows_sums, own_components, sums_of

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
    def agrees(self) -> Mask:
        """Whether the best labelling has a unit as it is annotated. RETURNS (U,)."""
        n_other = np.concatenate([[0], np.cumsum(self.reading.best != self.gold)])
        return np.asarray(n_other[self.first + self.sizes] == n_other[self.first])

    @property
    def doubts(self) -> Floats:
        """log p_other - log p_given of each unit, in nats: above 0 where another labelling is
        better. RETURNS (U,).

        A unit that the best labelling has as annotated is doubtful only if it is without the gold
        labels around, too: log (1 - p) - log p; else they are what is wrong.
        """
        doubts = _log(self.p_other) - _log(self.p_given)
        alone = _log(1.0 - self.p) - _log(self.p)
        return np.where(self.agrees, np.minimum(doubts, alone), doubts)


def judged(
    nlp: Language, examples: Sequence[Example], names: Sequence[str] = ()
) -> Iterator[Judgement]:
    """By each exact component of a pipeline, in its order. names: of some only.

    examples: predicted docs have no labels yet, only what the pipeline is given; components before
        one annotate them.
    RAISES ValueError [HS152]: there is no such component.
    """
    wanted = exact_components(nlp, names)
    docs = [eg.predicted.copy() for eg in examples]
    for name, pipe in nlp.pipeline:
        if name in wanted:
            yield judge(
                wanted[name],
                [Example(doc, eg.reference) for doc, eg in zip(docs, examples, strict=True)],
            )
        docs = list(pipe.pipe(docs))  # type: ignore[attr-defined]


def exact_components(nlp: Language, names: Sequence[str] = ()) -> Dict[str, Any]:
    """Components that have p(y | x), by name. RAISES ValueError [HS105]: none has; [HS152]: there
    are none of these names."""
    own = own_components(nlp, names, with_sentences=True)
    exact = {name: pipe for name, pipe in own.items() if knows_sums(pipe)}
    if not exact or len(exact) < len(names):
        sums_of(next(pipe for name, pipe in own.items() if name not in exact))
    return exact


def judge(component: StructuredComponent, examples: Sequence[Example]) -> Judgement:
    """As `judged`, by one component. RAISES ValueError [E143]: it has no labels."""
    reading = Reading(component, [eg.predicted for eg in examples])
    potentials = reading.potentials
    permitted: Mask = component.gold(examples)
    if potentials.allowed is not None:
        permitted[~(permitted & potentials.allowed).any(axis=1)] = True
    gold = known_labels(permitted)
    goes_on = component.continues
    first, sizes = units(gold, goes_on, potentials.lengths)
    p_given, p_other = given_the_others(potentials, permitted, first, sizes)
    return Judgement(
        reading=reading,
        attribute=component.target.place,
        goes_on=goes_on,
        permitted=permitted,
        gold=gold,
        gaps=decode_exact(potentials).scores
        - decode_exact(potentials.permitting(permitted)).scores,
        first=first,
        sizes=sizes,
        p=reading.posterior.segments(first, sizes, gold[ranges(first, sizes)], goes_on),
        p_given=p_given,
        p_other=p_other,
    )


def units(gold: Ints, goes_on: Optional[Mask], lengths: AnyInts) -> Tuple[Ints, Ints]:
    """First words and sizes of the units (U,) whose gold labels are known."""
    firsts = np.flatnonzero(~continues(gold, goes_on, lengths))
    known = gold[firsts] >= 0
    return firsts[known], np.diff(firsts, append=len(gold))[known]


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
    longest = max(2, potentials.weights.trie.max_length if potentials.weights.has_patterns else 0)
    if potentials.configurations is not None:
        longest = max(longest, int(potentials.configurations.sizes.max(initial=0)))
    return longest


def _log(p: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(p, np.finfo(float).tiny)))
