"""Chunks of a Penn Treebank tree, as in the shared task of CoNLL-2000 (Tjong Kim Sang & Buchholz
2000).

The rules are those of Sabine Buchholz's program chunklink, with which the data of the task were
made (version of 2 February 2000); they were read from a public copy of it, and written down anew.
Two steps:

1. Constituents that are no chunks of their own dissolve: their daughters become daughters of the
   constituent above. `_daughters` has the rules; functions and indices of labels matter in `S` and
   `-SBJ` only.
2. The head of a constituent is the last of its words (not of its constituents) whose tag can be a
   head there (HEADS). The chunk reaches from the first of its own words to the head; words that
   stand after the head, or that belong to a constituent without a head of its own (S, FRAG, PRN
   ...), are outside. A constituent with a chunk that stands in between ends the chunk. `_join` has
   the rules, and those of the possessive ending.

Nothing here knows spaCy. Each rule has its tree in tests/readers/formats/test_chunk_rules.py.
"""

import re
from typing import NamedTuple

from ..sentences import LabelledSpan

TRACE = "-NONE-"

# What tags can be heads, by their beginnings: "NN" is NN, NNS, NNP and NNPS. Others have no chunks.
HEADS: dict[str, tuple[str, ...]] = {
    name: tuple(tags.split())
    for name, tags in {
        "NP": "NN CD PRP JJ DT EX IN RB VB FW SYM UH WP WDT",
        "VP": "VB MD TO JJ NN POS FW SYM",
        "PP": "IN TO RB VBG VBN JJ RP CC FW",
        "ADVP": "RB IN TO DT PDT JJ RP FW LS UH CC NN CD VB",
        "ADJP": "JJ RB VB IN UH FW RP $ # DT NN",
        "SBAR": "IN WDT",
        "PRT": "RP IN RB JJ",
        "CONJP": "CC IN RB",
        "INTJ": "UH RB NN VB FW JJ",
        "LST": "LS JJ :",
        "UCP": "JJ NN VB CD",
        "WHNP": "WDT WP CD DT IN NN JJ RB",
        "WHPP": "IN TO",
        "WHADVP": "WRB IN RB WDT",
        "WHADJP": "JJ",
    }.items()
}


class Tree(NamedTuple):
    """A constituent with children, or a leaf with a word. label: with its functions ("NP-SBJ-1");
    "" at the outermost bracket. line (int): where it begins."""

    label: str
    children: "tuple[Tree, ...]" = ()
    word: str | None = None
    line: int = 0


class _Word(NamedTuple):
    """tag; the category of the constituent it belongs to, and its number; whether it is the head
    there."""

    tag: str
    category: str
    constituent: int
    is_head: bool


def chunks_of_tree(tree: Tree) -> list[LabelledSpan]:
    """The chunks, in order. Words are counted without traces."""
    words: list[_Word] = []
    # the outermost bracket
    if not tree.label and len(tree.children) == 1:
        tree = tree.children[0]
    _place(tree, words, [0])
    return _join(words)


def _place(node: Tree, words: list[_Word], count: list[int]) -> None:
    """Adds every word of a constituent, and of the constituents in it. count: constituents so
    far."""
    count[0] += 1
    number = count[0]
    name = category(node.label)
    daughters, head = _daughters(node, name)
    for i, daughter in enumerate(daughters):
        if daughter.word is None:
            _place(daughter, words, count)
        elif daughter.label != TRACE:
            words.append(_Word(daughter.label, name, number, i == head))


def _daughters(node: Tree, name: str) -> tuple[list[Tree], int | None]:
    """The daughters of a constituent after some have dissolved, and the place of its head word."""
    # the rules of the program, one after the other
    pending = _children(node)[::-1]
    daughters: list[Tree] = []
    heads: list[int] = []  # words that can be the head
    n_adverbs = 0  # and adverbial phrases
    phrases = 0  # phrases that can be the head
    while pending:
        daughter = pending.pop()
        i = len(daughters)
        # there are words before, all of them verbs or adverbs
        verbal = 0 < i == len(heads) + n_adverbs
        parts = _dissolved(daughter, name, phrases, verbal)
        if parts is not None:
            pending += parts[::-1]
            continue
        daughters.append(daughter)
        is_alone = i == 0 and not pending
        if _can_be_head(daughter, name, is_alone):
            heads.append(i)
        if _is_adverb(daughter, name):
            n_adverbs += 1
        elif _is_head_phrase(daughter, name):
            phrases += 1
    if not heads:
        return daughters, None
    if name == "VP":
        return _without_adverbial_phrases(daughters, heads[-1])
    return daughters, heads[-1]


