"""Files of bracketed trees as sentences: words, tags and chunks; traces are dropped, escapes are
undone.

A leaf is `(TAG word)`. Its tag loses functions (CTB: "NR-SHORT" is NR); the tags -LRB- and -RRB-
become "(" and ")", as in CoNLL-2000. Words: see `ESCAPES`.
"""

from pathlib import Path
from typing import List

from ..files import read_lines
from ..sentences import Items, Problem, Sentence, Settings
from .brackets import Tree, leaves, parse_trees
from .chunk_rules import TRACE, chunks_of_tree

BRACKET_TAGS = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "(", "-RCB-": ")", "-LSB-": "(", "-RSB-": ")"}
ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}


def read_trees(path: Path, settings: Settings) -> Items:
    """A Sentence for each tree, a Problem for one that is damaged.

    settings.chunks: by the rules of CoNLL-2000, for English. settings.unescape: words as in print,
    "(" for -LRB- and "/" for \\/; otherwise as in the treebank, which CoNLL-2000 keeps.
    """
    for tree in parse_trees(read_lines(path, settings.encodings), path):
        if isinstance(tree, Problem):
            yield tree
        else:
            yield _sentence(tree, settings.chunks, settings.unescape)


def _sentence(tree: Tree, chunks: bool, unescape: bool) -> Sentence:
    words: List[str] = []
    tags: List[str] = []
    n_traces = 0
    for leaf in leaves(tree):
        if leaf.label == TRACE:
            n_traces += 1
            continue
        word = leaf.word or ""
        if unescape:  # as in print: brackets by their names, and the escaped slash and asterisk
            word = ESCAPES.get(word) or word.replace("\\/", "/").replace("\\*", "*")
        words.append(word)
        bare = leaf.label if leaf.label.startswith("-") else leaf.label.partition("-")[0]
        tags.append(BRACKET_TAGS.get(leaf.label, bare))
    return Sentence(words, tags, chunks_of_tree(tree) if chunks else None, None, n_traces)
