"""What a conversion has read: counts, and the problems it has met, as tables."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable, Iterator, List, Union

from wasabi import Printer

from ..readers.sentences import Problem, Sentence

SHOWN = 20  # problems in the table


@dataclass
class Tally:
    """Counts of sentences and what is in them; problems in order."""

    files: int = 0
    others: int = 0
    sentences: int = 0
    without_words: int = 0
    tokens: int = 0
    chunks: int = 0
    entities: int = 0
    traces: int = 0
    mended: int = 0
    without_tree: int = 0
    problems: List[Problem] = field(default_factory=list)

    def sentences_of(self, items: Iterable[Union[Sentence, Problem]]) -> Iterator[Sentence]:
        """The sentences that have words; everything is counted."""
        for item in items:
            if isinstance(item, Problem):
                self.problems.append(item)
                continue
            self.traces += item.n_traces
            self.mended += item.n_mended
            self.without_tree += item.heads is None and any(item.deps or ())
            self.without_words += not item.words
            self.sentences += bool(item.words)
            self.tokens += len(item.words)
            self.chunks += len(item.chunks or ())
            self.entities += len(item.entities or ())
            if item.words:
                yield item


def show_counts(msg: Printer, tally: Tally, left_out: int, docs: int) -> None:
    """The counts, without those that are 0 and need no mention."""
    rows = [
        ("Files", tally.files),
        ("Files of other endings, not read", tally.others),
        ("Files in no part asked for", left_out),
        ("Docs", docs),
        ("Sentences", tally.sentences),
        ("Tokens", tally.tokens),
        ("Chunks", tally.chunks),
        ("Entities", tally.entities),
        ("Traces dropped", tally.traces),
        ("Sentences of traces only", tally.without_words),
        ("Entity tags mended", tally.mended),
        ("Sentences without heads (no tree)", tally.without_tree),
        ("Problems", len(tally.problems)),
    ]
    always = ("Files", "Sentences", "Tokens", "Problems")
    msg.table(
        [(name, f"{count:,}") for name, count in rows if count or name in always], aligns=("l", "r")
    )


def show_problems(msg: Printer, problems: List[Problem]) -> None:
    """The first problems with file and line, and how many there are in each file if there are
    more."""
    rows = [
        (f"{path}:{line}", actual, expected) for path, line, actual, expected in problems[:SHOWN]
    ]
    msg.table(rows, header=("Where", "Found", "Expected"), divider=True, max_col=60)
    if len(problems) > SHOWN:
        counts = Counter(str(problem.path) for problem in problems)
        msg.text(f"and {len(problems) - SHOWN:,} more. Problems by file:")
        msg.table([(path, f"{count:,}") for path, count in counts.items()], aligns=("l", "r"))
