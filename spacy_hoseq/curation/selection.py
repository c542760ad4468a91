"""Which texts to annotate next: those of which a model is least sure, and that are not doubtful for
the same words.

How unsure, of a text whose sentences are x:

    entropy      H(y | x), the sum over its sentences: of all labellings, exactly, not of single tokens
    confidence   -log p(y* | x), the best labelling
    margin       p(second best) / p(best), of its least decided sentence; of decisions, of the least certain one

Each word's share d_t of it follows H(y_t | y_1..y_{t-1}, x). Diversity is a set function with
diminishing returns (Lin & Bilmes 2011): the doubts of one word count by the root of their sum,

    f(S) = sum over words w of sqrt(sum of d_t over the tokens t of w in S)

so that the tenth text with the same unknown word gains little. f is monotone and submodular: taking
the text with the largest gain each time reaches 1 - 1/e of the best f at least (Nemhauser, Wolsey &
Fisher 1978). Gains only fall, so those of all others are looked at again only when they may be the
largest (Minoux 1978).
"""

import heapq
from typing import Dict, Iterable, Iterator, List, Literal, NamedTuple, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..arrays import Floats, Ints, Keys
from ..errors import Errors
from ..inspection.reading import Certain, Decisions, certain_reading, own_components, stages
from .judgement import same_tokens

Measure = Literal["entropy", "margin", "confidence"]
MEASURES = ("entropy", "margin", "confidence")
MOST_NATS = 700.0
BATCH = 128  # texts that are read together
Part = Tuple[float, Floats, Floats]  # of a Doc: as of `Doubts`


class Doubts(NamedTuple):
    """Of one text. of_text (float): how unsure the model is, by a measure. words, of_words (n,):
    the words and their shares of it. doubtful (n,): 1 - probability of the best label of each
    token; of several components the largest."""

    of_text: float
    words: Keys
    of_words: Floats
    doubtful: Floats


def doubts_of(
    nlp: Language, docs: Iterable[Doc], by: Measure = "entropy", names: Sequence[str] = ()
) -> List[Doubts]:
    """How unsure the taggers and chunkers of a pipeline are of each Doc. names: of some components
    only.

    docs: with words, and with what the pipeline is given beside them; they are not changed. RAISES
    ValueError [HS152]: there is no such component; [HS161]: no such measure; [HS108]: a component
    before it merges or splits tokens.
    """
    if by not in MEASURES:
        raise ValueError(Errors.HS161.format(name=by, known=", ".join(MEASURES)))
    wanted = own_components(nlp, names)
    docs = list(docs)
    total = []
    for doc in docs:
        words = np.asarray(doc.to_array("ORTH"), np.uint64)
        total.append(Doubts(0.0, words, np.zeros(len(doc)), np.zeros(len(doc))))
    for name, pipe, given in stages(nlp, [doc.copy() for doc in docs]):
        if name in wanted:
            same_tokens(name, given, docs)
            parts = (part for batch in minibatch(given, BATCH) for part in _parts(pipe, batch, by))
            total = [_added(*pair) for pair in zip(total, parts, strict=True)]
        if name == list(wanted)[-1]:
            break
    return total


def _parts(pipe: object, docs: Sequence[Doc], by: Measure) -> Iterator[Part]:
    """Of each Doc of a batch, by one component."""
    reading = certain_reading(pipe, docs)
    text_of = reading.text_of[reading.ends - 1]
    if by == "margin":
        begins = reading.ends - reading.lengths
        least = np.full(len(docs), MOST_NATS)
        if len(begins):
            np.minimum.at(least, text_of, np.minimum.reduceat(reading.margins, begins))
        of_text = np.exp(-least)
    else:
        of_sentence = reading.sentence_entropies if by == "entropy" else -reading.log_p
        of_text = np.bincount(text_of, of_sentence, minlength=len(docs))
    shares = reading.of_tokens(_shares(reading))
    unsure = reading.of_tokens(1.0 - reading.confidences())
    yield from zip(of_text.tolist(), shares, unsure, strict=True)


def _shares(reading: Certain) -> Floats:
    """What each word has of the entropy of its sentence (N,): H(y_t | y_1..y_{t-1}, x) of a chain;
    with label patterns in the proportions of H(y_t | x)."""
    if isinstance(reading, Decisions) or reading.potentials.is_chain:
        return reading.conditional_entropies
    sums = np.bincount(reading.sentence_of, reading.entropies, minlength=len(reading.ends))
    factors = reading.sentence_entropies / np.where(sums > 0, sums, 1.0)
    return np.asarray(reading.entropies * factors[reading.sentence_of])


def _added(so_far: Doubts, part: Part) -> Doubts:
    of_text, h, unsure = part
    of_words = so_far.of_words + of_text * h / (h.sum() or 1.0)
    doubtful = np.maximum(so_far.doubtful, unsure)
    return Doubts(so_far.of_text + of_text, so_far.words, of_words, doubtful)


def select(
    doubts: Sequence[Doubts], n: int, *, diverse: bool = True, per_word: bool = False
) -> List[int]:
    """The numbers of n texts, or of all if there are fewer, the best first.

    diverse: by f above, else by `of_text` alone. per_word: gains divided by the words of a text,
    for those who pay by the word. Ties: the first. Time O(D log D) for D texts, and as many gains
    again as orders change.
    """
    covered: Dict[int, float] = {}
    parts = [_by_word(one) for one in doubts]
    sizes = [max(1, len(one.words)) if per_word else 1 for one in doubts]

    def gain(i: int) -> float:
        if not diverse:
            return doubts[i].of_text / sizes[i]
        before = np.array([covered.get(word, 0.0) for word in parts[i][0]])
        return float((np.sqrt(before + parts[i][1]) - np.sqrt(before)).sum()) / sizes[i]

    queue = [(-gain(i), i) for i in range(len(doubts))]
    heapq.heapify(queue)
    chosen: List[int] = []
    while queue and len(chosen) < n:
        _, i = heapq.heappop(queue)
        now = -gain(i)
        if queue and (now, i) > queue[0]:
            heapq.heappush(queue, (now, i))
            continue
        chosen.append(i)
        for word, amount in zip(*parts[i], strict=True):
            covered[word] = covered.get(word, 0.0) + amount
    return chosen


def _by_word(doubts: Doubts) -> "tuple[List[int], Floats]":
    """The different words of a text, and what they are doubtful together."""
    words, of = np.unique(doubts.words, return_inverse=True)
    sums = np.bincount(of.reshape(-1), doubts.of_words, minlength=len(words))
    return words.tolist(), np.asarray(sums, float)


def doubtful_tokens(doubts: Doubts, threshold: float) -> Ints:
    """Tokens whose best label has a probability below 1 - threshold: those to label when the others
    are left out."""
    return np.flatnonzero(doubts.doubtful > threshold)


def partial(docs: Sequence[Doc], doubts: Sequence[Doubts], threshold: float) -> Iterator[Doc]:
    """Copies of annotated Docs in which only doubtful tokens have their tag: what is learnt from
    when somebody has labelled no others (docs/tasks/partial-annotation.md)."""
    for doc, one in zip(docs, doubts, strict=True):
        copy = doc.copy()
        asked = set(doubtful_tokens(one, threshold).tolist())
        for token in copy:
            if token.i not in asked:
                token.tag_ = ""
        yield copy