def _without_adverbial_phrases(daughters: list[Tree], head: int) -> tuple[list[Tree], int]:
    """Daughters of a verb phrase after adverbial phrases before its head have dissolved, and the
    new place of the head."""
    before = []
    for daughter in daughters[:head]:
        if daughter.word is None and _is_adverb(daughter, "VP"):
            before += _children(daughter)
        else:
            before.append(daughter)
    return [*before, *daughters[head:]], len(before)


def _can_be_head(daughter: Tree, name: str, is_alone: bool) -> bool:
    """True if it is a word with a tag that can be the head of a constituent, or a trace alone."""
    if daughter.word is None:
        return False
    if daughter.label == TRACE:
        return is_alone
    return daughter.label.startswith(HEADS.get(name, ()))


def _is_adverb(daughter: Tree, name: str) -> bool:
    """True if it is an adverb, or in a verb phrase an adverbial phrase."""
    if daughter.word is None:
        return name == "VP" and category(daughter.label) == "ADVP"
    return daughter.label.startswith("RB")


def _is_head_phrase(daughter: Tree, name: str) -> bool:
    """True if it is a constituent that can be the head phrase, where that matters."""
    patterns = {"NP": "NP|NX|.*-NOM", "WHNP": "WHNP|NP", "ADJP": "ADJP"}
    if daughter.word is not None or name not in patterns:
        return False
    return re.match(patterns[name], daughter.label) is not None


def _dissolved(daughter: Tree, name: str, phrases: int, verbal: bool) -> list[Tree] | None:
    """The trees that replace a daughter; None = it stays.

    NAC, QP, NX and X dissolve everywhere; adjectives (ADJP, UCP) in a noun phrase and adverbs
    (ADVP) in an adjective phrase unless a head phrase stands before; in a verb phrase, after verbs
    and adverbs only: another verb phrase, and an S with a subject that is a trace before a verb
    phrase ("expected * to take" is one chunk; the trace goes).
    """
    if daughter.word is not None:
        return None
    kind = category(daughter.label)
    inner = _children(daughter)
    if kind in ("NAC", "QP", "NX", "X"):
        return inner
    before_the_head = (("NP", "ADJP"), ("NP", "UCP"), ("WHNP", "WHADJP"), ("ADJP", "ADVP"))
    if (name, kind) in before_the_head and not phrases:
        return inner
    if name != "VP" or not verbal:
        return None
    if kind == "VP":
        return inner
    # "expected * to take": S -> NP-SBJ (a trace) VP
    if functions(daughter.label) != "S" or len(inner) < 2:
        return None
    subject, predicate = inner[:2]
    is_trace = len(subject.children) == 1 and subject.children[0].label == TRACE
    if "-SBJ" in functions(subject.label) and is_trace and functions(predicate.label) == "VP":
        return inner[1:]
    return None


def _join(words: list[_Word]) -> list[LabelledSpan]:
    """Chunks from words with their places, right to left.

    A head begins a chunk, and goes on with words of its constituent until another head comes. A
    possessive ending that is not in a chunk belongs to the noun phrase that follows, or is one of
    its own.
    """
    names: list[str | None] = [None] * len(words)
    joined = [False] * len(words)  # with the word after
    head = ("", -1)
    before = -1
    for i in range(len(words) - 1, -1, -1):
        tag, name, number, is_head = words[i]
        # WHNP chunks are NP
        name = name.removeprefix("WH")
        if is_head:
            head = (name, number)
        # words of the constituent before its head
        if (name, number) == head:
            names[i] = name
        elif tag == "POS":  # the possessive ending
            names[i] = "NP"
            number = before
        joined[i] = number == before
        before = number
    chunks: list[LabelledSpan] = []
    # words joined to the one before, with the same name, go on with its chunk
    for i, chunk in enumerate(names):
        if chunk and i > 0 and joined[i - 1] and names[i - 1] == chunk:
            chunks[-1] = chunks[-1]._replace(end=i + 1)
        elif chunk:
            chunks.append(LabelledSpan(i, i + 1, chunk))
    return chunks


def category(label: str) -> str:
    """The category in a label: "NP" of "NP-SBJ-1", "ADVP" of "ADVP|PRT"."""
    return re.split("[^A-Z]", label, maxsplit=1)[0]


def functions(label: str) -> str:
    """A label without its indices: "NP-SBJ" of "NP-SBJ-1" and of "NP-SBJ=2"."""
    return re.sub(r"=\d+$", "", re.sub(r"-\d+$", "", label))


def _children(node: Tree) -> list[Tree]:
    """Children without empty complementizers, which are not even traces."""
    return [child for child in node.children if child.label != TRACE or child.word != "0"]
