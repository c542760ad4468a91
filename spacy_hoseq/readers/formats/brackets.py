"""Trees in labelled brackets, as in the Penn Treebank and the Chinese Treebank.

    ( (S (NP-SBJ (PRP It) ) (VP (VBZ rains) ) (. .) ))

A tree may go over several lines. Between trees there may be lines in the manner of XML (`<DOC>`,
`<S ID=7>`, `</P>`, and what stands between `<` and `>`), and comment lines that begin with `*x*` or
`#`. Nothing else is passed over. A damaged tree is a Problem; reading goes on with the next line that
begins as the damaged tree does.
"""

import re
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..files import Line
from ..sentences import Problem

MAX_DEPTH = 400  # deeper nesting is damage: the deepest trees of the treebanks have some 50 levels
_PIECES = re.compile(r"[()]|[^() \t\r\f\v]+")
_MARKUP = re.compile(r"\s*(<[^<>]*>\s*)+")
_COMMENT = re.compile(r"\s*(\*x\*|#).*")
_CLOSING = re.compile(r"</[^<>]*>")
_SENTENCE_MARK = re.compile(
    r"\s*</?(S|P|DOC|BODY|TEXT|HEADLINE|su|seg)(\s[^>]*)?>\s*", re.IGNORECASE
)


class Tree(NamedTuple):
    """A constituent with children, or a leaf with a word. label: with its functions ("NP-SBJ-1");
    "" at the outermost bracket. line (int): where it begins."""

    label: str
    children: "Tuple[Tree, ...]" = ()
    word: Optional[str] = None
    line: int = 0


class _Piece(NamedTuple):
    """A bracket, a label or a word; or a line that marks where a sentence begins or ends, or that
    cannot be read. first: it stands at the very beginning of its line."""

    text: str
    line: int
    first: bool
    is_mark: bool = False
    problem: Optional[Problem] = None


class _Open(NamedTuple):
    atoms: List[str]
    children: List[Tree]
    line: int


def parse_trees(
    lines: Iterable[Union[Line, Problem]], path: Path
) -> Iterator[Union[Tree, Problem]]:
    """All trees in order, a Problem in place of each that is damaged."""
    pieces = list(_pieces(lines))
    at = 0
    while at < len(pieces):
        if pieces[at].is_mark or _CLOSING.fullmatch(pieces[at].text):
            at += 1
            continue
        item, end = _tree_at(pieces, at, path)
        at = end if isinstance(item, Tree) else _next_tree(pieces, at, end)
        yield item


def _pieces(lines: Iterable[Union[Line, Problem]]) -> Iterator[_Piece]:
    for line in lines:
        if isinstance(line, Problem):
            yield _Piece("", line.line, False, problem=line)
        elif _SENTENCE_MARK.fullmatch(line.text):
            yield _Piece(line.text.strip(), line.number, True, is_mark=True)
        else:
            for match in _PIECES.finditer(line.text, _start_of(line.text)):
                yield _Piece(match.group(), line.number, match.start() == 0)


def _start_of(text: str) -> int:
    """Where the brackets of a line begin, behind markup; its end if there are none."""
    markup = _MARKUP.match(text)
    if _COMMENT.fullmatch(text) or (markup and "(" not in text):
        return len(text)
    return markup.end() if markup else 0


def _tree_at(pieces: Sequence[_Piece], start: int, path: Path) -> Tuple[Union[Tree, Problem], int]:
    """The tree that begins at a piece, and the piece behind it; or the first problem, and the piece
    behind that."""
    stack: List[_Open] = []
    for at in range(start, len(pieces)):
        piece = pieces[at]
        if piece.problem or piece.is_mark:
            return piece.problem or _not_closed(stack, path, piece.line, piece.text), at + 1
        item = _take(piece.text, stack, piece.line, path)
        if item is not None:
            return item, at + 1
    return _not_closed(stack, path, stack[0].line, "the end of the file"), len(pieces)


def _next_tree(pieces: Sequence[_Piece], start: int, end: int) -> int:
    """Where to go on after a problem: at a mark, or at a line that begins as the damaged tree does.
    Other brackets at the beginning of a line may be constituents of it."""
    is_tree = pieces[start].text == "("
    beginning = [piece.text for piece in pieces[start : start + 2]] if is_tree else ["("]
    for at in range(start + 1, len(pieces)):
        piece = pieces[at]
        alike = [other.text for other in pieces[at : at + len(beginning)]] == beginning
        if piece.is_mark or (piece.first and piece.line > pieces[start].line and alike):
            return at
    return len(pieces)


def _take(piece: str, stack: List[_Open], number: int, path: Path) -> Union[Tree, Problem, None]:
    """One bracket, label or word. RETURNS a tree that is complete, or what is wrong."""
    if piece == "(":
        stack.append(_Open([], [], number))
        if len(stack) <= MAX_DEPTH:
            return None
        actual = f"more than {MAX_DEPTH} open brackets"
        return Problem(path, number, actual, "brackets that are closed")
    if not stack:
        actual = (
            "a closing bracket without an opening one"
            if piece == ")"
            else f'"{piece}" outside of all brackets'
        )
        return Problem(path, number, actual, "an opening bracket")
    if piece != ")":
        if stack[-1].children:
            return Problem(path, number, f'"{piece}" between or after brackets', "a bracket")
        stack[-1].atoms.append(piece)
        return None
    closed = stack.pop()
    tree = _tree(closed, outermost=not stack)
    if isinstance(tree, str):
        return Problem(path, closed.line, tree, "(TAG word), or (LABEL (...) ...)")
    if not stack:
        return tree
    stack[-1].children.append(tree)
    return None


def _tree(closed: _Open, outermost: bool) -> Union[Tree, str]:
    """The tree of a bracket, or what is wrong with it."""
    atoms, children, line = closed
    if children:
        if len(atoms) > 1:
            return f'"{" ".join(atoms)}" before a bracket'
        if not atoms and not outermost:
            return "a bracket without a label"
        return Tree(atoms[0] if atoms else "", tuple(children), None, line)
    if len(atoms) == 2:
        return Tree(atoms[0], (), atoms[1], line)
    if not atoms:
        return "an empty tree ()" if outermost else "an empty bracket ()"
    return f'"({" ".join(atoms)})"'


def _not_closed(stack: List[_Open], path: Path, number: int, actual: str) -> Problem:
    n_open = f"{len(stack)} bracket{'s' if len(stack) > 1 else ''}"
    expected = f"the end of the tree that begins at line {stack[0].line}: {n_open} open"
    return Problem(path, number, actual, expected)


def leaves(tree: Tree) -> Iterator[Tree]:
    """The leaves of a tree from left to right, traces included."""
    if tree.word is not None:
        yield tree
    for child in tree.children:
        yield from leaves(child)
