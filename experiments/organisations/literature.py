"""Features of entities as the reranking literature has them (Collins 2002b, "Ranking algorithms for named-entity
extraction: boosting and the voted perceptron", its templates that are anchored at an entity).

Each entity of a labelling, words s to e of a sentence, has features of its label and of

    WE   the whole entity, in each of three forms
    LW   its last word, in each of three forms
    BO   words s-1, s, each as a word or as its class (4 features); BE: words e, e+1
    TO   words s-1, s, s+1, each as a word or as its class (8 features); TE: words e-1, e, e+1
    PF   its first 1, 2, .. words, as words, as classes and as shapes; SF: its last ones
    LEN  how many words it has
    QU   whether it stands between quotation marks or brackets, and whether one of them is within it
    SAME whether the same words stand elsewhere in the sentence, and are an entity there

The list was written from memory: the paper was not at hand. What is different, as Chinese has no capital letters:

- The shape of a word is the kinds of its characters (Chinese, numbers, digits, letters, others as they are), runs as
  one, where the paper has capitals and small letters. In corpora of characters a word is one character.
- The class of a word is the word itself for the FREQUENT words of the training sentences, and else its shape and its
  length up to three. The paper's second form tells more of a word than its shape does, too.
- The paper's last word is also small or not; here it has its shape and its class.
- PF and SF end after AFFIX words. Labels are part of all features, as these corpora have several.
- Features count that are of at least `min_count` lists of training.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.strings import get_string_id

FREQUENT = 200  # words that are their own class
AFFIX = 6  # words
LONG = 12  # words: LEN counts no further
NUMBERS = "〇零一二三四五六七八九十百千万亿两"
KINDS = re.compile(
    rf"(?P<N>[{NUMBERS}]+)|(?P<H>[^\W\u0000-\u33ff{NUMBERS}\uff00-\uffef]+)"
    r"|(?P<D>[0-9０-９]+)|(?P<A>[A-ZＡ-Ｚ]+)|(?P<a>[a-zａ-ｚ]+)"
)
OPENING, CLOSING = frozenset('“‘「『《〈（(【"'), frozenset('”’」』》〉）)】"')
START, END = "<s>", "</s>"
Entity = tuple[int, int, str]
Place = tuple[int, int]
Ints = NDArray[np.intp]
Keys = NDArray[np.uint64]
Instance = tuple[
    Entity, bool, bool
]  # an entity; whether its words stand elsewhere as an entity, and as none


class Forms(NamedTuple):
    """The words of a sentence in three forms, with START before them and END behind them."""

    words: list[str]
    shapes: list[str]
    classes: list[str]


class Literature:
    """The features of the lists of training that enough of them have, numbered.

    Entities that all labellings of a list have do not tell them apart: their features are left out.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        lists: Sequence[Sequence[Sequence[Entity]]],
        min_count: int,
    ) -> None:
        words = Counter(word for sentence in sentences for word in sentence)
        ranked = sorted(words, key=lambda word: (-words[word], word))
        self.frequent = frozenset(ranked[:FREQUENT])
        self._keys = np.zeros(0, np.uint64)
        seen = [
            self._seen(words, labellings)
            for words, labellings in zip(sentences, lists, strict=True)
        ]
        keys, counts = np.unique(np.concatenate([self._keys, *seen]), return_counts=True)
        self._keys = keys[counts >= min_count]
        self.n_weights = len(self._keys)

    def of(self, words: Sequence[str], labellings: Sequence[Sequence[Entity]]) -> list[list[Ints]]:
        """RETURNS for each labelling the numbers of its features, an array for each entity. Labellings share them."""
        instances, keys = self._described(words, labellings)
        numbers = {instance: self._numbers(some) for instance, some in keys.items()}
        return [[numbers[one] for one in some if one in numbers] for some in instances]

    def _seen(self, words: Sequence[str], labellings: Sequence[Sequence[Entity]]) -> Keys:
        """The features of a list, each once."""
        _, keys = self._described(words, labellings)
        return np.unique(np.concatenate([np.zeros(0, np.uint64), *keys.values()]))

    def _described(
        self, words: Sequence[str], labellings: Sequence[Sequence[Entity]]
    ) -> tuple[list[list[Instance]], dict[Instance, Keys]]:
        """The entities of each labelling, and the features of those that not all labellings have."""
        elsewhere = same_words(
            list(words), {(first, end) for spans in labellings for first, end, _ in spans}
        )
        instances = [list(instances_of(spans, elsewhere)) for spans in labellings]
        common = set(instances[0]).intersection(*instances[1:])
        forms = forms_of(words, self.frequent)
        different = dict.fromkeys(one for some in instances for one in some if one not in common)
        return instances, {one: hashed(features(forms, one)) for one in different}

    def _numbers(self, keys: Keys) -> Ints:
        at = np.searchsorted(self._keys, keys)
        known = at < len(self._keys)
        known[known] = self._keys[at[known]] == keys[known]
        return at[known].astype(np.intp)


