"""Which texts to annotate next: those that a model is least sure about, and not all for the same
words.

The doubt about a text is the entropy H(y | x), summed over its sentences x: exactly that of all
labellings, not of single tokens. Each word's share d_t of it is in proportion to H(y_t | x).
Diversity is a set function with diminishing returns (Lin & Bilmes 2011): the doubts of one word
count by the root of their sum,

    f(S) = sum over words w of sqrt(sum of d_t over the tokens t of w in S)

so that the tenth text with the same unknown word gains little. f is monotone and submodular: taking
the text with the largest gain each time reaches 1 - 1/e of the best f at least (Nemhauser, Wolsey &
Fisher 1978). Gains only fall, so a gain is computed anew only when it may be the largest (Minoux
1978).
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Keys
from .certainty import Certainty, certainties
from .findings import same_tokens
from .reading import own_components, stages


class Doubts(NamedTuple):
    """Doubts of a model about one text. entropy: of its labels, in nats. words, shares (n,): the
    words and their shares of it. doubtful (n,): 1 - probability of the best label of each token;
    the largest of several components."""

    entropy: float
    words: Keys
    shares: Floats
    doubtful: Floats


def doubts_of(nlp: Language, docs: Iterable[Doc], names: Sequence[str] = ()) -> list[Doubts]:
    """Doubts of the taggers and chunkers of a pipeline about each Doc. names: of some components
    only.

    docs: with words, and with what the pipeline is given beside them; they are not changed. RAISES
    ValueError [HS152]: there is no such component; [HS108]: a component
    before it merges or splits tokens.
    """
    wanted = own_components(nlp, names)
    docs = list(docs)
    total = []
    for doc in docs:
        nothing = np.zeros(len(doc))
        total.append(Doubts(0.0, np.asarray(doc.to_array("ORTH"), np.uint64), nothing, nothing))
    for name, pipe, given in stages(nlp, [doc.copy() for doc in docs]):
        if name in wanted:
            same_tokens(name, given, docs)
            for i, certainty in enumerate(certainties(pipe, given)):
                total[i] = _added(total[i], certainty)
        if name == list(wanted)[-1]:
            break
    return total


def _added(so_far: Doubts, certainty: Certainty) -> Doubts:
    """Doubts with those of one more component."""
    entropy = sum(sentence.entropy for sentence in certainty.sentences)
    shares = certainty.entropies / (certainty.entropies.sum() or 1.0)
    is_word = np.array(certainty.labels, str) != ""  # white space has no label
    unsure = np.where(is_word, 1.0 - certainty.probabilities, 0.0)
    return so_far._replace(
        entropy=so_far.entropy + entropy,
        shares=so_far.shares + entropy * shares,
        doubtful=np.maximum(so_far.doubtful, unsure),
    )


def select(
    doubts: Sequence[Doubts], n: int, *, diverse: bool = True, per_word: bool = False
) -> list[int]:
    """The numbers of n texts, or of all if there are fewer, the best first.

    diverse: by f above, else by the entropy alone. per_word: gains divided by the words of a text,
    for those who pay by the word. Ties: the first. Time O(D log D) for D texts, and as many gains
    again as orders change.
    """
    covered: Counter[int] = Counter()  # sum of the doubts of each word in the texts chosen so far
    shares = [_by_word(one) for one in doubts]

    def gain(i: int) -> float:
        """What text i adds to f."""
        value = doubts[i].entropy
        if diverse:
            value = 0.0
            for word, doubt in shares[i].items():
                value += sqrt(covered[word] + doubt) - sqrt(covered[word])
        if per_word:
            value /= max(1, len(doubts[i].words))
        return value

    queue = [(-gain(i), i) for i in range(len(doubts))]  # the largest gain first
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < n:
        _, i = heapq.heappop(queue)
        now = (-gain(i), i)
        if queue and now > queue[0]:
            # what was chosen since has made this gain smaller: another one may be larger
            heapq.heappush(queue, now)
        else:
            chosen.append(i)
            covered.update(shares[i])
    return chosen


def _by_word(doubts: Doubts) -> "Counter[int]":
    """Sum of the shares of each word."""
    words, which = np.unique(doubts.words, return_inverse=True)
    sums = np.bincount(which, doubts.shares)
    return Counter(dict(zip(words.tolist(), sums.tolist(), strict=True)))


def doubtful_tokens(doubts: Doubts, threshold: float) -> Ints:
    """Tokens whose best label has a probability below 1 - threshold. To annotate these may be
    enough."""
    return np.flatnonzero(doubts.doubtful > threshold)
