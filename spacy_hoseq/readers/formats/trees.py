"""Trees in labelled brackets, as in the Penn Treebank and the Chinese Treebank: words, tags and chunks.

    ( (S (NP-SBJ (PRP It) ) (VP (VBZ rains) ) (. .) ))

A tree may go over several lines. Between trees there may be lines in the manner of XML (`<DOC>`,
`<S ID=7>`, `</P>`, and what stands between `<` and `>`), and comment lines that begin with `*x*` or
`#`. Nothing else is passed over. A damaged tree is a Problem; reading goes on with the next line that
begins as the damaged tree does.

A leaf is `(TAG word)`. Its tag loses functions (CTB: "NR-SHORT" is NR); the tags -LRB- and -RRB-
become "(" and ")", as in CoNLL-2000. Words: see `ESCAPES`. Traces are dropped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..docs import UNSPACED
from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence, Unreadable
from ..settings import Format, Settings
from .chunk_rules import TRACE, Tree, chunks_of_tree

ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}


class _Piece(NamedTuple):
    """A bracket, a label or a word; or a line that marks where a sentence begins or ends, or that
    cannot be read. first: it stands at the very beginning of its line."""

    text: str
    line: int
    first: bool = False
    is_mark: bool = False
    problem: Problem | None = None


class _Open(NamedTuple):
    atoms: list[str]
    children: list[Tree]
    line: int


def trees_format() -> Format:
    """Registered as `spacy_hoseq.trees_format.v1`: the Penn Treebank and the Chinese Treebank."""
    penn = (".mrg", ".prd", ".parse", ".psd", ".ptb", ".fid", ".bracketed", ".tree", ".trees")
    ctb_genres = (".nw", ".mz", ".bn", ".bc", ".wb", ".df", ".sc", ".cs")
    return Format(read_trees, (*penn, *ctb_genres), "trees in brackets")


def read_trees(path: Path, settings: Settings) -> Items:
    """A Sentence for each tree, a Problem for one that is damaged.

    settings.chunks: by the rules of CoNLL-2000, for English. settings.unescape: words as in print,
    "(" for -LRB- and "/" for \\/; otherwise as in the treebank, which CoNLL-2000 keeps.
    """
    has_chunks = settings.chunks
    if has_chunks is None:
        has_chunks = settings.lang not in UNSPACED
    for tree in parse_trees(read_lines(path, settings.encodings), path):
        if isinstance(tree, Problem):
            yield tree
            continue
        sentence = _sentence(tree, settings.unescape)
        if has_chunks:
            sentence = sentence._replace(chunks=chunks_of_tree(tree))
        yield sentence


def _sentence(tree: Tree, unescape: bool) -> Sentence:
    """Words and tags. unescape: words as in print, brackets by their names, and the escaped slash
    and asterisk."""
    words = []
    tags = []
    n_traces = 0
    for leaf in leaves(tree):
        if leaf.label == TRACE:
            n_traces += 1
            continue
        word = leaf.word or ""
        if unescape:
            word = ESCAPES.get(word) or word.replace("\\/", "/").replace("\\*", "*")
        words.append(word)
        tag = leaf.label
        if re.fullmatch("-L[RCS]B-", tag):
            tag = "("
        elif re.fullmatch("-R[RCS]B-", tag):
            tag = ")"
        elif not tag.startswith("-"):
            tag = tag.partition("-")[0]  # without functions
        tags.append(tag)
    return Sentence(words, tags, n_traces=n_traces)


def parse_trees(lines: Iterable[Line | Problem], path: Path) -> Iterator[Tree | Problem]:
    """All trees in order, a Problem in place of each that is damaged."""
    pieces = list(_pieces(lines))
    at = 0
    while at < len(pieces):
        # what stands between trees
        if pieces[at].is_mark or re.fullmatch(r"</[^<>]*>", pieces[at].text):
            at += 1
            continue
        try:
            tree, at = _tree_at(pieces, at)
            yield tree
        except Unreadable as error:
            yield Problem(path, *error.args)
            at = _next_tree(pieces, at)


def _pieces(lines: Iterable[Line | Problem]) -> Iterator[_Piece]:
    names = "S|P|DOC|BODY|TEXT|HEADLINE|su|seg"
    mark = re.compile(rf"\s*</?({names})(\s[^>]*)?>\s*", re.IGNORECASE)
    bracket_or_atom = re.compile(r"[()]|[^() \t\r\f\v]+")
    for line in lines:
        if isinstance(line, Problem):
            yield _Piece("", line.line, problem=line)
        elif mark.fullmatch(line.text):
            yield _Piece(line.text.strip(), line.number, is_mark=True)
        else:
            for match in bracket_or_atom.finditer(line.text, _start_of(line.text)):
                yield _Piece(match.group(), line.number, match.start() == 0)


def _start_of(text: str) -> int:
    """Where the brackets of a line begin, behind markup; its end if it has none."""
    if re.fullmatch(r"\s*(\*x\*|#).*", text):  # a comment
        return len(text)
    markup = re.match(r"\s*(<[^<>]*>\s*)+", text)
    if markup is None:
        return 0
    return markup.end() if "(" in text else len(text)


def _tree_at(pieces: Sequence[_Piece], start: int) -> tuple[Tree, int]:
    """The tree that begins at a piece, and the place behind it. RAISES Unreadable."""
    # brackets that are open, the outermost first
    stack: list[_Open] = []
    for at in range(start, len(pieces)):
        text, line, _, is_mark, problem = pieces[at]
        if problem:
            raise Unreadable(problem.line, problem.actual, problem.expected)
        if is_mark:
            raise _not_closed(stack, line, text)
        if text == "(":
            stack.append(_Open([], [], line))
            # deeper nesting is damage: the deepest trees of the treebanks have some 50 levels
            if len(stack) > 400:
                raise Unreadable(line, "more than 400 open brackets", "brackets that are closed")
            continue
        if not stack and text == ")":
            actual = "a closing bracket without an opening one"
            raise Unreadable(line, actual, "an opening bracket")
        if not stack:
            raise Unreadable(line, f'"{text}" outside of all brackets', "an opening bracket")
        if text != ")":
            if stack[-1].children:
                raise Unreadable(line, f'"{text}" between or after brackets', "a bracket")
            stack[-1].atoms.append(text)
            continue
        # a constituent ends: it belongs to the one that is open, or is the whole tree
        tree = _tree(*stack.pop(), outermost=not stack)
        if not stack:
            return tree, at + 1
        stack[-1].children.append(tree)
    raise _not_closed(stack, stack[0].line, "the end of the file")


def _tree(atoms: list[str], children: list[Tree], line: int, outermost: bool) -> Tree:
    """The tree of a bracket. RAISES Unreadable."""
    if not children and len(atoms) == 2:
        return Tree(atoms[0], (), atoms[1], line)
    # only the outermost bracket may have no label
    if children and len(atoms) < 2 and (atoms or outermost):
        return Tree("".join(atoms), tuple(children), None, line)
    text = " ".join(atoms)
    if children and atoms:
        actual = f'"{text}" before a bracket'
    elif children:
        actual = "a bracket without a label"
    elif atoms:
        actual = f'"({text})"'
    elif outermost:
        actual = "an empty tree ()"
    else:
        actual = "an empty bracket ()"
    raise Unreadable(line, actual, "(TAG word), or (LABEL (...) ...)")


def _not_closed(stack: list[_Open], number: int, actual: str) -> Unreadable:
    brackets = "bracket" if len(stack) == 1 else "brackets"
    first = f"the tree that begins at line {stack[0].line}"
    expected = f"the end of {first}: {len(stack)} {brackets} open"
    return Unreadable(number, actual, expected)


def _next_tree(pieces: Sequence[_Piece], start: int) -> int:
    """Where reading goes on after a problem: at a mark, or at a line that begins as the damaged
    tree does. Other brackets at the beginning of a line may be constituents of it."""
    beginning = [piece.text for piece in pieces[start : start + 2]]
    if beginning[0] != "(":
        beginning = ["("]
    for at in range(start + 1, len(pieces)):
        piece = pieces[at]
        if piece.is_mark:
            return at
        # indented brackets are constituents
        if piece.first and piece.line > pieces[start].line:
            texts = [other.text for other in pieces[at : at + len(beginning)]]
            if texts == beginning:
                return at
    return len(pieces)


def leaves(tree: Tree) -> Iterator[Tree]:
    """The leaves of a tree from left to right, traces included."""
    if tree.word is not None:
        yield tree
    for child in tree.children:
        yield from leaves(child)
