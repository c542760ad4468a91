"""Trees in labelled brackets, as in the Penn Treebank and the Chinese Treebank.

    ( (S (NP-SBJ (PRP It) ) (VP (VBZ rains) ) (. .) ))

A tree may go over several lines. Between trees there may be lines in the manner of XML (`<DOC>`,
`<S ID=7>`, `</P>`, and what stands between `<` and `>`), and comment lines that begin with `*x*`.
Nothing else is passed over.
"""

import re
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from ..files import Line
from ..sentences import Problem

MAX_DEPTH = 400  # deeper nesting is damage: the deepest trees of the treebanks have some 50 levels
_PIECES = re.compile(r"[()]|[^() \t\r\f\v]+")
_MARKUP = re.compile(r"\s*(<[^<>]*>\s*)+")
_COMMENT = re.compile(r"\s*\*x\*.*")
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


class _Open(NamedTuple):
    atoms: List[str]
    children: List[Tree]
    line: int


def parse_trees(
    lines: Iterable[Union[Line, Problem]], path: Path
) -> Iterator[Union[Tree, Problem]]:
    """All trees; a Problem, which is the last item, where the brackets are damaged."""
    stack: List[_Open] = []
    suspect = 0  # a line at which another tree seems to begin, before the end of the last
    for line in lines:
        if isinstance(line, Problem):
            yield line
            return
        text = line.text if stack else _without_markup(line.text)
        if stack and _SENTENCE_MARK.fullmatch(line.text):
            yield _not_closed(stack, path, line.number, line.text.strip())
            return
        if stack and line.text.startswith("("):
            suspect = suspect or line.number
        for piece in _PIECES.findall(text):
            item = _take(piece, stack, line.number, path)
            if item is not None:
                yield item
                suspect = 0
            if isinstance(item, Problem):
                return
    if stack:
        hint = f" (another tree seems to begin at line {suspect})" if suspect else ""
        yield _not_closed(stack, path, stack[0].line, f"the end of the file{hint}")


def _without_markup(text: str) -> str:
    """What remains of a line between trees: "" if there is no tree on it."""
    markup = _MARKUP.match(text)
    if _COMMENT.fullmatch(text) or (markup and "(" not in text):
        return ""
    return text[markup.end() :] if markup else text


def _take(piece: str, stack: List[_Open], number: int, path: Path) -> Union[Tree, Problem, None]:
    """One bracket, label or word. RETURNS a tree that is complete, or what is wrong."""
    if piece == "(":
        stack.append(_Open([], [], number))
        if len(stack) > MAX_DEPTH:
            return Problem(
                path, number, f"more than {MAX_DEPTH} open brackets", "brackets that are closed"
            )
        return None
    if not stack and _CLOSING.fullmatch(piece):
        return None
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
    return Problem(
        path,
        number,
        actual,
        f"the end of the tree that begins at line {stack[0].line}: {n_open} open",
    )


def leaves(tree: Tree) -> Iterator[Tree]:
    """The leaves of a tree from left to right, traces included."""
    if tree.word is not None:
        yield tree
    for child in tree.children:
        yield from leaves(child)