def instances_of(
    spans: Sequence[Entity], elsewhere: dict[Place, list[Place]]
) -> Iterator[Instance]:
    """The entities of a labelling, each with what the labelling makes of the other places that have its words."""
    taken = {(first, end) for first, end, _ in spans}
    for first, end, label in spans:
        as_entity = {place in taken for place in elsewhere[first, end]}
        yield (first, end, label), True in as_entity, False in as_entity


def same_words(words: Sequence[str], places: Iterable[Place]) -> dict[Place, list[Place]]:
    """Of each place the others that have the same words."""
    result: dict[Place, list[Place]] = {}
    for first, end in places:
        n = end - first
        starts = (i for i in range(len(words) - n + 1) if i != first and words[i] == words[first])
        result[first, end] = [(i, i + n) for i in starts if words[i : i + n] == words[first:end]]
    return result


def features(forms: Forms, instance: Instance) -> Iterator[str]:
    (first, end, label), as_entity, as_none = instance
    s, e = first + 1, end  # of the last word; START is word 0
    for kind, form in zip("wfg", forms, strict=True):
        yield f"{label} WE{kind} {' '.join(form[s : e + 1])}"
        yield f"{label} LW{kind} {form[e]}"
        for n in range(1, min(AFFIX, e + 1 - s) + 1):
            yield f"{label} PF{kind} {' '.join(form[s : s + n])}"
            yield f"{label} SF{kind} {' '.join(form[e + 1 - n : e + 1])}"
    for name, places in (
        ("BO", (s - 1, s)),
        ("BE", (e, e + 1)),
        ("TO", (s - 1, s, s + 1)),
        ("TE", (e - 1, e, e + 1)),
    ):
        for kinds in itertools.product("wg", repeat=len(places)):
            at = (
                forms.words[i] if kind == "w" else forms.classes[i]
                for kind, i in zip(kinds, places, strict=True)
            )
            yield f"{label} {name}{''.join(kinds)} {' '.join(at)}"
    yield f"{label} LEN {min(LONG, e + 1 - s)}"
    quoted = forms.words[s - 1] in OPENING and forms.words[e + 1] in CLOSING
    inside = any(word in OPENING or word in CLOSING for word in forms.words[s : e + 1])
    yield f"{label} QU {quoted} {inside}"
    yield f"{label} SAME {as_entity} {as_none}"


def forms_of(words: Sequence[str], frequent: frozenset[str]) -> Forms:
    shapes = [shape(word) for word in words]
    pairs = zip(words, shapes, strict=True)
    classes = [word if word in frequent else f"{kinds}{min(3, len(word))}" for word, kinds in pairs]
    around = ([START, *some, END] for some in (words, shapes, classes))
    return Forms(*around)


def shape(word: str) -> str:
    """Kinds of its characters, runs as one: N a number, H Chinese, D digits, A and a letters, others as they are."""
    return KINDS.sub(lambda run: str(run.lastgroup), word)


def hashed(some: Iterator[str]) -> Keys:
    return np.array([get_string_id(feature) for feature in some], np.uint64)
